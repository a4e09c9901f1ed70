//===- BlockRuns.h - contiguous operations of one block --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_BLOCKRUNS_H
#define DSV4_ANALYSIS_BLOCKRUNS_H

#include "mlir/IR/Block.h"
#include "mlir/Support/LLVM.h"

namespace mlir::dsv4 {

/// A maximal range of operations that came from the same block of the model.
struct BlockRun {
  /// Path of the block, as "model.layers.3"; empty for operations outside all
  /// blocks.
  StringRef block;
  /// Its backward operations are a run of their own.
  bool isBackward = false;
  Operation *first = nullptr;
  Operation *last = nullptr;
};

/// The block that a module path lies in: the path up to and including the first
/// component that is a number; empty if there is none.
StringRef getBlockOfPath(StringRef path);

/// The block that the operation's `dsv4.path` lies in; empty without one.
StringRef getBlockOf(Operation *op);

/// Whether the operation computes a cotangent.
bool isBackward(Operation *op);

/// Splits the operations before the terminator into runs, in program order.
/// Constants belong to the run around them.
SmallVector<BlockRun> findBlockRuns(Block &body);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_BLOCKRUNS_H
