//===- MathExpansion.h - mathematics as arithmetic -------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_MATHEXPANSION_H
#define DSV4_PASSES_DECOMPOSE_MATHEXPANSION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::dsv4 {

/// Rewrites math operations as arithmetic: exp, sin and cos of f32 and f64, log
/// and its relatives of f32, rsqrt. Log and its relatives of f64 become calls
/// of the C library, declared in `module`.
void populateMathExpansionPatterns(RewritePatternSet &patterns,
                                   ::mlir::ModuleOp module);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_MATHEXPANSION_H
