//===- Indexer.cpp - select compressed windows for each query -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of one query at a time are kept, as integers that order as the scores
// do. The K-th largest is found bit by bit, by counting; one scan in ascending
// order of windows then writes all above it, and the first ones equal to it.
//
//   for b
//     transpose keys
//     for t
//       keys[w] = ordered(sum over a of (relu(dot) * scale) * weight)
//       if visible <= K: write all
//       else
//         for bit, high to low: keep it if at least K keys reach threshold |
//         bit for w: write if key > threshold, or == and equal ones are left
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "KeyPanel.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class IndexEmitter {
public:
  IndexEmitter(IndexTopkOp op, ArrayRef<Buffer> workspace, Emitter &e)
      : e(e), wide(getAccumulatorType(op)), query(e.flatten(op.getQuery())),
        keys(e.flatten(op.getKeys())), weights(e.flatten(op.getWeights())),
        out(e.flatten(op.getInit())), firstQuery(e.wrap(op.getFirstQuery())),
        ratio(op.getRatio()), scale(op.getScale().convertToDouble()),
        queryRows(workspace[0]),
        ordered(workspace[2]), panel{workspace[1], query.sizes[3],
                                     ordered.sizes[0]},
        bits(wide.getIntOrFloatBitWidth()) {}

  void run() {
    e.loop(0, query.sizes[0], [&](Expr b) {
      fillPanel(
          panel, keys, keys.strides[2],
          [&](Expr w) {
            return e.at(keys, {b, w, e.index(0)});
          },
          [&](Expr w) { return w < keys.sizes[1]; }, e);
      e.loop(0, query.sizes[1], [&](Expr t) { emitQuery(b, t); });
    });
  }

private:
  void emitQuery(Expr b, Expr t) {
    Expr seen = e.floorDivide(firstQuery + t + 1, ratio);
    Expr visible = e.max(e.min(seen, e.index(keys.sizes[1])), e.index(0));
    Expr slots = e.index(out.sizes[2]);
    e.whenElse(
        visible <= slots,
        [&] {
          e.loop(e.index(0), visible, [&](Expr w) { store(b, t, w, w); });
          e.loop(visible, slots, [&](Expr k) { store(b, t, k, e.index(-1)); });
        },
        [&] {
          scoreWindows(b, t, visible);
          writeLargest(b, t, visible);
        });
  }

  void store(Expr b, Expr t, Expr k, Expr window) {
    e.store(out, e.at(out, {b, t, k}), e.cast(window, out.element));
  }

  void scoreWindows(Expr b, Expr t, Expr visible) {
    int64_t heads = query.sizes[2], channels = query.sizes[3];
    e.loop(0, heads, [&](Expr a) {
      widenRow(query, e.at(query, {b, t, a, e.index(0)}), query.strides[3],
               queryRows, a * channels, channels, e);
    });
    e.loop(
        e.index(0), visible,
        [&](Expr w) {
          Expr key = makeOrderedKey(sumHeads(b, t, w), e);
          Expr isVisible =
              w + e.iota(e.getBuilder().getIndexType(), kSlotChunk) < visible;
          e.store(ordered, w, e.select(isVisible, key, lowest()));
        },
        kSlotChunk);
  }

  /// Scores of 32 windows; heads ascend.
  Expr sumHeads(Expr b, Expr t, Expr w) {
    int64_t heads = query.sizes[2];
    Expr zero = e.constant(wide, 0.0);
    Expr total = e.broadcast(zero, kSlotChunk);
    int64_t grouped = heads / kHeadGroup * kHeadGroup;
    auto addHeads = [&](int64_t from, int64_t to, int64_t group) {
      if (from == to)
        return;
      total = e.loop(
          e.index(from), e.index(to), total,
          [&](Expr a, ArrayRef<Expr> state) -> SmallVector<Expr> {
            Expr sum = state[0];
            SmallVector<Expr> dots =
                emitDots(queryRows, a * panel.channels, group, panel, w, e);
            for (auto [h, dot] : llvm::enumerate(dots)) {
              Expr weight = e.load(weights, e.at(weights, {b, t, a + h}));
              sum = sum + e.maximum(dot, zero) * scale * e.cast(weight, wide);
            }
            return {sum};
          },
          group)[0];
    };
    addHeads(0, grouped, kHeadGroup);
    addHeads(grouped, heads, 1);
    return total;
  }

  /// How many keys are at least `bound`.
  Expr countFrom(Expr bound, Expr visible) {
    Expr zero = e.broadcast(e.constantInt(ordered.element, 0), kSlotChunk);
    Expr counts = e.loop(
        e.index(0), visible, zero,
        [&](Expr w, ArrayRef<Expr> state) -> SmallVector<Expr> {
          Expr reaches = e.load(ordered, w, kSlotChunk) >= bound;
          // True is -1.
          return {state[0] - e.cast(reaches, ordered.element)};
        },
        kSlotChunk)[0];
    return e.reduceHalves(counts, [](Expr a, Expr b) { return a + b; });
  }

  /// The K-th largest key. Bits are decided in the order of unsigned integers,
  /// which is that of signed ones with the sign flipped.
  Expr findThreshold(Expr visible) {
    Expr wanted = e.constantInt(ordered.element, out.sizes[2]);
    Expr sign = e.constantInt(ordered.element,
                              APInt::getSignedMinValue(bits).getSExtValue());
    SmallVector<Expr> found = e.loop(
        e.index(0), e.index(bits), {e.constantInt(ordered.element, 0), sign},
        [&](Expr, ArrayRef<Expr> state) -> SmallVector<Expr> {
          Expr candidate = state[0] | state[1];
          Expr count = countFrom(e.bitXor(candidate, sign), visible);
          return {e.select(count >= wanted, candidate, state[0]),
                  e.shiftRightUnsigned(state[1], 1)};
        });
    return e.bitXor(found[0], sign);
  }

  void writeLargest(Expr b, Expr t, Expr visible) {
    Expr threshold = findThreshold(visible);
    Expr above = countFrom(threshold + 1, visible);
    Expr equal =
        e.index(out.sizes[2]) - e.cast(above, e.getBuilder().getIndexType());
    e.loop(e.index(0), visible, {e.index(0), equal},
           [&](Expr w, ArrayRef<Expr> state) -> SmallVector<Expr> {
             Expr key = e.load(ordered, w);
             Expr isEqual = (key == threshold) & (state[1] > 0);
             Expr isTaken = (key > threshold) | isEqual;
             e.when(isTaken, [&] { store(b, t, state[0], w); });
             return {e.select(isTaken, state[0] + 1, state[0]),
                     e.select(isEqual, state[1] - 1, state[1])};
           });
  }

  Expr lowest() {
    return e.constantInt(ordered.element,
                         APInt::getSignedMinValue(bits).getSExtValue());
  }

  Emitter &e;
  Type wide;
  Buffer query, keys, weights, out;
  Expr firstQuery;
  int64_t ratio;
  double scale;
  Buffer queryRows, ordered;
  KeyPanel panel;
  unsigned bits;
};

} // namespace

LogicalResult dsv4::decompose(IndexTopkOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  IndexEmitter(op, *workspace, e).run();
  return success();
}
