//===- LayoutRules.h - layout rules of all operations ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_ANALYSIS_LAYOUTRULES_H
#define DSV4_LIB_ANALYSIS_LAYOUTRULES_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dsv4 {

/// The rule of one operation: from `LayoutOpInterface`, or derived from the
/// structure of upstream operations.
struct OpRule {
  enum class Kind {
    /// `rule` says how dimensions belong together.
    Known,
    /// The operation neither reads nor makes tensors.
    Scalar,
    /// Nothing is known; `uses` lists the tensors that it reads.
    Unknown
  };
  Kind kind = Kind::Unknown;
  LayoutRule rule;
  /// One entry per entry of `rule.operands`: the operands in order, then the
  /// tensors that nested operations read from outside, which are needed whole.
  SmallVector<OpOperand *> uses;
};

OpRule getOpRule(Operation *op);

/// True for an operation that makes the same elements at any size, from
/// nothing but its position and scalars: `tensor.empty`, splats, fills and
/// index tensors. The tensor that it overwrites must be of that kind too.
bool isRemakeable(Operation *op);

/// How `linalg` output `number` combines what several ranks compute; nullopt
/// when no collective does that.
std::optional<ReductionKind> matchCombiner(linalg::LinalgOp op,
                                           unsigned number);

/// True when the runtime combines elements of this type.
bool canCombine(ReductionKind kind, Type element);

/// True when all elements are known to be zero.
bool isZeroTensor(Value value);

} // namespace mlir::dsv4

#endif // DSV4_LIB_ANALYSIS_LAYOUTRULES_H
