//===- AttentionSlots.cpp - keys and scores of one query at a time --------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionSlots.h"

using namespace mlir;
using namespace mlir::dsv4;

void AttentionSlots::setWorkspace(ArrayRef<Buffer> workspace) {
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

void AttentionSlots::run() {
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

void AttentionSlots::emitBlock(Expr b, Expr first) {
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
  int64_t heads = query.sizes[2];
  e.loop(first, end, [&](Expr t) {
    Query q = getQuery(b, t, t - first);
    emitQueryRows(q);
    if (selected)
      gatherSelection(q);
    e.chunks(heads, {kHeadGroup, 1},
             [&](Expr head, int64_t width) { emitHeads(q, head, width); });
  });
}

AttentionSlots::Query AttentionSlots::getQuery(Expr b, Expr t, Expr column) {
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

void AttentionSlots::emitQueryRows(const Query &q) {
  int64_t heads = query.sizes[2], channels = query.sizes[3];
  e.loop(0, heads, [&](Expr h) {
    widenRow(query, e.at(query, {q.b, q.t, h, e.index(0)}), query.strides[3],
             queryRows, h * channels, channels, e);
  });
}

/// Writes the rows of the selection, -1 for none, and their transposed keys.
void AttentionSlots::gatherSelection(const Query &q) {
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

void AttentionSlots::storeSlots(const Buffer &to, ArrayRef<Expr> values,
                                Expr slot) {
  for (auto [h, value] : llvm::enumerate(values))
    e.store(to, slot + h * rowSize, value);
}

/// Pooled slots follow the window directly, so they replace the padding of the
/// last chunk of raw slots.
void AttentionSlots::forEachChunk(const Query &q, const Buffer &rows, Expr head,
                                  int64_t heads, ChunkBody body) {
  e.loop(
      0, padSlots(window),
      [&](Expr j) {
        SmallVector<Expr> dots = emitDots(rows, head * rawPanel.channels, heads,
                                          rawPanel, q.column + j, e);
        Expr slots = j + lanes();
        body(dots, j, (slots >= q.rawBegin) & (slots < q.rawEnd));
      },
      kSlotChunk);
  if (!pool)
    return;
  e.loop(
      e.index(0), q.pooled,
      [&](Expr k) {
        SmallVector<Expr> dots = emitDots(rows, head * poolPanel.channels,
                                          heads, poolPanel, k, e);
        Expr mask = selected ? loadSelected(k, kSlotChunk) >= 0
                             : k + lanes() < q.pooled;
        body(dots, k + window, mask);
      },
      kSlotChunk);
}

/// One more chunk pads the last of pooled slots.
void AttentionSlots::padSlotsOf(const Query &q, const Buffer &to, int64_t heads,
                                double value) {
  if (!pool)
    return;
  Expr chunks = e.divide(q.pooled + (kSlotChunk - 1), e.index(kSlotChunk));
  Expr padding = e.broadcast(e.constant(wide, value), kSlotChunk);
  for (int64_t h = 0; h < heads; ++h)
    e.store(to, chunks * kSlotChunk + (window + h * rowSize), padding);
}

void AttentionSlots::emitScores(const Query &q, Expr head, int64_t heads) {
  forEachChunk(q, queryRows, head, heads,
               [&](ArrayRef<Expr> dots, Expr slot, Expr mask) {
                 SmallVector<Expr> values;
                 for (Expr dot : dots)
                   values.push_back(e.select(mask, dot * scale, lowest()));
                 storeSlots(scores, values, slot);
               });
  padSlotsOf(q, scores, heads, -std::numeric_limits<double>::infinity());
}

Expr AttentionSlots::normalise(const Query &q, Expr head, Expr group) {
  Expr start = group * rowSize, zero = e.index(0);
  Expr end = getEnd(q);
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
  Expr sinkWeight = e.exp(own - highest);
  e.store(denominators, group, e.reduceHalves(sum, add) + sinkWeight);
  return sinkWeight;
}

Expr AttentionSlots::sumSlots(const Query &q,
                              llvm::function_ref<Expr(Expr, Expr)> add) {
  Expr sum = e.loop(
      e.index(0), getEnd(q), e.broadcast(e.constant(wide, 0.0), kSlotChunk),
      [&](Expr j, ArrayRef<Expr> state) -> SmallVector<Expr> {
        return {add(j, state[0])};
      },
      kSlotChunk)[0];
  return e.reduceHalves(sum, [](Expr a, Expr b) { return a + b; });
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

SmallVector<Expr> AttentionSlots::foldSlots(const Query &q,
                                            ArrayRef<Expr> carried,
                                            SlotBody body) {
  Expr firstRow = q.firstKeyPosition - firstKey;
  SmallVector<Expr> state =
      e.loop(q.rawBegin, q.rawEnd, carried, [&](Expr j, ArrayRef<Expr> sums) {
        return body(keys, /*isRaw=*/true, firstRow + j, j, sums);
      });
  if (!pool)
    return state;
  return e.loop(
      e.index(0), q.pooled, state, [&](Expr k, ArrayRef<Expr> sums) {
        if (!selected)
          return body(*pool, /*isRaw=*/false, k, k + window, sums);
        Expr row = loadSelected(k);
        return e.choose(
            row >= 0,
            [&] { return body(*pool, /*isRaw=*/false, row, k + window, sums); },
            sums);
      });
}

SmallVector<Expr> AttentionSlots::sumKeys(const Query &q, const Buffer &weights,
                                          int64_t heads, Expr d,
                                          int64_t width) {
  SmallVector<Expr> zeros(heads, e.broadcast(e.constant(wide, 0.0), width));
  return foldSlots(q, zeros,
                   [&](const Buffer &rows, bool, Expr row, Expr slot,
                       ArrayRef<Expr> sums) {
                     Expr at = e.at(rows, {q.b, row, d});
                     Expr value = e.cast(e.load(rows, at, width), wide);
                     SmallVector<Expr> next;
                     for (auto [h, sum] : llvm::enumerate(sums))
                       next.push_back(e.fma(
                           e.load(weights, slot + h * rowSize), value, sum));
                     return next;
                   });
}
