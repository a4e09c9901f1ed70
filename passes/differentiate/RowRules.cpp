//===- RowRules.cpp - differentiation rules of reads by index -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is read several times gets the sum. Ids and indices have no gradient.
//
//===----------------------------------------------------------------------===//

#include "StructuredRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dsv4;

void dsv4::addSum(AdjointBuilder &b, Value value, Value sum) {
  b.addCotangent(value, narrow(b, sum, cast<RankedTensorType>(value.getType()),
                               b.getStringAttr("sum of cotangents")));
}

void dsv4::addSumOverTokens(AdjointBuilder &b, Value value, Value terms) {
  auto type = cast<RankedTensorType>(terms.getType());
  auto sumType = RankedTensorType::get(type.getShape().drop_front(2),
                                       type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  loops[0] = loops[1] = utils::IteratorType::reduction;
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  auto sum = linalg::GenericOp::create(
      b, b.getLoc(), TypeRange(sumType), terms, b.makeZero(sumType),
      ArrayRef<AffineMap>{all, all.dropResults(ArrayRef<int64_t>{0, 1})}, loops,
      [](OpBuilder &builder, Location loc, ValueRange args) {
        Value next = arith::AddFOp::create(builder, loc, args[1], args[0]);
        linalg::YieldOp::create(builder, loc, next);
      });
  addSum(b, value, sum.getResult(0));
}

static LogicalResult buildGatherRowsAdjoint(GatherRowsOp op,
                                            AdjointBuilder &b) {
  RankedTensorType sumType = getSumType(op.getTable());
  auto sum = b.create<ScatterAddOp>(TypeRange(sumType),
                                    b.getCotangent(op.getResult().front()),
                                    op.getIds(), b.makeEmpty(sumType));
  addSum(b, op.getTable(), sum.getResult().front());
  return success();
}

static LogicalResult buildTakeAlongAdjoint(TakeAlongOp op, AdjointBuilder &b) {
  Type type = op.getInput().getType();
  auto scattered = b.create<ScatterAlongOp>(
      TypeRange(type), b.getCotangent(op.getResult().front()), op.getIndices(),
      b.makeEmpty(type));
  b.addCotangent(op.getInput(), scattered.getResult().front());
  return success();
}

void dsv4::registerRowRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
    attachStructuredRule<GatherRowsOp, buildGatherRowsAdjoint>(*context);
    attachStructuredRule<TakeAlongOp, buildTakeAlongAdjoint>(*context);
  });
}
