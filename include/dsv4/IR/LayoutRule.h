//===- LayoutRule.h - how dimensions of an operation belong together ------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_IR_LAYOUTRULE_H
#define DSV4_IR_LAYOUTRULE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dsv4 {

/// What splitting a factor means.
enum class FactorKind {
  /// Each rank computes its part from its parts.
  Parallel,
  /// Each rank computes a partial sum.
  Reduction,
  /// The operation needs all of it on every rank: a split dimension is gathered.
  Whole,
};

/// The factors of one operation, after the sharding rules of Shardy and the
/// indexing maps of linalg: two dimensions that share a factor are split alike.
///
/// A dimension lists its factors from outer to inner. Most have one. A
/// dimension with several (rows of routed tokens, a collapsed shape) is split
/// over the axes of all of them; its elements are then local to the rank.
struct LayoutRule {
  using Dim = SmallVector<unsigned, 1>;
  SmallVector<FactorKind> factors;
  /// Per operand and dimension; scalars (index, token) have no dimensions.
  SmallVector<SmallVector<Dim>> operands;
  /// Per result and dimension. On memrefs there are none.
  SmallVector<SmallVector<Dim>> results;

  /// Scalar operands that hold the global index of a factor's first element,
  /// as (operand number, factor): a rank that owns a later part adds where it
  /// starts.
  SmallVector<std::pair<unsigned, unsigned>> offsets;

  unsigned addFactor(FactorKind kind) {
    factors.push_back(kind);
    return factors.size() - 1;
  }
};

} // namespace mlir::dsv4

#endif // DSV4_IR_LAYOUTRULE_H
