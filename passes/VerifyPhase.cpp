//===- VerifyPhase.cpp - check what may exist after a phase ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each phase of the pipeline ends with a promise that the next one builds on.
// This pass checks the promise and, when it holds, notes it on the module:
//
//   module { ... }
//   ->
//   module attributes {dsv4.phase = "plan"} { ... }
//
// It changes nothing else, and checks one phase, not those before it.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BranchAgreement.h"
#include "dsv4/Analysis/FloatCast.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// Runs `verify` on every operation below `root`, up to the first failure.
LogicalResult verifyEach(Operation *root,
                         function_ref<LogicalResult(Operation *)> verify) {
  return failure(root->walk([&](Operation *op) {
                       return failed(verify(op)) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
                     })
                     .wasInterrupted());
}

LogicalResult emitMustBeGone(Operation *op, StringRef phase) {
  return op->emitOpError() << "must be gone after phase \"" << phase << "\"";
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

LogicalResult verifyPlan(mlir::ModuleOp module) {
  if (failed(findMesh(module)))
    return failure();
  auto function = findModelFunction(module);
  if (failed(function))
    return failure();
  FailureOr<ParameterOwners> owners = ParameterOwners();
  if (*function)
    owners = ParameterOwners::create(*function);
  if (failed(owners))
    return failure();
  for (auto unit : module.getOps<FsdpUnitOp>())
    for (StringAttr name : unit.getParams().getAsRange<StringAttr>())
      if (failed(owners->take(unit, name)))
        return failure();
  return owners->verifyAllTaken();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

/// A float of less than 32 bits, in a scalar or as elements.
bool isNarrow(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

/// True for arithmetic that would round to a narrow float. Casts say so by
/// name, and these others only move values.
bool roundsToNarrow(Operation *op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp, arith::CmpFOp,
          arith::SelectOp, arith::ConstantOp>(op))
    return false;
  return llvm::any_of(op->getOperandTypes(), isNarrow) ||
         llvm::any_of(op->getResultTypes(), isNarrow);
}

LogicalResult verifyPrecision(mlir::ModuleOp module) {
  return verifyEach(module, [](Operation *op) -> LogicalResult {
    if (isa<dsv4::ModuleOp>(op))
      return emitMustBeGone(op, "precision");
    if (auto cast = findFloatCast(op); cast && !op->hasAttr(kCastAttr))
      return op->emitOpError() << "casts " << cast->from << " to " << cast->to
                               << " and must say why in '" << kCastAttr << "'";
    if (roundsToNarrow(op))
      return op->emitOpError() << "computes with floats narrower than 32 bits, "
                                  "expected a cast before and after";
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Sequence, parameters, schedule
//===----------------------------------------------------------------------===//

LogicalResult verifySequence(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (BlockArgument argument : function.getArguments())
      if (isa<TensorType>(argument.getType()) &&
          !function.getArgAttr(argument.getArgNumber(), kLayoutAttr))
        return emitError(argument.getLoc())
               << "argument " << argument.getArgNumber() << " of @"
               << function.getSymName() << " must have '" << kLayoutAttr << "'";
  }
  return verifyBranchAgreement(module);
}

LogicalResult verifyParameters(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (const ModelParameter &parameter : getParameters(function))
      return emitError(getArgumentLoc(function, parameter.argument))
             << "parameter " << parameter.name
             << " must be part of a shard after phase \"parameters\"";
  if (failed(verifyBranchAgreement(module)))
    return failure();
  llvm::DenseMap<Attribute, Operation *> unshardByUnit;
  return verifyEach(module, [&](Operation *op) -> LogicalResult {
    auto unshard = dyn_cast<UnshardOp>(op);
    if (!unshard)
      return success();
    auto [it, isNew] = unshardByUnit.try_emplace(unshard.getUnitAttr(), op);
    if (isNew)
      return success();
    auto diagnostic = op->emitOpError()
                      << "gathers " << unshard.getUnitAttr() << " again";
    diagnostic.attachNote(it->second->getLoc()) << "gathered here";
    return diagnostic;
  });
}

/// A token has one use, which waits.
LogicalResult verifyTokens(Operation *op) {
  for (Value result : op->getResults())
    if (isa<TokenType>(result.getType()) &&
        (!result.hasOneUse() || !isa<WaitOp>(*result.user_begin())))
      return op->emitOpError()
             << "starts a collective that one dsv4.wait must end, got "
             << llvm::range_size(result.getUses()) << " uses";
  return success();
}

/// As before, and one reduction per unit.
LogicalResult verifyBackward(mlir::ModuleOp module) {
  if (failed(verifyParameters(module)))
    return failure();
  llvm::DenseMap<Attribute, Operation *> reductionByUnit;
  return verifyEach(module, [&](Operation *op) -> LogicalResult {
    auto reduction = dyn_cast<GradReduceScatterOp>(op);
    if (!reduction)
      return success();
    auto [it, isNew] = reductionByUnit.try_emplace(reduction.getUnitAttr(), op);
    if (isNew)
      return success();
    auto diagnostic = op->emitOpError() << "reduces the gradients of "
                                        << reduction.getUnitAttr() << " again";
    diagnostic.attachNote(it->second->getLoc()) << "reduced here before";
    return diagnostic;
  });
}

LogicalResult verifySchedule(mlir::ModuleOp module) {
  if (failed(verifyBranchAgreement(module)))
    return failure();
  return verifyEach(module, [](Operation *op) -> LogicalResult {
    if (isa<UnshardOp, SeqShardOp, SeqGatherOp, SeqReduceScatterOp,
            AllReduceOp, GradReduceScatterOp>(op))
      return emitMustBeGone(op, "schedule");
    return verifyTokens(op);
  });
}

//===----------------------------------------------------------------------===//
// Lower
//===----------------------------------------------------------------------===//

bool isIndexArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, affine::AffineDialect>(
             op->getDialect()) &&
         op->getNumRegions() == 0 &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isSignlessIntOrIndex(); });
}

/// What may stand in a function that is no kernel: everything else would be
/// work that no kernel does, or memory that no arena holds.
bool isLowered(Operation *op) {
  if (isa<func::FuncOp, func::ReturnOp, func::CallOp, LaunchOp, AxisIndexOp,
          AgreeOp>(op))
    return true;
  if (isa<AllGatherStartOp, ReduceScatterStartOp, AllReduceStartOp, WaitOp>(op))
    return true;
  if (isa<memref::ViewOp, memref::SubViewOp, memref::CastOp,
          memref::ReinterpretCastOp, memref::ExpandShapeOp,
          memref::CollapseShapeOp>(op))
    return true;
  return isIndexArithmetic(op);
}

LogicalResult verifyLower(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kKernelAttr))
      continue;
    LogicalResult result =
        verifyEach(function, [](Operation *op) -> LogicalResult {
          auto isTensor = [](Type type) { return isa<TensorType>(type); };
          if (!isLowered(op))
            return op->emitOpError()
                   << "must be gone after phase \"lower\", expected launches, "
                      "starts and waits, views, index arithmetic and calls";
          if (llvm::any_of(op->getOperandTypes(), isTensor) ||
              llvm::any_of(op->getResultTypes(), isTensor))
            return op->emitOpError() << "must work on buffers after phase "
                                        "\"lower\", got a tensor";
          return success();
        });
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Codegen
//===----------------------------------------------------------------------===//

LogicalResult verifyCodegen(mlir::ModuleOp module) {
  return verifyEach(module, [](Operation *op) -> LogicalResult {
    if (isa_and_nonnull<Dsv4Dialect>(op->getDialect()) &&
        !isa<MeshOp, FsdpUnitOp>(op))
      return emitMustBeGone(op, "codegen");
    return success();
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct Phase {
  StringLiteral name;
  LogicalResult (*verify)(mlir::ModuleOp);
};

constexpr Phase kPhases[] = {
    {"plan", verifyPlan},         {"precision", verifyPrecision},
    {"sequence", verifySequence}, {"parameters", verifyParameters},
    {"backward", verifyBackward}, {"schedule", verifySchedule}, {"lower", verifyLower},
    {"codegen", verifyCodegen}};

struct VerifyPhase : impl::VerifyPhasePassBase<VerifyPhase> {
  using VerifyPhasePassBase::VerifyPhasePassBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    const Phase *known = llvm::find_if(
        kPhases, [&](const Phase &p) { return p.name == phase.getValue(); });
    if (known == std::end(kPhases)) {
      auto diagnostic = module.emitError() << "'phase' must be one of ";
      llvm::interleaveComma(kPhases, diagnostic, [&](const Phase &p) {
        diagnostic << "\"" << p.name << "\"";
      });
      diagnostic << ", got \"" << phase.getValue() << "\"";
      return signalPassFailure();
    }
    if (failed(known->verify(module)))
      return signalPassFailure();
    module->setAttr(kPhaseAttr, StringAttr::get(&getContext(), known->name));
  }
};

} // namespace
} // namespace mlir::dsv4
