//===- Conformance.cpp - One program for every backend --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   conformance --backend=host --ranks=4
//   mpirun -n 4 conformance --backend=mpi
//
// Every collective with every legal pair of operation and element type, over
// counts around the block sizes, over the world, each axis, two axes as one and
// a group of one, in and out of place. Expected values come from Reference.h.
// Each rank prints the number of cases and a digest of all results, by which
// backends are compared bit for bit.
//
//   --fault=NAME ends a job in one of the ways of `runFault`.
//   --huge moves more than 2^31 bytes in one operation, and nothing else.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "TestJob.h"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <unistd.h>

using namespace dsv4::test;

namespace {

constexpr int64_t kCounts[] = {0, 1, 3, 63, 64, 65};
constexpr int64_t kLongCount = (1 << 20) + 1;
constexpr uint32_t kAllTypes[] = {
    DSV4RT_I8,  DSV4RT_U8,  DSV4RT_I32,  DSV4RT_U32,    DSV4RT_I64,
    DSV4RT_U64, DSV4RT_F16, DSV4RT_F32,  DSV4RT_F64,    DSV4RT_BF16,
    DSV4RT_F8E4M3, DSV4RT_F8E5M2, DSV4RT_I1};
constexpr uint32_t kSumTypes[] = {DSV4RT_I32,  DSV4RT_I64, DSV4RT_F16,
                                  DSV4RT_BF16, DSV4RT_F32, DSV4RT_F64};
constexpr uint32_t kOrderedTypes[] = {
    DSV4RT_I8,  DSV4RT_U8,  DSV4RT_I32,  DSV4RT_U32, DSV4RT_I64, DSV4RT_U64,
    DSV4RT_F16, DSV4RT_F32, DSV4RT_BF16, DSV4RT_F64, DSV4RT_I1};

struct Settings {
  std::string backend = "host";
  int32_t ranks = 0;
  std::string fault;
  bool huge = false;
  int64_t timeoutMs = 60000;
};

/// A mesh of three axes, the last of size 1.
std::vector<int64_t> makeMesh(int32_t ranks) {
  if (ranks % 2 == 0)
    return {2, ranks / 2, 1};
  return {ranks, 1, 1};
}

/// The world ranks of the sub-group of `rank`, from the coordinates.
std::vector<int> findMembers(const std::vector<int64_t> &mesh, uint32_t mask,
                             int rank) {
  auto coordinate = [&](int world, int axis) {
    int64_t inner = 1;
    for (size_t i = axis + 1; i < mesh.size(); ++i)
      inner *= mesh[i];
    return world / inner % mesh[axis];
  };
  int world = 1;
  for (int64_t size : mesh)
    world *= static_cast<int>(size);
  std::vector<int> members;
  for (int other = 0; other < world; ++other) {
    bool same = true;
    for (int axis = 0; axis < int(mesh.size()); ++axis)
      if (!(mask >> axis & 1))
        same &= coordinate(other, axis) == coordinate(rank, axis);
    if (same)
      members.push_back(other);
  }
  return members;
}

constexpr uint32_t kMasks[] = {7, 1, 2, 3, 4};
constexpr const char *kMaskNames[] = {"world", "axis 0", "axis 1", "axes 0 1",
                                      "alone"};

/// The module of all cases, and where its sites are.
struct Suite {
  explicit Suite(int32_t ranks) : mesh(makeMesh(ranks)), module(mesh) {
    for (size_t group = 0; group < std::size(kMasks); ++group)
      module.addGroup(kMaskNames[group], kMasks[group]);
    for (uint32_t group = 0; group < std::size(kMasks); ++group) {
      for (uint32_t dtype : kAllTypes) {
        add(DSV4RT_OP_ALL_GATHER, dtype, group, DSV4RT_SUM);
        add(DSV4RT_OP_EXCHANGE, dtype, group, DSV4RT_SUM);
      }
      for (uint32_t op : {DSV4RT_OP_REDUCE_SCATTER, DSV4RT_OP_ALL_REDUCE}) {
        for (uint32_t dtype : kSumTypes)
          add(op, dtype, group, DSV4RT_SUM);
        for (uint32_t dtype : kOrderedTypes)
          for (uint32_t redop : {DSV4RT_MAX, DSV4RT_MIN})
            add(op, dtype, group, redop);
      }
      add(DSV4RT_OP_AGREE, DSV4RT_I32, group, DSV4RT_SUM);
      add(DSV4RT_OP_BARRIER, DSV4RT_I32, group, DSV4RT_SUM);
    }
    module.get();
  }
  void add(uint32_t op, uint32_t dtype, uint32_t group, uint32_t redop) {
    sites[{op, dtype, group, redop}] = module.addSite(op, dtype, group, redop);
  }

  std::vector<int64_t> mesh;
  TestModule module;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> sites;
};

/// One rank's run.
class Run {
public:
  Run(const Suite &suite, dsv4rt_module *module)
      : suite(suite), module(module),
        rank(dsv4rt_rank(dsv4rt_module_world(module))) {}

  int32_t runAll();
  int64_t numCases = 0, numWrong = 0;
  uint64_t digest = 1469598103934665603u;

private:
  uint32_t findSite(uint32_t op, uint32_t dtype, uint32_t group,
                    uint32_t redop = DSV4RT_SUM) const {
    return suite.sites.at({op, dtype, group, redop});
  }
  int32_t runReductions(uint32_t group, uint32_t dtype, uint32_t redop,
                        int64_t count);
  int32_t runGather(uint32_t group, uint32_t dtype, int64_t count,
                    bool inPlace);
  int32_t runReduce(uint32_t op, uint32_t group, uint32_t dtype,
                    uint32_t redop, int64_t count, bool inPlace);
  int32_t runExchange(uint32_t group, uint32_t dtype, int64_t count);
  int32_t runAgree(uint32_t group);
  int32_t runOverlap();
  int32_t finish(int64_t token) {
    return dsv4rt_wait(module, token, DSV4RT_LANE_COMPUTE);
  }
  void check(const std::string &what, uint32_t dtype, const Bytes &got,
             const Bytes &expected);

  const Suite &suite;
  dsv4rt_module *const module;
  const int32_t rank;
  std::vector<int> members;
};

std::string describe(uint32_t op, uint32_t dtype, uint32_t redop,
                     uint32_t group, int64_t count, bool inPlace) {
  return std::string(dsv4rt_op_name(op)) + " " + dsv4rt_redop_name(redop) +
         " of " + std::to_string(count) + " " + dsv4rt_dtype_name(dtype) +
         " over " + kMaskNames[group] + (inPlace ? ", in place" : "");
}

void Run::check(const std::string &what, uint32_t dtype, const Bytes &got,
                const Bytes &expected) {
  ++numCases;
  for (unsigned char byte : got)
    digest = (digest ^ byte) * 1099511628211u;
  int64_t count = int64_t(expected.size()) / getWidth(dtype);
  if (got.size() == expected.size() &&
      haveEqualElements(dtype, got.data(), expected.data(), count))
    return;
  if (++numWrong <= 5)
    std::fprintf(stderr, "rank %d: wrong result: %s\n", rank, what.c_str());
}

int32_t Run::runGather(uint32_t group, uint32_t dtype, int64_t count,
                       bool inPlace) {
  int64_t bytes = count * getWidth(dtype);
  Bytes expected;
  for (int member : members) {
    Bytes part = makeData(dtype, member, count, true);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  Bytes own = makeData(dtype, rank, count, true);
  Bytes dst(expected.size(), 0xAA);
  int32_t place = dsv4rt_group_rank(module, group);
  const void *src = own.data();
  if (inPlace && bytes) {
    std::memcpy(dst.data() + place * bytes, own.data(), bytes);
    src = dst.data() + place * bytes;
  }
  int32_t status = finish(dsv4rt_all_gather_start(
      module, findSite(DSV4RT_OP_ALL_GATHER, dtype, group), src, dst.data(),
      count, DSV4RT_LANE_COMPUTE));
  check(describe(DSV4RT_OP_ALL_GATHER, dtype, 0, group, count, inPlace), dtype,
        dst, expected);
  return status;
}

int32_t Run::runReduce(uint32_t op, uint32_t group, uint32_t dtype,
                       uint32_t redop, int64_t count, bool inPlace) {
  bool scatters = op == DSV4RT_OP_REDUCE_SCATTER;
  int64_t size = int64_t(members.size()), width = getWidth(dtype);
  int64_t total = scatters ? size * count : count;
  int64_t begin = scatters ? dsv4rt_group_rank(module, group) * count : 0;
  bool special = redop != DSV4RT_SUM;
  std::vector<Bytes> operands;
  for (int member : members)
    operands.push_back(makeData(dtype, member, total, special));
  Bytes expected = reduceInOrder(dtype, redop, operands, begin, count);
  Bytes src = makeData(dtype, rank, total, special);
  Bytes dst(count * width, 0xAA);
  void *target = inPlace ? src.data() + begin * width : dst.data();
  auto start =
      scatters ? dsv4rt_reduce_scatter_start : dsv4rt_all_reduce_start;
  int32_t status =
      finish(start(module, findSite(op, dtype, group, redop), src.data(),
                   target, count, DSV4RT_LANE_COMPUTE));
  if (inPlace && count)
    std::memcpy(dst.data(), target, dst.size());
  check(describe(op, dtype, redop, group, count, inPlace), dtype, dst,
        expected);
  return status;
}

/// Each member sends to each other, and to itself, two messages of lengths that
/// depend on both ends.
int32_t Run::runExchange(uint32_t group, uint32_t dtype, int64_t count) {
  int32_t size = int32_t(members.size());
  int32_t me = dsv4rt_group_rank(module, group);
  int64_t width = getWidth(dtype);
  auto getLength = [&](int from, int to, int ordinal) {
    return count + 3 * from + 5 * to + ordinal;
  };
  // Receives in descending order of the sender, sends in ascending order.
  std::vector<dsv4rt_peer> sends, recvs;
  int64_t sent = 0, received = 0;
  for (int ordinal = 0; ordinal < 2; ++ordinal)
    for (int32_t peer = 0; peer < size; ++peer) {
      sends.push_back({peer, 0, sent, getLength(me, peer, ordinal)});
      sent += sends.back().count;
    }
  for (int32_t peer = size; peer-- > 0;)
    for (int ordinal = 0; ordinal < 2; ++ordinal) {
      recvs.push_back({peer, 0, received, getLength(peer, me, ordinal)});
      received += recvs.back().count + 1; // a gap that stays as it is
    }
  Bytes expected(received * width, 0x55);
  for (size_t i = 0; i < recvs.size(); ++i) {
    int from = recvs[i].peer, ordinal = int(i % 2);
    int64_t offset = 0, total = 0;
    for (int o = 0; o < 2; ++o)
      for (int to = 0; to < size; ++to) {
        if (o < ordinal || (o == ordinal && to < me))
          offset += getLength(from, to, o);
        total += getLength(from, to, o);
      }
    Bytes data = makeData(dtype, members[from], total, true);
    std::memcpy(expected.data() + recvs[i].offset * width,
                data.data() + offset * width, recvs[i].count * width);
  }
  Bytes src = makeData(dtype, rank, sent, true);
  Bytes dst(received * width, 0x55);
  int32_t status = finish(dsv4rt_exchange_start(
      module, findSite(DSV4RT_OP_EXCHANGE, dtype, group), src.data(),
      int32_t(sends.size()), sends.data(), dst.data(), int32_t(recvs.size()),
      recvs.data(), DSV4RT_LANE_COMPUTE));
  check(describe(DSV4RT_OP_EXCHANGE, dtype, 0, group, count, false), dtype, dst,
        expected);
  return status;
}

int32_t Run::runAgree(uint32_t group) {
  uint32_t site = findSite(DSV4RT_OP_AGREE, DSV4RT_I32, group);
  for (uint32_t redop : {DSV4RT_SUM, DSV4RT_MAX, DSV4RT_MIN}) {
    auto getValue = [](int world) {
      return world == 0 ? INT32_MIN : world == 1 ? INT32_MAX : 7 * world;
    };
    uint32_t sum = 0;
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int member : members) {
      sum += uint32_t(getValue(member));
      least = std::min(least, getValue(member));
      most = std::max(most, getValue(member));
    }
    int32_t expected = redop == DSV4RT_SUM   ? int32_t(sum)
                       : redop == DSV4RT_MAX ? most
                                             : least;
    int32_t got = 0;
    if (int32_t status =
            dsv4rt_agree_i32(module, site, redop, getValue(rank), &got))
      return status;
    Bytes a(sizeof(got)), b(sizeof(got));
    std::memcpy(a.data(), &got, sizeof(got));
    std::memcpy(b.data(), &expected, sizeof(got));
    check(describe(DSV4RT_OP_AGREE, DSV4RT_I32, redop, group, 1, false),
          DSV4RT_I32, a, b);
  }
  return dsv4rt_barrier(module, findSite(DSV4RT_OP_BARRIER, DSV4RT_I32, group));
}

/// Two communicators with several operations in flight, waited for in an order
/// that differs by rank and round.
int32_t Run::runOverlap() {
  constexpr int64_t kCount = 300;
  uint32_t gather = findSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, 1);
  uint32_t reduce = findSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_BF16, 2);
  std::vector<int> rows = findMembers(suite.mesh, kMasks[1], rank);
  std::vector<int> columns = findMembers(suite.mesh, kMasks[2], rank);
  Bytes gathered;
  for (int member : rows) {
    Bytes part = makeData(DSV4RT_F32, member, kCount, false);
    gathered.insert(gathered.end(), part.begin(), part.end());
  }
  std::vector<Bytes> operands;
  for (int member : columns)
    operands.push_back(makeData(DSV4RT_BF16, member, kCount, false));
  Bytes reduced =
      reduceInOrder(DSV4RT_BF16, DSV4RT_SUM, operands, 0, kCount);
  Bytes own = makeData(DSV4RT_F32, rank, kCount, false);
  Bytes half = makeData(DSV4RT_BF16, rank, kCount, false);
  for (int round = 0; round < 60; ++round) {
    std::vector<Bytes> a(4, Bytes(gathered.size())), b(4, Bytes(reduced.size()));
    std::vector<int64_t> tokens;
    for (int i = 0; i < 4; ++i) {
      tokens.push_back(dsv4rt_all_gather_start(module, gather, own.data(),
                                               a[i].data(), kCount, 2));
      tokens.push_back(dsv4rt_all_reduce_start(module, reduce, half.data(),
                                               b[i].data(), kCount, 2));
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      size_t at = (i * (rank % 2 ? 3 : 5) + round + rank) % tokens.size();
      if (int32_t status = finish(tokens[at]))
        return status;
    }
    for (int i = 0; i < 4; ++i) {
      check("overlapping all_gather", DSV4RT_F32, a[i], gathered);
      check("overlapping all_reduce", DSV4RT_BF16, b[i], reduced);
    }
  }
  return DSV4RT_OK;
}

int32_t Run::runReductions(uint32_t group, uint32_t dtype, uint32_t redop,
                           int64_t count) {
  for (uint32_t op : {DSV4RT_OP_REDUCE_SCATTER, DSV4RT_OP_ALL_REDUCE})
    for (bool inPlace : {false, true})
      if (int32_t status = runReduce(op, group, dtype, redop, count, inPlace))
        return status;
  return DSV4RT_OK;
}

int32_t Run::runAll() {
  for (uint32_t group = 0; group < std::size(kMasks); ++group) {
    members = findMembers(suite.mesh, kMasks[group], rank);
    std::vector<int64_t> counts(std::begin(kCounts), std::end(kCounts));
    counts.push_back(kLongCount);
    for (int64_t count : counts) {
      // The expected values of long operands are slow to compute, and their
      // types differ by width only when nothing is added up.
      bool isLong = count == kLongCount;
      for (uint32_t dtype : kAllTypes) {
        bool skip = isLong && (group > 1 || (dtype != DSV4RT_I8 &&
                                             dtype != DSV4RT_BF16));
        for (bool inPlace : {false, true})
          if (!skip)
            if (int32_t status = runGather(group, dtype, count, inPlace))
              return status;
        if (!skip)
          if (int32_t status = runExchange(group, dtype, count))
            return status;
      }
      for (uint32_t dtype : kSumTypes)
        if (!isLong || (group == 0 && (dtype == DSV4RT_F32 ||
                                       dtype == DSV4RT_BF16)))
          if (int32_t status = runReductions(group, dtype, DSV4RT_SUM, count))
            return status;
      for (uint32_t dtype : kOrderedTypes)
        for (uint32_t redop : {DSV4RT_MAX, DSV4RT_MIN})
          if (!isLong || (group == 1 && dtype == DSV4RT_BF16))
            if (int32_t status = runReductions(group, dtype, redop, count))
              return status;
    }
    if (int32_t status = runAgree(group))
      return status;
  }
  return runOverlap();
}

//===----------------------------------------------------------------------===//
// Other programs
//===----------------------------------------------------------------------===//

/// More than 2^31 bytes from each of two ranks or more.
int32_t runHuge(const Suite &suite, dsv4rt_module *module) {
  constexpr int64_t kCount = (int64_t(1) << 31) + 4096;
  int32_t rank = dsv4rt_rank(dsv4rt_module_world(module));
  int32_t size = dsv4rt_world_size(dsv4rt_module_world(module));
  auto *dst = static_cast<unsigned char *>(std::malloc(size * kCount));
  if (!dst)
    return DSV4RT_E_OOM;
  unsigned char *own = dst + rank * kCount;
  for (int64_t i = 0; i < kCount; ++i)
    own[i] = static_cast<unsigned char>(i * 31 + (i >> 24) + rank);
  int32_t status = dsv4rt_wait(
      module,
      dsv4rt_all_gather_start(
          module, suite.sites.at({DSV4RT_OP_ALL_GATHER, DSV4RT_U8, 0, 0}), own,
          dst, kCount, DSV4RT_LANE_COMPUTE),
      DSV4RT_LANE_COMPUTE);
  int64_t wrong = 0;
  for (int32_t peer = 0; status == DSV4RT_OK && peer < size; ++peer)
    for (int64_t i = 0; i < kCount; ++i)
      wrong += dst[peer * kCount + i] !=
               static_cast<unsigned char>(i * 31 + (i >> 24) + peer);
  std::free(dst);
  if (wrong)
    std::fprintf(stderr, "rank %d: %lld wrong bytes\n", rank,
                 static_cast<long long>(wrong));
  return wrong ? DSV4RT_E_ABORTED : status;
}

/// Rank 1 does something else than the others.
int32_t runFault(const std::string &fault, const Suite &suite,
                 dsv4rt_module *module) {
  int32_t rank = dsv4rt_rank(dsv4rt_module_world(module));
  bool culprit = rank == 1;
  float src[64] = {}, dst[64 * 8];
  int64_t count = fault == "count" && culprit ? 32 : 8;
  uint32_t dtype = fault == "dtype" && culprit ? DSV4RT_I32 : DSV4RT_F32;
  if (culprit && fault == "kill")
    raise(SIGKILL);
  if (culprit && fault == "exit")
    _exit(0);
  if (culprit && fault == "raise")
    return dsv4rt_raise(dsv4rt_module_world(module), DSV4RT_E_OOM,
                        "no memory for the test");
  if (culprit && fault == "leave")
    return DSV4RT_OK;
  if (culprit && fault == "late")
    sleep(5);
  return dsv4rt_wait(
      module,
      dsv4rt_all_gather_start(
          module, suite.sites.at({DSV4RT_OP_ALL_GATHER, dtype, 0, 0}), src, dst,
          count, DSV4RT_LANE_COMPUTE),
      DSV4RT_LANE_COMPUTE);
}

int32_t runRank(dsv4rt_world *world, void *opaque) {
  const auto &settings = *static_cast<const Settings *>(opaque);
  Suite suite(dsv4rt_world_size(world));
  dsv4rt_module *module = nullptr;
  if (int32_t status = dsv4rt_module_open(world, &suite.module.desc, &module))
    return status;
  if (!settings.fault.empty())
    if (int32_t status = runFault(settings.fault, suite, module))
      return status;
  if (settings.huge)
    if (int32_t status = runHuge(suite, module))
      return status;
  Run run(suite, module);
  if (!settings.huge && settings.fault.empty())
    if (int32_t status = run.runAll())
      return status;
  if (int32_t status = dsv4rt_step_end(module))
    return status;
  std::printf("rank %d of %d: %lld cases, digest %016llx\n", dsv4rt_rank(world),
              dsv4rt_world_size(world), static_cast<long long>(run.numCases),
              static_cast<unsigned long long>(run.digest));
  if (run.numWrong)
    return dsv4rt_raise(world, DSV4RT_E_ABORTED,
                        (std::to_string(run.numWrong) + " results are wrong")
                            .c_str());
  return dsv4rt_module_close(module);
}

bool readArguments(int argc, char **argv, Settings &settings) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string value =
        equals == std::string::npos ? "" : argument.substr(equals + 1);
    std::string name = argument.substr(0, equals);
    if (name == "--backend")
      settings.backend = value;
    else if (name == "--ranks")
      settings.ranks = std::atoi(value.c_str());
    else if (name == "--timeout-ms")
      settings.timeoutMs = std::atoll(value.c_str());
    else if (name == "--fault")
      settings.fault = value;
    else if (name == "--huge")
      settings.huge = true;
    else
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (!readArguments(argc, argv, settings)) {
    std::fprintf(stderr, "usage: %s [--backend=host|mpi] [--ranks=N] "
                         "[--timeout-ms=N] [--fault=NAME] [--huge]\n",
                 argv[0]);
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  dsv4rt_config config = makeConfig(settings.timeoutMs);
  config.backend = settings.backend.c_str();
  bool host = settings.backend == "host";
  int32_t status = host ? dsv4rt_host_run(settings.ranks, &config, runRank,
                                          &settings)
                        : dsv4rt_process_run(&config, runRank, &settings);
  char text[2048] = "";
  if (status && host) {
    dsv4rt_error_text(nullptr, text, sizeof(text));
    std::fprintf(stderr, "%s: %s\n", dsv4rt_status_name(status), text);
  }
  return status == DSV4RT_OK ? 0 : DSV4RT_EXIT_BASE + status;
}
