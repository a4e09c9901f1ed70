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

void fillZero(const Buffer &buffer, Emitter &e);

/// Adds `size` elements along the last dimension of both buffers.
void addRow(const Buffer &from, Expr fromAt, const Buffer &to, Expr toAt,
            int64_t size, Emitter &e);

/// order[row], the slot of a routed row.
Expr loadSlot(const Buffer &order, Expr row, Emitter &e);

/// Position of the first element of the n-th token of a [B,T,..] buffer.
Expr atToken(const Buffer &tokens, Expr token, Emitter &e);

/// Number of rows that have an expert: the last of the offsets.
Expr loadRowCount(const Buffer &offsets, int64_t rows, Emitter &e);

/// Runs `body` for each (b, t) of the leading two dimensions of a shape.
void forEachToken(ArrayRef<int64_t> shape, Emitter &e,
                  llvm::function_ref<void(Expr, Expr)> body);

Expr isInRange(Expr index, int64_t size);

/// An integer that orders as the float does: -0 equals +0 and NaN is below
/// everything. The lowest integer is no key.
Expr makeOrderedKey(Expr value, Emitter &e);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_ROWS_H
