//===- Balance.cpp - work of each rank under a split of positions ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Balance.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <tuple>

using namespace mlir;
using namespace mlir::dsv4;

/// Longer rows could overflow sums of pairs.
static constexpr int64_t kMaxPositions = INT32_MAX;

StringRef LayerKind::getName() const {
  if (!ratio)
    return "window";
  return numSelected ? "CSA" : "HCA";
}

bool LayerKind::operator==(const LayerKind &other) const {
  auto tie = [](const LayerKind &k) {
    return std::tie(k.seqLen, k.window, k.ratio, k.numSelected, k.indexRatio,
                    k.keyBytes, k.overlapBytes);
  };
  return tie(*this) == tie(other);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static int64_t getElementBytes(ShapedType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Bytes of the half of a window that the next one reads, values and gate.
static int64_t getOverlapBytes(PoolWindowsOp pool) {
  if (!pool.getOverlap())
    return 0;
  auto type = cast<ShapedType>(pool.getValues().getType());
  return 2 * type.getDimSize(2) * (type.getDimSize(3) / 2) *
         getElementBytes(type);
}

static LogicalResult checkPositions(WindowAttentionOp op, int64_t seqLen) {
  auto keys = cast<ShapedType>(op.getKeys().getType());
  if (keys.getDimSize(1) != seqLen)
    return op.emitOpError()
           << "has " << seqLen << " queries and " << keys.getDimSize(1)
           << " keys, expected whole sequences: report the balance before "
              "-dsv4-partition-sequence";
  if (seqLen > kMaxPositions)
    return op.emitOpError() << "has " << seqLen
                            << " positions, expected at most " << kMaxPositions;
  if (!op.getPool())
    return success();
  int64_t rows = cast<ShapedType>(op.getPool().getType()).getDimSize(1);
  if (rows == seqLen / op.getRatio())
    return success();
  return op.emitOpError() << "has " << rows << " pooled rows, expected "
                          << seqLen / op.getRatio() << " for " << seqLen
                          << " positions of ratio " << op.getRatio();
}

/// Positions are whole windows, so that the ratios have a common multiple.
static LogicalResult checkRatio(Operation *op, int64_t seqLen, int64_t ratio) {
  if (!ratio || seqLen % ratio == 0)
    return success();
  return op->emitOpError() << "has " << seqLen
                           << " positions, expected a multiple of ratio "
                           << ratio;
}

/// The kind of an attention with the compressor and the indexer beside it.
static FailureOr<LayerKind> getKind(WindowAttentionOp op) {
  LayerKind kind;
  auto keys = cast<ShapedType>(op.getKeys().getType());
  kind.seqLen = cast<ShapedType>(op.getQuery().getType()).getDimSize(1);
  kind.window = op.getWindow();
  kind.ratio = op.getRatio();
  kind.keyBytes = keys.getDimSize(2) * getElementBytes(keys);
  if (op.getSelected())
    kind.numSelected =
        cast<ShapedType>(op.getSelected().getType()).getDimSize(2);
  if (failed(checkRatio(op, kind.seqLen, kind.ratio)) ||
      failed(checkPositions(op, kind.seqLen)))
    return failure();
  WalkResult result = op->getParentOp()->walk([&](Operation *other) {
    if (auto pool = dyn_cast<PoolWindowsOp>(other))
      kind.overlapBytes += getOverlapBytes(pool);
    if (auto index = dyn_cast<IndexTopkOp>(other))
      kind.indexRatio = index.getRatio();
    if (!isa<WindowAttentionOp>(other) || other == op)
      return WalkResult::advance();
    auto diagnostic = op.emitOpError()
                      << "shares its module with another one, expected one per "
                         "module: report the balance before "
                         "-dsv4-inline-modules";
    diagnostic.attachNote(other->getLoc()) << "the other one is here";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted() ||
      failed(checkRatio(op, kind.seqLen, kind.indexRatio)))
    return failure();
  return kind;
}

FailureOr<BalanceAnalysis> BalanceAnalysis::compute(func::FuncOp function) {
  BalanceAnalysis analysis;
  WalkResult result = function.walk([&](WindowAttentionOp op) {
    FailureOr<LayerKind> kind = getKind(op);
    if (failed(kind))
      return WalkResult::interrupt();
    for (int64_t ratio : {kind->ratio, kind->indexRatio})
      if (ratio)
        analysis.alignment = std::lcm(analysis.alignment, ratio);
    auto *group = llvm::find_if(analysis.groups, [&](const LayerGroup &group) {
      return group.kind == *kind;
    });
    if (group == analysis.groups.end()) {
      analysis.groups.push_back({*kind, {}});
      group = &analysis.groups.back();
    }
    group->attentions.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return analysis;
}

int64_t BalanceAnalysis::getLegalLength(int64_t seqLen, int64_t ranks,
                                        SequenceSplit split) const {
  int64_t chunks = split == SequenceSplit::ZigZag ? 2 * ranks : ranks;
  return llvm::alignTo(seqLen, chunks * alignment);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// The sum of min(n div step, limit) for n = 1 to `count`.
static int64_t sumVisible(int64_t count, int64_t step, int64_t limit) {
  // Up to `rising` the limit is not reached.
  int64_t rising = std::min(count, limit * step - 1);
  int64_t full = rising / step, rest = rising % step;
  return step * (full * (full - 1) / 2) + full * (rest + 1) +
         limit * (count - rising);
}

/// Work of the queries before `end`.
static RankWork getWorkBefore(const LayerKind &kind, int64_t end) {
  RankWork work;
  work.area = sumVisible(end, 1, kind.window);
  if (kind.ratio)
    work.area += sumVisible(end, kind.ratio,
                            kind.numSelected ? kind.numSelected : kind.seqLen);
  if (kind.indexRatio)
    work.scores = sumVisible(end, kind.indexRatio, kind.seqLen);
  return work;
}

RankWork BalanceAnalysis::getWork(const LayerKind &kind, int64_t rank,
                                  int64_t ranks, SequenceSplit split) {
  bool zigZag = split == SequenceSplit::ZigZag;
  int64_t size = kind.seqLen / (zigZag ? 2 * ranks : ranks);
  SmallVector<int64_t, 2> chunks = {rank};
  if (zigZag)
    chunks.push_back(2 * ranks - 1 - rank);
  RankWork work;
  int64_t held = 0; // end of the chunk before this one
  for (int64_t chunk : chunks) {
    int64_t begin = chunk * size, end = begin + size;
    RankWork upper = getWorkBefore(kind, end);
    RankWork lower = getWorkBefore(kind, begin);
    work.area += upper.area - lower.area;
    work.scores += upper.scores - lower.scores;
    int64_t missing = begin - held;
    work.haloBytes += std::min(kind.window - 1, missing) * kind.keyBytes;
    work.haloBytes += missing ? kind.overlapBytes : 0;
    held = end;
  }
  return work;
}
