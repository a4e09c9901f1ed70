//===- Attention.cpp - attention to a window and to compressed rows -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every sum runs over the slots of one query, never over rows of a buffer, so
// the bits do not depend on which part of the sequence a buffer holds.
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
//           for chunk of channels
//             out = (fma chain over ascending slots of p * key) / den
//
// Only rows that exist are read: a masked slot has probability 0 and is left
// out of the last chain.
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "KeyPanel.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(WindowAttentionOp op, ArrayRef<Buffer> workspace,
                   Emitter &e);
  void run();

private:
  /// One query: its row, its position, its raw slots that exist, its pooled
  /// slots.
  struct Query {
    Expr b, t, column;
    Expr firstKeyPosition;
    Expr rawBegin, rawEnd;
    Expr pooled;
  };

  void emitBlock(Expr b, Expr first);
  void emitQuery(Expr b, Expr t, Expr column);
  Query getQuery(Expr b, Expr t, Expr column);
  void gatherSelection(const Query &q);
  void emitHeads(const Query &q, Expr head, int64_t heads);
  void scoreRaw(const Query &q, Expr head, int64_t heads);
  void scorePooled(const Query &q, Expr head, int64_t heads);
  void storeScores(ArrayRef<Expr> dots, Expr slot, Expr mask);
  void normalise(const Query &q, Expr head, Expr group);
  void emitOutputs(const Query &q, Expr head, int64_t heads, Expr d,
                   int64_t width);
  SmallVector<Expr> accumulate(ArrayRef<Expr> sums, Expr slot,
                               const Buffer &rows, Expr b, Expr row, Expr d,
                               int64_t width);

  Expr loadSelected(Expr k, int64_t width = 1) {
    return e.cast(e.load(selection, k, width), e.getBuilder().getIndexType());
  }
  Expr lanes() { return e.iota(e.getBuilder().getIndexType(), kSlotChunk); }
  Expr lowest() {
    return e.constant(wide, -std::numeric_limits<double>::infinity());
  }

  Emitter &e;
  Type wide;
  Buffer query, keys, sink, out;
  std::optional<Buffer> pool, selected;
  Expr firstQuery, firstKey;
  int64_t window, ratio;
  double scale;
  int64_t block, rowSize;
  // Workspace.
  Buffer queryRows, selection, scores, denominators;
  KeyPanel rawPanel, poolPanel;
};

} // namespace

AttentionEmitter::AttentionEmitter(WindowAttentionOp op,
                                   ArrayRef<Buffer> workspace, Emitter &e)
    : e(e), wide(getAccumulatorType(op)), query(e.flatten(op.getQuery())),
      keys(e.flatten(op.getKeys())), sink(e.flatten(op.getSink())),
      out(e.flatten(op.getInit())), firstQuery(e.wrap(op.getFirstQuery())),
      firstKey(e.wrap(op.getFirstKey())), window(op.getWindow()),
      ratio(op.getRatio()), scale(op.getScale().convertToDouble()) {
  if (op.getPool())
    pool = e.flatten(op.getPool());
  if (op.getSelected())
    selected = e.flatten(op.getSelected());
  block = std::min(query.sizes[1], kQueryBlock);
  int64_t channels = query.sizes[3];
  queryRows = workspace[0];
  rawPanel = {workspace[1], channels, padSlots(block - 1 + padSlots(window))};
  selection = workspace[3];
  poolPanel = {workspace[2], channels, selection.sizes[0]};
  scores = workspace[4];
  rowSize = scores.sizes[0] / kHeadGroup;
  denominators = e.allocateOnStack(wide, kHeadGroup);
}

void AttentionEmitter::run() {
  e.loop(0, query.sizes[0], [&](Expr b) {
    if (pool && !selected)
      fillPanel(
          poolPanel, *pool, pool->strides[2],
          [&](Expr w) {
            return e.at(*pool, {b, w, e.index(0)});
          },
          [&](Expr w) { return w < pool->sizes[1]; }, e);
    e.loop(
        0, query.sizes[1], [&](Expr first) { emitBlock(b, first); }, block);
  });
}

void AttentionEmitter::emitBlock(Expr b, Expr first) {
  // Column c holds the key at position first_query + first - window + 1 + c.
  Expr start = firstQuery + first - (window - 1);
  auto getRow = [&](Expr c) { return start + c - firstKey; };
  fillPanel(
      rawPanel, keys, keys.strides[2],
      [&](Expr c) {
        return e.at(keys, {b, getRow(c), e.index(0)});
      },
      [&](Expr c) {
        Expr row = getRow(c);
        return (start + c >= 0) & (row >= 0) & (row < keys.sizes[1]);
      },
      e);
  Expr end = e.min(first + block, e.index(query.sizes[1]));
  e.loop(first, end, [&](Expr t) { emitQuery(b, t, t - first); });
}

AttentionEmitter::Query AttentionEmitter::getQuery(Expr b, Expr t,
                                                   Expr column) {
  Query q;
  q.b = b;
  q.t = t;
  q.column = column;
  Expr position = firstQuery + t;
  q.firstKeyPosition = position - (window - 1);
  Expr size = e.index(window), zero = e.index(0);
  Expr begin = e.max(firstKey, zero) - q.firstKeyPosition;
  q.rawBegin = e.max(begin, zero);
  Expr end = firstKey + keys.sizes[1] - q.firstKeyPosition;
  q.rawEnd = e.min(end, size);
  if (selected) {
    q.pooled = e.index(selected->sizes[2]);
  } else if (pool) {
    Expr visible = e.floorDivide(position + 1, ratio);
    q.pooled = e.max(e.min(visible, e.index(pool->sizes[1])), zero);
  }
  return q;
}

void AttentionEmitter::emitQuery(Expr b, Expr t, Expr column) {
  int64_t heads = query.sizes[2], channels = query.sizes[3];
  e.loop(0, heads, [&](Expr h) {
    widenRow(query, e.at(query, {b, t, h, e.index(0)}), query.strides[3],
             queryRows, h * channels, channels, e);
  });
  Query q = getQuery(b, t, column);
  if (selected)
    gatherSelection(q);
  e.chunks(heads, {kHeadGroup, 1},
           [&](Expr head, int64_t width) { emitHeads(q, head, width); });
}

/// Writes the rows of the selection, -1 for none, and their transposed keys.
void AttentionEmitter::gatherSelection(const Query &q) {
  Type indexType = e.getBuilder().getIndexType();
  int64_t count = selected->sizes[2], windows = pool->sizes[1];
  Expr none = e.index(-1);
  e.loop(0, count, [&](Expr k) {
    Expr row =
        e.cast(e.load(*selected, e.at(*selected, {q.b, q.t, k})), indexType);
    Expr exists = (row >= 0) & (row < windows);
    e.store(selection, k,
            e.cast(e.select(exists, row, none), selection.element));
  });
  e.loop(count, selection.sizes[0], [&](Expr k) {
    e.store(selection, k, e.cast(none, selection.element));
  });
  e.loop(
      0, selection.sizes[0],
      [&](Expr k) {
        // A slot without row reads row 0, and is masked later.
        Expr rows = e.max(loadSelected(k, kSlotChunk), e.index(0));
        Expr from = rows * pool->strides[1] + q.b * pool->strides[0];
        e.loop(0, poolPanel.channels, [&](Expr d) {
          e.store(poolPanel.buffer, d * poolPanel.columns + k,
                  e.gather(*pool, from + d * pool->strides[2]));
        });
      },
      kSlotChunk);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Scaled scores of 32 slots for each head of the group, -inf where masked.
void AttentionEmitter::storeScores(ArrayRef<Expr> dots, Expr slot, Expr mask) {
  for (auto [h, dot] : llvm::enumerate(dots)) {
    Expr score = e.select(mask, dot * scale, lowest());
    e.store(scores, slot + h * rowSize, score);
  }
}

void AttentionEmitter::scoreRaw(const Query &q, Expr head, int64_t heads) {
  e.loop(
      0, padSlots(window),
      [&](Expr j) {
        SmallVector<Expr> dots = emitDots(queryRows, head * rawPanel.channels,
                                          heads, rawPanel, q.column + j, e);
        Expr slots = j + lanes();
        storeScores(dots, j, (slots >= q.rawBegin) & (slots < q.rawEnd));
      },
      kSlotChunk);
}

/// Pooled slots follow the window directly, so they replace the padding of the
/// last chunk of raw slots; one more chunk pads them in turn.
void AttentionEmitter::scorePooled(const Query &q, Expr head, int64_t heads) {
  e.loop(
      e.index(0), q.pooled,
      [&](Expr k) {
        SmallVector<Expr> dots = emitDots(queryRows, head * poolPanel.channels,
                                          heads, poolPanel, k, e);
        Expr mask = selected ? loadSelected(k, kSlotChunk) >= 0
                             : k + lanes() < q.pooled;
        storeScores(dots, k + window, mask);
      },
      kSlotChunk);
  Expr chunks = e.divide(q.pooled + (kSlotChunk - 1), e.index(kSlotChunk));
  Expr padding = e.broadcast(lowest(), kSlotChunk);
  for (int64_t h = 0; h < heads; ++h)
    e.store(scores, chunks * kSlotChunk + (window + h * rowSize), padding);
}

/// Scores of one head become exponentials, and their sum its denominator.
void AttentionEmitter::normalise(const Query &q, Expr head, Expr group) {
  Expr start = group * rowSize, zero = e.index(0);
  Expr end = q.pooled ? q.pooled + window : e.index(window);
  auto maximum = [&](Expr a, Expr b) { return e.maximum(a, b); };
  auto add = [](Expr a, Expr b) { return a + b; };
  Expr own = e.cast(e.load(sink, e.at(sink, {head + group})), wide);
  Expr highest = e.loop(
      zero, end, e.broadcast(lowest(), kSlotChunk),
      [&](Expr j, ArrayRef<Expr> state) -> SmallVector<Expr> {
        Expr chunk = e.load(scores, start + j, kSlotChunk);
        return {maximum(state[0], chunk)};
      },
      kSlotChunk)[0];
  highest = maximum(e.reduceHalves(highest, maximum), own);
  Expr sum = e.loop(
      zero, end, e.broadcast(e.constant(wide, 0.0), kSlotChunk),
      [&](Expr j, ArrayRef<Expr> state) -> SmallVector<Expr> {
        Expr chunk = e.load(scores, start + j, kSlotChunk);
        Expr p = e.exp(chunk - highest);
        e.store(scores, start + j, p);
        return {state[0] + p};
      },
      kSlotChunk)[0];
  e.store(denominators, group, e.reduceHalves(sum, add) + e.exp(own - highest));
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// One link of the chains of all heads of the group.
SmallVector<Expr> AttentionEmitter::accumulate(ArrayRef<Expr> sums, Expr slot,
                                               const Buffer &rows, Expr b,
                                               Expr row, Expr d,
                                               int64_t width) {
  Expr value = e.cast(e.load(rows, e.at(rows, {b, row, d}), width), wide);
  SmallVector<Expr> next;
  for (auto [h, sum] : llvm::enumerate(sums))
    next.push_back(e.fma(e.load(scores, slot + h * rowSize), value, sum));
  return next;
}

void AttentionEmitter::emitOutputs(const Query &q, Expr head, int64_t heads,
                                   Expr d, int64_t width) {
  SmallVector<Expr> sums(heads, e.broadcast(e.constant(wide, 0.0), width));
  Expr firstRow = q.firstKeyPosition - firstKey;
  sums = e.loop(q.rawBegin, q.rawEnd, sums, [&](Expr j, ArrayRef<Expr> state) {
    return accumulate(state, j, keys, q.b, firstRow + j, d, width);
  });
  if (pool)
    sums =
        e.loop(e.index(0), q.pooled, sums, [&](Expr k, ArrayRef<Expr> state) {
          if (!selected)
            return accumulate(state, k + window, *pool, q.b, k, d, width);
          Expr row = loadSelected(k);
          return e.choose(
              row >= 0,
              [&] {
                return accumulate(state, k + window, *pool, q.b, row, d, width);
              },
              state);
        });
  for (auto [h, sum] : llvm::enumerate(sums)) {
    Expr denominator = e.load(denominators, e.index(h));
    e.store(out, e.at(out, {q.b, q.t, head + h, d}), sum / denominator);
  }
}

void AttentionEmitter::emitHeads(const Query &q, Expr head, int64_t heads) {
  scoreRaw(q, head, heads);
  if (pool)
    scorePooled(q, head, heads);
  e.loop(0, heads, [&](Expr group) { normalise(q, head, group); });
  bool isContiguous = keys.strides[2] == 1 && out.strides[3] == 1 &&
                      (!pool || pool->strides[2] == 1);
  SmallVector<int64_t> widths = {1};
  if (isContiguous)
    widths = {32, 8, 1};
  e.chunks(out.sizes[3], widths, [&](Expr d, int64_t width) {
    emitOutputs(q, head, heads, d, width);
  });
}

LogicalResult dsv4::decompose(WindowAttentionOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  AttentionEmitter(op, *workspace, e).run();
  return success();
}
