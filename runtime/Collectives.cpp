//===- Collectives.cpp - The calls of compiled code -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks arguments, counts traffic, serves groups of one rank by a local copy,
// and hands everything else to the backend.
//
//===----------------------------------------------------------------------===//

#include "DataType.h"
#include "Module.h"

#include <cstring>

using namespace dsv4::rt;

namespace {

/// A byte range of an operand.
struct Range {
  uintptr_t begin;
  uintptr_t end;

  Range(const void *base, int64_t offset, int64_t bytes)
      : begin(reinterpret_cast<uintptr_t>(base) + offset), end(begin + bytes) {}
  bool overlaps(const Range &other) const {
    return begin < other.end && other.begin < end;
  }
};

int64_t failToken(dsv4rt_module &module, const std::string &text) {
  return -int64_t(module.world->backend->failHere(DSV4RT_E_INVALID, text));
}

bool isAligned(const void *pointer, int64_t width) {
  return reinterpret_cast<uintptr_t>(pointer) % width == 0;
}

/// What is wrong with calling `op` at `site`; empty when nothing is.
std::string checkSite(const dsv4rt_module &module, uint32_t site, uint32_t op) {
  if (site >= module.sites.size())
    return "site must be in [0, " + std::to_string(module.sites.size()) +
           "), got " + std::to_string(site);
  if (module.sites[site].op != op)
    return "site " + std::to_string(site) + " is " +
           dsv4rt_op_name(module.sites[site].op) + ", called as " +
           dsv4rt_op_name(op);
  return "";
}

Operation makeOperation(const dsv4rt_module &module, uint32_t site,
                        const void *src, void *dst, int64_t count) {
  const dsv4rt_site &entry = module.sites[site];
  Operation operation;
  operation.site = site;
  operation.op = entry.op;
  operation.dtype = entry.dtype;
  operation.redop = entry.redop;
  operation.count = count;
  operation.src = src;
  operation.dst = dst;
  return operation;
}

/// Checks the operands of all_gather, reduce_scatter and all_reduce: present,
/// aligned, and either disjoint or in place.
std::string checkOperands(const dsv4rt_module &module, const Group &group,
                          const Operation &operation) {
  int64_t width = dsv4rt_dtype_size(operation.dtype);
  int64_t bytes, full;
  auto describe = [&](const char *what) {
    return describeOperation(&module, operation) + ": " + what;
  };
  if (operation.count < 0 ||
      __builtin_mul_overflow(operation.count, width, &bytes) ||
      __builtin_mul_overflow(bytes, int64_t(group.getSize()), &full))
    return describe("count is negative or too large");
  if (operation.count == 0)
    return "";
  if (!operation.src || !operation.dst)
    return describe("an operand is NULL");
  if (!isAligned(operation.src, width) || !isAligned(operation.dst, width))
    return describe("an operand is not aligned to its element");
  bool gathers = operation.op == DSV4RT_OP_ALL_GATHER;
  bool scatters = operation.op == DSV4RT_OP_REDUCE_SCATTER;
  int64_t slice = gathers || scatters ? group.rank * bytes : 0;
  Range src(operation.src, 0, scatters ? full : bytes);
  Range dst(operation.dst, 0, gathers ? full : bytes);
  bool inPlace = scatters ? dst.begin == src.begin + slice
                          : src.begin == dst.begin + slice;
  if (src.overlaps(dst) && !inPlace)
    return describe("src and dst overlap and are not in place");
  return "";
}

void countCall(dsv4rt_module &module, uint32_t site, int64_t receivedElements) {
  SiteCounters &counters = module.counters[site];
  ++counters.calls;
  counters.receivedBytes +=
      receivedElements * dsv4rt_dtype_size(module.sites[site].dtype);
}

/// A group of one: every collective is the identity. The count is compared here
/// as the backend compares it in larger groups.
int32_t runAlone(dsv4rt_module &module, const Operation &operation) {
  int64_t declared = module.sites[operation.site].count;
  if (operation.op <= DSV4RT_OP_ALL_REDUCE && declared >= 0 &&
      declared != operation.count)
    return module.world->backend->failHere(
        DSV4RT_E_MISMATCH, "the program declares count " +
                               std::to_string(declared) + ", got " +
                               describeOperation(&module, operation));
  if (operation.count > 0 && operation.src != operation.dst)
    std::memmove(operation.dst, operation.src,
                 operation.count * dsv4rt_dtype_size(operation.dtype));
  return DSV4RT_OK;
}

/// Posts the checked operations of one launch.
int64_t launch(dsv4rt_module &module, const Group &group, uint32_t groupIndex,
               const Operation *operations, int32_t n) {
  ++module.counters[operations[0].site].launches;
  for (int32_t i = 0; i < n; ++i)
    countCall(module, operations[i].site,
              operations[i].count * (group.getSize() - 1));
  if (group.getSize() > 1)
    return module.world->backend->post(module, groupIndex, operations, n);
  if (int32_t status = module.world->backend->checkStatus())
    return -int64_t(status);
  for (int32_t i = 0; i < n; ++i)
    if (int32_t status = runAlone(module, operations[i]))
      return -int64_t(status);
  return 0;
}

int64_t startOne(dsv4rt_module *module, uint32_t site, uint32_t op,
                 const void *src, void *dst, int64_t count) {
  if (!module)
    return -DSV4RT_E_INVALID;
  std::string problem = checkSite(*module, site, op);
  if (!problem.empty())
    return failToken(*module, problem);
  uint32_t groupIndex = module->sites[site].group;
  const Group &group = module->groups[groupIndex];
  Operation operation = makeOperation(*module, site, src, dst, count);
  problem = checkOperands(*module, group, operation);
  if (!problem.empty())
    return failToken(*module, problem);
  return launch(*module, group, groupIndex, &operation, 1);
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

std::string checkPeers(const dsv4rt_module &module, const Group &group,
                       const Operation &operation, const void *base,
                       const dsv4rt_peer *peers, int32_t n) {
  int64_t width = dsv4rt_dtype_size(operation.dtype);
  auto describe = [&](const std::string &what) {
    return describeOperation(&module, operation) + ": " + what;
  };
  if (n < 0 || (n > 0 && !peers))
    return describe("a peer list is NULL or has a negative length");
  for (int32_t i = 0; i < n; ++i) {
    if (peers[i].peer < 0 || peers[i].peer >= group.getSize())
      return describe("peer must be in [0, " + std::to_string(group.getSize()) +
                      "), got " + std::to_string(peers[i].peer));
    if (peers[i].offset < 0 || peers[i].count < 0)
      return describe("offset and count must not be negative");
    if (peers[i].count > 0 && (!base || !isAligned(base, width)))
      return describe("an operand is NULL or not aligned to its element");
  }
  return "";
}

/// An exchange of a group of one: the k-th receive takes the k-th send.
int64_t exchangeAlone(dsv4rt_module &module, const Operation &operation) {
  if (int32_t status = module.world->backend->checkStatus())
    return -int64_t(status);
  int64_t width = dsv4rt_dtype_size(operation.dtype);
  bool same = operation.numSends == operation.numRecvs;
  for (int32_t i = 0; same && i < operation.numSends; ++i)
    same = operation.sends[i].count == operation.recvs[i].count;
  if (!same)
    return -int64_t(module.world->backend->failHere(
        DSV4RT_E_MISMATCH, describeOperation(&module, operation) +
                               ": sends and receives of the only rank differ"));
  for (int32_t i = 0; i < operation.numSends; ++i)
    std::memmove(static_cast<char *>(operation.dst) +
                     operation.recvs[i].offset * width,
                 static_cast<const char *>(operation.src) +
                     operation.sends[i].offset * width,
                 operation.sends[i].count * width);
  return 0;
}

} // namespace

extern "C" {

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

int64_t dsv4rt_all_gather_start(dsv4rt_module *module, uint32_t site,
                                const void *src, void *dst, int64_t count,
                                int32_t) {
  return startOne(module, site, DSV4RT_OP_ALL_GATHER, src, dst, count);
}

int64_t dsv4rt_reduce_scatter_start(dsv4rt_module *module, uint32_t site,
                                    const void *src, void *dst, int64_t count,
                                    int32_t) {
  return startOne(module, site, DSV4RT_OP_REDUCE_SCATTER, src, dst, count);
}

int64_t dsv4rt_all_reduce_start(dsv4rt_module *module, uint32_t site,
                                const void *src, void *dst, int64_t count,
                                int32_t) {
  return startOne(module, site, DSV4RT_OP_ALL_REDUCE, src, dst, count);
}

int64_t dsv4rt_start_v(dsv4rt_module *module, uint32_t first_site, int32_t n,
                       const void *const *src, void *const *dst,
                       const int64_t *count, int32_t) {
  if (!module)
    return -DSV4RT_E_INVALID;
  if (n == 0)
    return -int64_t(module->world->backend->checkStatus());
  if (n < 0 || !src || !dst || !count ||
      uint64_t(first_site) + n > module->sites.size())
    return failToken(*module, "start_v of " + std::to_string(n) +
                                  " sites from site " +
                                  std::to_string(first_site) +
                                  " has no such sites or no operands");
  uint32_t groupIndex = module->sites[first_site].group;
  const Group &group = module->groups[groupIndex];
  module->scratch.resize(n);
  for (int32_t i = 0; i < n; ++i) {
    Operation &operation = module->scratch[i];
    operation =
        makeOperation(*module, first_site + i, src[i], dst[i], count[i]);
    if (operation.op > DSV4RT_OP_ALL_REDUCE ||
        module->sites[first_site + i].group != groupIndex)
      return failToken(
          *module, "start_v: " + describeOperation(module, operation) +
                       " cannot join a launch on group \"" + group.name + "\"");
    std::string problem = checkOperands(*module, group, operation);
    if (!problem.empty())
      return failToken(*module, problem);
  }
  return launch(*module, group, groupIndex, module->scratch.data(), n);
}

int64_t dsv4rt_exchange_start(dsv4rt_module *module, uint32_t site,
                              const void *src, int32_t n_send,
                              const dsv4rt_peer *sends, void *dst,
                              int32_t n_recv, const dsv4rt_peer *recvs,
                              int32_t) {
  if (!module)
    return -DSV4RT_E_INVALID;
  std::string problem = checkSite(*module, site, DSV4RT_OP_EXCHANGE);
  if (!problem.empty())
    return failToken(*module, problem);
  uint32_t groupIndex = module->sites[site].group;
  const Group &group = module->groups[groupIndex];
  Operation operation = makeOperation(*module, site, src, dst, 0);
  problem = checkPeers(*module, group, operation, src, sends, n_send);
  if (problem.empty())
    problem = checkPeers(*module, group, operation, dst, recvs, n_recv);
  if (!problem.empty())
    return failToken(*module, problem);
  operation.numSends = n_send;
  operation.sends = sends;
  operation.numRecvs = n_recv;
  operation.recvs = recvs;
  int64_t received = 0;
  for (int32_t i = 0; i < n_recv; ++i)
    received += recvs[i].peer == group.rank ? 0 : recvs[i].count;
  ++module->counters[site].launches;
  countCall(*module, site, received);
  return group.getSize() > 1
             ? module->world->backend->post(*module, groupIndex, &operation, 1)
             : exchangeAlone(*module, operation);
}

//===----------------------------------------------------------------------===//
// Waits and blocking calls
//===----------------------------------------------------------------------===//

int32_t dsv4rt_wait_host(dsv4rt_module *module, int64_t token,
                         int64_t timeout_ms) {
  if (!module)
    return DSV4RT_E_INVALID;
  if (token > 0)
    return module->world->backend->wait(*module, token, timeout_ms);
  int32_t status = module->world->backend->checkStatus();
  return status ? status : static_cast<int32_t>(-token);
}

int32_t dsv4rt_wait(dsv4rt_module *module, int64_t token, int32_t) {
  return dsv4rt_wait_host(module, token, 0);
}

int32_t dsv4rt_test(dsv4rt_module *module, int64_t token) {
  if (!module || token <= 0)
    return dsv4rt_wait_host(module, token, 0);
  return module->world->backend->test(*module, token);
}

int32_t dsv4rt_agree_i32(dsv4rt_module *module, uint32_t site, int32_t redop,
                         int32_t in, int32_t *out) {
  if (!module)
    return DSV4RT_E_INVALID;
  std::string problem = checkSite(*module, site, DSV4RT_OP_AGREE);
  if (problem.empty() && !out)
    problem = "agree: result pointer is NULL";
  if (!problem.empty())
    return module->world->backend->failHere(DSV4RT_E_INVALID, problem);
  if (!isReductionSupported(DSV4RT_I32, static_cast<uint32_t>(redop)))
    return module->world->backend->failHere(
        DSV4RT_E_UNSUPPORTED,
        "agree " + std::string(dsv4rt_redop_name(redop)) + " has no rule");
  uint32_t groupIndex = module->sites[site].group;
  const Group &group = module->groups[groupIndex];
  ++module->counters[site].launches;
  countCall(*module, site, group.getSize() - 1);
  if (group.getSize() == 1) {
    *out = in;
    return module->world->backend->checkStatus();
  }
  Operation operation = makeOperation(*module, site, nullptr, nullptr, 0);
  operation.redop = static_cast<uint32_t>(redop);
  operation.value = in;
  return module->world->backend->agree(*module, groupIndex, operation, *out);
}

int32_t dsv4rt_barrier(dsv4rt_module *module, uint32_t site) {
  if (!module)
    return DSV4RT_E_INVALID;
  std::string problem = checkSite(*module, site, DSV4RT_OP_BARRIER);
  if (!problem.empty())
    return module->world->backend->failHere(DSV4RT_E_INVALID, problem);
  uint32_t groupIndex = module->sites[site].group;
  const Group &group = module->groups[groupIndex];
  Operation operation = makeOperation(*module, site, nullptr, nullptr, 0);
  int64_t token = launch(*module, group, groupIndex, &operation, 1);
  return dsv4rt_wait_host(module, token, 0);
}

int32_t dsv4rt_step_end(dsv4rt_module *module) {
  return module ? module->world->backend->endStep(*module) : DSV4RT_E_INVALID;
}

} // extern "C"
