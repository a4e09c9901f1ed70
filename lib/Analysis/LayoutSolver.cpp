//===- LayoutSolver.cpp - the function, its arguments, messages -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutSolver.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsv4;

/// An error that names the operation and its layer. A function is not printed
/// with it.
static InFlightDiagnostic startError(Operation *op) {
  if (isa<func::FuncOp>(op))
    return mlir::emitError(op->getLoc()) << "'func.func' op ";
  InFlightDiagnostic diag = op->emitOpError();
  if (auto path = op->getAttrOfType<StringAttr>(kPathAttr))
    diag << "of " << path << " ";
  return diag;
}

LogicalResult LayoutSolver::run() {
  if (failed(checkFunction()) || failed(seedArguments()))
    return failure();
  collectRatios();
  Block &body = analysis.func.getBody().front();
  for (Operation &op : body)
    if (failed(visitForward(&op)))
      return failure();
  for (Entry &entry : llvm::reverse(entries))
    if (failed(visitBackward(entry)))
      return failure();
  if (failed(reportBadSequence()))
    return failure();
  for (auto &[value, state] : states)
    analysis.layouts[value] = std::move(state.dims);
  return success();
}

//===----------------------------------------------------------------------===//
// What can be analysed
//===----------------------------------------------------------------------===//

LogicalResult LayoutSolver::checkOperation(Operation *op) {
  if (isa<CallOpInterface>(op))
    return op->emitOpError() << "cannot be partitioned, calls must be inlined "
                                "before";
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    auto tensor = dyn_cast<TensorType>(type);
    if (tensor && (!tensor.hasRank() || !tensor.hasStaticShape()))
      return op->emitOpError() << "result " << i << " has type " << tensor
                               << ", expected a static shape";
  }
  return success();
}

LogicalResult LayoutSolver::checkFunction() {
  func::FuncOp func = analysis.func;
  if (!func.getBody().hasOneBlock())
    return emitError(func) << "has " << func.getBody().getBlocks().size()
                           << " blocks, expected one";
  for (Operation &op : func.getBody().front())
    if (failed(checkOperation(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Rows are split over the data axes, positions over the sequence axis.
void LayoutSolver::seedBatch(BlockArgument arg, RankedTensorType type) {
  ValueState &state = states[arg];
  AxisList data = mesh.getDataAxes(), sequence = mesh.getSequenceAxes();
  if (type.getRank() > 0 && !data.empty()) {
    state.dims[0] = DimLayout::getSplit(data, type.getDimSize(0));
    if (!state.dims[0].isEven(mesh) && !analysis.paddedBatch)
      analysis.paddedBatch = state.dims[0];
  }
  if (type.getRank() < 2)
    return;
  int64_t length = type.getDimSize(1);
  sequenceLength = std::max(sequenceLength, length);
  if (sequence.empty())
    return;
  state.dims[1] = DimLayout::getSplit(sequence, length);
  if (!state.dims[1].isEven(mesh) && !badArgument)
    badArgument = {analysis.func,
                   ("argument " + Twine(arg.getArgNumber()) + " has " +
                    Twine(length) + " positions, which " +
                    Twine(mesh.getNumRanks(sequence)) +
                    " ranks of axis \"cp\" do not divide")
                       .str()};
}

LogicalResult LayoutSolver::seedArgument(BlockArgument arg) {
  func::FuncOp func = analysis.func;
  unsigned number = arg.getArgNumber();
  if (!isa<ShapedType>(arg.getType()))
    return success();
  auto type = dyn_cast<RankedTensorType>(arg.getType());
  if (!type || !type.hasStaticShape())
    return emitError(func) << "argument " << number << " has type "
                           << arg.getType()
                           << ", expected a tensor of static shape";
  ValueState &state = states[arg];
  for (int64_t size : type.getShape())
    state.dims.push_back(DimLayout::getWhole(size));
  state.open.assign(type.getRank(), false);
  if (func.getArgAttr(number, kBatchAttr))
    seedBatch(arg, type);
  else if (!func.getArgAttr(number, kParamAttr) &&
           !func.getArgAttr(number, kBufferAttr))
    return emitError(func) << "argument " << number << " needs '" << kBatchAttr
                           << "', '" << kParamAttr << "' or '" << kBufferAttr
                           << "'";
  return success();
}

LogicalResult LayoutSolver::seedArguments() {
  for (BlockArgument arg : analysis.func.getArguments())
    if (failed(seedArgument(arg)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Length of the sequence
//===----------------------------------------------------------------------===//

void LayoutSolver::addRatio(int64_t ratio) {
  int64_t gcd = std::gcd(windowLcm, ratio);
  if (std::optional<int64_t> lcm = llvm::checkedMul(windowLcm / gcd, ratio))
    windowLcm = *lcm;
}

/// `op` needs each rank's positions in windows of this size.
void LayoutSolver::noteBadWindows(Operation *op, int64_t windowSize) {
  if (badWindows)
    return;
  AxisList axes = mesh.getSequenceAxes();
  badWindows = {op, ("needs whole windows of " + Twine(windowSize) +
                     " positions on each of " + Twine(mesh.getNumRanks(axes)) +
                     " ranks of axis \"cp\", got " + Twine(sequenceLength) +
                     " positions")
                        .str()};
}

/// Window sizes are on operations: `ratio`, and the windows that pools read.
void LayoutSolver::collectRatios() {
  int64_t ranks = mesh.getNumRanks(mesh.getSequenceAxes());
  for (Operation &op : analysis.func.getBody().front()) {
    int64_t ratio = 0;
    auto attr = op.getAttrOfType<IntegerAttr>("ratio");
    if (attr && attr.getType().isSignlessInteger(64))
      ratio = attr.getInt();
    if (auto pool = dyn_cast<PoolWindowsOp>(op))
      ratio = cast<ShapedType>(pool.getValues().getType()).getDimSize(2);
    if (ratio < 2 || sequenceLength == 0)
      continue;
    addRatio(ratio);
    std::optional<int64_t> multiple = llvm::checkedMul(ranks, ratio);
    if (!multiple || sequenceLength % *multiple != 0)
      noteBadWindows(&op, ratio);
  }
}

/// Fails when the sequence cannot be split, with the length that could.
LogicalResult LayoutSolver::reportBadSequence() {
  const std::optional<BadSequence> &bad = badWindows ? badWindows : badArgument;
  if (!bad)
    return success();
  if (isBadSequenceReported)
    return failure();
  isBadSequenceReported = true;
  int64_t ranks = mesh.getNumRanks(mesh.getSequenceAxes());
  InFlightDiagnostic diag = startError(bad->op);
  diag << bad->reason;
  if (std::optional<int64_t> multiple = llvm::checkedMul(ranks, windowLcm))
    diag << "; the smallest legal padded length is "
         << llvm::divideCeil(std::max<int64_t>(sequenceLength, 1), *multiple) *
                *multiple;
  return failure();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// An error at `op`. A sequence that cannot be split is likely the cause, and
/// is reported first.
InFlightDiagnostic LayoutSolver::emitError(Operation *op) {
  (void)reportBadSequence();
  return startError(op);
}

/// As in `dimension 1 of operand 0`; nested operations read operands of their
/// own.
std::string LayoutSolver::describe(const Entry &entry, unsigned use,
                                   unsigned dim) {
  std::string text = "dimension " + std::to_string(dim) + " of ";
  if (use < entry.op->getNumOperands())
    return text + "operand " + std::to_string(use);
  return text + "a tensor read in its region";
}

void LayoutSolver::noteUse(InFlightDiagnostic &diag, const Entry &entry,
                           unsigned use) {
  OpOperand *operand = entry.rule.uses[use];
  const ValueState &state = states[operand->get()];
  diag.attachNote(operand->get().getLoc())
      << (use < entry.op->getNumOperands()
              ? "operand " + std::to_string(use)
              : std::string("the tensor read in its region"))
      << " comes from here with layout " << formatLayout(state.dims, mesh);
}

//===----------------------------------------------------------------------===//
// Shared by both directions
//===----------------------------------------------------------------------===//

SmallVector<int64_t> LayoutSolver::getSizes(const Entry &entry,
                                            const LayoutRule::Dim &dim) {
  SmallVector<int64_t> sizes;
  for (unsigned factor : dim)
    sizes.push_back(entry.factors[factor].size);
  return sizes;
}

/// The layout of a dimension, from its factors.
DimLayout LayoutSolver::getLayout(const Entry &entry,
                                  const LayoutRule::Dim &dim) {
  if (dim.size() == 1)
    return entry.factors[dim.front()].layout;
  SmallVector<DimLayout> layouts;
  for (unsigned factor : dim)
    layouts.push_back(entry.factors[factor].layout);
  return DimLayout::concat(layouts, mesh);
}

/// The layouts of the factors of a dimension, from its own.
DimLayout::Fit LayoutSolver::divide(const Entry &entry,
                                    const LayoutRule::Dim &dim,
                                    const DimLayout &layout,
                                    SmallVectorImpl<DimLayout> &pieces) {
  pieces.clear();
  if (dim.size() == 1) {
    pieces.push_back(layout);
    return DimLayout::Fit::Even;
  }
  if (layout.isWhole()) {
    for (unsigned factor : dim)
      pieces.push_back(DimLayout::getWhole(entry.factors[factor].size));
    return DimLayout::Fit::Even;
  }
  return layout.divide(getSizes(entry, dim), mesh, pieces);
}

/// Every rank holds all of dimension `dim` at `use` of `user` and keeps its
/// part.
LogicalResult LayoutSolver::addSlice(Operation *user, OpOperand *use,
                                     unsigned dim, const DimLayout &to) {
  if (!to.isContiguous() || !to.isEven(mesh)) {
    InFlightDiagnostic diag =
        emitError(user) << "needs dimension " << dim << " of operand "
                        << use->getOperandNumber() << " split over "
                        << mesh.format(to.getAxes())
                        << (to.isContiguous() ? " into unequal parts"
                                              : " into parts that are not "
                                                "contiguous")
                        << ", but every rank holds all of it";
    diag.attachNote(use->get().getLoc()) << "the operand comes from here";
    return diag;
  }
  getDecision(user).changes.push_back(
      {OperandChange::Slice, use, dim, to.getAxes(), to.getSize()});
  return success();
}
