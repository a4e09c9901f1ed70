//===- Pipelines.cpp - whole pipelines ------------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Passes/Pipelines.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::dsv4;

ArrayRef<StringLiteral> dsv4::getForwardPhases() {
  static constexpr StringLiteral phases[] = {
      "plan",     "precision", "sequence", "parameters",
      "schedule", "lower",     "codegen"};
  return phases;
}

/// Units are planned while the module structure is still there.
static void addPlanPhase(OpPassManager &pm,
                         const ForwardPipelineOptions &options) {
  pm.addPass(createDeclareMeshPass({options.mesh}));
  PlanFsdpUnitsPassOptions plan;
  plan.fsdpAxes = options.fsdpAxes;
  pm.addPass(createPlanFsdpUnitsPass(plan));
}

/// Casts at unit borders become explicit, then the structure can go.
static void addPrecisionPhase(OpPassManager &pm) {
  pm.addPass(createApplyPrecisionPass());
  pm.addPass(createInlineModulesPass());
}

static void addSequencePhase(OpPassManager &pm) {
  pm.addPass(createPartitionSequencePass());
}

static void addParametersPhase(OpPassManager &pm) {
  pm.addPass(createShardParametersPass());
}

/// Before anything ends the lifetime of a parameter.
static void addBackwardPhase(OpPassManager &pm) {
  pm.addPass(createDifferentiatePass());
}

static void addSchedulePhase(OpPassManager &pm,
                             const ForwardPipelineOptions &options) {
  ScheduleCollectivesPassOptions schedule;
  schedule.prefetchDepth = options.prefetchDepth;
  pm.addPass(createScheduleCollectivesPass(schedule));
}

/// Blocks are outlined before bufferization, whose analysis is superlinear, and
/// the arena is planned while collectives still are operations on buffers.
static void addLowerPhase(OpPassManager &pm) {
  pm.addPass(createOutlineBlocksPass());
  pm.addPass(createBufferizePass());
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createPlanArenaPass());
}

static void addCodegenPhase(OpPassManager &pm) {
  pm.addPass(createConvertDsv4ToRuntimePass());
}

static void addPhase(OpPassManager &pm, StringRef phase,
                     const ForwardPipelineOptions &options) {
  if (phase == "plan")
    addPlanPhase(pm, options);
  else if (phase == "precision")
    addPrecisionPhase(pm);
  else if (phase == "sequence")
    addSequencePhase(pm);
  else if (phase == "parameters")
    addParametersPhase(pm);
  else if (phase == "backward")
    addBackwardPhase(pm);
  else if (phase == "schedule")
    addSchedulePhase(pm, options);
  else if (phase == "lower")
    addLowerPhase(pm);
  else
    addCodegenPhase(pm);
  VerifyPhasePassOptions verify;
  verify.phase = phase.str();
  pm.addPass(createVerifyPhasePass(verify));
}

ArrayRef<StringLiteral> dsv4::getTrainPhases() {
  static constexpr StringLiteral phases[] = {
      "plan",     "precision", "sequence", "parameters",
      "backward", "schedule",  "lower",    "codegen"};
  return phases;
}

/// The phases of one pipeline behind `finishedPhase`.
static LogicalResult
buildPhases(OpPassManager &pm, ArrayRef<StringLiteral> phases,
            const ForwardPipelineOptions &options, StringRef finishedPhase,
            function_ref<LogicalResult(const Twine &)> emitError) {
  auto check = [&](StringRef phase, StringRef what) -> LogicalResult {
    if (phase.empty() || llvm::is_contained(phases, phase))
      return success();
    return emitError("'" + what + "' must be one of " + llvm::join(phases, ", ") +
                     ", got '" + phase + "'");
  };
  StringRef stopBefore = options.stopBefore;
  if (failed(check(stopBefore, "stop-before")) ||
      failed(check(finishedPhase, "dsv4.phase")))
    return failure();
  bool isPast = finishedPhase.empty();
  for (StringRef phase : phases) {
    if (phase == stopBefore)
      break;
    if (isPast)
      addPhase(pm, phase, options);
    isPast |= phase == finishedPhase;
  }
  return success();
}

LogicalResult
dsv4::buildForwardPipeline(OpPassManager &pm,
                           const ForwardPipelineOptions &options,
                           StringRef finishedPhase,
                           function_ref<LogicalResult(const Twine &)> emitError) {
  return buildPhases(pm, getForwardPhases(), options, finishedPhase, emitError);
}

LogicalResult
dsv4::buildTrainPipeline(OpPassManager &pm, const TrainPipelineOptions &options,
                         StringRef finishedPhase,
                         function_ref<LogicalResult(const Twine &)> emitError) {
  return buildPhases(pm, getTrainPhases(), options, finishedPhase, emitError);
}

/// One pipeline as a flag of dsv4-opt.
template <typename OptionsT, auto build>
static void registerPipeline(StringRef name, StringRef description) {
  registerPassPipeline(
      name, description,
      [](OpPassManager &pm, StringRef text,
         function_ref<LogicalResult(const Twine &)> emitError) {
        OptionsT options;
        if (failed(options.parseFromString(text)))
          return failure();
        return build(pm, options, /*finishedPhase=*/"", emitError);
      },
      [](function_ref<void(const detail::PassOptions &)> visit) {
        visit(OptionsT());
      });
}

void dsv4::registerDSV4Pipelines() {
  registerPipeline<ForwardPipelineOptions, buildForwardPipeline>(
      "dsv4-forward-pipeline",
      "From model IR to the step that every rank runs: plan, precision, "
      "sequence, parameters, schedule, lower, codegen");
  registerPipeline<TrainPipelineOptions, buildTrainPipeline>(
      "dsv4-train-pipeline",
      "From model IR to the loss and its gradients on every rank: plan, "
      "precision, sequence, parameters, backward, schedule, lower, codegen");
}
