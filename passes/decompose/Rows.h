//===- Rows.h - what loops over rows share ---------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_ROWS_H
#define DSV4_PASSES_DECOMPOSE_ROWS_H

#include "Emitter.h"

namespace mlir::dsv4 {

/// Copies `size` elements along the last dimension of both buffers.
void copyRow(const Buffer &from, Expr fromAt, const Buffer &to, Expr toAt,
             int64_t size, Emitter &e);

/// An integer that orders as the float does: -0 equals +0 and NaN is below
/// everything. The lowest integer is no key.
Expr makeOrderedKey(Expr value, Emitter &e);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_ROWS_H
