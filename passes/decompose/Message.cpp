//===- Message.cpp - rows into and out of buffers of bytes ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a message that holds some rows is a view of their type; then it
// is a copy like any other.
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The place of `rows` in a message, with their type.
static Value viewRows(Value message, int64_t offset, Value rows, Emitter &e) {
  auto type = cast<MemRefType>(rows.getType());
  return memref::ViewOp::create(
      e.getBuilder(), e.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()), message,
      e.index(offset), ValueRange());
}

static LogicalResult copy(Value from, Value to, RuntimeCalls &runtime, Emitter &e) {
  auto op = linalg::CopyOp::create(e.getBuilder(), e.getLoc(), from, to);
  OpBuilder::InsertionGuard guard(e.getBuilder());
  e.getBuilder().setInsertionPoint(op);
  LogicalResult result = decomposeLinalg(op, runtime, e);
  op.erase();
  return result;
}

LogicalResult dsv4::decompose(PackMessageOp op, RuntimeCalls &runtime, Emitter &e) {
  for (auto [rows, offset] : llvm::zip(op.getInputs(), op.getOffsets()))
    if (failed(copy(rows, viewRows(op.getInit(), offset, rows, e), runtime, e)))
      return failure();
  return success();
}

LogicalResult dsv4::decompose(UnpackMessageOp op, RuntimeCalls &runtime, Emitter &e) {
  return copy(viewRows(op.getInput(), op.getOffset(), op.getInit(), e), op.getInit(),
              runtime, e);
}
