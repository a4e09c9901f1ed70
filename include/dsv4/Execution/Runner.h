//===- Runner.h - Run a program on N ranks ----------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_RUNNER_H
#define DSV4_EXECUTION_RUNNER_H

#include "dsv4/Execution/Program.h"
#include "dsv4/Execution/Results.h"
#include "dsv4/Execution/Sources.h"

#include <array>

namespace mlir::dsv4 {

/// The compiled step: module, `state`, `work` to a status.
using StepFunction = int32_t (*)(dsv4rt_module *, void *, void *);

struct RunOptions {
  /// How often the step is executed. It is repeatable: parameters do not
  /// change.
  int64_t steps = 1;
  /// Per wait; 0 = the runtime's default, negative = none.
  int64_t timeoutMs = 0;
  /// Fill `work` with a pattern before the last step and look what changed.
  bool measureMemory = false;
  /// Called when all arguments are filled, on some thread.
  std::function<void()> onInitialized;
};

/// What the collectives of one kind moved in one step.
struct TrafficTotals {
  uint64_t launches = 0; // calls of the runtime that start something
  uint64_t buffers = 0;  // operations: one launch may start several
  std::vector<uint64_t> receivedBytes; // per rank
};

inline constexpr size_t kNumTrafficKinds = DSV4RT_TRAFFIC_SCALAR + 1;

/// "other", "sequence", "parameter", "scalar".
llvm::StringRef getTrafficName(size_t kind);

struct RunOutcome {
  std::vector<ResultTensor> results; // in the order of the arguments
  std::array<TrafficTotals, kNumTrafficKinds> traffic;
  double initSeconds = 0.0;
  /// Of the fastest step, on its slowest rank.
  double stepSeconds = 0.0;
  /// The end of the highest byte of `work` that changed, over all ranks.
  std::optional<uint64_t> measuredWorkBytes;
};

/// Opens the program on as many ranks as its mesh has, fills the arguments,
/// runs the steps and gathers the results. Ranks that hold the same part of a
/// result must agree on every bit of it. The error is the runtime's text.
llvm::Expected<RunOutcome> runProgram(const Program &program, StepFunction step,
                                      const ParameterSource &parameters,
                                      const BatchSource &batch,
                                      const RunOptions &options);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_RUNNER_H
