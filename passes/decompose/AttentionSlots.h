//===- AttentionSlots.h - keys and scores of one query at a time -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attention and its adjoint share. Every sum runs over the slots of one
// query, never over rows of a buffer, so the bits do not depend on which part of
// the sequence a buffer holds.
//
//   for b
//     transpose the pool                                  (all windows form)
//     for block of 128 queries
//       transpose the window of raw keys of the block
//       for t in block
//         widen the query; transpose its selection        (selected form)
//         for group of 4 heads
//           scores[slot] = scale * fma chain over d, -inf where masked
//           highest = max(scores, sink)
//           p = exp(scores - highest); den = 32-lane sum + exp(sink - highest)
//           ...
//
// Only rows that exist are read: a masked slot has probability 0 and is left
// out of later chains.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_ATTENTIONSLOTS_H
#define DSV4_PASSES_DECOMPOSE_ATTENTIONSLOTS_H

#include "Decompose.h"
#include "KeyPanel.h"

namespace mlir::dsv4 {

class AttentionSlots {
public:
  virtual ~AttentionSlots() = default;
  void run();

protected:
  template <typename OpT>
  AttentionSlots(OpT op, ArrayRef<Buffer> workspace, Emitter &e)
      : e(e), wide(getAccumulatorType(op)), query(e.flatten(op.getQuery())),
        keys(e.flatten(op.getKeys())), sink(e.flatten(op.getSink())),
        firstQuery(e.wrap(op.getFirstQuery())),
        firstKey(e.wrap(op.getFirstKey())), window(op.getWindow()),
        ratio(op.getRatio()), scale(op.getScale().convertToDouble()) {
    if (op.getPool())
      pool = e.flatten(op.getPool());
    if (op.getSelected())
      selected = e.flatten(op.getSelected());
    setWorkspace(workspace);
  }

  /// One query: its row, its position, its raw slots that exist, its pooled
  /// slots.
  struct Query {
    Expr b, t, column;
    Expr firstKeyPosition;
    Expr rawBegin, rawEnd;
    Expr pooled;
  };

  /// Called once per query, before its heads.
  virtual void emitQueryRows(const Query &q);
  /// Called for each group of heads; to start with `emitScores`.
  virtual void emitHeads(const Query &q, Expr head, int64_t heads) = 0;

  /// Unscaled products of rows, one per head, with the keys of 32 slots, and
  /// which of the slots exist.
  using ChunkBody =
      llvm::function_ref<void(ArrayRef<Expr> dots, Expr slot, Expr mask)>;
  void forEachChunk(const Query &q, const Buffer &rows, Expr head,
                    int64_t heads, ChunkBody body);
  /// A value per slot and head: chunks of `values`, and what pads them.
  void storeSlots(const Buffer &to, ArrayRef<Expr> values, Expr slot);
  void padSlotsOf(const Query &q, const Buffer &to, int64_t heads,
                  double value);
  /// Scores of a group of heads, -inf where masked.
  void emitScores(const Query &q, Expr head, int64_t heads);
  /// Scores of one head become exponentials, and their sum its denominator.
  /// Returns the exponential of the sink.
  Expr normalise(const Query &q, Expr head, Expr group);

  /// Runs `body` for the slots of a query that exist, with the key's buffer and
  /// row; carries values from one to the next.
  using SlotBody = llvm::function_ref<SmallVector<Expr>(
      const Buffer &rows, bool isRaw, Expr row, Expr slot, ArrayRef<Expr>)>;
  SmallVector<Expr> foldSlots(const Query &q, ArrayRef<Expr> carried,
                              SlotBody body);
  /// sums[h] + weights[slot, h] * key, chained over the slots.
  SmallVector<Expr> sumKeys(const Query &q, const Buffer &weights,
                            int64_t heads, Expr d, int64_t width);
  /// Sum over the slots of a head in 32 lanes.
  Expr sumSlots(const Query &q, llvm::function_ref<Expr(Expr, Expr)> add);
  Expr getEnd(const Query &q) {
    return q.pooled ? q.pooled + window : e.index(window);
  }
  bool areKeysContiguous() const {
    return keys.strides[2] == 1 && (!pool || pool->strides[2] == 1);
  }

  Emitter &e;
  Type wide;
  Buffer query, keys, sink;
  std::optional<Buffer> pool, selected;
  Expr firstQuery, firstKey;
  int64_t window, ratio;
  double scale;
  int64_t block, rowSize;
  // Workspace.
  Buffer queryRows, selection, scores, denominators;
  KeyPanel rawPanel, poolPanel;

private:
  void setWorkspace(ArrayRef<Buffer> workspace);
  void emitBlock(Expr b, Expr first);
  Query getQuery(Expr b, Expr t, Expr column);
  void gatherSelection(const Query &q);
  Expr loadSelected(Expr k, int64_t width = 1) {
    return e.cast(e.load(selection, k, width), e.getBuilder().getIndexType());
  }
  Expr lanes() { return e.iota(e.getBuilder().getIndexType(), kSlotChunk); }
  Expr lowest() {
    return e.constant(wide, -std::numeric_limits<double>::infinity());
  }
};

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_ATTENTIONSLOTS_H
