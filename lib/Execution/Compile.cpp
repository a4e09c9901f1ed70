//===- Compile.cpp - From IR of any phase to a program --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Compile.h"

#include "dsv4/Execution/Program.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

StringRef dsv4::getFinishedPhase(mlir::ModuleOp module) {
  if (hasProgramTables(module))
    return getForwardPhases().back();
  auto phase = module->getAttrOfType<StringAttr>(kPhaseAttr);
  return phase ? phase.getValue() : StringRef();
}

/// Position of a phase, 0 for model IR, counting from 1.
static size_t getPhaseNumber(StringRef phase) {
  ArrayRef<StringLiteral> phases = getTrainPhases();
  return phase.empty() ? 0 : llvm::find(phases, phase) - phases.begin() + 1;
}

/// The mesh as the option writes it; none if the module has none.
static std::optional<std::string> findMeshText(mlir::ModuleOp module) {
  ArrayAttr names = module->getAttrOfType<ArrayAttr>("dsv4.axis_names");
  auto sizes = module->getAttrOfType<DenseI64ArrayAttr>("dsv4.axis_sizes");
  if (!names || !sizes) {
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty())
      return std::nullopt;
    names = (*meshes.begin()).getAxisNames();
    sizes = (*meshes.begin()).getAxisSizesAttr();
  }
  std::string text;
  for (auto [name, size] : llvm::zip(names, sizes.asArrayRef()))
    if (auto string = dyn_cast<StringAttr>(name))
      text +=
          ((text.empty() ? "" : ",") + string.getValue() + ":" + Twine(size))
              .str();
  return text;
}

/// What the user asks for must still be open.
static LogicalResult checkOptions(mlir::ModuleOp module, StringRef finished,
                                  const CompileOptions &options) {
  size_t done = getPhaseNumber(finished);
  if (options.mesh && done > 0) {
    std::optional<std::string> mesh = findMeshText(module);
    if (mesh && *mesh != *options.mesh)
      return module.emitError() << "is lowered for the mesh \"" << *mesh
                                << "\", which differs from 'mesh', got \""
                                << *options.mesh << "\"";
  }
  auto checkOpen = [&](bool isGiven, StringRef option,
                       StringRef phase) -> LogicalResult {
    if (!isGiven || done < getPhaseNumber(phase))
      return success();
    return module.emitError()
           << "has gone through phase \"" << finished << "\", so '" << option
           << "', which phase \"" << phase << "\" uses, comes too late";
  };
  if (failed(checkOpen(options.fsdpAxes.has_value(), "fsdp-axes", "plan")))
    return failure();
  if (failed(checkOpen(options.gradients, "gradients", "backward")))
    return failure();
  return checkOpen(options.prefetchDepth.has_value(), "prefetch-depth",
                   "schedule");
}

static LogicalResult runPhases(mlir::ModuleOp module, StringRef finished,
                               StringRef stopBefore,
                               const CompileOptions &options) {
  TrainPipelineOptions pipeline;
  pipeline.mesh = options.mesh.value_or("");
  pipeline.fsdpAxes = options.fsdpAxes.value_or("");
  if (options.prefetchDepth)
    pipeline.prefetchDepth = *options.prefetchDepth;
  pipeline.stopBefore = stopBefore.str();
  PassManager pm(module.getContext());
  auto emitError = [&](const Twine &message) -> LogicalResult {
    return module.emitError() << message;
  };
  if (failed(options.gradients
                 ? buildTrainPipeline(pm, pipeline, finished, emitError)
                 : buildForwardPipeline(pm, pipeline, finished, emitError)))
    return failure();
  return pm.run(module);
}

LogicalResult dsv4::completePipeline(mlir::ModuleOp module,
                                     const CompileOptions &options) {
  std::string finished = getFinishedPhase(module).str();
  ArrayRef<StringLiteral> known = getTrainPhases();
  if (!finished.empty() && !llvm::is_contained(known, finished))
    return module.emitError()
           << "'" << kPhaseAttr << "' must be one of "
           << llvm::join(known, ", ") << ", got '" << finished << "'";
  if (failed(checkOptions(module, finished, options)))
    return failure();
  // Once the gradients are there, what follows is the same.
  if (finished == "backward")
    finished = "parameters";
  ArrayRef<StringLiteral> phases =
      options.gradients ? getTrainPhases() : getForwardPhases();
  size_t first = finished.empty()
                     ? 0
                     : llvm::find(phases, finished) - phases.begin() + 1;
  for (size_t i = first; i < phases.size(); ++i) {
    StringRef before = i == 0 ? StringRef() : StringRef(phases[i - 1]);
    StringRef next = i + 1 == phases.size() ? "" : StringRef(phases[i + 1]);
    if (failed(runPhases(module, before, next, options)))
      return failure();
    if (options.afterPhase)
      options.afterPhase(phases[i], module);
  }
  return success();
}
