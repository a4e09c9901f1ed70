//===- AttentionRules.cpp - differentiation rules of attention ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rotation is undone by its inverse. Attention, pooling and Sinkhorn have
// adjoint operations, which compute probabilities again: nothing is saved but the
// operands. Formulas are with the operations.
//
//===----------------------------------------------------------------------===//

#include "StructuredRules.h"

using namespace mlir;
using namespace mlir::dsv4;

static LogicalResult buildRopeAdjoint(RopeOp op, AdjointBuilder &b) {
  Type type = op.getInput().getType();
  auto inverse = op.getInverse() ? UnitAttr() : b.getUnitAttr();
  auto rotated = b.create<RopeOp>(
      TypeRange(type), b.getCotangent(op.getResult().front()), op.getPositions(),
      b.makeEmpty(type), op.getInvFreqAttr(), inverse, op.getTrigAttr());
  b.addCotangent(op.getInput(), rotated.getResult().front());
  return success();
}

static LogicalResult buildWindowAttentionAdjoint(WindowAttentionOp op,
                                                 AdjointBuilder &b) {
  Value query = op.getQuery(), pool = op.getPool();
  RankedTensorType keyType = getSumType(op.getKeys());
  Type wide = getSumType(query).getElementType();
  SmallVector<Value> inits = {
      b.makeEmpty(query.getType()), b.makeEmpty(keyType.clone(wide)),
      b.makeEmpty(RankedTensorType::get(
          cast<RankedTensorType>(query.getType()).getShape().drop_back(), wide))};
  Value poolInit;
  if (pool)
    inits.push_back(poolInit = b.makeEmpty(getSumType(pool).clone(wide)));
  auto adjoint = b.create<WindowAttentionGradOp>(
      TypeRange(ValueRange(inits)), query, op.getKeys(), op.getSink(),
      b.getCotangent(op.getResult().front()), op.getFirstQuery(),
      op.getFirstKey(), pool, op.getSelected(), inits[0], inits[1], inits[2],
      poolInit, op.getWindowAttr(), op.getScaleAttr(), op.getRatioAttr());
  if (b.needsCotangent(query))
    b.addCotangent(query, adjoint->getResult(0));
  if (b.needsCotangent(op.getKeys()))
    addSum(b, op.getKeys(), adjoint->getResult(1));
  if (b.needsCotangent(op.getSink()))
    addSumOverTokens(b, op.getSink(), adjoint->getResult(2));
  if (pool && b.needsCotangent(pool))
    addSum(b, pool, adjoint->getResult(3));
  return success();
}

static LogicalResult buildPoolWindowsAdjoint(PoolWindowsOp op,
                                             AdjointBuilder &b) {
  Type type = op.getValues().getType();
  Value values = b.makeEmpty(type), gate = b.makeEmpty(type);
  auto adjoint = b.create<PoolWindowsGradOp>(
      TypeRange{type, type}, op.getValues(), op.getGate(), op.getApe(),
      b.getCotangent(op.getResult().front()), op.getFirstWindow(), values, gate,
      op.getOverlapAttr());
  if (b.needsCotangent(op.getValues()))
    b.addCotangent(op.getValues(), adjoint->getResult(0));
  if (b.needsCotangent(op.getGate()))
    b.addCotangent(op.getGate(), adjoint->getResult(1));
  if (b.needsCotangent(op.getApe()))
    addSumOverTokens(b, op.getApe(), adjoint->getResult(1));
  return success();
}

static LogicalResult buildSinkhornAdjoint(SinkhornOp op, AdjointBuilder &b) {
  Type type = op.getInput().getType();
  auto adjoint = b.create<SinkhornGradOp>(
      TypeRange(type), op.getInput(), b.getCotangent(op.getResult().front()),
      b.makeEmpty(type), op.getIterationsAttr(), op.getEpsAttr());
  b.addCotangent(op.getInput(), adjoint.getResult().front());
  return success();
}

void dsv4::registerAttentionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
    attachStructuredRule<RopeOp, buildRopeAdjoint>(*context);
    attachStructuredRule<WindowAttentionOp, buildWindowAttentionAdjoint>(
        *context);
    attachStructuredRule<PoolWindowsOp, buildPoolWindowsAdjoint>(*context);
    attachStructuredRule<SinkhornOp, buildSinkhornAdjoint>(*context);
  });
}
