//===- ProcessBackend.h - Ranks as processes -----------------*- C++ -*- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation first meets the others' over the control plane, where the
// checks of the host backend compare what the members posted; then the plugin
// moves the bytes. Barriers and agreements end at the first half.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_PROCESS_PROCESSBACKEND_H
#define DSV4_RUNTIME_PROCESS_PROCESSBACKEND_H

#include "DataPlane.h"
#include "Link.h"
#include "host/HostGroup.h"

#include <deque>
#include <functional>

namespace dsv4::rt::process {

/// One rank's side of a group. `endpoint.done` counts operations handed to the
/// plugin.
struct Channel {
  Channel(const Group &group, dsv4rt_module *module, uint32_t index,
          uint64_t key)
      : shared(group.getSize()), endpoint(shared, group, module, index),
        key(key) {}

  host::HostGroup shared;
  host::HostEndpoint endpoint;
  const uint64_t key;
  void *group = nullptr;
  std::deque<void *> requests;
  uint64_t completed = 0;
};

struct ProcessLimits {
  int64_t opTimeoutMs = 600000;
  int64_t exitTimeoutMs = 10000;
};

class ProcessBackend final : public Backend {
public:
  ProcessBackend(Link &link, const DataPlane &plane, void *planeState,
                 int32_t rank, int32_t size, int32_t machineRanks,
                 const ProcessLimits &limits)
      : link(link), plane(plane), planeState(planeState), rank(rank),
        size(size), machineRanks(machineRanks), limits(limits) {}

  int32_t gatherControl(const void *mine, size_t bytes, void *all) override;
  int32_t getMachineRanks() const override { return machineRanks; }
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
  int32_t checkStatus() const override {
    return link.hasFailed() ? link.getStatus() : DSV4RT_OK;
  }
  std::string getErrorText() const override { return link.getText(); }

  uint64_t countInFlight() const;

private:
  int32_t postOne(Channel &channel, const Operation &op);
  int32_t waitFor(Channel &channel, uint64_t target, int64_t limitMs);
  bool makeProgress();
  bool advance(Channel &channel);
  bool startNext(Channel &channel);
  bool readEntries(Channel &channel, const Message &message);
  int32_t raise(int32_t status, bool everywhere, const std::string &text);
  /// Sleep and look until `isDone`; `expire` is called once after the limit.
  int32_t block(const std::function<bool()> &isDone,
                const std::function<void()> &expire, int64_t limitMs);
  void sendExpired(uint64_t key, uint64_t sequence,
                   const std::vector<int32_t> &members,
                   const std::string &text);
  Channel *decodeToken(dsv4rt_module &module, int64_t token, uint64_t &target);

  Link &link;
  const DataPlane &plane;
  void *const planeState;
  const int32_t rank, size, machineRanks;
  const ProcessLimits limits;
  uint64_t controlSequence = 0;
  uint32_t numModules = 0;
  std::vector<Channel *> channels;
};

} // namespace dsv4::rt::process

#endif // DSV4_RUNTIME_PROCESS_PROCESSBACKEND_H
