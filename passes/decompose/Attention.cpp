//===- Attention.cpp - attention to a window and to compressed rows -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After the probabilities of AttentionSlots.h, for each group of heads:
//
//   for chunk of channels
//     out = (fma chain over ascending slots of p * key) / den
//
//===----------------------------------------------------------------------===//

#include "AttentionSlots.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class AttentionEmitter : public AttentionSlots {
public:
  AttentionEmitter(WindowAttentionOp op, ArrayRef<Buffer> workspace, Emitter &e)
      : AttentionSlots(op, workspace, e), out(e.flatten(op.getInit())) {}

private:
  void emitHeads(const Query &q, Expr head, int64_t heads) override {
    emitScores(q, head, heads);
    e.loop(0, heads, [&](Expr group) { normalise(q, head, group); });
    SmallVector<int64_t> widths = {1};
    if (areKeysContiguous() && out.strides[3] == 1)
      widths = {32, 8, 1};
    e.chunks(out.sizes[3], widths, [&](Expr d, int64_t width) {
      SmallVector<Expr> sums = sumKeys(q, scores, heads, d, width);
      for (auto [h, sum] : llvm::enumerate(sums)) {
        Expr denominator = e.load(denominators, e.index(h));
        e.store(out, e.at(out, {q.b, q.t, head + h, d}), sum / denominator);
      }
    });
  }

  Buffer out;
};

} // namespace

LogicalResult dsv4::decompose(WindowAttentionOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  AttentionEmitter(op, *workspace, e).run();
  return success();
}
