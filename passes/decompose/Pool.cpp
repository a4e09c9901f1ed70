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
//===----------------------------------------------------------------------===//

#include "Decompose.h"

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

class PoolEmitter {
public:
  PoolEmitter(PoolWindowsOp op, Emitter &e)
      : op(op), e(e), values(e.flatten(op.getValues())),
        gate(e.flatten(op.getGate())), ape(e.flatten(op.getApe())),
        out(e.flatten(op.getInit())) {}

  void run() {
    int64_t channels = out.sizes[2];
    bool isContiguous = values.strides[3] == 1 && gate.strides[3] == 1 &&
                        ape.strides[1] == 1 && out.strides[2] == 1;
    SmallVector<int64_t> widths = {1};
    if (isContiguous)
      widths = {16, 1};
    e.loop(0, out.sizes[0], [&](Expr b) {
      e.loop(0, out.sizes[1], [&](Expr w) {
        SmallVector<PoolPart> parts = getParts(w);
        e.chunks(channels, widths, [&](Expr d, int64_t width) {
          emitChunk(parts, b, w, d, width);
        });
      });
    });
  }

private:
  SmallVector<PoolPart> getParts(Expr row) {
    Expr last = e.index(values.sizes[1] - 1), zero = e.index(0);
    Expr window = e.wrap(op.getFirstWindow()) + row;
    Expr own = e.max(e.min(window, last), zero);
    if (!op.getOverlap())
      return {{own, zero, 0}};
    Expr before = e.min(window - 1, last);
    Expr from = e.select(before < 0, e.index(values.sizes[2]), zero);
    return {{e.max(before, zero), from, 0}, {own, zero, out.sizes[2]}};
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

  void emitChunk(ArrayRef<PoolPart> parts, Expr b, Expr w, Expr d,
                 int64_t width) {
    auto fill = [&](double value) {
      return e.broadcast(e.constant(out.element, value), width);
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
    e.store(out, e.at(out, {b, w, d}), sums[1] / sums[0]);
  }

  PoolWindowsOp op;
  Emitter &e;
  Buffer values, gate, ape, out;
};

} // namespace

LogicalResult dsv4::decompose(PoolWindowsOp op, Emitter &e) {
  PoolEmitter(op, e).run();
  return success();
}
