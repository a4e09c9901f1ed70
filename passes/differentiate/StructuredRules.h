//===- StructuredRules.h - rules of structured operations ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A structured operation overwrites its init, so that no gradient passes from the
// result to what was there before. (`dsv4.combine_rows` adds to it.)
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DIFFERENTIATE_STRUCTUREDRULES_H
#define DSV4_PASSES_DIFFERENTIATE_STRUCTUREDRULES_H

#include "Rules.h"
#include "dsv4/IR/Dsv4Ops.h"

namespace mlir::dsv4 {

namespace detail {
template <typename OpT, LogicalResult (*buildFn)(OpT, AdjointBuilder &)>
struct StructuredRule
    : DifferentiableOpInterface::ExternalModel<StructuredRule<OpT, buildFn>,
                                               OpT> {
  bool carriesGradient(Operation *op, OpOperand &operand) const {
    return std::is_same_v<OpT, CombineRowsOp> ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }
  LogicalResult buildAdjoint(Operation *op, AdjointBuilder &builder) const {
    return buildFn(cast<OpT>(op), builder);
  }
};
} // namespace detail

/// Makes `buildFn` the rule of a structured operation.
template <typename OpT, LogicalResult (*buildFn)(OpT, AdjointBuilder &)>
void attachStructuredRule(MLIRContext &context) {
  OpT::template attachInterface<detail::StructuredRule<OpT, buildFn>>(context);
}

/// The type of a value with the elements in which its gradient is summed.
inline RankedTensorType getSumType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(getAccumulatorType(type.getElementType()));
}

/// A sum, rounded to the type of `value`, becomes part of its cotangent.
void addSum(AdjointBuilder &b, Value value, Value sum);

/// Sums over the leading two dimensions, into the type of `value`.
void addSumOverTokens(AdjointBuilder &b, Value value, Value terms);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DIFFERENTIATE_STRUCTUREDRULES_H
