//===- KeyPanel.cpp - scores of queries against transposed keys -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyPanel.h"

using namespace mlir;
using namespace mlir::dsv4;

void dsv4::fillPanel(const KeyPanel &panel, const Buffer &keys, int64_t stride,
                     llvm::function_ref<Expr(Expr)> row,
                     llvm::function_ref<Expr(Expr)> isValid, Emitter &e) {
  e.loop(0, panel.columns, [&](Expr c) {
    e.whenElse(
        isValid(c),
        [&] {
          Expr from = row(c);
          e.loop(0, panel.channels, [&](Expr d) {
            Expr value = e.load(keys, from + d * stride);
            e.store(panel.buffer, d * panel.columns + c, value);
          });
        },
        [&] {
          e.loop(0, panel.channels, [&](Expr d) {
            e.store(panel.buffer, d * panel.columns + c,
                    e.constant(panel.buffer.element, 0.0));
          });
        });
  });
}

void dsv4::widenRow(const Buffer &from, Expr at, int64_t stride,
                    const Buffer &to, Expr toAt, int64_t size, Emitter &e) {
  e.loop(0, size,
         [&](Expr d) { e.store(to, toAt + d, e.load(from, at + d * stride)); });
}

SmallVector<Expr> dsv4::emitDots(const Buffer &query, Expr row, int64_t heads,
                                 const KeyPanel &panel, Expr column,
                                 Emitter &e) {
  Expr zero = e.broadcast(e.constant(panel.buffer.element, 0.0), kSlotChunk);
  SmallVector<Expr> sums(heads, zero);
  return e.loop(e.index(0), e.index(panel.channels), sums,
                [&](Expr d, ArrayRef<Expr> state) {
                  Expr keys = e.load(panel.buffer, d * panel.columns + column,
                                     kSlotChunk);
                  SmallVector<Expr> next;
                  for (int64_t h = 0; h < heads; ++h) {
                    Expr q = e.load(query, row + d + h * panel.channels);
                    next.push_back(e.fma(q, keys, state[h]));
                  }
                  return next;
                });
}
