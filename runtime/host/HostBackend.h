//===- HostBackend.h - Ranks as threads of one process ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_HOST_HOSTBACKEND_H
#define DSV4_RUNTIME_HOST_HOSTBACKEND_H

#include "HostGroup.h"
#include "HostJob.h"

namespace dsv4::rt::host {

/// One rank of a job. `post` only publishes operands; copy work is done inside
/// waits, for every operation this rank has started on any of its groups.
class HostBackend final : public Backend {
public:
  HostBackend(HostJob &job, int32_t rank, HostGroup &worldGroup);
  ~HostBackend() override;

  int32_t gatherControl(const void *mine, size_t bytes, void *all) override;
  int32_t getMachineRanks() const override { return job.numRanks; }
  int32_t openGroups(dsv4rt_module &module) override;
  void closeGroups(dsv4rt_module &module) override;
  int64_t post(dsv4rt_module &module, uint32_t group, const Operation *ops,
               int32_t n) override;
  int32_t wait(dsv4rt_module &module, int64_t token, int64_t limitMs) override;
  int32_t test(dsv4rt_module &module, int64_t token) override;
  int32_t agree(dsv4rt_module &module, uint32_t group, const Operation &op,
                int32_t &out) override;
  int32_t endStep(dsv4rt_module &module) override;
  int32_t failHere(int32_t status, const std::string &text) override;
  int32_t failAll(int32_t status, const std::string &text) override;
  int32_t checkStatus() const override;
  std::string getErrorText() const override { return job.getErrorText(); }

  /// Operations started and not complete.
  uint64_t countInFlight() const;

private:
  /// A wait in progress: for `endpoint` to complete `target` operations.
  struct PendingWait {
    HostEndpoint &endpoint;
    uint64_t target;
    int64_t limitMs;
    int64_t startedNs;
    bool warned = false;

    uint64_t getSequence() const { return target - 1; }
  };

  int32_t postOne(HostEndpoint &endpoint, const Operation &op);
  void ringPeers(const HostEndpoint &endpoint);
  int32_t waitFor(HostEndpoint &endpoint, uint64_t target, int64_t limitMs);
  int32_t blockFor(PendingWait &pending);
  /// Run whatever may run now; true when something did.
  bool makeProgress();
  bool advanceEndpoint(HostEndpoint &endpoint);

  /// Nanoseconds a wait may sleep now (negative: no limit); fails the job when
  /// its time is over or a member it needs has gone.
  int64_t checkWait(PendingWait &pending);
  std::string describeWait(const PendingWait &pending) const;
  std::string describeMissing(const PendingWait &pending) const;
  std::string describeMember(const PendingWait &pending, int32_t member) const;

  HostEndpoint *decodeToken(dsv4rt_module &module, int64_t token,
                            uint64_t &target);

  HostJob &job;
  const int32_t rank;
  RankSlot &slot;
  HostEndpoint worldEndpoint;
  /// All endpoints of this rank that may have work, the world's first.
  std::vector<HostEndpoint *> endpoints;
};

} // namespace dsv4::rt::host

#endif // DSV4_RUNTIME_HOST_HOSTBACKEND_H
