//===- RowAccess.h - which rows of an operand a row reads ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_IR_ROWACCESS_H
#define DSV4_IR_ROWACCESS_H

#include <cstdint>
#include <optional>
#include <utility>

namespace mlir::dsv4 {

/// Row t of a result along `resultDim` reads at most the rows
///
///   floor(t * num / den) + first  ..  floor(t * num / den) + last
///
/// of an operand along `operandDim`; an absent bound reaches to the border of
/// the sequence.
///
///   local                     0 .. 0
///   sliding window of W       -(W - 1) .. 0
///   pooled keys of ratio r    num = 1, den = r, absent .. 0
///   window of r tokens        num = r, den = 1, 0 .. r - 1
struct RowAccess {
  unsigned operandDim = 0, resultDim = 0;
  int64_t num = 1, den = 1;
  std::optional<int64_t> first = 0, last = 0;
  /// Begin and size in the last dimension of what is read in rows other than
  /// the first `num` of row t; all if absent.
  std::optional<std::pair<int64_t, int64_t>> channels = std::nullopt;
  /// What a row before the first must hold to count as missing.
  double missing = 0;
  /// Ids, which are data, may forbid some of the rows.
  bool isClippedByIds = false;
};

} // namespace mlir::dsv4

#endif // DSV4_IR_ROWACCESS_H
