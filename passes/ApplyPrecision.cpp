//===- ApplyPrecision.cpp - make casts at unit borders explicit -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit may be gathered in another dtype than its parameters are stored in.
// That is one cast per parameter, which the policy asks for and no step of the
// model's definition:
//
//   dsv4.fsdp_unit @unit_0 ... params ["model.norm.weight"] gather bf16 ...
//   func.func @forward(%w: tensor<64xf32> {dsv4.param = "model.norm.weight"}) {
//     %c = linalg.generic ... ins(%w) {
//       arith.truncf ...
//   ->
//     %c = linalg.generic ... ins(%w) attrs = {dsv4.cast = "policy"} {
//       arith.truncf ...
//
// Operations are built for the dtypes that they compute with, so this pass
// never inserts a cast: a graph that reads such a parameter in any other way
// contradicts its policy, and is refused.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FloatCast.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_APPLYPRECISIONPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

constexpr StringLiteral kPolicyLabel = "policy";

/// Appends the casts of a parameter that is gathered in another dtype.
LogicalResult findPolicyCasts(func::FuncOp function, FsdpUnitOp unit,
                              const ModelParameter &parameter,
                              SmallVectorImpl<Operation *> &casts) {
  Type stored = getElementTypeOrSelf(parameter.type);
  Type gathered = unit.getGatherDtype();
  if (stored == gathered || function.isExternal())
    return success();
  BlockArgument argument = function.getArgument(parameter.argument);
  for (Operation *user : argument.getUsers()) {
    auto cast = findFloatCast(user);
    if (!isElementwiseCastOf(user, argument) || cast->to != gathered) {
      auto diagnostic = emitError(argument.getLoc())
                        << "parameter " << parameter.name << " is gathered in "
                        << gathered << ", but the graph computes with "
                        << stored;
      diagnostic.attachNote(user->getLoc())
          << "used here, expected a cast to " << gathered << ", got '"
          << user->getName() << "'";
      return diagnostic;
    }
    auto label = user->getAttrOfType<StringAttr>(kCastAttr);
    if (label && label.getValue() != kPolicyLabel)
      return user->emitOpError()
             << "casts parameter " << parameter.name
             << " by the policy of its unit, expected no other label, got "
             << label;
    casts.push_back(user);
  }
  return success();
}

struct ApplyPrecision : impl::ApplyPrecisionPassBase<ApplyPrecision> {
  using ApplyPrecisionPassBase::ApplyPrecisionPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> casts;
    if (failed(collect(getOperation(), casts)))
      return signalPassFailure();
    auto label = StringAttr::get(&getContext(), kPolicyLabel);
    for (Operation *cast : casts)
      cast->setAttr(kCastAttr, label);
  }

private:
  LogicalResult collect(mlir::ModuleOp module,
                        SmallVectorImpl<Operation *> &casts) {
    auto function = findModelFunction(module);
    if (failed(function))
      return failure();
    if (!*function)
      return success();
    SmallVector<ModelParameter> parameters = getParameters(*function);
    llvm::DenseMap<StringAttr, const ModelParameter *> parameterByName;
    for (const ModelParameter &parameter : parameters)
      parameterByName[parameter.name] = &parameter;
    for (auto unit : module.getOps<FsdpUnitOp>()) {
      if (unit->hasAttr(kAsStoredAttr))
        continue; // no policy
      for (StringAttr name : unit.getParams().getAsRange<StringAttr>())
        if (const ModelParameter *parameter = parameterByName.lookup(name))
          if (failed(findPolicyCasts(*function, unit, *parameter, casts)))
            return failure();
    }
    return success();
  }
};

} // namespace
} // namespace mlir::dsv4
