//===- Multiplicity.h - how often a contribution is counted ----*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An abstract interpretation of a differentiated program. A gradient is a sum
// over paths from the loss through tokens to a parameter. For each axis of the
// mesh, a backward value on the ranks along it is
//
//   zero       no path
//   whole k    every rank has each path k times
//   share k    each path is on one rank, k times: the ranks' sum is the whole
//   mixed k    a whole plus a share, the gradient of what ranks hold differently;
//              never to be summed over ranks before it is read with that
//
//   seed of the loss                                    whole, its value
//   whole or mixed, read with what ranks hold differently      share
//   all_reduce sum, grad_reduce_scatter of a share      whole
//   all_reduce sum, reduce_scatter of a whole           whole, share: k * ranks
//   seq_shard of a whole, seq_gather of a share         share, whole
//   x + x                                               2 k
//
// and any other operation passes the state of its backward operands on, which
// must be alike. Gradients must be whole 1 over every axis, and so must the loss
// be: equal on all ranks, and never a sum over ranks that hold equal values.
//
// The forward values that make the difference come from `Replication`. Paths
// inside one rank are the business of the rules and their tests, except that an
// operation that is not known ends the proof.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_MULTIPLICITY_H
#define DSV4_ANALYSIS_MULTIPLICITY_H

#include "dsv4/Analysis/Replication.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dsv4 {

/// The state of a value along one axis.
struct PathCount {
  enum Kind { Zero, Whole, Share, Mixed } kind = Zero;
  double count = 0.0;
  /// The operation that first made the count another than 1.
  Operation *origin = nullptr;

  bool operator==(const PathCount &other) const {
    return kind == other.kind && (kind == Zero || count == other.count);
  }
};

/// As in "whole 1".
std::string formatPathCount(const PathCount &count);

/// Counts of the backward values of one function.
class Multiplicity {
public:
  /// Interprets `function`, or emits a located error where a count goes wrong or
  /// is not proven.
  static FailureOr<Multiplicity> compute(func::FuncOp function);

  /// One entry per axis of the mesh with more than one rank, one in all without;
  /// empty for forward values.
  ArrayRef<PathCount> getCounts(Value value) const;
  /// Checks the results of the function: the loss and its gradients. Returns
  /// how many gradients were proven.
  FailureOr<unsigned> verifyResults() const;

private:
  using Counts = SmallVector<PathCount, 3>;

  explicit Multiplicity(func::FuncOp function, Replication replication)
      : function(function), replication(std::move(replication)) {}

  LogicalResult visit(Operation *op);
  LogicalResult visitForward(Operation *op);
  LogicalResult visitSeed(Operation *op);
  LogicalResult visitCollective(Operation *op, Counts counts);
  FailureOr<Counts> joinOperands(Operation *op);
  LogicalResult addCounts(Operation *op, Counts &sum, const Counts &term);
  void readVarying(Operation *op, Counts &counts) const;
  LogicalResult reduce(Operation *op, PathCount &count, unsigned axis,
                       PathCount::Kind to) const;
  LogicalResult verifyGradient(unsigned result) const;
  LogicalResult verifyLoss(unsigned result) const;
  bool isVarying(Value value, unsigned axis) const;
  SmallVector<unsigned> findAxes(ArrayAttr names) const;

  mutable func::FuncOp function;
  Replication replication;
  /// Axes with more than one rank; one without name if there is none.
  SmallVector<StringAttr> axisNames;
  SmallVector<int64_t> axisSizes;
  llvm::DenseMap<Value, Counts> counts;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_MULTIPLICITY_H
