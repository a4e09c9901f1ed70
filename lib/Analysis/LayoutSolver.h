//===- LayoutSolver.h - finds layouts --------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm. Every operation has factors (LayoutRule.h); two dimensions
// that list the same factor are split alike. A dimension of a value is
// *settled* when a split or whole tensor flows into it, and *open* when nothing
// says how it lies: a tensor.empty, a constant, an index tensor, a broadcast
// dimension.
//
// 1. Forward, in program order. A split operand decides its factors; a factor
//    with only whole operands is whole; one with only open operands stays open.
//    A split dimension under a Whole factor is gathered, a whole one under a
//    split factor is sliced, two different splits are an error.
// 2. Backward. Each use demands a layout for the open dimensions of its
//    operand. They take it when all uses agree; else they are whole and the
//    uses that want a split slice it. A tensor that can be made again at any
//    size is instead made once per layout.
//
// Two passes reach the fixed point, because a settled dimension never changes
// and open ones take their layout from users, all of which come later in the
// block. Each operation and use is visited twice: the time is linear.
//
//   %i = iota [S]            open                 -> {"cp"}, index + offset
//   %m = compare %i          open                 -> {"cp"}
//   %y = multiply %x, %m     %x is {"cp"}: split
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_ANALYSIS_LAYOUTSOLVER_H
#define DSV4_LIB_ANALYSIS_LAYOUTSOLVER_H

#include "LayoutRules.h"
#include "dsv4/Analysis/Layout.h"
#include <vector>

namespace mlir::dsv4 {

/// Finds the layouts of one function and stores them in a `LayoutAnalysis`.
class LayoutSolver {
public:
  explicit LayoutSolver(LayoutAnalysis &analysis)
      : analysis(analysis), mesh(analysis.mesh) {}
  LogicalResult run();

private:
  /// One use and the layout that it wants.
  struct Demand {
    OpOperand *use;
    ValueLayout layout;
  };
  struct ValueState {
    ValueLayout dims;
    SmallVector<bool, 4> open;
    /// Axes along which the elements differ although no dimension is split.
    AxisList perRank;
    SmallVector<Demand, 1> demands;
  };
  struct Factor {
    enum State { Open, Whole, Split } state = Open;
    DimLayout layout = DimLayout::getWhole(1);
    int64_t size = -1;
    /// Where the split comes from: an entry of `OpRule::uses` and a dimension.
    unsigned use = 0, dim = 0;
  };
  struct Entry {
    Operation *op;
    OpRule rule;
    SmallVector<Factor> factors;
  };
  /// A sequence that cannot be split: why, and who needs it.
  struct BadSequence {
    Operation *op;
    std::string reason;
  };

  // LayoutSolver.cpp: the function, its arguments, messages.
  LogicalResult checkFunction();
  LogicalResult checkOperation(Operation *op);
  LogicalResult seedArguments();
  LogicalResult seedArgument(BlockArgument arg);
  void seedBatch(BlockArgument arg, RankedTensorType type);
  void collectRatios();
  void addRatio(int64_t ratio);
  void noteBadWindows(Operation *op, int64_t windowSize);
  LogicalResult reportBadSequence();
  InFlightDiagnostic emitError(Operation *op);
  void noteUse(InFlightDiagnostic &diag, const Entry &entry, unsigned use);
  std::string describe(const Entry &entry, unsigned use, unsigned dim);

  // LayoutForward.cpp: what follows from operands.
  LogicalResult visitForward(Operation *op);
  LogicalResult visitUnknown(const Entry &entry);
  LogicalResult checkPerRank(Operation *op, const OpRule &rule);
  LogicalResult computeSizes(Entry &entry);
  LogicalResult readOperand(Entry &entry, unsigned use);
  LogicalResult checkWindows(const Entry &entry, const DimLayout &layout,
                             ArrayRef<DimLayout> pieces, DimLayout::Fit fit);
  LogicalResult readSplitDim(Entry &entry, unsigned use, unsigned dim);
  LogicalResult settleSplit(Entry &entry, unsigned factor,
                            const DimLayout &layout, unsigned use,
                            unsigned dim);
  void shareWork(Entry &entry);
  LogicalResult checkAxes(const Entry &entry);
  LogicalResult alignOperands(Entry &entry);
  void settleResults(Entry &entry);
  AxisList getPartialAxes(const Entry &entry, unsigned result);
  LogicalResult addPartials(Entry &entry);

  // LayoutBackward.cpp: what follows from uses.
  LogicalResult visitBackward(Entry &entry);
  void collectDemands(Entry &entry, bool remakeable);
  void dropClashes(Entry &entry);
  LogicalResult settleOpenResults(Entry &entry, bool remakeable);
  LogicalResult answerDemand(const Entry &entry, OpResult result,
                             const Demand &demand, bool remakeable);
  void demandOperands(Entry &entry);
  LogicalResult addOffsets(Entry &entry);

  // Shared.
  SmallVector<int64_t> getSizes(const Entry &entry, const LayoutRule::Dim &dim);
  DimLayout getLayout(const Entry &entry, const LayoutRule::Dim &dim);
  DimLayout::Fit divide(const Entry &entry, const LayoutRule::Dim &dim,
                        const DimLayout &layout,
                        SmallVectorImpl<DimLayout> &pieces);
  LogicalResult addSlice(Operation *user, OpOperand *use, unsigned dim,
                         const DimLayout &to);
  OpDecision &getDecision(Operation *op) { return analysis.decisions[op]; }

  LayoutAnalysis &analysis;
  const LayoutMesh &mesh;
  DenseMap<Value, ValueState> states;
  std::vector<Entry> entries;
  /// Positions of the batch, and the least common multiple of window sizes.
  int64_t sequenceLength = 0, windowLcm = 1;
  /// The first of each kind; windows name a layer and come first.
  std::optional<BadSequence> badWindows, badArgument;
  bool isBadSequenceReported = false;
};

} // namespace mlir::dsv4

#endif // DSV4_LIB_ANALYSIS_LAYOUTSOLVER_H
