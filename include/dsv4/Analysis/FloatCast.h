//===- FloatCast.h - operations that only change the float type -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FLOATCAST_H
#define DSV4_ANALYSIS_FLOATCAST_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::dsv4 {

/// The element types of a cast.
struct FloatCast {
  Type from;
  Type to;
};

/// Matches arith.extf and arith.truncf on tensors, and linalg operations whose
/// body is one of them and nothing else (a cast may thus move elements).
std::optional<FloatCast> findFloatCast(Operation *op);

/// True for a float cast of `source` that keeps every element in its place.
bool isElementwiseCastOf(Operation *op, Value source);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FLOATCAST_H
