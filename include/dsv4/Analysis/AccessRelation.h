//===- AccessRelation.h - which rows an operation reads --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For an operand and one of its dimensions: which rows does row t of the result
// read? The answer is a RowAccess; operations compose, so a chain has one too.
//
//   linalg            from the indexing maps
//   dsv4              from RowAccessOpInterface, else from the layout rule
//   tensor            pad, extract_slice, insert_slice, concat, reshapes
//
// From the relation follow the rows that a rank must receive, and so the least
// communication. What is not known has no relation: that is for the caller to
// report.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_ACCESSRELATION_H
#define DSV4_ANALYSIS_ACCESSRELATION_H

#include "dsv4/IR/Dsv4Ops.h"

namespace mlir::dsv4 {

RowAccess getLocalAccess(unsigned operandDim, unsigned resultDim);
RowAccess getGlobalAccess(unsigned operandDim, unsigned resultDim = 0);
bool isGlobal(const RowAccess &access);

/// What the first result of `use`'s owner reads of dimension `dim` of the
/// operand; nothing when the operation is not known.
std::optional<RowAccess> findAccess(OpOperand &use, unsigned dim);

/// Row t of the last result reads `outer` of a value of which each row reads
/// `inner`.
RowAccess compose(const RowAccess &outer, const RowAccess &inner);

/// The smallest relation that holds both; they lead to the same result
/// dimension.
RowAccess join(const RowAccess &a, const RowAccess &b);

/// As in `halo(7, 0)`.
std::string formatAccess(const RowAccess &access);

/// Rows that a rank with `operandRows` rows and `resultRows` rows of the result
/// needs from other ranks.
struct RemoteRows {
  enum Kind { None, Halo, Prefix, All } kind;
  /// Of a halo.
  int64_t left = 0, right = 0;
};

/// Nothing when rows of result and operand do not correspond.
std::optional<RemoteRows> findRemoteRows(const RowAccess &access, int64_t operandRows,
                                         int64_t resultRows, int64_t ranks);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_ACCESSRELATION_H
