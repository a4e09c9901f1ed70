//===- FloatIslands.h - where floats are narrow, and may be -----*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An fp32 island is a part of the model in which every value has at least 32
// bits, whatever the dtype of activations is:
//
//   island              operations                                leaves by
//   mHC maps            below attn_hc, ffn_hc, hc_head            -
//   compressor          what dsv4.pool_windows is computed from   -
//   indexer scores      dsv4.index_topk                           -
//   attention softmax   dsv4.window_attention                     -
//   router              below mlp.gate                            "M3"
//   head and loss       below lm_head, and what follows           "logits"
//
// A value leaks when it is rounded inside an island, or is rounded elsewhere and
// then read as part of one.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FLOATISLANDS_H
#define DSV4_ANALYSIS_FLOATISLANDS_H

#include "dsv4/Analysis/RoundingRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <string>

namespace mlir::dsv4 {

class FsdpUnitOp;

/// One operation on the way of a value, and what it does with it.
struct PrecisionStep {
  Operation *op;
  std::string what;
};

/// Something that the rules do not allow. The path is the shortest from
/// `where` to an operation that computes with the value; it may be empty.
struct PrecisionFault {
  Location where;
  std::string message;
  SmallVector<PrecisionStep> path;
};

/// The values whose elements `value` holds, unchanged or widened, that come from
/// no other value in this way: arguments and what is computed.
SmallVector<Value> findOrigins(Value value);

class FloatIslands {
public:
  /// `function` is flat: module regions are inlined.
  static FloatIslands compute(func::FuncOp function);

  /// In program order.
  ArrayRef<PrecisionFault> getFaults() const { return faults; }

  /// The island of an operation; empty outside.
  StringRef getIsland(Operation *op) const { return islandOf.lookup(op); }

  /// Roundings with their labels, in program order.
  ArrayRef<Operation *> getRoundings() const { return roundings; }

private:
  void findParameters();
  void findIslands();
  void checkParameters();
  void checkOperation(Operation *op);
  void checkRounding(Operation *op, Type from, Type to);
  void checkRule(Operation *op, StringRef label);
  bool checkRounded(Operation *op, const RoundingRule &rule);
  void checkPolicyCast(Operation *op);
  void checkReduceCast(Operation *op);
  void checkReduction(Operation *op);
  void checkWide(Operation *op, unsigned operand, StringRef island);

  SmallVector<Value> findNarrowOrigins(Value value) const;
  SmallVector<PrecisionStep> findPath(Value from, Operation *to) const;
  FsdpUnitOp findUnit(Operation *op) const;
  void addFault(Operation *op, const Twine &message,
                SmallVector<PrecisionStep> path = {});

  func::FuncOp function;
  bool isAutomodel = false;
  llvm::DenseMap<Operation *, StringRef> islandOf;
  llvm::MapVector<Value, StringRef> parameterNames;
  SmallVector<FsdpUnitOp> units;
  SmallVector<Operation *> roundings;
  SmallVector<PrecisionFault> faults;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FLOATISLANDS_H
