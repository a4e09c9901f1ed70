//===- Pipelines.h - whole pipelines ---------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_PIPELINES_H
#define DSV4_PASSES_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::dsv4 {

/// Options of `-dsv4-forward-pipeline`.
struct ForwardPipelineOptions : PassPipelineOptions<ForwardPipelineOptions> {
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("axes and sizes from outer to inner, as in "
                     "\"dp_shard:2,cp:4\"; empty means one rank")};
  Option<std::string> fsdpAxes{
      *this, "fsdp-axes",
      llvm::cl::desc("mesh axes that parameters are sharded over (default: "
                     "dp_shard and cp, flattened)")};
  Option<int64_t> prefetchDepth{
      *this, "prefetch-depth", llvm::cl::init(1),
      llvm::cl::desc("how many blocks ahead of its use a unit is gathered")};
  Option<std::string> stopBefore{
      *this, "stop-before",
      llvm::cl::desc("end before this phase: plan, precision, sequence, "
                     "parameters, backward (train only), schedule, lower, "
                     "codegen")};
};

/// Options of `-dsv4-train-pipeline`.
struct TrainPipelineOptions : ForwardPipelineOptions {};

/// Names of the phases in order: plan, precision, sequence, parameters,
/// schedule, lower, codegen.
ArrayRef<StringLiteral> getForwardPhases();

/// From model IR to `dsv4_step` in the LLVM dialect, phase by phase. A module
/// carries the last phase that it went through as `dsv4.phase`; pass that as
/// `finishedPhase` to go on from there, or nothing for model IR. `emitError`
/// is called for unknown phase names.
LogicalResult
buildForwardPipeline(OpPassManager &pm, const ForwardPipelineOptions &options,
                     StringRef finishedPhase,
                     function_ref<LogicalResult(const Twine &)> emitError);

/// The same phases with "backward" between parameters and schedule.
ArrayRef<StringLiteral> getTrainPhases();

/// The same for the loss and its gradients.
LogicalResult
buildTrainPipeline(OpPassManager &pm, const TrainPipelineOptions &options,
                   StringRef finishedPhase,
                   function_ref<LogicalResult(const Twine &)> emitError);

/// Registers the pipelines for textual use.
void registerDSV4Pipelines();

/// Bufferization of dsv4 operations.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_PIPELINES_H
