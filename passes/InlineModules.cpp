//===- InlineModules.cpp - replace module regions by operations -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Front ends keep the module tree as nested regions, which planning reads.
// Later passes want one flat function and only the path of each operation:
//
//   %y = dsv4.module "model.norm" class "DeepseekV4RMSNorm" -> tensor<8xf32> {
//     %0 = linalg.generic ...
//     dsv4.yield %0 : tensor<8xf32>
//   }
//   ->
//   %0 = linalg.generic {dsv4.path = "model.norm"} ...
//
// Operations keep their order, their locations and a path that they already
// carry. Scalar operations inside linalg bodies get none.
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_INLINEMODULESPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

YieldOp getYield(dsv4::ModuleOp module) {
  return cast<YieldOp>(module.getBody().front().getTerminator());
}

/// Graph regions allow modules that yield each other's results; no value could
/// replace those.
LogicalResult verifyAcyclic(ArrayRef<dsv4::ModuleOp> modules) {
  size_t numResults = 0;
  for (dsv4::ModuleOp module : modules)
    numResults += module->getNumResults();
  for (dsv4::ModuleOp module : modules)
    for (Value result : module.getResults()) {
      size_t numSteps = 0;
      while (auto source = result.getDefiningOp<dsv4::ModuleOp>()) {
        unsigned index = cast<OpResult>(result).getResultNumber();
        result = getYield(source).getOperand(index);
        if (++numSteps > numResults)
          return module.emitOpError()
                 << "yields a value that depends only on "
                    "its own result, expected an operation";
      }
    }
  return success();
}

/// Gives the operations of `module` its path, those of modules inside excepted.
/// Terminators go with their region.
void labelOperations(dsv4::ModuleOp module) {
  module.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<dsv4::ModuleOp>(op))
      return WalkResult::skip();
    if (!op->hasTrait<OpTrait::IsTerminator>() && !op->hasAttr(kPathAttr))
      op->setAttr(kPathAttr, module.getPathAttr());
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
}

void inlineModule(IRRewriter &rewriter, dsv4::ModuleOp module) {
  YieldOp yield = getYield(module);
  SmallVector<Value> values(yield.getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&module.getBody().front(), module);
  rewriter.replaceOp(module, values);
}

struct InlineModules : impl::InlineModulesPassBase<InlineModules> {
  using InlineModulesPassBase::InlineModulesPassBase;

  void runOnOperation() override {
    SmallVector<dsv4::ModuleOp> modules; // inner before outer
    getOperation()->walk([&](dsv4::ModuleOp op) { modules.push_back(op); });
    if (failed(verifyAcyclic(modules)))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (dsv4::ModuleOp module : modules) {
      labelOperations(module);
      inlineModule(rewriter, module);
    }
  }
};

} // namespace
} // namespace mlir::dsv4
