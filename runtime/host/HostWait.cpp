//===- HostWait.cpp - Waiting, its limits and its messages ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostBackend.h"

#include <algorithm>
#include <cstdio>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dsv4::rt::host {
namespace {

/// How often a wait looks again before it sleeps. With a processor for every
/// rank pausing is cheapest; otherwise the peer needs this processor.
constexpr int kPauses = 4000;
constexpr int kYields = 300;

/// Thirty years; more would not fit in nanoseconds, and means no limit.
constexpr int64_t kLongestLimitMs = 1000000000000;

void pauseProcessor() {
#if defined(__x86_64__)
  _mm_pause();
#else
  sched_yield();
#endif
}

/// Counts one blocking wait: which site, and for how long.
class WaitRecord {
public:
  WaitRecord(RankSlot &slot, HostEndpoint &endpoint, uint64_t sequence)
      : slot(slot), endpoint(endpoint),
        site(endpoint.getOwn().getEntry(sequence).site), begin(getNowNs()) {
    slot.waitingSite.store(site + 1, std::memory_order_relaxed);
  }
  ~WaitRecord() {
    slot.waitingSite.store(0, std::memory_order_relaxed);
    if (endpoint.module && site < endpoint.module->counters.size())
      endpoint.module->counters[site].waitNs += getNowNs() - begin;
  }
  int64_t getBegin() const { return begin; }

private:
  RankSlot &slot;
  HostEndpoint &endpoint;
  const uint32_t site;
  const int64_t begin;
};

} // namespace

int32_t HostBackend::waitFor(HostEndpoint &endpoint, uint64_t target,
                             int64_t limitMs) {
  makeProgress();
  if (job.hasFailed())
    return checkStatus();
  if (endpoint.countCompleted() >= target)
    return DSV4RT_OK;
  WaitRecord record(slot, endpoint, target - 1);
  limitMs = limitMs ? limitMs : job.limits.opTimeoutMs;
  if (limitMs > kLongestLimitMs)
    limitMs = -1;
  PendingWait pending = {endpoint, target, limitMs, record.getBegin()};
  return blockFor(pending);
}

int32_t HostBackend::blockFor(PendingWait &pending) {
  const int tries = job.oversubscribed ? kYields : kPauses;
  for (int attempt = 0;; ++attempt) {
    uint32_t seen = slot.bell.read();
    bool moved = makeProgress();
    if (job.hasFailed())
      return checkStatus();
    if (pending.endpoint.countCompleted() >= pending.target)
      return DSV4RT_OK;
    if (moved)
      attempt = 0;
    // A yield may take long, a pause does not; so look at the clock in time.
    bool look = (attempt + 1) % (job.oversubscribed ? 16 : 1024) == 0;
    if (attempt < tries && !look) {
      job.oversubscribed ? (void)sched_yield() : pauseProcessor();
      continue;
    }
    int64_t remaining = checkWait(pending);
    if (job.hasFailed())
      return checkStatus();
    if (attempt < tries)
      continue;
    slot.bell.sleep(seen, remaining);
    attempt = 0; // a ring is seldom alone
  }
}

int64_t HostBackend::checkWait(PendingWait &pending) {
  HostEndpoint &endpoint = pending.endpoint;
  for (int32_t i = 0; i < endpoint.info.getSize(); ++i) {
    int32_t member = endpoint.info.members[i];
    // Finished is read first: whatever the member posted was posted before.
    if (!job.getSlot(member).finished.load() ||
        endpoint.shared.members[i].posted.load() > pending.getSequence())
      continue;
    job.fail(DSV4RT_E_RANK_LOST, -1,
             "rank " + std::to_string(member) + " has left the job; " +
                 describeWait(pending));
    return 0;
  }
  if (pending.limitMs < 0)
    return -1;
  int64_t limitNs = pending.limitMs * 1000000;
  int64_t waited = getNowNs() - pending.startedNs;
  if (waited >= limitNs) {
    job.fail(DSV4RT_E_TIMEOUT, -1,
             "time limit of " + std::to_string(pending.limitMs) +
                 " ms: " + describeWait(pending) + describeMissing(pending));
    return 0;
  }
  constexpr int64_t kLeastWarningNs = 1000000000;
  int64_t warnAt = std::max(limitNs / 10, kLeastWarningNs);
  if (!pending.warned && job.limits.warn && waited >= warnAt) {
    pending.warned = true;
    std::fprintf(stderr, "dsv4rt: warning: after %lld ms: %s%s\n",
                 static_cast<long long>(waited / 1000000),
                 describeWait(pending).c_str(),
                 describeMissing(pending).c_str());
  }
  bool warnsLater = !pending.warned && job.limits.warn && warnAt < limitNs;
  return (warnsLater ? warnAt : limitNs) - waited;
}

std::string HostBackend::describeWait(const PendingWait &pending) const {
  HostEndpoint &endpoint = pending.endpoint;
  uint64_t sequence = pending.getSequence();
  return "rank " + std::to_string(rank) + " waits for " +
         describeOperation(endpoint.module,
                           endpoint.getOwn().getEntry(sequence)) +
         ", " + endpoint.describePlace(sequence);
}

/// A group runs its operations in order, so what is missing may be missing for
/// an earlier operation than the one waited for.
std::string HostBackend::describeMissing(const PendingWait &pending) const {
  HostEndpoint &endpoint = pending.endpoint;
  uint64_t sequence = std::min(endpoint.done, pending.getSequence());
  std::string absent, unfinished;
  for (int32_t i = 0; i < endpoint.info.getSize(); ++i) {
    const HostMember &member = endpoint.shared.members[i];
    if (member.posted.load() <= sequence)
      absent += (absent.empty() ? "" : ", ") + describeMember(pending, i);
    else if (member.done.load() <= pending.getSequence() &&
             i != endpoint.info.rank)
      unfinished +=
          (unfinished.empty() ? "" : ", ") + describeMember(pending, i);
  }
  if (!absent.empty())
    return "; not there: " + absent;
  return "; started but not waited for: " + unfinished;
}

std::string HostBackend::describeMember(const PendingWait &pending,
                                        int32_t member) const {
  int32_t worldRank = pending.endpoint.info.members[member];
  const RankSlot &other = job.getSlot(worldRank);
  auto describeSite = [&](uint32_t site) {
    const dsv4rt_module *module = pending.endpoint.module;
    if (site == kSiteControl)
      return std::string("opening or closing a module");
    if (site == kSiteStepEnd)
      return std::string("the end of the step");
    std::string text = "site " + std::to_string(site);
    if (module && site < module->sites.size() && module->sites[site].location)
      text += std::string(" (") + module->sites[site].location + ")";
    return text;
  };
  uint32_t waiting = other.waitingSite.load(std::memory_order_relaxed);
  uint32_t started = other.startedSite.load(std::memory_order_relaxed);
  std::string text = "rank " + std::to_string(worldRank);
  if (waiting)
    return text + " (waits at " + describeSite(waiting - 1) + ")";
  if (started)
    return text + " (outside the runtime, last started " +
           describeSite(started - 1) + ")";
  return text + " (outside the runtime, started nothing)";
}

} // namespace dsv4::rt::host
