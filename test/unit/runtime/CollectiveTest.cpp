//===- CollectiveTest.cpp - Every collective against its definition -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case runs one (operation, element type, reduction) on one mesh, over all
// groups and counts, out of place and in place. The members of each group are
// written out, not computed.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "TestJob.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

using namespace dsv4::test;

namespace {

struct MeshGroup {
  const char *name;
  uint32_t axisMask;
  std::vector<std::vector<int>> members;
};

struct Mesh {
  const char *name;
  std::vector<int64_t> axes;
  int ranks;
  std::vector<MeshGroup> groups;
};

const Mesh kMeshes[] = {
    {"One", {1}, 1, {{"world", 1, {{0}}}, {"none", 0, {{0}}}}},
    {"Two",
     {2, 1},
     2,
     {{"world", 3, {{0, 1}}},
      {"axis0", 1, {{0, 1}}},
      {"axis1", 2, {{0}, {1}}}}},
    {"Three",
     {3},
     3,
     {{"world", 1, {{0, 1, 2}}}, {"none", 0, {{0}, {1}, {2}}}}},
    {"TwoByTwo",
     {2, 2},
     4,
     {{"axis0", 1, {{0, 2}, {1, 3}}},
      {"axis1", 2, {{0, 1}, {2, 3}}},
      {"world", 3, {{0, 1, 2, 3}}},
      {"none", 0, {{0}, {1}, {2}, {3}}}}},
    {"TwoByOneByTwo",
     {2, 1, 2},
     4,
     {{"axis0", 1, {{0, 2}, {1, 3}}},
      {"axes01", 3, {{0, 2}, {1, 3}}},
      {"axes12", 6, {{0, 1}, {2, 3}}},
      {"world", 7, {{0, 1, 2, 3}}}}},
};

const int64_t kCounts[] = {0, 1, 3, 63, 64, 65, 4097};

struct Kind {
  uint32_t op;
  uint32_t dtype;
  uint32_t redop;
};

std::vector<Kind> listKinds() {
  const uint32_t all[] = {DSV4RT_I8,  DSV4RT_U8,   DSV4RT_I32,    DSV4RT_U32,
                          DSV4RT_I64, DSV4RT_U64,  DSV4RT_F16,    DSV4RT_F32,
                          DSV4RT_F64, DSV4RT_BF16, DSV4RT_F8E4M3, DSV4RT_F8E5M2,
                          DSV4RT_I1};
  const uint32_t summed[] = {DSV4RT_I32,  DSV4RT_I64, DSV4RT_F16,
                             DSV4RT_BF16, DSV4RT_F32, DSV4RT_F64};
  std::vector<Kind> kinds;
  for (uint32_t dtype : all)
    kinds.push_back({DSV4RT_OP_ALL_GATHER, dtype, DSV4RT_SUM});
  for (uint32_t op : {DSV4RT_OP_REDUCE_SCATTER, DSV4RT_OP_ALL_REDUCE}) {
    for (uint32_t dtype : summed)
      kinds.push_back({op, dtype, DSV4RT_SUM});
    for (uint32_t dtype : all)
      if (dtype != DSV4RT_F8E4M3 && dtype != DSV4RT_F8E5M2)
        for (uint32_t redop : {DSV4RT_MAX, DSV4RT_MIN})
          kinds.push_back({op, dtype, redop});
  }
  return kinds;
}

/// One call on one rank: operands, expected result, comparison.
class Check {
public:
  Check(dsv4rt_module *module, uint32_t site, const Kind &kind,
        const std::vector<int> &members, int64_t count, bool inPlace)
      : module(module), site(site), kind(kind), members(members), count(count),
        inPlace(inPlace), width(getWidth(kind.dtype)),
        size(static_cast<int64_t>(members.size())),
        me(dsv4rt_group_rank(module, dsv4rt_module_site(module, site)->group)) {
  }

  /// Empty when the result is right.
  std::string run() {
    bool scatters = kind.op == DSV4RT_OP_REDUCE_SCATTER;
    int64_t srcCount = scatters ? size * count : count;
    for (int member : members)
      operands.push_back(makeData(kind.dtype, member, srcCount,
                                  kind.redop != DSV4RT_SUM || count == 65));
    computeExpected();
    layOut(srcCount);
    auto start = scatters                          ? dsv4rt_reduce_scatter_start
                 : kind.op == DSV4RT_OP_ALL_REDUCE ? dsv4rt_all_reduce_start
                                                   : dsv4rt_all_gather_start;
    int64_t token = start(module, site, src, dst, count, 0);
    if (int32_t status = dsv4rt_wait(module, token, 0))
      return dsv4rt_status_name(status);
    if (!haveEqualElements(kind.dtype, dst, expected.data(),
                           static_cast<int64_t>(expected.size()) / width))
      return "wrong result";
    if (!inPlace && buffer != operands[me])
      return "src was changed";
    return "";
  }

private:
  void computeExpected() {
    if (kind.op == DSV4RT_OP_ALL_GATHER) {
      for (const Bytes &operand : operands)
        expected.insert(expected.end(), operand.begin(), operand.end());
      return;
    }
    bool scatters = kind.op == DSV4RT_OP_REDUCE_SCATTER;
    expected = reduceInOrder(kind.dtype, kind.redop, operands,
                             scatters ? me * count : 0, count);
  }

  void layOut(int64_t srcCount) {
    int64_t slice = me * count * width;
    buffer = operands[me];
    result.assign(expected.size(), 0xA5);
    src = buffer.data();
    dst = result.data();
    if (!inPlace)
      return;
    if (kind.op == DSV4RT_OP_ALL_GATHER) {
      if (count > 0)
        std::memcpy(dst + slice, src, srcCount * width);
      src = dst + slice;
    } else {
      dst = buffer.data() + (kind.op == DSV4RT_OP_REDUCE_SCATTER ? slice : 0);
    }
  }

  dsv4rt_module *module;
  uint32_t site;
  const Kind &kind;
  const std::vector<int> &members;
  int64_t count;
  bool inPlace;
  int64_t width;
  int64_t size;
  int64_t me;
  std::vector<Bytes> operands;
  Bytes expected, buffer, result;
  unsigned char *src = nullptr;
  unsigned char *dst = nullptr;
};

const std::vector<int> &findMembers(const MeshGroup &group, int rank) {
  for (const std::vector<int> &members : group.members)
    for (int member : members)
      if (member == rank)
        return members;
  return group.members.front();
}

void PrintTo(const Mesh &mesh, std::ostream *os) { *os << mesh.name; }
void PrintTo(const Kind &kind, std::ostream *os) {
  *os << dsv4rt_op_name(kind.op) << " " << dsv4rt_dtype_name(kind.dtype);
}

class CollectiveTest : public testing::TestWithParam<std::tuple<Mesh, Kind>> {};

TEST_P(CollectiveTest, MatchesDefinition) {
  const auto &[mesh, kind] = GetParam();
  TestModule module(mesh.axes);
  for (const MeshGroup &group : mesh.groups)
    module.addSite(kind.op, kind.dtype,
                   module.addGroup(group.name, group.axisMask), kind.redop);
  std::vector<std::string> problems(mesh.ranks);
  Outcome outcome = runModule(
      mesh.ranks, module,
      [&, &mesh = mesh, &kind = kind](dsv4rt_module *opened) -> int32_t {
        int rank = dsv4rt_rank(dsv4rt_module_world(opened));
        for (uint32_t site = 0; site < mesh.groups.size(); ++site)
          for (int64_t count : kCounts)
            for (bool inPlace : {false, true}) {
              Check check(opened, site, kind,
                          findMembers(mesh.groups[site], rank), count, inPlace);
              std::string problem = check.run();
              if (!problem.empty())
                problems[rank] += std::string(mesh.groups[site].name) + " " +
                                  std::to_string(count) +
                                  (inPlace ? " in place: " : ": ") + problem +
                                  "\n";
            }
        return DSV4RT_OK;
      });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  for (int rank = 0; rank < mesh.ranks; ++rank)
    EXPECT_EQ(problems[rank], "") << "rank " << rank;
}

std::string
nameCase(const testing::TestParamInfo<CollectiveTest::ParamType> &info) {
  const auto &[mesh, kind] = info.param;
  std::string name = std::string(mesh.name) + "_" + dsv4rt_op_name(kind.op);
  if (kind.op != DSV4RT_OP_ALL_GATHER)
    name += std::string("_") + dsv4rt_redop_name(kind.redop);
  return name + "_" + dsv4rt_dtype_name(kind.dtype);
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveTest,
                         testing::Combine(testing::ValuesIn(kMeshes),
                                          testing::ValuesIn(listKinds())),
                         nameCase);

// The reductions are large enough for several blocks of the kernels and for
// slices that are not whole cache lines.
TEST(LargeCollectiveTest, ReductionsOverManyBlocks) {
  const int64_t count = 100003;
  TestModule module({3});
  uint32_t world = module.addGroup("world", 1);
  const Kind kinds[] = {{DSV4RT_OP_REDUCE_SCATTER, DSV4RT_BF16, DSV4RT_SUM},
                        {DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, DSV4RT_SUM},
                        {DSV4RT_OP_ALL_REDUCE, DSV4RT_F16, DSV4RT_SUM},
                        {DSV4RT_OP_ALL_GATHER, DSV4RT_I8, DSV4RT_SUM}};
  for (const Kind &kind : kinds)
    module.addSite(kind.op, kind.dtype, world, kind.redop);
  std::vector<std::string> problems(3);
  const std::vector<int> members = {0, 1, 2};
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) -> int32_t {
    int rank = dsv4rt_rank(dsv4rt_module_world(opened));
    for (uint32_t site = 0; site < 4; ++site)
      for (bool inPlace : {false, true})
        problems[rank] +=
            Check(opened, site, kinds[site], members, count, inPlace).run();
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  for (const std::string &problem : problems)
    EXPECT_EQ(problem, "");
}

} // namespace
