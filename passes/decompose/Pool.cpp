//===- Pool.cpp - compress windows of tokens ------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row reads one or two parts: with overlap the first half of the window
// before it (none before window 0), then the second half of its own.
//
//   for b, row w, chunk of channels
//     highest = max of gate + ape over the tokens of both parts
//     for tokens ascending
//       p = exp(gate + ape - highest);  den += p;  num = fma(p, value, num)
//     out = num / den
//
// Its adjoint, for u = num / den:
//
//     for tokens ascending
//       p = p / den;  dvalue += p * g;  dgate += p * (value - u) * g
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Tokens of one window, and the channels that a row reads of them.
struct PoolPart {
  Expr window;
  /// First token: the number of tokens if the window does not exist.
  Expr from;
  int64_t firstChannel;
};

/// What both directions share; `rows` are [B,N,D].
template <typename OpT>
class PoolEmitter {
protected:
  PoolEmitter(OpT op, Buffer rows, Emitter &e)
      : op(op), e(e), values(e.flatten(op.getValues())),
        gate(e.flatten(op.getGate())), ape(e.flatten(op.getApe())),
        rows(rows) {}

  using ChunkBody = llvm::function_ref<void(ArrayRef<PoolPart>, Expr, Expr,
                                            Expr, int64_t)>;
  /// Runs `body` for each row and chunk of channels.
  void forEachChunk(bool isContiguous, ChunkBody body) {
    SmallVector<int64_t> widths = {1};
    if (isContiguous && values.strides[3] == 1 && gate.strides[3] == 1 &&
        ape.strides[1] == 1 && rows.strides[2] == 1)
      widths = {16, 1};
    e.loop(0, rows.sizes[0], [&](Expr b) {
      e.loop(0, rows.sizes[1], [&](Expr w) {
        SmallVector<PoolPart> parts = getParts(w);
        e.chunks(rows.sizes[2], widths, [&](Expr d, int64_t width) {
          body(parts, b, w, d, width);
        });
      });
    });
  }

  SmallVector<PoolPart> getParts(Expr row) {
    Expr last = e.index(values.sizes[1] - 1), zero = e.index(0);
    Expr window = e.wrap(op.getFirstWindow()) + row;
    Expr own = e.max(e.min(window, last), zero);
    if (!op.getOverlap())
      return {{own, zero, 0}};
    Expr before = e.min(window - 1, last);
    Expr from = e.select(before < 0, e.index(values.sizes[2]), zero);
    return {{e.max(before, zero), from, 0}, {own, zero, rows.sizes[2]}};
  }

  Expr loadAt(const Buffer &buffer, const PoolPart &part, Expr b, Expr token,
              Expr d, int64_t width) {
    Expr channel = d + part.firstChannel;
    return e.load(buffer, e.at(buffer, {b, part.window, token, channel}),
                  width);
  }

  Expr loadScore(const PoolPart &part, Expr b, Expr token, Expr d,
                 int64_t width) {
    Expr position = e.at(ape, {token, d + part.firstChannel});
    return loadAt(gate, part, b, token, d, width) +
           e.load(ape, position, width);
  }

  using TokenBody = llvm::function_ref<SmallVector<Expr>(const PoolPart &, Expr,
                                                         ArrayRef<Expr>)>;
  /// Carries values through the tokens of all parts.
  SmallVector<Expr> fold(ArrayRef<PoolPart> parts, SmallVector<Expr> state,
                         TokenBody body) {
    for (const PoolPart &part : parts)
      state = e.loop(part.from, e.index(values.sizes[2]), state,
                     [&](Expr token, ArrayRef<Expr> carried) {
                       return body(part, token, carried);
                     });
    return state;
  }

  /// The softmax of a chunk.
  struct Weights {
    Expr highest;
    /// Sum of the exponentials, and sum weighted by the values.
    Expr denominator, numerator;
  };
  Weights foldChunk(ArrayRef<PoolPart> parts, Expr b, Expr d, int64_t width) {
    auto fill = [&](double value) {
      return e.broadcast(e.constant(rows.element, value), width);
    };
    Expr highest = fold(
        parts, {fill(-std::numeric_limits<double>::infinity())},
        [&](const PoolPart &part, Expr token,
            ArrayRef<Expr> state) -> SmallVector<Expr> {
          return {e.maximum(state[0], loadScore(part, b, token, d, width))};
        })[0];
    SmallVector<Expr> sums =
        fold(parts, {fill(0.0), fill(0.0)},
             [&](const PoolPart &part, Expr token,
                 ArrayRef<Expr> state) -> SmallVector<Expr> {
               Expr p = e.exp(loadScore(part, b, token, d, width) - highest);
               Expr value = loadAt(values, part, b, token, d, width);
               return {state[0] + p, e.fma(p, value, state[1])};
             });
    return {highest, sums[0], sums[1]};
  }

  OpT op;
  Emitter &e;
  Buffer values, gate, ape, rows;
};

class PoolForward : PoolEmitter<PoolWindowsOp> {
public:
  PoolForward(PoolWindowsOp op, Emitter &e)
      : PoolEmitter(op, e.flatten(op.getInit()), e) {}

  void run() {
    forEachChunk(true, [&](ArrayRef<PoolPart> parts, Expr b, Expr w, Expr d,
                           int64_t width) {
      Weights weights = foldChunk(parts, b, d, width);
      e.store(rows, e.at(rows, {b, w, d}),
              weights.numerator / weights.denominator);
    });
  }
};

class PoolBackward : PoolEmitter<PoolWindowsGradOp> {
public:
  PoolBackward(PoolWindowsGradOp op, Emitter &e)
      : PoolEmitter(op, e.flatten(op.getGradient()), e),
        valuesGrad(e.flatten(op.getValuesGrad())),
        gateGrad(e.flatten(op.getGateGrad())) {}

  void run() {
    fillZero(valuesGrad, e);
    fillZero(gateGrad, e);
    bool isContiguous = valuesGrad.strides[3] == 1 && gateGrad.strides[3] == 1;
    forEachChunk(isContiguous, [&](ArrayRef<PoolPart> parts, Expr b, Expr w,
                                   Expr d, int64_t width) {
      Weights weights = foldChunk(parts, b, d, width);
      Expr pooled = weights.numerator / weights.denominator;
      Expr gradient = e.load(rows, e.at(rows, {b, w, d}), width);
      fold(parts, {},
           [&](const PoolPart &part, Expr token,
               ArrayRef<Expr>) -> SmallVector<Expr> {
             Expr score = loadScore(part, b, token, d, width);
             Expr p = e.exp(score - weights.highest) / weights.denominator;
             Expr value = loadAt(values, part, b, token, d, width);
             Expr share = p * gradient;
             addAt(valuesGrad, part, b, token, d, share);
             addAt(gateGrad, part, b, token, d, share * (value - pooled));
             return {};
           });
    });
  }

private:
  void addAt(const Buffer &to, const PoolPart &part, Expr b, Expr token, Expr d,
             Expr term) {
    Expr at = e.at(to, {b, part.window, token, d + part.firstChannel});
    e.store(to, at, e.load(to, at, term.getWidth()) + term);
  }

  Buffer valuesGrad, gateGrad;
};

} // namespace

LogicalResult dsv4::decompose(PoolWindowsOp op, Emitter &e) {
  PoolForward(op, e).run();
  return success();
}

LogicalResult dsv4::decompose(PoolWindowsGradOp op, Emitter &e) {
  PoolBackward(op, e).run();
  return success();
}
