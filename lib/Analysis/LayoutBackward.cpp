//===- LayoutBackward.cpp - layouts that follow from uses -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutSolver.h"

using namespace mlir;
using namespace mlir::dsv4;

LogicalResult LayoutSolver::visitBackward(Entry &entry) {
  if (entry.rule.kind == OpRule::Kind::Known) {
    bool remakeable = isRemakeable(entry.op);
    collectDemands(entry, remakeable);
    dropClashes(entry);
    if (failed(settleOpenResults(entry, remakeable)) ||
        failed(addOffsets(entry)))
      return failure();
  }
  demandOperands(entry);
  return success();
}

/// Open factors become what all uses of the results want, or whole. A tensor
/// that can be made again takes what its first use wants.
void LayoutSolver::collectDemands(Entry &entry, bool remakeable) {
  SmallVector<bool> isDemanded(entry.factors.size(), false);
  SmallVector<bool> isDisputed(entry.factors.size(), false);
  auto demand = [&](unsigned number, const DimLayout &layout) {
    Factor &factor = entry.factors[number];
    if (factor.state != Factor::Open)
      return;
    // Demands arrive from the last use to the first.
    if (isDemanded[number] && !remakeable)
      isDisputed[number] |= factor.layout != layout;
    factor.layout = layout;
    isDemanded[number] = true;
  };
  for (auto [result, dims] :
       llvm::zip(entry.op->getResults(), entry.rule.rule.results)) {
    auto it = states.find(result);
    if (it == states.end())
      continue;
    for (const Demand &use : it->second.demands)
      for (auto [i, dim] : llvm::enumerate(dims)) {
        SmallVector<DimLayout> pieces;
        if (divide(entry, dim, use.layout[i], pieces) == DimLayout::Fit::Even)
          for (auto [factor, piece] : llvm::zip(dim, pieces))
            demand(factor, piece);
        else
          for (unsigned factor : dim)
            isDisputed[factor] = true;
      }
  }
  for (auto [i, factor] : llvm::enumerate(entry.factors))
    if (factor.state == Factor::Open && isDisputed[i])
      factor.layout = DimLayout::getWhole(factor.layout.getSize());
}

/// Settles what is open: split where demanded, unless the axis already splits
/// another factor.
void LayoutSolver::dropClashes(Entry &entry) {
  DenseSet<unsigned> used;
  for (const Factor &factor : entry.factors)
    if (factor.state == Factor::Split)
      for (unsigned axis : factor.layout.getAxes())
        used.insert(axis);
  for (auto [factor, kind] :
       llvm::zip(entry.factors, entry.rule.rule.factors)) {
    if (factor.state != Factor::Open)
      continue;
    AxisList axes = factor.layout.getAxes();
    bool isFree =
        llvm::none_of(axes, [&](unsigned axis) { return used.contains(axis); });
    if (kind != FactorKind::Parallel || !isFree)
      factor.layout = DimLayout::getWhole(factor.layout.getSize());
    factor.state = factor.layout.isWhole() ? Factor::Whole : Factor::Split;
    if (factor.state == Factor::Split)
      used.insert_range(axes);
  }
}

LogicalResult LayoutSolver::settleOpenResults(Entry &entry, bool remakeable) {
  for (auto [result, dims] :
       llvm::zip(entry.op->getResults(), entry.rule.rule.results)) {
    auto it = states.find(result);
    if (it == states.end())
      continue;
    ValueState &state = it->second;
    for (auto [i, dim] : llvm::enumerate(dims))
      if (state.open[i])
        state.dims[i] = getLayout(entry, dim);
    for (const Demand &demand : llvm::reverse(state.demands))
      if (failed(answerDemand(entry, result, demand, remakeable)))
        return failure();
    state.demands.clear();
  }
  return success();
}

/// A use that wants another layout than the value got slices it, or uses a copy
/// of its own.
LogicalResult LayoutSolver::answerDemand(const Entry &entry, OpResult result,
                                         const Demand &demand,
                                         bool remakeable) {
  const ValueState &state = states[result];
  Operation *user = demand.use->getOwner();
  while (user->getBlock() != entry.op->getBlock())
    user = user->getParentOp();
  for (unsigned i = 0, e = state.dims.size(); i < e; ++i) {
    if (!state.open[i] || state.dims[i] == demand.layout[i])
      continue;
    if (remakeable) {
      getDecision(user).copies.push_back({demand.use, demand.layout});
      return success();
    }
    // A dispute made it whole.
    if (failed(addSlice(user, demand.use, i, demand.layout[i])))
      return failure();
  }
  return success();
}

/// Tells open operands which layout this operation wants.
void LayoutSolver::demandOperands(Entry &entry) {
  for (auto [number, use] : llvm::enumerate(entry.rule.uses)) {
    auto it = states.find(use->get());
    if (it == states.end() || !llvm::is_contained(it->second.open, true))
      continue;
    Demand demand{use, {}};
    for (auto [i, layout] : llvm::enumerate(it->second.dims))
      demand.layout.push_back(
          entry.rule.kind == OpRule::Kind::Known && it->second.open[i]
              ? getLayout(entry, entry.rule.rule.operands[number][i])
              : DimLayout::getWhole(layout.getSize()));
    it->second.demands.push_back(std::move(demand));
  }
}

/// Indices that are local because their factor is split become global.
LogicalResult LayoutSolver::addOffsets(Entry &entry) {
  auto add = [&](unsigned number, Operation *index,
                 OpOperand *operand) -> LogicalResult {
    const Factor &factor = entry.factors[number];
    if (factor.state != Factor::Split)
      return success();
    if (!factor.layout.isContiguous())
      return emitError(entry.op)
             << "uses the index of a dimension that is split over "
             << mesh.format(factor.layout.getAxes())
             << " into parts that are not contiguous";
    getDecision(entry.op).offsets.push_back({index, operand,
                                             factor.layout.getAxes(),
                                             factor.layout.getLocalSize(mesh)});
    return success();
  };
  for (auto [operand, factor] : entry.rule.rule.offsets)
    if (failed(add(factor, nullptr, entry.rule.uses[operand])))
      return failure();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(entry.op);
  if (!linalgOp || linalgOp->getNumRegions() == 0)
    return success();
  WalkResult walk = linalgOp->walk([&](linalg::IndexOp index) {
    if (index->getParentOfType<linalg::LinalgOp>() == linalgOp &&
        failed(add(index.getDim(), index, nullptr)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
