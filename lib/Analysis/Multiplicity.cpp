//===- Multiplicity.cpp - how often a contribution is counted -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Multiplicity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::dsv4;


static std::string formatTimes(double count) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", count);
  return text;
}

std::string dsv4::formatPathCount(const PathCount &count) {
  if (count.kind == PathCount::Zero)
    return "zero";
  StringRef kind = count.kind == PathCount::Whole   ? "whole "
                   : count.kind == PathCount::Share ? "share "
                                                    : "mixed ";
  return kind.str() + formatTimes(count.count);
}

static bool isBackward(Operation *op) {
  auto direction = op->getAttrOfType<StringAttr>(kDirectionAttr);
  return direction && direction.getValue() == "backward";
}

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

/// Operands, and values from outside that nested operations read.
static SmallVector<Value> getReads(Operation *op) {
  SmallVector<Value> reads;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (nested == op ||
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        reads.push_back(operand);
  });
  return reads;
}

/// Whether every result is a sum of all operands that are gradients.
static bool isSum(Operation *op) {
  if (isa<arith::AddFOp, tensor::InsertSliceOp, tensor::ConcatOp, CombineRowsOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return false;
  return llvm::all_of(linalgOp.getBlock()->without_terminator(),
                      llvm::IsaPred<arith::AddFOp, arith::ExtFOp, arith::TruncFOp>);
}

/// Operations that pass a gradient on, apart from collectives.
static bool isKnown(Operation *op) {
  if (isa<linalg::LinalgOp>(op) || isa<DestinationStyleOpInterface>(op))
    return !isa<CollectiveOpInterface>(op);
  return isa_and_nonnull<arith::ArithDialect, tensor::TensorDialect>(
      op->getDialect());
}

SmallVector<unsigned> Multiplicity::findAxes(ArrayAttr names) const {
  SmallVector<unsigned> axes;
  for (auto [i, name] : llvm::enumerate(axisNames))
    if (llvm::is_contained(names, Attribute(name)))
      axes.push_back(i);
  return axes;
}

bool Multiplicity::isVarying(Value value, unsigned axis) const {
  if (axisSizes[axis] == 1)
    return false;
  ArrayAttr name = ArrayAttr::get(function.getContext(), axisNames[axis]);
  return (replication.getVarying(value) & replication.getAxes(name)) != 0;
}

ArrayRef<PathCount> Multiplicity::getCounts(Value value) const {
  auto it = counts.find(value);
  return it == counts.end() ? ArrayRef<PathCount>() : it->second;
}

//===----------------------------------------------------------------------===//
// Transfer
//===----------------------------------------------------------------------===//

LogicalResult Multiplicity::addCounts(Operation *op, Counts &sum,
                                      const Counts &term) {
  for (auto [axis, pair] : llvm::enumerate(llvm::zip(sum, term))) {
    auto &[total, next] = pair;
    if (total.kind == PathCount::Zero)
      total = next;
    else if (next.kind != PathCount::Zero && total.kind != next.kind &&
             total.count == next.count)
      total.kind = PathCount::Mixed;
    else if (next.kind != PathCount::Zero && !(total == next))
      return op->emitOpError()
             << "joins gradients that are " << formatPathCount(total) << " and "
             << formatPathCount(next) << " over axis " << axisNames[axis]
             << ", expected them alike";
  }
  return success();
}

/// The state that the backward operands have in common; empty without any.
FailureOr<Multiplicity::Counts> Multiplicity::joinOperands(Operation *op) {
  Counts joined;
  llvm::SmallDenseMap<Value, unsigned> uses;
  unsigned numNonZero = 0;
  for (Value value : getReads(op)) {
    auto it = counts.find(value);
    if (it == counts.end())
      continue;
    if (joined.empty())
      joined.resize(axisNames.size());
    if (failed(addCounts(op, joined, it->second)))
      return failure();
    bool isZero = llvm::all_of(it->second, [](const PathCount &count) {
      return count.kind == PathCount::Zero;
    });
    numNonZero += !isZero;
    ++uses[value];
  }
  if (numNonZero > 1 && !isSum(op) && !isa<GradReduceScatterOp>(op))
    return op->emitOpError() << "reads " << numNonZero
                             << " gradients and is no sum: not proven";
  // The same paths again.
  if (uses.size() == 1 && uses.begin()->second > 1 &&
      !isa<GradReduceScatterOp>(op))
    for (PathCount &count : joined)
      if (count.kind != PathCount::Zero) {
        count.count *= uses.begin()->second;
        if (!count.origin)
          count.origin = op;
      }
  return joined;
}

/// Where ranks read something of their own, each rank's paths are its own.
void Multiplicity::readVarying(Operation *op, Counts &joined) const {
  for (Value value : getReads(op)) {
    if (counts.contains(value))
      continue;
    for (auto [axis, count] : llvm::enumerate(joined))
      if (count.kind != PathCount::Zero && isVarying(value, axis))
        count.kind = PathCount::Share;
  }
}

/// A sum over the ranks of an axis.
LogicalResult Multiplicity::reduce(Operation *op, PathCount &count,
                                   unsigned axis, PathCount::Kind to) const {
  if (count.kind == PathCount::Mixed)
    return op->emitOpError()
           << "adds gradients over axis " << axisNames[axis]
           << " of which ranks hold a part alike, which counts that part "
           << axisSizes[axis] << " times, expected once";
  if (count.kind == PathCount::Whole) {
    count.count *= axisSizes[axis];
    if (!count.origin)
      count.origin = op;
  }
  if (count.kind != PathCount::Zero)
    count.kind = to;
  return success();
}

LogicalResult Multiplicity::visitCollective(Operation *op, Counts joined) {
  auto collective = cast<CollectiveOpInterface>(op);
  SmallVector<unsigned> axes = findAxes(collective.getAxesAttr());
  auto unproven = [&](const Twine &why) {
    return op->emitOpError() << why << ": not proven";
  };
  if (auto allReduce = dyn_cast<AllReduceOp>(op)) {
    if (allReduce.getKind() != ReductionKind::sum)
      return unproven("combines gradients by '" +
                      stringifyReductionKind(allReduce.getKind()) + "'");
    for (unsigned axis : axes)
      if (failed(reduce(op, joined[axis], axis, PathCount::Whole)))
        return failure();
  } else if (isa<SeqReduceScatterOp>(op)) {
    for (unsigned axis : axes)
      if (failed(reduce(op, joined[axis], axis, PathCount::Share)))
        return failure();
  } else if (isa<SeqGatherOp>(op)) {
    for (unsigned axis : axes) {
      if (joined[axis].kind == PathCount::Whole ||
          joined[axis].kind == PathCount::Mixed)
        return unproven("gathers a gradient that ranks hold alike");
      if (joined[axis].kind == PathCount::Share)
        joined[axis].kind = PathCount::Whole;
    }
  } else if (auto reduceScatter = dyn_cast<GradReduceScatterOp>(op)) {
    llvm::append_range(axes, findAxes(reduceScatter.getReplicas()));
    for (unsigned axis : axes)
      if (failed(reduce(op, joined[axis], axis, PathCount::Whole)))
        return failure();
    double scale = reduceScatter.getScale().convertToDouble();
    for (PathCount &count : joined)
      if (scale != 1.0) {
        count.count *= scale;
        if (!count.origin)
          count.origin = op;
      }
  } else {
    return unproven("passes a gradient in a way that is not known");
  }
  for (Value result : op->getResults())
    counts[result] = joined;
  return success();
}

/// The loss depends on itself once: its seed is the count to begin with.
LogicalResult Multiplicity::visitSeed(Operation *op) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  FloatAttr value;
  if (!fill || fill->getNumResults() != 1 ||
      !matchPattern(fill.getInputs()[0], m_Constant(&value)))
    return success();
  double seed = value.getValueAsDouble();
  PathCount count{seed == 0.0 ? PathCount::Zero : PathCount::Whole, seed,
                  seed == 0.0 || seed == 1.0 ? nullptr : op};
  counts[fill->getResult(0)] = Counts(axisNames.size(), count);
  return success();
}

/// A sum over ranks that hold the same value counts it several times.
LogicalResult Multiplicity::visitForward(Operation *op) {
  auto allReduce = dyn_cast<AllReduceOp>(op);
  if (!allReduce || allReduce.getKind() != ReductionKind::sum)
    return success();
  for (unsigned axis : findAxes(allReduce.getAxesAttr()))
    if (!isVarying(allReduce.getInput(), axis))
      return op->emitOpError()
             << "adds a value that ranks of axis " << axisNames[axis]
             << " hold alike, which counts it " << axisSizes[axis]
             << " times, expected once";
  return success();
}

LogicalResult Multiplicity::visit(Operation *op) {
  FailureOr<Counts> joined = joinOperands(op);
  if (failed(joined))
    return failure();
  if (joined->empty())
    return isBackward(op) ? visitSeed(op) : visitForward(op);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (auto shard = dyn_cast<SeqShardOp>(op)) {
    for (unsigned axis : findAxes(shard.getAxesAttr())) {
      PathCount &count = (*joined)[axis];
      if (count.kind == PathCount::Share || count.kind == PathCount::Mixed)
        return op->emitOpError()
               << "keeps this rank's part of a gradient of which each rank of "
                  "axis "
               << axisNames[axis] << " has a share, which loses the others";
      if (count.kind == PathCount::Whole)
        count.kind = PathCount::Share;
    }
    counts[shard.getResult()] = *joined;
    return success();
  }
  if (isa<CollectiveOpInterface>(op))
    return visitCollective(op, *joined);
  if (!isKnown(op))
    return op->emitOpError() << "passes a gradient in a way that is not known: "
                                "not proven";
  readVarying(op, *joined);
  for (Value result : op->getResults())
    counts[result] = *joined;
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<Multiplicity> Multiplicity::compute(func::FuncOp function) {
  FailureOr<Replication> replication = Replication::compute(function);
  if (failed(replication))
    return failure();
  Multiplicity result(function, std::move(*replication));
  for (auto mesh : function->getParentOfType<mlir::ModuleOp>().getOps<MeshOp>())
    for (auto [name, size] : llvm::zip(
             mesh.getAxisNames().getAsRange<StringAttr>(), mesh.getAxisSizes()))
      if (size > 1) {
        result.axisNames.push_back(name);
        result.axisSizes.push_back(size);
      }
  // Without ranks there is still a number of paths.
  if (result.axisNames.empty()) {
    result.axisNames.push_back(StringAttr::get(function.getContext(), ""));
    result.axisSizes.push_back(1);
  }
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(result.visit(&op)))
      return failure();
  return result;
}

LogicalResult Multiplicity::verifyGradient(unsigned result) const {
  Value value = function.getBody().front().getTerminator()->getOperand(result);
  Operation *maker = value.getDefiningOp();
  auto it = counts.find(value);
  if (it == counts.end())
    return function.emitOpError()
           << "result " << result
           << " is a gradient that does not come from the loss: not proven";
  for (auto [axis, count] : llvm::enumerate(it->second)) {
    if (count.kind == PathCount::Share || count.kind == PathCount::Mixed)
      return maker->emitOpError()
             << "makes a gradient of which each rank of axis "
             << axisNames[axis]
             << " has a share, expected it to be added over the axis";
    if (count.kind == PathCount::Whole && count.count == 1.0)
      continue;
    auto diagnostic = (count.origin ? count.origin : maker)->emitOpError()
                      << "makes each contribution"
                      << (axisSizes[axis] > 1
                              ? " over axis \"" + axisNames[axis].str() + "\""
                              : "")
                      << " count " << formatTimes(count.count)
                      << " times, expected once";
    diagnostic.attachNote(maker->getLoc()) << "in the gradient made here";
    return diagnostic;
  }
  return success();
}

LogicalResult Multiplicity::verifyLoss(unsigned result) const {
  Value value = function.getBody().front().getTerminator()->getOperand(result);
  for (auto [axis, name] : llvm::enumerate(axisNames))
    if (isVarying(value, axis))
      return emitError(value.getLoc())
             << "the loss differs between ranks of axis " << name
             << ", expected a sum or a count over it";
  return success();
}

FailureOr<unsigned> Multiplicity::verifyResults() const {
  unsigned numGradients = 0;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue() == "loss" && failed(verifyLoss(i)))
      return failure();
    if (!name || !name.getValue().starts_with("grad"))
      continue;
    if (failed(verifyGradient(i)))
      return failure();
    ++numGradients;
  }
  return numGradients;
}
