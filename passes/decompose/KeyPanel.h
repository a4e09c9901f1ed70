//===- KeyPanel.h - scores of queries against transposed keys --*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A score is one fma chain over ascending channels. To compute 32 of them at
// once without reordering any, keys are stored channel-major: row d of a panel
// holds channel d of every key, one column each.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_KEYPANEL_H
#define DSV4_PASSES_DECOMPOSE_KEYPANEL_H

#include "Emitter.h"
#include "dsv4/Analysis/KernelWorkspace.h"

namespace mlir::dsv4 {

/// Keys in the accumulator's type, [channels][columns].
struct KeyPanel {
  Buffer buffer;
  int64_t channels;
  int64_t columns;
};

/// Column c becomes the row that starts at `row(c)` in `keys`, or zeros where
/// `isValid(c)` fails. `stride` is the distance of two channels.
void fillPanel(const KeyPanel &panel, const Buffer &keys, int64_t stride,
               llvm::function_ref<Expr(Expr)> row,
               llvm::function_ref<Expr(Expr)> isValid, Emitter &e);

/// Copies `size` values into flat memory in its type.
void widenRow(const Buffer &from, Expr at, int64_t stride, const Buffer &to,
              Expr toAt, int64_t size, Emitter &e);

/// The products of `heads` query rows, row-major from `row` in `query`, with
/// the kSlotChunk keys from `column` on.
SmallVector<Expr> emitDots(const Buffer &query, Expr row, int64_t heads,
                           const KeyPanel &panel, Expr column, Emitter &e);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_KEYPANEL_H
