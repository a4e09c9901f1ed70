//===- LayoutForward.cpp - layouts that follow from operands --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutSolver.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsv4;

LogicalResult LayoutSolver::visitForward(Operation *op) {
  OpRule rule = getOpRule(op);
  if (rule.kind == OpRule::Kind::Scalar)
    return success();
  if (failed(checkPerRank(op, rule)))
    return failure();
  // What a function returns may lie as it likes.
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  Entry entry{op, std::move(rule), {}};
  if (entry.rule.kind == OpRule::Kind::Unknown) {
    if (failed(visitUnknown(entry)))
      return failure();
    entries.push_back(std::move(entry));
    return success();
  }
  entry.factors.resize(entry.rule.rule.factors.size());
  if (failed(computeSizes(entry)))
    return failure();
  for (unsigned use = 0, e = entry.rule.uses.size(); use < e; ++use)
    if (failed(readOperand(entry, use)))
      return failure();
  shareWork(entry);
  if (failed(checkAxes(entry)) || failed(alignOperands(entry)))
    return failure();
  settleResults(entry);
  if (failed(addPartials(entry)))
    return failure();
  entries.push_back(std::move(entry));
  return success();
}

/// Nothing is known about the operation: its operands must be whole, and so
/// are its results.
LogicalResult LayoutSolver::visitUnknown(const Entry &entry) {
  for (auto [number, use] : llvm::enumerate(entry.rule.uses)) {
    auto it = states.find(use->get());
    if (it == states.end())
      continue;
    for (auto [dim, layout] : llvm::enumerate(it->second.dims)) {
      if (it->second.open[dim] || layout.isWhole())
        continue;
      InFlightDiagnostic diag =
          emitError(entry.op)
          << "is not known to the layout analysis and uses "
          << describe(entry, number, dim) << ", which is split over "
          << mesh.format(layout.getAxes());
      noteUse(diag, entry, number);
      return diag;
    }
  }
  for (OpResult result : entry.op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    ValueState &state = states[result];
    for (int64_t size : type.getShape())
      state.dims.push_back(DimLayout::getWhole(size));
    state.open.assign(type.getRank(), false);
  }
  return success();
}

/// A value whose elements are this rank's own may only be read by operations
/// that say so: those with a rule of their own, which made it.
LogicalResult LayoutSolver::checkPerRank(Operation *op, const OpRule &rule) {
  if (isa<LayoutOpInterface>(op))
    return success();
  for (OpOperand *use : rule.uses) {
    auto it = states.find(use->get());
    if (it == states.end() || it->second.perRank.empty())
      continue;
    InFlightDiagnostic diag = emitError(op)
                              << "uses operand " << use->getOperandNumber()
                              << ", whose elements differ between the ranks of "
                              << mesh.format(it->second.perRank);
    diag.attachNote(use->get().getLoc()) << "the operand comes from here";
    return diag;
  }
  return success();
}

/// Sizes come from dimensions with one factor; a factor that occurs only in
/// products is what is left.
LogicalResult LayoutSolver::computeSizes(Entry &entry) {
  SmallVector<std::pair<const LayoutRule::Dim *, int64_t>> products;
  auto read = [&](Value value, ArrayRef<LayoutRule::Dim> dims) {
    for (auto [i, dim] : llvm::enumerate(dims)) {
      int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(i);
      if (dim.size() == 1)
        entry.factors[dim.front()].size = size;
      else
        products.push_back({&dim, size});
    }
  };
  const LayoutRule &rule = entry.rule.rule;
  for (auto [use, dims] : llvm::zip(entry.rule.uses, rule.operands))
    read(use->get(), dims);
  for (auto [result, dims] : llvm::zip(entry.op->getResults(), rule.results))
    read(result, dims);
  for (auto [dim, size] : products) {
    Factor *unknown = nullptr;
    for (unsigned factor : *dim) {
      Factor &part = entry.factors[factor];
      if (part.size < 0 && unknown)
        return emitError(entry.op) << "has a dimension of several factors "
                                      "whose sizes cannot be derived";
      if (part.size < 0)
        unknown = &part;
      else if (part.size > 0)
        size /= part.size;
    }
    if (unknown)
      unknown->size = size;
  }
  for (Factor &factor : entry.factors)
    factor.layout = DimLayout::getWhole(std::max<int64_t>(factor.size, 1));
  return success();
}

LogicalResult LayoutSolver::readOperand(Entry &entry, unsigned use) {
  auto it = states.find(entry.rule.uses[use]->get());
  if (it == states.end())
    return success();
  for (auto [i, dim] : llvm::enumerate(entry.rule.rule.operands[use])) {
    if (it->second.open[i])
      continue;
    if (it->second.dims[i].isWhole()) {
      for (unsigned factor : dim)
        if (entry.factors[factor].state == Factor::Open)
          entry.factors[factor].state = Factor::Whole;
      continue;
    }
    if (failed(readSplitDim(entry, use, i)))
      return failure();
  }
  return success();
}

/// An expansion of the sequence into windows must leave whole windows on each
/// rank.
LogicalResult LayoutSolver::checkWindows(const Entry &entry,
                                         const DimLayout &layout,
                                         ArrayRef<DimLayout> pieces,
                                         DimLayout::Fit fit) {
  if (fit == DimLayout::Fit::Never ||
      layout != DimLayout::getSplit(mesh.getSequenceAxes(), sequenceLength))
    return success();
  const DimLayout *windows = llvm::find_if(
      pieces, [](const DimLayout &piece) { return !piece.isWhole(); });
  if (windows == pieces.end())
    return success();
  int64_t windowSize = sequenceLength / windows->getSize();
  addRatio(windowSize);
  if (fit == DimLayout::Fit::Even)
    return success();
  noteBadWindows(entry.op, windowSize);
  return reportBadSequence();
}

/// A split dimension decides its factors, or is gathered where it is needed
/// whole.
LogicalResult LayoutSolver::readSplitDim(Entry &entry, unsigned use,
                                         unsigned dim) {
  const LayoutRule &rule = entry.rule.rule;
  const LayoutRule::Dim &factors = rule.operands[use][dim];
  OpOperand *operand = entry.rule.uses[use];
  const DimLayout &layout = states[operand->get()].dims[dim];
  if (factors.size() == 1 && rule.factors[factors[0]] == FactorKind::Whole &&
      layout.isContiguous()) {
    entry.factors[factors[0]].state = Factor::Whole;
    getDecision(entry.op).changes.push_back({OperandChange::Gather, operand,
                                             dim, layout.getAxes(),
                                             layout.getSize()});
    return success();
  }
  SmallVector<DimLayout> pieces;
  DimLayout::Fit fit = divide(entry, factors, layout, pieces);
  if (isa<tensor::ExpandShapeOp>(entry.op) &&
      failed(checkWindows(entry, layout, pieces, fit)))
    return failure();
  bool isWholeNeeded = false;
  for (auto [factor, piece] : llvm::zip(factors, pieces))
    isWholeNeeded |=
        rule.factors[factor] == FactorKind::Whole && !piece.isWhole();
  if (fit != DimLayout::Fit::Even || isWholeNeeded) {
    InFlightDiagnostic diag =
        emitError(entry.op)
        << "cannot follow the split of " << describe(entry, use, dim)
        << " over " << mesh.format(layout.getAxes())
        << (isWholeNeeded ? ": it needs all of it and the parts are not "
                            "contiguous"
                          : ": the parts do not become parts of the result");
    noteUse(diag, entry, use);
    return diag;
  }
  for (auto [factor, piece] : llvm::zip(factors, pieces))
    if (failed(settleSplit(entry, factor, piece, use, dim)))
      return failure();
  return success();
}

LogicalResult LayoutSolver::settleSplit(Entry &entry, unsigned number,
                                        const DimLayout &layout, unsigned use,
                                        unsigned dim) {
  Factor &factor = entry.factors[number];
  if (layout.isWhole()) {
    if (factor.state == Factor::Open)
      factor.state = Factor::Whole;
    return success();
  }
  if (factor.state == Factor::Split && factor.layout != layout) {
    InFlightDiagnostic diag =
        emitError(entry.op)
        << "needs " << describe(entry, factor.use, factor.dim) << " and "
        << describe(entry, use, dim) << " split alike, got "
        << mesh.format(factor.layout.getAxes()) << " and "
        << mesh.format(layout.getAxes());
    noteUse(diag, entry, factor.use);
    noteUse(diag, entry, use);
    return diag;
  }
  if (factor.state != Factor::Split) {
    factor.state = Factor::Split;
    factor.layout = layout;
    factor.use = use;
    factor.dim = dim;
  }
  return success();
}

/// An operation that says where its part of a factor begins can compute any
/// part of it. Where its inputs are gathered, all ranks would compute the same;
/// instead each computes the part that belongs to the axes of the gather.
void LayoutSolver::shareWork(Entry &entry) {
  const OpDecision *decision = analysis.findDecision(entry.op);
  if (!decision)
    return;
  for (auto [operand, number] : entry.rule.rule.offsets) {
    Factor &factor = entry.factors[number];
    if (factor.state != Factor::Open ||
        entry.rule.rule.factors[number] != FactorKind::Parallel)
      continue;
    for (const OperandChange &change : decision->changes) {
      bool isUsed = llvm::any_of(entry.factors, [&](const Factor &other) {
        return other.state == Factor::Split &&
               llvm::any_of(other.layout.getAxes(), [&](unsigned axis) {
                 return llvm::is_contained(change.axes, axis);
               });
      });
      if (change.kind != OperandChange::Gather || isUsed)
        continue;
      factor.state = Factor::Split;
      factor.layout = DimLayout::getSplit(change.axes, factor.size);
      factor.use = change.use->getOperandNumber();
      factor.dim = change.dim;
      break;
    }
  }
}

/// Two factors over one axis would leave out pairs of elements.
LogicalResult LayoutSolver::checkAxes(const Entry &entry) {
  DenseMap<unsigned, const Factor *> owners;
  for (const Factor &factor : entry.factors) {
    if (factor.state != Factor::Split)
      continue;
    for (unsigned axis : factor.layout.getAxes()) {
      auto [it, isNew] = owners.try_emplace(axis, &factor);
      if (isNew)
        continue;
      const Factor &other = *it->second;
      InFlightDiagnostic diag =
          emitError(entry.op)
          << "combines " << describe(entry, other.use, other.dim) << " with "
          << describe(entry, factor.use, factor.dim)
          << ", and both are split over " << mesh.format(axis);
      noteUse(diag, entry, other.use);
      noteUse(diag, entry, factor.use);
      return diag;
    }
  }
  return success();
}

/// Whole operands under split factors are sliced.
LogicalResult LayoutSolver::alignOperands(Entry &entry) {
  for (auto [use, dims] :
       llvm::zip(entry.rule.uses, entry.rule.rule.operands)) {
    auto it = states.find(use->get());
    if (it == states.end())
      continue;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (it->second.open[i] || !it->second.dims[i].isWhole())
        continue;
      DimLayout expected = getLayout(entry, dim);
      if (!expected.isWhole() && failed(addSlice(entry.op, use, i, expected)))
        return failure();
    }
  }
  return success();
}

void LayoutSolver::settleResults(Entry &entry) {
  const LayoutRule &rule = entry.rule.rule;
  auto isSettled = [&](unsigned factor) {
    return rule.factors[factor] == FactorKind::Whole ||
           entry.factors[factor].state != Factor::Open;
  };
  // A product with a settled factor is settled: its open factors are whole.
  for (const auto &dims : rule.results)
    for (const LayoutRule::Dim &dim : dims)
      if (llvm::any_of(dim, isSettled))
        for (unsigned factor : dim)
          if (entry.factors[factor].state == Factor::Open)
            entry.factors[factor].state = Factor::Whole;
  for (auto [result, dims] : llvm::zip(entry.op->getResults(), rule.results)) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    ValueState &state = states[result];
    SmallVector<bool> isVisible(entry.factors.size(), false);
    for (const LayoutRule::Dim &dim : dims) {
      state.dims.push_back(getLayout(entry, dim));
      state.open.push_back(llvm::none_of(dim, isSettled));
      for (unsigned factor : dim)
        isVisible[factor] = true;
    }
    for (auto [i, factor] : llvm::enumerate(entry.factors))
      if (factor.state == Factor::Split && !isVisible[i] &&
          rule.factors[i] == FactorKind::Parallel)
        llvm::append_range(state.perRank, factor.layout.getAxes());
  }
}

/// Axes of split reductions that leave a part of a result on each rank. A
/// reduction that is also a dimension of the result leaves its own part there.
AxisList LayoutSolver::getPartialAxes(const Entry &entry, unsigned result) {
  AxisList axes;
  const LayoutRule &rule = entry.rule.rule;
  for (auto [number, kind] : llvm::enumerate(rule.factors)) {
    const Factor &factor = entry.factors[number];
    bool isVisible =
        llvm::any_of(rule.results[result], [&](const LayoutRule::Dim &dim) {
          return llvm::is_contained(dim, number);
        });
    if (factor.state == Factor::Split && kind == FactorKind::Reduction &&
        !isVisible)
      llvm::append_range(axes, factor.layout.getAxes());
  }
  llvm::sort(axes);
  return axes;
}

/// Split reductions leave a part of the result on each rank.
LogicalResult LayoutSolver::addPartials(Entry &entry) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(entry.op);
  for (OpResult result : entry.op->getResults()) {
    AxisList axes = getPartialAxes(entry, result.getResultNumber());
    if (axes.empty())
      continue;
    std::optional<ReductionKind> kind = ReductionKind::sum;
    if (linalgOp)
      kind = matchCombiner(linalgOp, result.getResultNumber());
    Type element = getElementTypeOrSelf(result.getType());
    if (!kind || !canCombine(*kind, element))
      return emitError(entry.op)
             << "reduces over " << mesh.format(axes)
             << ", and no collective combines what the ranks have: result "
             << result.getResultNumber() << " of element type " << element
             << " must be a sum, maximum or minimum";
    if (linalgOp && *kind == ReductionKind::sum &&
        !isZeroTensor(linalgOp.getTiedOpOperand(result)->get()))
      return emitError(entry.op)
             << "sums over " << mesh.format(axes) << " into result "
             << result.getResultNumber()
             << ", whose initial value every rank would add: expected zeros";
    getDecision(entry.op).partials.push_back({result, *kind, axes});
  }
  return success();
}
