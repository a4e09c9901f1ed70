//===- FloatCast.cpp - operations that only change the float type ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FloatCast.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The only operation of a linalg body, if it yields just that one's result.
static Operation *findOnlyBodyOp(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (!body || !llvm::hasNItems(*body, 2))
    return nullptr;
  Operation &inner = body->front();
  Operation *yield = body->getTerminator();
  bool isYielded = inner.getNumResults() == 1 && yield->getNumOperands() == 1 &&
                   yield->getOperand(0) == inner.getResult(0);
  return isYielded ? &inner : nullptr;
}

std::optional<FloatCast> dsv4::findFloatCast(Operation *op) {
  Operation *cast = op;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    cast = findOnlyBodyOp(linalgOp);
  else if (op->getNumResults() != 1 ||
           !isa<ShapedType>(op->getResult(0).getType()))
    return std::nullopt;
  if (!cast || !isa<arith::ExtFOp, arith::TruncFOp>(cast))
    return std::nullopt;
  return FloatCast{getElementTypeOrSelf(cast->getOperand(0).getType()),
                   getElementTypeOrSelf(cast->getResult(0).getType())};
}

bool dsv4::isElementwiseCastOf(Operation *op, Value source) {
  if (!findFloatCast(op))
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return op->getOperand(0) == source;
  return linalgOp.getNumDpsInputs() == 1 && linalgOp.getNumDpsInits() == 1 &&
         linalgOp.getDpsInputOperand(0)->get() == source &&
         linalgOp.getDpsInitOperand(0)->get() != source &&
         llvm::all_of(linalgOp.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }) &&
         linalgOp.getBlock()->front().getOperand(0) ==
             linalgOp.getBlock()->getArgument(0);
}
