//===- Backend.h - What the core asks of a backend --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One Backend object per rank. The core (Module.cpp, Collectives.cpp) checks
// arguments and owns modules, arenas and counters; a backend moves bytes,
// agrees with the other ranks and keeps the sticky failure of the job.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_BACKEND_H
#define DSV4_RUNTIME_BACKEND_H

#include "dsv4/Runtime/Runtime.h"

#include <string>

namespace dsv4::rt {

/// Pseudo-sites of operations that no site table lists.
enum : uint32_t {
  kSiteControl = UINT32_MAX - 1, ///< module_open and module_close
  kSiteStepEnd = UINT32_MAX - 2
};

/// One operation as a rank posts it. Pointers in the lists are read during the
/// call that posts.
struct Operation {
  uint32_t site = 0;
  uint32_t op = 0;
  uint32_t dtype = 0;
  uint32_t redop = 0;
  /// Elements per rank as passed to start; 0 for exchange and barrier.
  int64_t count = 0;
  const void *src = nullptr;
  void *dst = nullptr;
  /// Operand of agree.
  int32_t value = 0;
  int32_t numSends = 0;
  int32_t numRecvs = 0;
  const dsv4rt_peer *sends = nullptr;
  const dsv4rt_peer *recvs = nullptr;
};

class Backend {
public:
  virtual ~Backend() = default;

  /// Control plane: all-gather of `bytes` bytes over the world, in rank order
  /// into `all`. Blocking.
  virtual int32_t gatherControl(const void *mine, size_t bytes, void *all) = 0;

  /// Number of ranks that share this machine's memory.
  virtual int32_t getMachineRanks() const = 0;

  /// Create the groups of a module, collectively; fills module.backendState.
  virtual int32_t openGroups(dsv4rt_module &module) = 0;
  /// Release what openGroups created; local.
  virtual void closeGroups(dsv4rt_module &module) = 0;

  /// Post `n` operations on a group of more than one rank; a token for all.
  virtual int64_t post(dsv4rt_module &module, uint32_t group,
                       const Operation *ops, int32_t n) = 0;
  virtual int32_t wait(dsv4rt_module &module, int64_t token,
                       int64_t limitMs) = 0;
  virtual int32_t test(dsv4rt_module &module, int64_t token) = 0;
  /// Post `op` (an agree), wait, and return the group's value in `out`.
  virtual int32_t agree(dsv4rt_module &module, uint32_t group,
                        const Operation &op, int32_t &out) = 0;
  /// Complete every operation of this rank and compare the number of
  /// operations over each group.
  virtual int32_t endStep(dsv4rt_module &module) = 0;

  /// Record a failure of this rank alone, or one that every rank detects
  /// alike. The first wins. Returns the status this rank carries now.
  virtual int32_t failHere(int32_t status, const std::string &text) = 0;
  virtual int32_t failAll(int32_t status, const std::string &text) = 0;
  /// The sticky status as this rank carries it. After a failure it returns once
  /// no other rank reads or writes this rank's buffers, so the caller may
  /// leave.
  virtual int32_t checkStatus() const = 0;
  virtual std::string getErrorText() const = 0;
};

} // namespace dsv4::rt

#endif // DSV4_RUNTIME_BACKEND_H
