//===- HostJob.cpp - What the ranks of one job share ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostJob.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dsv4::rt::host {

int64_t getNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

static int32_t countProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return CPU_COUNT(&set);
  return static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

void Bell::ring() {
  static_assert(sizeof(rung) == sizeof(uint32_t), "a futex is one word");
  rung.fetch_add(1);
  if (sleepers.load() != 0)
    syscall(SYS_futex, &rung, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Bell::sleep(uint32_t seen, int64_t limitNs) {
  timespec limit = {static_cast<time_t>(limitNs / 1000000000),
                    static_cast<long>(limitNs % 1000000000)};
  sleepers.fetch_add(1);
  if (rung.load() == seen)
    syscall(SYS_futex, &rung, FUTEX_WAIT_PRIVATE, seen,
            limitNs < 0 ? nullptr : &limit, nullptr, 0);
  sleepers.fetch_sub(1);
}

HostJob::HostJob(int32_t numRanks, const JobLimits &limits)
    : numRanks(numRanks), limits(limits),
      oversubscribed(numRanks > countProcessors()),
      slots(new RankSlot[numRanks]) {}

void HostJob::fail(int32_t status, int32_t rank, const std::string &message) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.load() != DSV4RT_OK)
      return;
    text = message;
    failedRank.store(rank);
    failure.store(status);
  }
  for (int32_t i = 0; i < numRanks; ++i)
    slots[i].bell.ring();
  callerBell.ring();
}

int32_t HostJob::getStatus(int32_t rank) const {
  int32_t status = failure.load();
  if (status == DSV4RT_OK)
    return status;
  int32_t culprit = failedRank.load();
  bool remote = culprit >= 0 && rank >= 0 && culprit != rank;
  return remote ? DSV4RT_E_REMOTE : status;
}

std::string HostJob::getErrorText() const {
  std::lock_guard<std::mutex> lock(mutex);
  return text;
}

bool HostJob::enterCopy(int32_t rank) {
  slots[rank].busy.store(true);
  if (!hasFailed())
    return true;
  slots[rank].busy.store(false);
  return false;
}

void HostJob::quiesce(int32_t rank) const {
  for (int32_t i = 0; i < numRanks; ++i)
    while (i != rank && slots[i].busy.load())
      sched_yield();
}

void HostJob::keep(std::shared_ptr<void> object) {
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(object));
}

void HostJob::drop(void *object) {
  std::lock_guard<std::mutex> lock(mutex);
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](auto &held) { return held.get() == object; }),
             kept.end());
}

void HostJob::finish(int32_t rank) {
  slots[rank].finished.store(true);
  for (int32_t i = 0; i < numRanks; ++i)
    slots[i].bell.ring();
  numFinished.fetch_add(1);
  callerBell.ring();
}

bool HostJob::awaitAll() {
  int64_t failedAt = 0;
  for (;;) {
    uint32_t seen = callerBell.read();
    if (numFinished.load() == numRanks)
      return true;
    int64_t remaining = -1;
    if (hasFailed() && limits.exitTimeoutMs >= 0) {
      int64_t now = getNowNs();
      failedAt = failedAt ? failedAt : now;
      remaining = failedAt + limits.exitTimeoutMs * 1000000 - now;
      if (remaining <= 0)
        return false;
    }
    callerBell.sleep(seen, remaining);
  }
}

} // namespace dsv4::rt::host
