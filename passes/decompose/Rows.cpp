//===- Rows.cpp - reads by index, and the largest entries of rows ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "Decompose.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Shared
//===----------------------------------------------------------------------===//

void dsv4::copyRow(const Buffer &from, Expr fromAt, const Buffer &to, Expr toAt,
                   int64_t size, Emitter &e) {
  int64_t fromStride = from.strides.back(), toStride = to.strides.back();
  e.loop(0, size, [&](Expr c) {
    e.store(to, toAt + c * toStride, e.load(from, fromAt + c * fromStride));
  });
}

static void fillZeroFrom(const Buffer &buffer, unsigned dim, Expr at,
                         Emitter &e) {
  if (dim == buffer.sizes.size())
    return e.store(buffer, at, e.constant(buffer.element, 0.0));
  bool isContiguous =
      dim + 1 == buffer.sizes.size() && buffer.strides[dim] == 1;
  if (!isContiguous)
    return e.loop(0, buffer.sizes[dim], [&](Expr i) {
      fillZeroFrom(buffer, dim + 1, at + i * buffer.strides[dim], e);
    });
  e.chunks(buffer.sizes[dim], {32, 1}, [&](Expr i, int64_t width) {
    e.store(buffer, at + i,
            e.broadcast(e.constant(buffer.element, 0.0), width));
  });
}

void dsv4::fillZero(const Buffer &buffer, Emitter &e) {
  fillZeroFrom(buffer, 0, e.index(0), e);
}

void dsv4::addRow(const Buffer &from, Expr fromAt, const Buffer &to, Expr toAt,
                  int64_t size, Emitter &e) {
  int64_t fromStride = from.strides.back(), toStride = to.strides.back();
  SmallVector<int64_t> widths = {1};
  if (fromStride == 1 && toStride == 1)
    widths = {32, 1};
  e.chunks(size, widths, [&](Expr c, int64_t width) {
    Expr at = toAt + c * toStride;
    Expr row = e.load(from, fromAt + c * fromStride, width);
    e.store(to, at, e.load(to, at, width) + e.cast(row, to.element));
  });
}

Expr dsv4::loadSlot(const Buffer &order, Expr row, Emitter &e) {
  return e.cast(e.load(order, e.at(order, {row})),
                e.getBuilder().getIndexType());
}

Expr dsv4::atToken(const Buffer &tokens, Expr token, Emitter &e) {
  Expr perRow = e.index(tokens.sizes[1]);
  Expr b = e.divide(token, perRow);
  return e.at(tokens, {b, token - b * perRow, e.index(0)});
}

Expr dsv4::loadRowCount(const Buffer &offsets, int64_t rows, Emitter &e) {
  Expr last = e.load(offsets, e.at(offsets, {e.index(offsets.sizes[0] - 1)}));
  return e.min(e.cast(last, e.getBuilder().getIndexType()), e.index(rows));
}

Expr dsv4::makeOrderedKey(Expr value, Emitter &e) {
  // Adding +0 turns -0 into +0.
  value = value + 0.0;
  unsigned bits = value.getElementType().getIntOrFloatBitWidth();
  Type integer = e.getBuilder().getIntegerType(bits);
  Expr raw = e.bitcast(value, integer);
  Expr sign = e.shiftRightSigned(raw, bits - 1);
  int64_t mask = APInt::getSignedMaxValue(bits).getSExtValue();
  Expr key = e.bitXor(raw, e.bitAnd(sign, makeLiteral(sign, mask)));
  Expr isNaN = e.compare(arith::CmpFPredicate::UNO, value, value);
  int64_t lowest = APInt::getSignedMinValue(bits).getSExtValue() + 1;
  return e.select(isNaN, makeLiteral(key, lowest), key);
}

void dsv4::forEachToken(ArrayRef<int64_t> shape, Emitter &e,
                        llvm::function_ref<void(Expr, Expr)> body) {
  e.loop(0, shape[0],
         [&](Expr b) { e.loop(0, shape[1], [&](Expr t) { body(b, t); }); });
}

Expr dsv4::isInRange(Expr index, int64_t size) {
  return (index >= 0) & (index < size);
}

//===----------------------------------------------------------------------===//
// GatherRowsOp, TakeAlongOp
//===----------------------------------------------------------------------===//

LogicalResult dsv4::decompose(GatherRowsOp op, Emitter &e) {
  Buffer table = e.flatten(op.getTable()), ids = e.flatten(op.getIds());
  Buffer out = e.flatten(op.getInit());
  Type indexType = e.getBuilder().getIndexType();
  forEachToken(out.sizes, e, [&](Expr b, Expr t) {
    Expr id = e.cast(e.load(ids, e.at(ids, {b, t})), indexType);
    Expr row = e.at(out, {b, t, e.index(0)});
    e.whenElse(
        isInRange(id, table.sizes[0]),
        [&] {
          copyRow(table, e.at(table, {id, e.index(0)}), out, row, out.sizes[2],
                  e);
        },
        [&] {
          e.loop(0, out.sizes[2], [&](Expr c) {
            e.store(out, row + c * out.strides[2],
                    e.constant(out.element, 0.0));
          });
        });
  });
  return success();
}

LogicalResult dsv4::decompose(TakeAlongOp op, Emitter &e) {
  Buffer input = e.flatten(op.getInput()), indices = e.flatten(op.getIndices());
  Buffer out = e.flatten(op.getInit());
  Type indexType = e.getBuilder().getIndexType();
  forEachToken(out.sizes, e, [&](Expr b, Expr t) {
    e.loop(0, out.sizes[2], [&](Expr j) {
      Expr i = e.cast(e.load(indices, e.at(indices, {b, t, j})), indexType);
      Expr zero = e.constant(out.element, 0.0);
      Expr value = e.choose(
          isInRange(i, input.sizes[2]),
          [&]() -> SmallVector<Expr> {
            return {e.load(input, e.at(input, {b, t, i}))};
          },
          zero)[0];
      e.store(out, e.at(out, {b, t, j}), value);
    });
  });
  return success();
}

//===----------------------------------------------------------------------===//
// TopkOp
//===----------------------------------------------------------------------===//

/// The best entry after (key, index) in the order of falling key, then rising
/// index.
static SmallVector<Expr> findNext(const Buffer &scores, Expr b, Expr t,
                                  ArrayRef<Expr> last, Emitter &e) {
  Expr none = e.constantInt(
      last[0].getType(),
      APInt::getSignedMinValue(last[0].getType().getIntOrFloatBitWidth())
          .getSExtValue());
  return e.loop(
      e.index(0), e.index(scores.sizes[2]), {none, e.index(0)},
      [&](Expr i, ArrayRef<Expr> best) -> SmallVector<Expr> {
        Expr key = makeOrderedKey(e.load(scores, e.at(scores, {b, t, i})), e);
        Expr isAfter = (key < last[0]) | ((key == last[0]) & (i > last[1]));
        Expr isBetter = isAfter & (key > best[0]);
        return {e.select(isBetter, key, best[0]),
                e.select(isBetter, i, best[1])};
      });
}

LogicalResult dsv4::decompose(TopkOp op, Emitter &e) {
  Buffer scores = e.flatten(op.getScores()), out = e.flatten(op.getInit());
  unsigned bits = scores.element.getIntOrFloatBitWidth();
  Expr highest = e.constantInt(e.getBuilder().getIntegerType(bits),
                               APInt::getSignedMaxValue(bits).getSExtValue());
  forEachToken(out.sizes, e, [&](Expr b, Expr t) {
    e.loop(e.index(0), e.index(out.sizes[2]), {highest, e.index(0)},
           [&](Expr j, ArrayRef<Expr> last) {
             SmallVector<Expr> next = findNext(scores, b, t, last, e);
             e.store(out, e.at(out, {b, t, j}), e.cast(next[1], out.element));
             return next;
           });
  });
  return success();
}
