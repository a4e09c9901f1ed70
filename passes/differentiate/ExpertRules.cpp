//===- ExpertRules.cpp - differentiation rules of the experts -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the rows has no gradient, so backward goes through the same
// permutation: dispatch and combine are each other's transpose, apart from rows
// without expert, which combine does not read.
//
//   y[r] = x[r] . W[e]      dx[r] = dy[r] . W[e]^T    dW[e] = sum of x[r]^T dy[r]
//
//===----------------------------------------------------------------------===//

#include "StructuredRules.h"

using namespace mlir;
using namespace mlir::dsv4;

static LogicalResult buildDispatchRowsAdjoint(DispatchRowsOp op,
                                              AdjointBuilder &b) {
  RankedTensorType sumType = getSumType(op.getTokens());
  auto sum = b.create<DispatchRowsGradOp>(
      TypeRange(sumType), b.getCotangent(op.getResult().front()), op.getOrder(),
      b.makeEmpty(sumType));
  addSum(b, op.getTokens(), sum.getResult().front());
  return success();
}

static LogicalResult buildDispatchWeightsAdjoint(DispatchWeightsOp op,
                                                 AdjointBuilder &b) {
  Type type = op.getWeights().getType();
  auto slots = b.create<DispatchWeightsGradOp>(
      TypeRange(type), b.getCotangent(op.getResult().front()), op.getOrder(),
      b.makeEmpty(type));
  b.addCotangent(op.getWeights(), slots.getResult().front());
  return success();
}

static LogicalResult buildCombineRowsAdjoint(CombineRowsOp op,
                                             AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult().front());
  if (b.needsCotangent(op.getInit()))
    b.addCotangent(op.getInit(), dy);
  if (!b.needsCotangent(op.getRows()))
    return success();
  Type type = op.getRows().getType();
  auto rows = b.create<CombineRowsGradOp>(TypeRange(type), dy, op.getOrder(),
                                          op.getOffsets(), b.makeEmpty(type));
  b.addCotangent(op.getRows(), rows.getResult().front());
  return success();
}

static LogicalResult buildGroupedMatmulAdjoint(GroupedMatmulOp op,
                                               AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult().front());
  Value rows = op.getRows(), weights = op.getWeights();
  if (b.needsCotangent(rows)) {
    RankedTensorType sumType = getSumType(rows).clone(
        cast<RankedTensorType>(dy.getType()).getElementType());
    auto transposed = op.getTransposed() ? UnitAttr() : b.getUnitAttr();
    auto sum = b.create<GroupedMatmulOp>(TypeRange(sumType), dy, weights,
                                         op.getOffsets(), b.makeEmpty(sumType),
                                         transposed);
    addSum(b, rows, sum.getResult().front());
  }
  if (b.needsCotangent(weights)) {
    Value left = op.getTransposed() ? dy : rows;
    Value right = op.getTransposed() ? rows : dy;
    auto outer = b.create<GroupedOuterOp>(TypeRange(weights.getType()), left,
                                          right, op.getOffsets(),
                                          b.makeEmpty(weights.getType()));
    b.addCotangent(weights, outer.getResult().front());
  }
  return success();
}

void dsv4::registerExpertRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
    attachStructuredRule<DispatchRowsOp, buildDispatchRowsAdjoint>(*context);
    attachStructuredRule<DispatchWeightsOp, buildDispatchWeightsAdjoint>(
        *context);
    attachStructuredRule<CombineRowsOp, buildCombineRowsAdjoint>(*context);
    attachStructuredRule<GroupedMatmulOp, buildGroupedMatmulAdjoint>(*context);
  });
}
