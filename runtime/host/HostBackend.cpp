//===- HostBackend.cpp - Ranks as threads of one process ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups, posting and progress; HostWait.cpp has the waiting.
//
//===----------------------------------------------------------------------===//

#include "HostBackend.h"

#include <algorithm>

namespace dsv4::rt::host {
namespace {

/// The shared side of a module: for each group the sub-groups by color.
struct SharedModule {
  std::vector<std::vector<std::unique_ptr<HostGroup>>> groups;
  std::atomic<int32_t> users;
};

/// One rank's side.
struct ModuleState {
  SharedModule *shared;
  /// By group index; null for a group of one.
  std::vector<std::unique_ptr<HostEndpoint>> endpoints;
};

ModuleState &getState(dsv4rt_module &module) {
  return *static_cast<ModuleState *>(module.backendState);
}

std::shared_ptr<SharedModule> createShared(const dsv4rt_module &module,
                                           int32_t users) {
  auto shared = std::make_shared<SharedModule>();
  shared->users.store(users);
  for (const Group &group : module.groups) {
    auto &colors = shared->groups.emplace_back();
    for (uint32_t color = 0; color < group.numColors; ++color)
      colors.emplace_back(group.getSize() > 1 ? new HostGroup(group.getSize())
                                              : nullptr);
  }
  return shared;
}

Group makeWorldInfo(int32_t size, int32_t rank) {
  Group info;
  info.name = "world";
  info.rank = rank;
  for (int32_t i = 0; i < size; ++i)
    info.members.push_back(i);
  return info;
}

/// A token is (group + 1) and the number of operations that must be complete.
constexpr int kSequenceBits = 44;

int64_t encodeToken(uint32_t group, uint64_t target) {
  return (int64_t(group) + 1) << kSequenceBits | int64_t(target);
}

} // namespace

HostBackend::HostBackend(HostJob &job, int32_t rank, HostGroup &worldGroup)
    : job(job), rank(rank), slot(job.getSlot(rank)),
      worldEndpoint(worldGroup, makeWorldInfo(job.numRanks, rank), nullptr, 0) {
  endpoints.push_back(&worldEndpoint);
}

HostBackend::~HostBackend() = default;

int32_t HostBackend::gatherControl(const void *mine, size_t bytes, void *all) {
  Operation op;
  op.site = kSiteControl;
  op.op = DSV4RT_OP_ALL_GATHER;
  op.dtype = DSV4RT_U8;
  op.count = static_cast<int64_t>(bytes);
  op.src = mine;
  op.dst = all;
  if (int32_t status = postOne(worldEndpoint, op))
    return status;
  ringPeers(worldEndpoint);
  return waitFor(worldEndpoint, worldEndpoint.started, 0);
}

int32_t HostBackend::openGroups(dsv4rt_module &module) {
  SharedModule *mine = nullptr;
  if (rank == 0) {
    std::shared_ptr<SharedModule> created = createShared(module, job.numRanks);
    mine = created.get();
    job.keep(std::move(created));
  }
  std::vector<SharedModule *> all(job.numRanks);
  if (int32_t status = gatherControl(&mine, sizeof(mine), all.data()))
    return status;
  auto *state = new ModuleState;
  state->shared = all[0];
  for (uint32_t i = 0; i < module.groups.size(); ++i) {
    const Group &group = module.groups[i];
    HostGroup *shared = state->shared->groups[i][group.color].get();
    state->endpoints.emplace_back(
        shared ? new HostEndpoint(*shared, group, &module, i) : nullptr);
    if (shared)
      endpoints.push_back(state->endpoints.back().get());
  }
  module.backendState = state;
  return DSV4RT_OK;
}

void HostBackend::closeGroups(dsv4rt_module &module) {
  if (!module.backendState)
    return;
  ModuleState *state = &getState(module);
  endpoints.erase(std::remove_if(endpoints.begin(), endpoints.end(),
                                 [&](HostEndpoint *endpoint) {
                                   return endpoint->module == &module;
                                 }),
                  endpoints.end());
  if (state->shared->users.fetch_sub(1) == 1)
    job.drop(state->shared);
  delete state;
  module.backendState = nullptr;
}

//===----------------------------------------------------------------------===//
// Posting
//===----------------------------------------------------------------------===//

int32_t HostBackend::postOne(HostEndpoint &endpoint, const Operation &op) {
  if (job.hasFailed())
    return checkStatus();
  uint64_t sequence = endpoint.started;
  if (sequence >= kRingSize) {
    uint64_t target = sequence - kRingSize + 1;
    if (endpoint.countCompleted() < target) {
      ringPeers(endpoint);
      if (int32_t status = waitFor(endpoint, target, 0))
        return status;
    }
  }
  HostMember &own = endpoint.getOwn();
  own.getEntry(sequence).assign(op);
  endpoint.started = sequence + 1;
  slot.startedSite.store(op.site + 1, std::memory_order_relaxed);
  own.posted.store(endpoint.started);
  return DSV4RT_OK;
}

void HostBackend::ringPeers(const HostEndpoint &endpoint) {
  for (int32_t member : endpoint.info.members)
    if (member != rank)
      job.getSlot(member).bell.ring();
}

int64_t HostBackend::post(dsv4rt_module &module, uint32_t group,
                          const Operation *ops, int32_t n) {
  HostEndpoint &endpoint = *getState(module).endpoints[group];
  for (int32_t i = 0; i < n; ++i)
    if (int32_t status = postOne(endpoint, ops[i]))
      return -int64_t(status);
  ringPeers(endpoint);
  return encodeToken(group, endpoint.started);
}

HostEndpoint *HostBackend::decodeToken(dsv4rt_module &module, int64_t token,
                                       uint64_t &target) {
  auto &known = getState(module).endpoints;
  uint64_t group = uint64_t(token >> kSequenceBits) - 1;
  target = uint64_t(token) & ((uint64_t(1) << kSequenceBits) - 1);
  if (group >= known.size() || !known[group] || target == 0 ||
      target > known[group]->started)
    return nullptr;
  return known[group].get();
}

int32_t HostBackend::wait(dsv4rt_module &module, int64_t token,
                          int64_t limitMs) {
  uint64_t target = 0;
  HostEndpoint *endpoint = decodeToken(module, token, target);
  if (!endpoint)
    return failHere(DSV4RT_E_INVALID, "wait for token " +
                                          std::to_string(token) +
                                          ", which no start returned");
  return waitFor(*endpoint, target, limitMs);
}

int32_t HostBackend::test(dsv4rt_module &module, int64_t token) {
  uint64_t target = 0;
  HostEndpoint *endpoint = decodeToken(module, token, target);
  if (!endpoint)
    return failHere(DSV4RT_E_INVALID, "test of token " + std::to_string(token) +
                                          ", which no start returned");
  makeProgress();
  if (job.hasFailed())
    return checkStatus();
  return endpoint->countCompleted() >= target ? DSV4RT_OK : DSV4RT_PENDING;
}

int32_t HostBackend::agree(dsv4rt_module &module, uint32_t group,
                           const Operation &op, int32_t &out) {
  int64_t token = post(module, group, &op, 1);
  if (token < 0)
    return static_cast<int32_t>(-token);
  if (int32_t status = wait(module, token, 0))
    return status;
  out = getState(module).endpoints[group]->agreed;
  return DSV4RT_OK;
}

int32_t HostBackend::endStep(dsv4rt_module &module) {
  Operation op;
  op.site = kSiteStepEnd;
  op.op = DSV4RT_OP_BARRIER;
  auto &known = getState(module).endpoints;
  for (auto &endpoint : known) {
    if (!endpoint)
      continue;
    if (int32_t status = postOne(*endpoint, op))
      return status;
    ringPeers(*endpoint);
  }
  for (auto &endpoint : known)
    if (endpoint)
      if (int32_t status = waitFor(*endpoint, endpoint->started, 0))
        return status;
  return checkStatus();
}

uint64_t HostBackend::countInFlight() const {
  uint64_t count = 0;
  for (HostEndpoint *endpoint : endpoints)
    count += endpoint->started - endpoint->countCompleted();
  return count;
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

bool HostBackend::makeProgress() {
  bool moved = false;
  for (HostEndpoint *endpoint : endpoints)
    while (endpoint->done < endpoint->started && advanceEndpoint(*endpoint))
      moved = true;
  return moved;
}

bool HostBackend::advanceEndpoint(HostEndpoint &endpoint) {
  if (endpoint.countPosted() <= endpoint.done)
    return false;
  endpoint.collectEntries();
  std::string mismatch = endpoint.findMismatch();
  if (!mismatch.empty()) {
    job.fail(DSV4RT_E_MISMATCH, -1, mismatch);
    return false;
  }
  if (!job.enterCopy(rank))
    return false;
  runOperation(endpoint);
  job.leaveCopy(rank);
  ++endpoint.done;
  endpoint.getOwn().done.store(endpoint.done);
  ringPeers(endpoint);
  return true;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

int32_t HostBackend::checkStatus() const {
  if (job.hasFailed())
    job.quiesce(rank);
  return job.getStatus(rank);
}

int32_t HostBackend::failHere(int32_t status, const std::string &text) {
  job.fail(status, rank, "rank " + std::to_string(rank) + ": " + text);
  return checkStatus();
}

int32_t HostBackend::failAll(int32_t status, const std::string &text) {
  job.fail(status, -1, text);
  return checkStatus();
}

} // namespace dsv4::rt::host
