//===- MathRules.cpp - differentiation rules of math ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On scalars and tensors. The derivative of |x| at 0 is 1.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dsv4;

static Value multiply(AdjointBuilder &b, Value lhs, Value rhs) {
  return b.create<arith::MulFOp>(lhs, rhs);
}

static Value scale(AdjointBuilder &b, Value value, double factor) {
  return multiply(b, value, b.makeConstant(value.getType(), factor));
}

static LogicalResult buildExpAdjoint(math::ExpOp op, AdjointBuilder &b) {
  b.addCotangent(op.getOperand(),
                 multiply(b, b.getCotangent(op.getResult()), op.getResult()));
  return success();
}

static LogicalResult buildLogAdjoint(math::LogOp op, AdjointBuilder &b) {
  b.addCotangent(op.getOperand(),
                 b.create<arith::DivFOp>(b.getCotangent(op.getResult()),
                                         op.getOperand()));
  return success();
}

static LogicalResult buildLog1pAdjoint(math::Log1pOp op, AdjointBuilder &b) {
  Value one = b.makeConstant(op.getType(), 1.0);
  Value divisor = b.create<arith::AddFOp>(one, op.getOperand());
  b.addCotangent(op.getOperand(),
                 b.create<arith::DivFOp>(b.getCotangent(op.getResult()), divisor));
  return success();
}

/// 1 / (2 sqrt x)
static LogicalResult buildSqrtAdjoint(math::SqrtOp op, AdjointBuilder &b) {
  Value half = scale(b, b.getCotangent(op.getResult()), 0.5);
  b.addCotangent(op.getOperand(), b.create<arith::DivFOp>(half, op.getResult()));
  return success();
}

/// -1/2 y^3
static LogicalResult buildRsqrtAdjoint(math::RsqrtOp op, AdjointBuilder &b) {
  Value y = op.getResult();
  Value cube = multiply(b, multiply(b, y, y), y);
  b.addCotangent(op.getOperand(),
                 scale(b, multiply(b, b.getCotangent(y), cube), -0.5));
  return success();
}

static LogicalResult buildAbsAdjoint(math::AbsFOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  Value zero = b.makeConstant(op.getType(), 0.0);
  Value isPositive = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGE,
                                             op.getOperand(), zero);
  Value negative = b.create<arith::NegFOp>(dy);
  b.addCotangent(op.getOperand(),
                 b.create<arith::SelectOp>(isPositive, dy, negative));
  return success();
}

/// 1 - y^2
static LogicalResult buildTanhAdjoint(math::TanhOp op, AdjointBuilder &b) {
  Value y = op.getResult();
  Value one = b.makeConstant(op.getType(), 1.0);
  Value slope = b.create<arith::SubFOp>(one, multiply(b, y, y));
  b.addCotangent(op.getOperand(), multiply(b, b.getCotangent(y), slope));
  return success();
}

static LogicalResult buildFmaAdjoint(math::FmaOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  if (b.needsCotangent(op.getA()))
    b.addCotangent(op.getA(), multiply(b, dy, op.getB()));
  if (b.needsCotangent(op.getB()))
    b.addCotangent(op.getB(), multiply(b, dy, op.getA()));
  if (b.needsCotangent(op.getC()))
    b.addCotangent(op.getC(), dy);
  return success();
}

void dsv4::registerMathRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachRule<math::ExpOp, buildExpAdjoint>(*context);
    attachRule<math::LogOp, buildLogAdjoint>(*context);
    attachRule<math::Log1pOp, buildLog1pAdjoint>(*context);
    attachRule<math::SqrtOp, buildSqrtAdjoint>(*context);
    attachRule<math::RsqrtOp, buildRsqrtAdjoint>(*context);
    attachRule<math::AbsFOp, buildAbsAdjoint>(*context);
    attachRule<math::TanhOp, buildTanhAdjoint>(*context);
    attachRule<math::FmaOp, buildFmaAdjoint>(*context);
  });
}
