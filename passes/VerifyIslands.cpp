//===- VerifyIslands.cpp - prove that fp32 islands stay f32 ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter that is quietly rounded, or a sum that is kept in bf16, changes
// results and stops nothing. Here it is an error, with the way of the value:
//
//   error: rounds f32 to bf16 inside fp32 island "mHC maps"
//   note: step 1: 'tensor.extract_slice' passes it on as tensor<2x8x4xbf16>
//   note: step 2: 'linalg.generic' reads it in fp32 island "mHC maps"
//
// Runs on flat functions, after -dsv4-inline-modules. Changes nothing.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FloatCast.h"
#include "dsv4/Analysis/FloatIslands.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_VERIFYISLANDSPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

void emitFault(const PrecisionFault &fault) {
  InFlightDiagnostic diagnostic = emitError(fault.where) << fault.message;
  for (auto [i, step] : llvm::enumerate(fault.path))
    diagnostic.attachNote(step.op->getLoc())
        << "step " << i + 1 << ": '" << step.op->getName() << "' " << step.what;
}

void printRoundings(func::FuncOp function, const FloatIslands &islands) {
  for (Operation *op : islands.getRoundings())
    emitRemark(op->getLoc()) << "rounds at " << op->getAttr(kCastAttr);
  unsigned numInside = 0;
  function.walk([&](Operation *op) {
    numInside += !islands.getIsland(op).empty();
  });
  function.emitRemark() << "islands: " << numInside << " operations inside, "
                        << islands.getRoundings().size() << " roundings outside";
}

struct VerifyIslands : impl::VerifyIslandsPassBase<VerifyIslands> {
  using VerifyIslandsPassBase::VerifyIslandsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      WalkResult modules = function.walk([](dsv4::ModuleOp op) {
        op.emitOpError() << "must be inlined before islands are verified";
        return WalkResult::interrupt();
      });
      if (modules.wasInterrupted())
        return signalPassFailure();
      FloatIslands islands = FloatIslands::compute(function);
      for (const PrecisionFault &fault : islands.getFaults())
        emitFault(fault);
      if (!islands.getFaults().empty())
        return signalPassFailure();
      if (print)
        printRoundings(function, islands);
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::dsv4
