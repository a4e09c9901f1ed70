//===- Balance.h - work of each rank under a split of positions -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal attention costs more the later a query stands, so ranks that hold
// equally many positions do not work equally much. Per layer kind and rank this
// analysis counts, for one row of the batch and one head,
//
//   area     pairs of a query and a key or pooled row that it attends to,
//   scores   pairs of a query and a window that the indexer scores,
//   halo     bytes of neighbouring positions that the rank receives,
//
// under the two splits of S = P * L positions:
//
//   contiguous     rank p holds the chunk p of P:             0 1 2 3
//   zig-zag        chunks p and 2P-1-p of 2P:       0 1 2 3 | 3 2 1 0
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_BALANCE_H
#define DSV4_ANALYSIS_BALANCE_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsv4 {

enum class SequenceSplit { Contiguous, ZigZag };

/// What layers of one kind have in common. Bytes are those of one row.
struct LayerKind {
  int64_t seqLen = 0;
  int64_t window = 0;
  int64_t ratio = 0;        ///< positions per pooled row; 0 = none
  int64_t numSelected = 0;  ///< pooled rows per query; 0 = all that are visible
  int64_t indexRatio = 0;   ///< positions per scored window; 0 = no indexer
  int64_t keyBytes = 0;     ///< of one raw key
  int64_t overlapBytes = 0; ///< of what a window reads of the one before it

  /// "window", "CSA" or "HCA".
  StringRef getName() const;
  bool operator==(const LayerKind &other) const;
};

struct LayerGroup {
  LayerKind kind;
  /// In program order; the layers are as many.
  SmallVector<WindowAttentionOp> attentions;
};

struct RankWork {
  int64_t area = 0;
  int64_t scores = 0;
  int64_t haloBytes = 0;
};

class BalanceAnalysis {
public:
  /// Finds the layers of a function that holds whole sequences, its modules not
  /// inlined. A layer that cannot be understood is a located error.
  static FailureOr<BalanceAnalysis> compute(func::FuncOp function);

  ArrayRef<LayerGroup> getGroups() const { return groups; }
  /// The smallest legal length from the given one on.
  int64_t getLegalLength(int64_t seqLen, int64_t ranks,
                         SequenceSplit split) const;
  /// Work of a rank; the length is legal.
  static RankWork getWork(const LayerKind &kind, int64_t rank, int64_t ranks,
                          SequenceSplit split);

private:
  SmallVector<LayerGroup> groups;
  int64_t alignment = 1; ///< least common multiple of the ratios
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_BALANCE_H
