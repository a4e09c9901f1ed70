//===- HostJob.h - What the ranks of one job share --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// N ranks are N threads. A job holds one slot per rank for waking it, and the
// first failure of any rank.
//
// Waking. A rank that waits reads its bell, looks for work, and sleeps only if
// the bell has not moved since; whoever changes something a rank may wait for
// rings its bell after the change. Both sides use sequentially consistent
// operations, so either the change is seen or the sleep is refused.
//
// Failing. Buffers are read by other threads without copying, so a rank that
// leaves after a failure first waits until no other rank is inside a copy
// (`quiesce`), and a rank enters a copy only if no failure is recorded.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_HOST_HOSTJOB_H
#define DSV4_RUNTIME_HOST_HOSTJOB_H

#include "dsv4/Runtime/Runtime.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace dsv4::rt::host {

/// A counter threads can sleep on.
class Bell {
public:
  uint32_t read() const { return rung.load(); }
  void ring();
  /// Sleep while the counter is `seen`, at most `limitNs` (negative: for ever).
  void sleep(uint32_t seen, int64_t limitNs);

private:
  std::atomic<uint32_t> rung{0};
  std::atomic<uint32_t> sleepers{0};
};

/// Shared state of one rank.
struct alignas(64) RankSlot {
  Bell bell;
  /// Inside a copy that reads or writes buffers of other ranks.
  std::atomic<bool> busy{false};
  /// The rank function has returned.
  std::atomic<bool> finished{false};
  /// 1 + site this rank is blocked at, 0 outside; and of its last start.
  std::atomic<uint32_t> waitingSite{0};
  std::atomic<uint32_t> startedSite{0};
};

/// Resolved configuration.
struct JobLimits {
  int64_t opTimeoutMs = 600000;
  int64_t exitTimeoutMs = 10000;
  uint64_t memoryLimit = 0;
  uint64_t stackBytes = uint64_t(64) << 20;
  bool warn = true;
};

class HostJob {
public:
  HostJob(int32_t numRanks, const JobLimits &limits);

  const int32_t numRanks;
  const JobLimits limits;
  /// More ranks than processors: waiting must give up the processor at once.
  const bool oversubscribed;

  RankSlot &getSlot(int32_t rank) { return slots[rank]; }

  /// Record the first failure and wake everyone. `rank` is the one that failed,
  /// or -1 when every rank detects the same.
  void fail(int32_t status, int32_t rank, const std::string &text);
  bool hasFailed() const { return failure.load() != DSV4RT_OK; }
  /// The failure as `rank` carries it (-1: as the caller of the job does).
  int32_t getStatus(int32_t rank) const;
  std::string getErrorText() const;

  /// Mark this rank as copying; false when a failure forbids it.
  bool enterCopy(int32_t rank);
  void leaveCopy(int32_t rank) { slots[rank].busy.store(false); }
  /// Return when no other rank is inside a copy. Only after a failure.
  void quiesce(int32_t rank) const;

  /// Own `object` until it is dropped or the job ends.
  void keep(std::shared_ptr<void> object);
  void drop(void *object);

  void finish(int32_t rank);
  /// Wait until all ranks have finished, or a failure is older than the exit
  /// limit; true in the first case.
  bool awaitAll();

private:
  std::unique_ptr<RankSlot[]> slots;
  Bell callerBell;
  std::atomic<int32_t> numFinished{0};
  std::atomic<int32_t> failure{DSV4RT_OK};
  std::atomic<int32_t> failedRank{-1};
  /// Guards what follows; never held while waiting.
  mutable std::mutex mutex;
  std::string text;
  std::vector<std::shared_ptr<void>> kept;
};

/// Monotonic clock.
int64_t getNowNs();

} // namespace dsv4::rt::host

#endif // DSV4_RUNTIME_HOST_HOSTJOB_H
