//===- Rope.cpp - rotate channels by their position -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for b, t
//     angle = f64(position[b, t]) * inv_freq          one vector of all pairs
//     c, s = cos(angle), sin(angle)                   rounded to trig
//     for h
//       copy the first channels
//       a, b = even and odd lanes of the last channels
//       store the interleaving of a c - b s and a s + b c
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class RopeEmitter {
public:
  RopeEmitter(RopeOp op, Emitter &e)
      : op(op), e(e), input(e.flatten(op.getInput())),
        positions(e.flatten(op.getPositions())), out(e.flatten(op.getInit())),
        wide(getAccumulatorType(op)), pairs(op.getInvFreq().size()),
        kept(input.sizes.back() - 2 * pairs) {}

  void run() {
    bool hasHeads = input.sizes.size() == 4;
    e.loop(0, input.sizes[0], [&](Expr b) {
      e.loop(0, input.sizes[1], [&](Expr t) {
        computeTrigonometry(b, t);
        SmallVector<Expr> at = {b, t};
        if (!hasHeads)
          return rotateRow(at);
        e.loop(0, input.sizes[2], [&](Expr h) { rotateRow({b, t, h}); });
      });
    });
  }

private:
  void computeTrigonometry(Expr b, Expr t) {
    Type f64 = e.getBuilder().getF64Type();
    ArrayRef<double> frequencies = op.getInvFreq();
    Expr inverse = e.constant(f64, frequencies.front());
    if (pairs > 1)
      inverse = e.wrap(arith::ConstantOp::create(
          e.getBuilder(), e.getLoc(),
          DenseElementsAttr::get(VectorType::get(pairs, f64), frequencies)));
    Expr position = e.load(positions, e.at(positions, {b, t}));
    Expr angle = inverse * e.cast(position, f64);
    cosine = round(e.cos(angle));
    sine = round(e.sin(angle));
    if (op.getInverse())
      sine = e.broadcast(e.constant(wide, 0.0), pairs) - sine;
  }

  Expr round(Expr value) {
    std::optional<Type> trig = op.getTrig();
    if (trig && !trig->isF64())
      value = e.cast(value, e.getBuilder().getF32Type());
    if (trig)
      value = e.cast(value, *trig);
    return e.cast(value, wide);
  }

  void rotateRow(SmallVector<Expr> at) {
    at.push_back(e.index(0));
    Expr from = e.at(input, at), to = e.at(out, at);
    copyRow(input, from, out, to, kept, e);
    from = from + kept * input.strides.back();
    to = to + kept * out.strides.back();
    if (pairs > 1 && input.strides.back() == 1 && out.strides.back() == 1)
      return rotateVector(from, to);
    for (int64_t i = 0; i < pairs; ++i)
      rotatePair(i, from, to);
  }

  std::pair<Expr, Expr> rotate(Expr a, Expr b, Expr c, Expr s) {
    a = e.cast(a, wide);
    b = e.cast(b, wide);
    return {a * c - b * s, a * s + b * c};
  }

  void rotateVector(Expr from, Expr to) {
    SmallVector<int64_t> even, odd, interleaved;
    for (int64_t i = 0; i < pairs; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
      interleaved.append({i, pairs + i});
    }
    Expr row = e.load(input, from, 2 * pairs);
    auto [a, b] = rotate(e.shuffle(row, row, even), e.shuffle(row, row, odd),
                         cosine, sine);
    e.store(out, to, e.shuffle(a, b, interleaved));
  }

  void rotatePair(int64_t i, Expr from, Expr to) {
    auto get = [&](Expr vector) {
      return vector.isVector() ? e.extract(vector, i) : vector;
    };
    int64_t first = 2 * i, second = 2 * i + 1;
    Expr x = e.load(input, from + first * input.strides.back());
    Expr y = e.load(input, from + second * input.strides.back());
    auto [a, b] = rotate(x, y, get(cosine), get(sine));
    e.store(out, to + first * out.strides.back(), a);
    e.store(out, to + second * out.strides.back(), b);
  }

  RopeOp op;
  Emitter &e;
  Buffer input, positions, out;
  Type wide;
  int64_t pairs, kept;
  Expr cosine, sine;
};

} // namespace

LogicalResult dsv4::decompose(RopeOp op, Emitter &e) {
  RopeEmitter(op, e).run();
  return success();
}
