//===- ArithRules.cpp - differentiation rules of arith --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On scalars and tensors. A minimum or maximum passes everything to the operand
// that equals the result, the first one when both do; so a clamp has derivative
// 1 on its borders.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dsv4;

static LogicalResult buildAddAdjoint(arith::AddFOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  for (Value operand : op->getOperands())
    if (b.needsCotangent(operand))
      b.addCotangent(operand, dy);
  return success();
}

static LogicalResult buildSubAdjoint(arith::SubFOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  if (b.needsCotangent(op.getLhs()))
    b.addCotangent(op.getLhs(), dy);
  if (b.needsCotangent(op.getRhs()))
    b.addCotangent(op.getRhs(), b.create<arith::NegFOp>(dy));
  return success();
}

static LogicalResult buildNegAdjoint(arith::NegFOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  b.addCotangent(op.getOperand(), b.create<arith::NegFOp>(dy));
  return success();
}

static LogicalResult buildMulAdjoint(arith::MulFOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  if (b.needsCotangent(op.getLhs()))
    b.addCotangent(op.getLhs(), b.create<arith::MulFOp>(dy, op.getRhs()));
  if (b.needsCotangent(op.getRhs()))
    b.addCotangent(op.getRhs(), b.create<arith::MulFOp>(dy, op.getLhs()));
  return success();
}

static LogicalResult buildDivAdjoint(arith::DivFOp op, AdjointBuilder &b) {
  Value scaled =
      b.create<arith::DivFOp>(b.getCotangent(op.getResult()), op.getRhs());
  if (b.needsCotangent(op.getLhs()))
    b.addCotangent(op.getLhs(), scaled);
  if (b.needsCotangent(op.getRhs())) {
    Value product = b.create<arith::MulFOp>(scaled, op.getResult());
    b.addCotangent(op.getRhs(), b.create<arith::NegFOp>(product));
  }
  return success();
}

template <typename OpT>
static LogicalResult buildExtremumAdjoint(OpT op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  Value zero = b.makeConstant(op.getType(), 0.0);
  Value isFirst = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ,
                                          op.getResult(), op.getLhs());
  if (b.needsCotangent(op.getLhs()))
    b.addCotangent(op.getLhs(), b.create<arith::SelectOp>(isFirst, dy, zero));
  if (b.needsCotangent(op.getRhs()))
    b.addCotangent(op.getRhs(), b.create<arith::SelectOp>(isFirst, zero, dy));
  return success();
}

static LogicalResult buildSelectAdjoint(arith::SelectOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  Value zero = b.makeConstant(op.getType(), 0.0);
  Value condition = op.getCondition();
  if (b.needsCotangent(op.getTrueValue()))
    b.addCotangent(op.getTrueValue(),
                   b.create<arith::SelectOp>(condition, dy, zero));
  if (b.needsCotangent(op.getFalseValue()))
    b.addCotangent(op.getFalseValue(),
                   b.create<arith::SelectOp>(condition, zero, dy));
  return success();
}

/// The adjoint of a cast is the opposite cast.
template <typename OpT, typename OppositeT>
static LogicalResult buildCastAdjoint(OpT op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  b.addCotangent(op.getIn(), b.create<OppositeT>(op.getIn().getType(), dy));
  return success();
}

void dsv4::registerArithRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachRule<arith::AddFOp, buildAddAdjoint>(*context);
    attachRule<arith::SubFOp, buildSubAdjoint>(*context);
    attachRule<arith::NegFOp, buildNegAdjoint>(*context);
    attachRule<arith::MulFOp, buildMulAdjoint>(*context);
    attachRule<arith::DivFOp, buildDivAdjoint>(*context);
    attachRule<arith::MaximumFOp, buildExtremumAdjoint>(*context);
    attachRule<arith::MinimumFOp, buildExtremumAdjoint>(*context);
    attachRule<arith::MaxNumFOp, buildExtremumAdjoint>(*context);
    attachRule<arith::MinNumFOp, buildExtremumAdjoint>(*context);
    attachRule<arith::SelectOp, buildSelectAdjoint>(*context);
    attachRule<arith::ExtFOp, buildCastAdjoint<arith::ExtFOp, arith::TruncFOp>>(
        *context);
    attachRule<arith::TruncFOp,
               buildCastAdjoint<arith::TruncFOp, arith::ExtFOp>>(*context);
  });
}
