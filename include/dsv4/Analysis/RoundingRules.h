//===- RoundingRules.h - where the model may round --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definition of the model names every place where a value is rounded. A
// cast says in `dsv4.cast` which of them it is; this table says where that place
// lies and what stands there.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_ROUNDINGRULES_H
#define DSV4_ANALYSIS_ROUNDINGRULES_H

#include "dsv4/IR/Dsv4Dialect.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dsv4 {

/// Labels that are no step of the model.
inline constexpr StringLiteral kPolicyLabel = "policy";
inline constexpr StringLiteral kReduceLabel = "reduce dtype";
inline constexpr StringLiteral kCotangentLabel = "sum of cotangents";

/// What is rounded.
enum class RoundedKind {
  /// The result of a sum of products.
  Contraction,
  /// The result of `dsv4.pool_windows`.
  Pool,
  /// The result of `dsv4.combine_rows`.
  Combine,
  /// What the rounding operation itself computes.
  Elementwise
};

StringRef getRoundedKindName(RoundedKind kind);

/// Which programs have the rounding: those that round as the definition does, as
/// one implementation does, or both.
enum class RoundedIn { Always, Islands, Automodel };

struct RoundingRule {
  StringLiteral label;
  /// Last components of the module path; "#" is any number.
  StringLiteral place;
  RoundedKind kind;
  /// Number of tensors that it is computed from.
  unsigned numInputs;
  RoundedIn where = RoundedIn::Always;
  /// Bit i: input i comes from an fp32 island.
  unsigned wideInputs = 0;
};

ArrayRef<RoundingRule> getRoundingRules();

/// Whether some rule has the label.
bool isRoundingLabel(StringRef label);

/// Whether the last components of `path` are those of `place`.
bool isAtPlace(StringRef path, StringRef place);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_ROUNDINGRULES_H
