//===- ReportBalance.cpp - print the work of each rank --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One remark per layer kind at its first attention, and one per rank; see
// Balance.h for what is counted.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Balance.h"
#include "dsv4/Analysis/Layout.h"
#include "dsv4/Passes/Passes.h"

#include "llvm/Support/FormatVariadic.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_REPORTBALANCEPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

struct ReportBalance : public dsv4::impl::ReportBalancePassBase<ReportBalance> {
  using ReportBalancePassBase::ReportBalancePassBase;
  void runOnOperation() override;
};

/// The work of all ranks under one split.
class Distribution {
public:
  Distribution(const LayerKind &kind, int64_t ranks, SequenceSplit split) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      work.push_back(BalanceAnalysis::getWork(kind, rank, ranks, split));
  }
  const RankWork &operator[](int64_t rank) const { return work[rank]; }

  /// The most loaded rank over the mean: "1.75".
  std::string formatExcess(int64_t RankWork::*field) const {
    double sum = 0, most = 0;
    for (const RankWork &rank : work) {
      sum += double(rank.*field);
      most = std::max(most, double(rank.*field));
    }
    return llvm::formatv("{0:f2}", sum > 0 ? most * work.size() / sum : 1.0);
  }
  int64_t getHaloBytes() const {
    int64_t sum = 0;
    for (const RankWork &rank : work)
      sum += rank.haloBytes;
    return sum;
  }

private:
  SmallVector<RankWork> work;
};

} // namespace

static void printGroup(const LayerGroup &group, int64_t ranks, bool canZigZag) {
  WindowAttentionOp op = group.attentions.front();
  Distribution contiguous(group.kind, ranks, SequenceSplit::Contiguous);
  std::optional<Distribution> zigZag;
  if (canZigZag)
    zigZag.emplace(group.kind, ranks, SequenceSplit::ZigZag);
  auto print = [&](StringRef name, auto value) {
    std::string text =
        llvm::formatv("; {0} {1}", name, value(contiguous)).str();
    if (zigZag)
      text += llvm::formatv(" -> {0}", value(*zigZag));
    return text;
  };
  auto excess = [](int64_t RankWork::*field) {
    return [=](const Distribution &d) { return d.formatExcess(field); };
  };
  bool scores = group.kind.indexRatio;
  size_t layers = group.attentions.size();
  InFlightDiagnostic remark = op.emitRemark()
                              << group.kind.getName() << ", " << layers
                              << (layers == 1 ? " layer" : " layers")
                              << ", most over mean"
                              << print("area", excess(&RankWork::area));
  if (scores)
    remark << print("scores", excess(&RankWork::scores));
  remark << print("halo bytes of all ranks",
                  [](const Distribution &d) { return d.getHaloBytes(); });
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto get = [&](int64_t RankWork::*field) {
      return [=](const Distribution &d) { return d[rank].*field; };
    };
    remark.attachNote() << "rank " << rank
                        << print("area", get(&RankWork::area))
                        << (scores ? print("scores", get(&RankWork::scores))
                                   : "")
                        << print("halo bytes", get(&RankWork::haloBytes));
  }
}

/// False, with an error, when the contiguous split is not legal either.
static FailureOr<bool> checkLengths(const BalanceAnalysis &analysis,
                                    int64_t ranks) {
  bool canZigZag = true;
  for (const LayerGroup &group : analysis.getGroups()) {
    WindowAttentionOp op = group.attentions.front();
    int64_t length = group.kind.seqLen;
    int64_t legal =
        analysis.getLegalLength(length, ranks, SequenceSplit::Contiguous);
    if (length != legal)
      return op.emitOpError()
             << length << " positions cannot be split over " << ranks
             << " ranks in whole windows, expected " << legal;
    legal = analysis.getLegalLength(length, ranks, SequenceSplit::ZigZag);
    if (length == legal || !canZigZag)
      continue;
    canZigZag = false;
    op.emitRemark() << "no zig-zag split: " << length
                    << " positions cannot be cut into " << 2 * ranks
                    << " chunks of whole windows, expected " << legal;
  }
  return canZigZag;
}

void ReportBalance::runOnOperation() {
  FailureOr<LayoutMesh> mesh = LayoutMesh::find(getOperation());
  if (failed(mesh))
    return signalPassFailure();
  int64_t ranks = mesh->getNumRanks(mesh->getSequenceAxes());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    FailureOr<BalanceAnalysis> analysis = BalanceAnalysis::compute(function);
    if (failed(analysis))
      return signalPassFailure();
    FailureOr<bool> canZigZag = checkLengths(*analysis, ranks);
    if (failed(canZigZag))
      return signalPassFailure();
    for (const LayerGroup &group : analysis->getGroups())
      printGroup(group, ranks, *canZigZag);
  }
  markAllAnalysesPreserved();
}
