//===- KernelWorkspace.cpp - scratch memory of kernels --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/KernelWorkspace.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

constexpr int64_t kAlignment = 64;

/// Collects parts one after the other.
struct PartList {
  SmallVector<WorkspacePart> parts;
  int64_t end = 0;

  void add(Type element, int64_t rows, int64_t columns = 1) {
    int64_t offset = llvm::alignTo(end, kAlignment);
    int64_t size, bytes = element.getIntOrFloatBitWidth() / 8;
    if (llvm::MulOverflow(rows, columns, size) ||
        llvm::MulOverflow(size, bytes, end) ||
        llvm::AddOverflow(offset, end, end) || end > kMaxWorkspaceBytes)
      end = kMaxWorkspaceBytes;
    parts.push_back({element, size, offset});
  }
};

} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

static bool hasF64(ValueRange values) {
  return llvm::any_of(values, [](Value value) {
    return getElementTypeOrSelf(value.getType()).isF64();
  });
}

static Type getAccumulator(Operation *op) {
  Builder builder(op->getContext());
  return hasF64(op->getOperands()) ? Type(builder.getF64Type())
                                   : Type(builder.getF32Type());
}

/// Query rows widened; raw keys transposed; pooled keys transposed; rows of the
/// selection; scores of a group of heads.
template <typename OpT>
static void addAttentionParts(OpT op, PartList &list) {
  Type acc = getAccumulator(op);
  int64_t queries = getShape(op.getQuery())[1],
          heads = getShape(op.getQuery())[2];
  int64_t channels = getShape(op.getQuery())[3];
  // Beyond any memory, and still far from the end of 64 bits.
  int64_t window = std::min<int64_t>(op.getWindow(), int64_t(1) << 50);
  int64_t block = std::min(queries, kQueryBlock);
  int64_t pooled = op.getSelected() ? getShape(op.getSelected())[2]
                   : op.getPool()   ? getShape(op.getPool())[1]
                                    : 0;
  list.add(acc, heads, channels);
  list.add(acc, channels, padSlots(block - 1 + padSlots(window)));
  list.add(acc, channels, padSlots(pooled));
  list.add(Builder(op.getContext()).getI64Type(), padSlots(pooled));
  // One chunk of slack: the tail of the last score chunk and its padding.
  list.add(acc, kHeadGroup,
           padSlots(window + padSlots(pooled)) + kSlotChunk);
}

static void addParts(WindowAttentionOp op, PartList &list) {
  addAttentionParts(op, list);
}

/// As forward; then gradient rows widened, and slopes of a group of heads.
static void addParts(WindowAttentionGradOp op, PartList &list) {
  addAttentionParts(op, list);
  Type acc = getAccumulator(op);
  list.add(acc, getShape(op.getQuery())[2], getShape(op.getQuery())[3]);
  list.add(acc, list.parts[4].size);
}

/// Query rows widened; keys transposed; ordered scores of one query.
static void addParts(IndexTopkOp op, PartList &list) {
  Type acc = getAccumulator(op);
  Builder builder(op.getContext());
  int64_t heads = getShape(op.getQuery())[2],
          channels = getShape(op.getQuery())[3];
  int64_t windows = getShape(op.getKeys())[1];
  list.add(acc, heads, channels);
  list.add(acc, channels, padSlots(windows));
  list.add(builder.getIntegerType(acc.getIntOrFloatBitWidth()),
           padSlots(windows));
}

static void addParts(SinkhornOp op, PartList &list) {
  int64_t size = getShape(op.getInput()).back();
  list.add(getAccumulator(op), size, size * kMatrixLanes);
}

/// Softmax and cotangent; matrices and divisors of the steps.
static void addParts(SinkhornGradOp op, PartList &list) {
  Type acc = getAccumulator(op);
  int64_t size = getShape(op.getInput()).back();
  // Beyond any memory, and still far from the end of 64 bits.
  int64_t steps =
      2 * std::min<int64_t>(op.getIterations(), int64_t(1) << 50);
  list.add(acc, size, size * kMatrixLanes);
  list.add(acc, size, size * kMatrixLanes);
  list.add(acc, steps, size * size * kMatrixLanes);
  list.add(acc, steps, size * kMatrixLanes);
}

static PartList getParts(Operation *op) {
  PartList list;
  llvm::TypeSwitch<Operation *>(op)
      .Case<WindowAttentionOp, WindowAttentionGradOp, IndexTopkOp, SinkhornOp,
            SinkhornGradOp>(
          [&](auto modelOp) { addParts(modelOp, list); })
      .Default([](Operation *) {});
  return list;
}

SmallVector<WorkspacePart> dsv4::getWorkspaceParts(Operation *op) {
  return getParts(op).parts;
}

int64_t dsv4::getWorkspaceBytes(Operation *op) { return getParts(op).end; }
