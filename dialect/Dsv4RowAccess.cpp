//===- Dsv4RowAccess.cpp - which rows structured operations read ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace mlir::dsv4;

/// `value` + `rows` or `value` - `rows`, with the path of the operation.
template <typename ArithOp>
static Value combine(OpBuilder &builder, Operation *op, Value value,
                     Value rows) {
  auto result = ArithOp::create(builder, op->getLoc(), value, rows);
  if (Attribute path = op->getAttr(kPathAttr))
    result->setAttr(kPathAttr, path);
  return result;
}

//===----------------------------------------------------------------------===//
// WindowAttentionOp
//===----------------------------------------------------------------------===//

std::optional<RowAccess> WindowAttentionOp::getRowAccess(unsigned operand) {
  Value value = getOperation()->getOperand(operand);
  RowAccess access;
  access.operandDim = access.resultDim = 1;
  if (value == getKeys()) {
    access.first = 1 - static_cast<int64_t>(getWindow());
    return access;
  }
  if (value != getPool())
    return std::nullopt;
  // Selected rows are visible ones: an index is less than (t + 1) div ratio.
  access.den = getRatio();
  access.first = std::nullopt;
  return access;
}

void WindowAttentionOp::moveFirstRow(OpBuilder &builder, unsigned operand,
                                     Value rows) {
  if (getOperation()->getOperand(operand) == getKeys())
    getFirstKeyMutable().assign(
        combine<arith::AddIOp>(builder, *this, getFirstKey(), rows));
}

//===----------------------------------------------------------------------===//
// IndexTopkOp
//===----------------------------------------------------------------------===//

std::optional<RowAccess> IndexTopkOp::getRowAccess(unsigned operand) {
  if (getOperation()->getOperand(operand) != getKeys())
    return std::nullopt;
  RowAccess access;
  access.operandDim = access.resultDim = 1;
  access.den = getRatio();
  access.first = std::nullopt;
  return access;
}

void IndexTopkOp::moveFirstRow(OpBuilder &, unsigned, Value) {}

//===----------------------------------------------------------------------===//
// PoolWindowsOp
//===----------------------------------------------------------------------===//

std::optional<RowAccess> PoolWindowsOp::getRowAccess(unsigned operand) {
  Value value = getOperation()->getOperand(operand);
  bool isGate = value == getGate();
  if (!getOverlap() || (value != getValues() && !isGate))
    return std::nullopt;
  RowAccess access;
  access.operandDim = access.resultDim = 1;
  access.first = -1;
  access.channels = {
      0, cast<ShapedType>(getInit().getType()).getDimSize(2)};
  // A window before the first has weight exp(-inf).
  if (isGate)
    access.missing = -std::numeric_limits<double>::infinity();
  return access;
}

/// Values and gate are read at the same rows: the first of them adapts the
/// operation for both.
void PoolWindowsOp::moveFirstRow(OpBuilder &builder, unsigned operand,
                                 Value rows) {
  if (getOperation()->getOperand(operand) == getValues())
    getFirstWindowMutable().assign(
        combine<arith::SubIOp>(builder, *this, getFirstWindow(), rows));
}
