//===- ReportBytes.cpp - received bytes next to the least possible --------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an exchange receives follows from the operation, the least possible from
// the access relations of its uses alone. Both are counted for every rank of
// the group.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BlockRuns.h"
#include "dsv4/Analysis/GatherUses.h"
#include "dsv4/Passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_REPORTBYTESPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Bytes that the last rank receives, that the most loaded one does, and that
/// all ranks of a group do together.
struct Received {
  int64_t last = 0, most = 0, all = 0;

  void add(const Received &other) {
    last += other.last;
    most += other.most;
    all += other.all;
  }
};

/// Received and least, over some operations of groups of one size.
struct Total {
  Received actual, least;
  int64_t ranks = 1;

  void add(const Total &other) {
    actual.add(other.actual);
    least.add(other.least);
    ranks = std::max(ranks, other.ranks);
  }
};

} // namespace

/// Bytes of one row along `dim`, or of some of its channels.
static int64_t getRowBytes(RankedTensorType type, int64_t dim,
                           std::optional<std::pair<int64_t, int64_t>> channels = {}) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(i) != dim)
      bytes *= channels && static_cast<int64_t>(i) + 1 == type.getRank() ? channels->second
                                                                        : size;
  return bytes;
}

/// Sums `rows(rank)` over the group.
static Received count(int64_t ranks, int64_t rowBytes, function_ref<int64_t(int64_t)> rows) {
  Received received;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t bytes = rows(rank) * rowBytes;
    received.all += bytes;
    received.most = std::max(received.most, bytes);
    received.last = bytes;
  }
  return received;
}

static Received countHalo(int64_t ranks, int64_t own, int64_t left, int64_t right,
                          int64_t rowBytes) {
  return count(ranks, rowBytes, [&](int64_t rank) {
    return std::min(left, rank * own) + std::min(right, (ranks - 1 - rank) * own);
  });
}

static std::optional<std::pair<int64_t, int64_t>>
getChannels(std::optional<ArrayRef<int64_t>> channels) {
  if (!channels)
    return std::nullopt;
  return std::pair((*channels)[0], (*channels)[1]);
}

/// What the operation receives.
static std::optional<Received> findReceived(Operation *op, int64_t ranks) {
  auto everyone = [&](int64_t bytes) {
    return count(ranks, bytes, [](int64_t) { return 1; });
  };
  if (auto gather = dyn_cast<SeqGatherOp>(op)) {
    RankedTensorType own = gather.getInput().getType();
    int64_t dim = gather.getDim();
    return everyone((ranks - 1) * own.getDimSize(dim) * getRowBytes(own, dim));
  }
  if (auto scatter = dyn_cast<SeqReduceScatterOp>(op)) {
    RankedTensorType own = scatter.getResult().getType();
    int64_t dim = scatter.getDim();
    return everyone((ranks - 1) * own.getDimSize(dim) * getRowBytes(own, dim));
  }
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    RankedTensorType type = reduce.getInput().getType();
    if (type.getRank() == 0)
      return std::nullopt;
    return everyone((ranks - 1) * type.getDimSize(0) * getRowBytes(type, 0));
  }
  if (auto halo = dyn_cast<SeqHaloOp>(op)) {
    RankedTensorType own = halo.getInput().getType();
    int64_t dim = halo.getDim();
    return countHalo(ranks, own.getDimSize(dim), halo.getLeft(), halo.getRight(),
                     getRowBytes(own, dim, getChannels(halo.getChannels())));
  }
  // A transposed halo receives from the other side.
  if (auto halo = dyn_cast<SeqHaloAddOp>(op)) {
    RankedTensorType own = halo.getResult().getType();
    int64_t dim = halo.getDim();
    int64_t size = own.getDimSize(dim), left = halo.getLeft(), right = halo.getRight();
    return count(ranks, getRowBytes(own, dim, getChannels(halo.getChannels())),
                 [&](int64_t rank) {
                   int64_t rows = 0;
                   for (int64_t j = 1; j < ranks; ++j) {
                     auto reach = [&](int64_t halo) {
                       return std::clamp<int64_t>(halo - (j - 1) * size, 0, size);
                     };
                     rows += rank + j < ranks ? reach(left) : 0;
                     rows += rank - j >= 0 ? reach(right) : 0;
                   }
                   return rows;
                 });
  }
  if (auto prefix = dyn_cast<SeqPrefixOp>(op)) {
    RankedTensorType own = prefix.getInput().getType();
    int64_t dim = prefix.getDim(), size = own.getDimSize(dim);
    return count(ranks, getRowBytes(own, dim), [&](int64_t rank) { return rank * size; });
  }
  if (auto prefix = dyn_cast<SeqPrefixAddOp>(op)) {
    RankedTensorType own = prefix.getResult().getType();
    int64_t dim = prefix.getDim(), size = own.getDimSize(dim);
    return count(ranks, getRowBytes(own, dim),
                 [&](int64_t rank) { return (ranks - 1 - rank) * size; });
  }
  return std::nullopt;
}

/// What the uses need at least; an exchange that is read whole needs all.
static Received findLeast(const Exchange &exchange, const GatherUses &uses) {
  int64_t own = exchange.own.getDimSize(exchange.dim);
  int64_t rowBytes = getRowBytes(exchange.own, exchange.dim), ranks = exchange.ranks;
  if (uses.isKept())
    return count(ranks, rowBytes, [&](int64_t) { return (ranks - 1) * own; });
  if (uses.needsPrefix)
    return count(ranks, rowBytes, [&](int64_t rank) { return rank * own; });
  Received least;
  for (const HaloUses &halo : uses.halos)
    least.add(countHalo(ranks, own, halo.left, halo.right,
                        getRowBytes(exchange.own, exchange.dim, halo.channels)));
  return least;
}

static void describe(InFlightDiagnostic &diag, const Total &total) {
  diag << "receives " << total.actual.last << " bytes on the last rank, "
       << total.actual.all / total.ranks << " on average, " << total.actual.most
       << " at most; least " << total.least.last << ", " << total.least.all / total.ranks
       << ", " << total.least.most;
}

namespace {
struct ReportBytes : dsv4::impl::ReportBytesPassBase<ReportBytes> {
  using ReportBytesPassBase::ReportBytesPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(report(func)))
        return signalPassFailure();
  }

private:
  LogicalResult report(func::FuncOp func);
  FailureOr<Total> reportOp(Operation *op, int64_t ranks, const Received &actual);
};
} // namespace

FailureOr<Total> ReportBytes::reportOp(Operation *op, int64_t ranks, const Received &actual) {
  Total total{actual, actual, ranks};
  auto exchange = findExchange(op);
  if (failed(exchange))
    return failure();
  std::string reason;
  if (*exchange) {
    FailureOr<GatherUses> uses = findUses(**exchange);
    if (failed(uses))
      return failure();
    total.least = findLeast(**exchange, *uses);
    reason = uses->reason;
  }
  if (totalsOnly)
    return total;
  InFlightDiagnostic diag = op->emitRemark();
  describe(diag, total);
  if (!reason.empty())
    diag << "; stays: " << reason;
  return total;
}

LogicalResult ReportBytes::report(func::FuncOp func) {
  using Key = std::pair<StringRef, StringRef>;
  llvm::MapVector<Key, Total> blocks, directions;
  WalkResult walk = func.walk([&](Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      return WalkResult::advance();
    FailureOr<int64_t> ranks = collective.getGroupSize();
    if (failed(ranks))
      return WalkResult::interrupt();
    std::optional<Received> actual = findReceived(op, *ranks);
    if (!actual)
      return WalkResult::advance();
    FailureOr<Total> total = reportOp(op, *ranks, *actual);
    if (failed(total))
      return WalkResult::interrupt();
    auto attr = op->getAttrOfType<StringAttr>(kDirectionAttr);
    StringRef direction = attr ? attr.getValue() : "forward";
    blocks[{getBlockOf(op), direction}].add(*total);
    directions[{"", direction}].add(*total);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (!totalsOnly)
    for (auto &[key, total] : blocks) {
      InFlightDiagnostic diag = mlir::emitRemark(func.getLoc());
      diag << (key.first.empty() ? StringRef("no block") : key.first) << " " << key.second << " ";
      describe(diag, total);
    }
  for (auto &[key, total] : directions) {
    InFlightDiagnostic diag = mlir::emitRemark(func.getLoc());
    diag << "@" << func.getSymName() << " " << key.second << " ";
    describe(diag, total);
  }
  return success();
}
