//===- PrintLayout.cpp - print what the layout analysis decides -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One remark per argument and per result that is a tensor, and one per
// decision, at the operation that it belongs to:
//
//   %y = linalg.generic ...     remark: layout [{"dp_shard"}, {"cp"}, {}]
//   %s = linalg.generic ...     remark: layout [] partial {"cp"}: all_reduce
//   sum dsv4.window_attention ...   remark: operand 1: gather dimension 1 over
//   {"cp"}
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Layout.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_PRINTLAYOUTPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

struct PrintLayout : public dsv4::impl::PrintLayoutPassBase<PrintLayout> {
  using PrintLayoutPassBase::PrintLayoutPassBase;
  void runOnOperation() override;
};

} // namespace

static std::string describeUse(Operation *op, OpOperand *use) {
  return use->getOwner() == op
             ? "operand " + std::to_string(use->getOperandNumber())
             : std::string("tensor read in the region");
}

static void printResult(const LayoutAnalysis &analysis, OpResult result,
                        const OpDecision *decision) {
  if (!isa<RankedTensorType>(result.getType()))
    return;
  Operation *op = result.getOwner();
  const LayoutMesh &mesh = analysis.getMesh();
  InFlightDiagnostic remark = emitRemark(op->getLoc());
  if (op->getNumResults() > 1)
    remark << "result " << result.getResultNumber() << ": ";
  remark << "layout " << formatLayout(analysis.getLayout(result), mesh);
  if (!decision)
    return;
  for (const PartialResult &partial : decision->partials)
    if (partial.result == result)
      remark << " partial " << mesh.format(partial.axes) << ": all_reduce "
             << stringifyReductionKind(partial.kind);
}

static void printDecision(const LayoutMesh &mesh, Operation *op,
                          const OpDecision &decision) {
  for (const OperandChange &change : decision.changes)
    emitRemark(op->getLoc())
        << describeUse(op, change.use)
        << (change.kind == OperandChange::Gather ? ": gather" : ": slice")
        << " dimension " << change.dim << " over " << mesh.format(change.axes);
  for (const OperandCopy &copy : decision.copies)
    emitRemark(op->getLoc())
        << describeUse(op, copy.use) << ": made again with layout "
        << formatLayout(copy.layout, mesh);
  for (const IndexOffset &offset : decision.offsets) {
    InFlightDiagnostic remark = emitRemark(op->getLoc());
    if (auto index = dyn_cast_or_null<linalg::IndexOp>(offset.index))
      remark << "index of loop " << index.getDim();
    else
      remark << describeUse(op, offset.operand);
    remark << ": add " << offset.step << " per rank of "
           << mesh.format(offset.axes);
  }
}

static void printFunction(const LayoutAnalysis &analysis) {
  func::FuncOp func = analysis.getFunction();
  for (BlockArgument arg : func.getArguments())
    if (isa<RankedTensorType>(arg.getType()))
      emitRemark(arg.getLoc())
          << "argument " << arg.getArgNumber() << ": layout "
          << formatLayout(analysis.getLayout(arg), analysis.getMesh());
  for (Operation &op : func.getBody().front()) {
    const OpDecision *decision = analysis.findDecision(&op);
    for (OpResult result : op.getResults())
      printResult(analysis, result, decision);
    if (decision)
      printDecision(analysis.getMesh(), &op, *decision);
  }
}

void PrintLayout::runOnOperation() {
  FailureOr<LayoutMesh> mesh = LayoutMesh::find(getOperation());
  if (failed(mesh))
    return signalPassFailure();
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    FailureOr<LayoutAnalysis> analysis = LayoutAnalysis::compute(func, *mesh);
    if (failed(analysis))
      return signalPassFailure();
    printFunction(*analysis);
  }
  markAllAnalysesPreserved();
}
