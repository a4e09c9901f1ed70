//===- AttentionGrad.cpp - adjoint of attention ---------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After the exponentials p of AttentionSlots.h, for each group of heads:
//
//   u[slot] = fma chain over d of gradient * key, 0 where masked
//   m = (32-lane sum of p * u) / den
//   p = p / den;  s = scale * p * (u - m)
//   sink_grad = -(exp(sink - highest) / den) * m
//   query_grad = fma chain over ascending slots of s * key
//   for ascending slots, for heads: key_grad = fma(p, gradient, fma(s, query,
//                                                                   key_grad))
//
//===----------------------------------------------------------------------===//

#include "AttentionSlots.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class AttentionGradEmitter : public AttentionSlots {
public:
  AttentionGradEmitter(WindowAttentionGradOp op, ArrayRef<Buffer> workspace,
                       Emitter &e)
      : AttentionSlots(op, workspace, e),
        gradient(e.flatten(op.getGradient())),
        queryGrad(e.flatten(op.getQueryGrad())),
        keysGrad(e.flatten(op.getKeysGrad())),
        sinkGrad(e.flatten(op.getSinkGrad())), gradientRows(workspace[5]),
        slopes(workspace[6]), sinkWeights(e.allocateOnStack(wide, kHeadGroup)) {
    fillZero(keysGrad, e);
    if (op.getPoolGrad()) {
      poolGrad = e.flatten(op.getPoolGrad());
      fillZero(*poolGrad, e);
    }
  }

private:
  void emitQueryRows(const Query &q) override {
    AttentionSlots::emitQueryRows(q);
    int64_t channels = query.sizes[3];
    e.loop(0, query.sizes[2], [&](Expr h) {
      widenRow(gradient, e.at(gradient, {q.b, q.t, h, e.index(0)}),
               gradient.strides[3], gradientRows, h * channels, channels, e);
    });
  }

  void emitHeads(const Query &q, Expr head, int64_t heads) override {
    emitScores(q, head, heads);
    e.loop(0, heads, [&](Expr group) {
      e.store(sinkWeights, group, normalise(q, head, group));
    });
    emitInfluences(q, head, heads);
    e.loop(0, heads, [&](Expr group) { emitSlopes(q, head, group); });
    emitQueryGrad(q, head, heads);
    emitKeyGrads(q, head, heads);
  }

  /// u: how the output's gradient falls on the key of each slot.
  void emitInfluences(const Query &q, Expr head, int64_t heads) {
    forEachChunk(q, gradientRows, head, heads,
                 [&](ArrayRef<Expr> dots, Expr slot, Expr mask) {
                   SmallVector<Expr> values;
                   for (Expr dot : dots)
                     values.push_back(
                         e.select(mask, dot, e.constant(wide, 0.0)));
                   storeSlots(slopes, values, slot);
                 });
    padSlotsOf(q, slopes, heads, 0.0);
  }

  /// `scores` become p, `slopes` s, for one head.
  void emitSlopes(const Query &q, Expr head, Expr group) {
    Expr start = group * rowSize;
    Expr denominator = e.load(denominators, group);
    Expr mean = sumSlots(q, [&](Expr j, Expr sum) {
                  return e.fma(e.load(scores, start + j, kSlotChunk),
                               e.load(slopes, start + j, kSlotChunk), sum);
                }) /
                denominator;
    e.loop(
        e.index(0), getEnd(q),
        [&](Expr j) {
          Expr p = e.load(scores, start + j, kSlotChunk) / denominator;
          Expr u = e.load(slopes, start + j, kSlotChunk);
          e.store(scores, start + j, p);
          e.store(slopes, start + j, p * (u - mean) * scale);
        },
        kSlotChunk);
    Expr share = e.load(sinkWeights, group) / denominator;
    e.store(sinkGrad, e.at(sinkGrad, {q.b, q.t, head + group}),
            e.constant(wide, 0.0) - share * mean);
  }

  void emitQueryGrad(const Query &q, Expr head, int64_t heads) {
    SmallVector<int64_t> widths = {1};
    if (areKeysContiguous() && queryGrad.strides[3] == 1)
      widths = {32, 8, 1};
    e.chunks(queryGrad.sizes[3], widths, [&](Expr d, int64_t width) {
      SmallVector<Expr> sums = sumKeys(q, slopes, heads, d, width);
      for (auto [h, sum] : llvm::enumerate(sums))
        e.store(queryGrad, e.at(queryGrad, {q.b, q.t, head + h, d}), sum);
    });
  }

  void emitKeyGrads(const Query &q, Expr head, int64_t heads) {
    SmallVector<int64_t> widths = {1};
    if (keysGrad.strides[2] == 1 && (!poolGrad || poolGrad->strides[2] == 1))
      widths = {32, 8, 1};
    foldSlots(q, {},
              [&](const Buffer &, bool isRaw, Expr row, Expr slot,
                  ArrayRef<Expr>) -> SmallVector<Expr> {
                const Buffer &grad = isRaw ? keysGrad : *poolGrad;
                e.chunks(keys.sizes[2], widths, [&](Expr d, int64_t width) {
                  addKeyGrad(grad, e.at(grad, {q.b, row, d}), head, heads, slot,
                             d, width);
                });
                return {};
              });
  }

  void addKeyGrad(const Buffer &grad, Expr at, Expr head, int64_t heads,
                  Expr slot, Expr d, int64_t width) {
    Expr sum = e.load(grad, at, width);
    for (int64_t h = 0; h < heads; ++h) {
      Expr from = (head + h) * query.sizes[3] + d;
      sum = e.fma(e.load(slopes, slot + h * rowSize),
                  e.load(queryRows, from, width), sum);
      sum = e.fma(e.load(scores, slot + h * rowSize),
                  e.load(gradientRows, from, width), sum);
    }
    e.store(grad, at, sum);
  }

  Buffer gradient, queryGrad, keysGrad, sinkGrad;
  std::optional<Buffer> poolGrad;
  // Workspace.
  Buffer gradientRows, slopes, sinkWeights;
};

} // namespace

LogicalResult dsv4::decompose(WindowAttentionGradOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  AttentionGradEmitter(op, *workspace, e).run();
  return success();
}
