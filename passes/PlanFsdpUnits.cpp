//===- PlanFsdpUnits.cpp - group parameters into FSDP units ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which parameters are gathered and reduced together, and in which
// dtype, and writes the decision down as symbols:
//
//   dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
//   func.func @forward(%w: tensor<64xbf16> {dsv4.param = "model.norm.weight"})
//   ->
//   dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
//   dsv4.fsdp_unit @unit_0 roots ["model"] on @mesh ["dp_shard", "cp"]
//     params ["model.norm.weight"] gather bf16 reduce f32
//   func.func @forward(%w: tensor<64xbf16> {dsv4.param = "model.norm.weight"})
//
// The decision itself is FsdpUnitGraph's. Functions are not touched; a module
// that has the same units already is left alone, one that has others is
// refused.
//
//===----------------------------------------------------------------------===//

#include "PlanModuleTree.h"

#include "dsv4/Analysis/FsdpUnitGraph.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/Analysis/ModuleTreeIR.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_PLANFSDPUNITSPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// The attributes of one unit symbol.
struct UnitDecision {
  std::string name;
  ArrayAttr axes, roots, params;
  Type gatherDtype, reduceDtype;
  bool isIsland;
  bool isMixed;
};

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Axes that parameters are sharded over, in the order of the mesh.
FailureOr<ArrayAttr> parseFsdpAxes(mlir::ModuleOp module, MeshOp mesh,
                                   StringRef text) {
  SmallVector<StringRef> wanted;
  if (text.empty())
    wanted = {"dp_shard", "cp"};
  else
    text.split(wanted, ',');
  for (auto [i, axis] : llvm::enumerate(wanted)) {
    if (axis != "dp_shard" && axis != "cp")
      return module.emitError()
             << "'fsdp-axes' must list \"dp_shard\" and \"cp\", got \"" << axis
             << "\"";
    if (llvm::is_contained(ArrayRef(wanted).take_front(i), axis))
      return module.emitError()
             << "'fsdp-axes' lists axis \"" << axis << "\" twice";
  }
  SmallVector<StringRef> axes;
  for (StringAttr axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (llvm::is_contained(wanted, axis.getValue()))
      axes.push_back(axis.getValue());
  return Builder(module.getContext()).getStrArrayAttr(axes);
}

FailureOr<FsdpPlanOptions> parseParamDtype(mlir::ModuleOp module,
                                           StringRef text) {
  Builder builder(module.getContext());
  if (text == "as-stored")
    return FsdpPlanOptions{};
  Type dtype = llvm::StringSwitch<Type>(text)
                   .Case("bf16", builder.getBF16Type())
                   .Case("f32", builder.getF32Type())
                   .Case("f64", builder.getF64Type())
                   .Default(nullptr);
  if (!dtype)
    return module.emitError() << "'param-dtype' must be one of \"as-stored\", "
                                 "\"bf16\", \"f32\", \"f64\", got \""
                              << text << "\"";
  return FsdpPlanOptions{dtype};
}

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

FailureOr<FsdpUnitGraph> computeGraph(func::FuncOp function,
                                      ArrayRef<ModelParameter> parameters,
                                      const FsdpPlanOptions &options) {
  SmallVector<FsdpParameter> inputs;
  for (const ModelParameter &parameter : parameters)
    inputs.push_back(
        {parameter.name.getValue(), getElementTypeOrSelf(parameter.type)});
  SmallVector<FsdpModule> modules;
  function->walk([&](dsv4::ModuleOp op) {
    modules.push_back({op.getPath(), op.getClassName()});
  });
  return FsdpUnitGraph::compute(inputs, modules, options, [&](unsigned index) {
    return emitError(getArgumentLoc(function, parameters[index].argument));
  });
}

SmallVector<UnitDecision> getDecisions(const FsdpUnitGraph &graph,
                                       ArrayRef<ModelParameter> parameters,
                                       ArrayAttr axes) {
  Builder builder(axes.getContext());
  SmallVector<UnitDecision> decisions;
  for (auto [i, unit] : llvm::enumerate(graph.getUnits())) {
    SmallVector<StringRef> roots(unit.roots.begin(), unit.roots.end());
    SmallVector<Attribute> params;
    for (unsigned index : unit.parameters)
      params.push_back(parameters[index].name);
    decisions.push_back(
        {"unit_" + std::to_string(i), axes, builder.getStrArrayAttr(roots),
         builder.getArrayAttr(params), unit.gatherDtype, unit.reduceDtype,
         unit.kind == FsdpUnitKind::Island, unit.isMixed});
  }
  return decisions;
}

bool isEqual(FsdpUnitOp unit, const UnitDecision &decision) {
  return unit.getMesh() == "mesh" && unit.getAxes() == decision.axes &&
         unit.getRoots() == decision.roots &&
         unit.getParams() == decision.params &&
         unit.getGatherDtype() == decision.gatherDtype &&
         unit.getReduceDtype() == decision.reduceDtype &&
         unit.getIsland() == decision.isIsland &&
         unit->hasAttr(kAsStoredAttr) == decision.isMixed;
}

/// Succeeds when the units that exist are the decided ones.
LogicalResult verifyExisting(MutableArrayRef<FsdpUnitOp> existing,
                             ArrayRef<UnitDecision> decisions) {
  for (auto [unit, decision] : llvm::zip(existing, decisions))
    if (!isEqual(unit, decision))
      return unit.emitOpError()
             << "differs from the planned unit with roots " << decision.roots
             << " and parameters " << decision.params;
  if (existing.size() != decisions.size())
    return existing.front().emitOpError()
           << "is one of " << existing.size() << " units, expected "
           << decisions.size();
  return success();
}

/// The names of new units must be free.
LogicalResult verifyNames(mlir::ModuleOp module,
                          ArrayRef<UnitDecision> decisions) {
  SymbolTable symbols(module);
  for (const UnitDecision &decision : decisions)
    if (Operation *symbol = symbols.lookup(decision.name))
      return symbol->emitError() << "symbol @" << decision.name
                                 << " must be free for an FSDP unit, got '"
                                 << symbol->getName() << "'";
  return success();
}

void declareUnits(MeshOp mesh, ArrayRef<UnitDecision> decisions) {
  OpBuilder builder(mesh.getContext());
  builder.setInsertionPointAfter(mesh);
  for (const UnitDecision &decision : decisions) {
    auto unit = FsdpUnitOp::create(
        builder, mesh.getLoc(), builder.getStringAttr(decision.name),
        FlatSymbolRefAttr::get(mesh.getSymNameAttr()), decision.axes,
        decision.roots, decision.params, TypeAttr::get(decision.gatherDtype),
        TypeAttr::get(decision.reduceDtype),
        decision.isIsland ? builder.getUnitAttr() : UnitAttr(),
        /*reshard_after_forward=*/BoolAttr(), /*buffers=*/ArrayAttr());
    if (decision.isMixed)
      unit->setAttr(kAsStoredAttr, builder.getUnitAttr());
  }
}

struct PlanFsdpUnits : impl::PlanFsdpUnitsPassBase<PlanFsdpUnits> {
  using PlanFsdpUnitsPassBase::PlanFsdpUnitsPassBase;

  void runOnOperation() override {
    if (failed(plan(getOperation())))
      signalPassFailure();
  }

private:
  TreePlanOptions getTreeOptions() {
    return {paramDtype,        reduceDtype,        outputDtype,
            reshardAfterForward, calls,            ignoredParams,
            castInputs,        referenceRawPaths,  referenceFirstPath,
            referenceWrappedClass, referenceNoVerify};
  }

  LogicalResult plan(mlir::ModuleOp module) {
    auto mesh = findMesh(module);
    if (failed(mesh))
      return failure();
    auto axes = parseFsdpAxes(module, *mesh, fsdpAxes);
    if (succeeded(axes) && isModuleTree(module))
      return planModuleTree(module, *mesh, *axes, getTreeOptions());
    auto options = parseParamDtype(module, paramDtype);
    auto function = findModelFunction(module);
    if (failed(axes) || failed(options) || failed(function))
      return failure();
    if (!*function)
      return success(); // nothing to shard

    SmallVector<ModelParameter> parameters = getParameters(*function);
    llvm::erase_if(parameters, [&](const ModelParameter &parameter) {
      return matchesIgnored(parameter.name.getValue(), ignoredParams);
    });
    auto graph = computeGraph(*function, parameters, *options);
    if (failed(graph))
      return failure();
    auto decisions = getDecisions(*graph, parameters, *axes);
    auto existing = llvm::to_vector(module.getOps<FsdpUnitOp>());
    if (!existing.empty())
      return verifyExisting(existing, decisions);
    if (failed(verifyNames(module, decisions)))
      return failure();
    declareUnits(*mesh, decisions);
    return success();
  }
};

} // namespace
} // namespace mlir::dsv4
