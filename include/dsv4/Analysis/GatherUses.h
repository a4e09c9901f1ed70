//===- GatherUses.h - what is read of gathered values ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_GATHERUSES_H
#define DSV4_ANALYSIS_GATHERUSES_H

#include "dsv4/Analysis/AccessRelation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsv4 {

/// Uses that read through one buffer with rows on both sides; none on either
/// means that own rows suffice.
struct HaloUses {
  int64_t left = 0, right = 0;
  std::optional<std::pair<int64_t, int64_t>> channels;
  double missing = 0;
  SmallVector<OpOperand *> uses;
};

/// What all uses of one gather need: one prefix, or halos, or a reason to keep
/// the gather.
struct GatherUses {
  bool needsPrefix = false;
  SmallVector<HaloUses> halos;
  std::string reason;

  bool isKept() const { return !reason.empty(); }
};

/// A collective that brings rows of other ranks: gather, halo or prefix.
struct Exchange {
  Operation *op;
  Value result;
  /// What one rank owns.
  RankedTensorType own;
  int64_t dim, ranks;
};

/// Nothing for other operations; fails with an error without a mesh.
FailureOr<std::optional<Exchange>> findExchange(Operation *op);

/// What the uses of an exchange need, whatever it brings now.
FailureOr<GatherUses> findUses(const Exchange &exchange);

/// Every gather of the function in order. A use that is not known is an error
/// that names operation, operand and gather.
FailureOr<SmallVector<std::pair<SeqGatherOp, GatherUses>>> findGatherUses(func::FuncOp func);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_GATHERUSES_H
