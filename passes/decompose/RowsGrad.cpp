//===- RowsGrad.cpp - adjoints of reads by index and of routing -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where several terms meet in one element, they are added in the order in which
// the forward operation read the element.
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Reads by index
//===----------------------------------------------------------------------===//

LogicalResult dsv4::decompose(ScatterAddOp op, Emitter &e) {
  Buffer rows = e.flatten(op.getRows()), ids = e.flatten(op.getIds());
  Buffer out = e.flatten(op.getInit());
  fillZero(out, e);
  forEachToken(rows.sizes, e, [&](Expr b, Expr t) {
    Expr id = e.cast(e.load(ids, e.at(ids, {b, t})),
                     e.getBuilder().getIndexType());
    e.when(isInRange(id, out.sizes[0]), [&] {
      addRow(rows, e.at(rows, {b, t, e.index(0)}), out,
             e.at(out, {id, e.index(0)}), out.sizes[1], e);
    });
  });
  return success();
}

/// Zeros, then one sum per entry, at the first slot that picks it.
LogicalResult dsv4::decompose(ScatterAlongOp op, Emitter &e) {
  Buffer input = e.flatten(op.getInput()), indices = e.flatten(op.getIndices());
  Buffer out = e.flatten(op.getInit());
  Type wide = getAccumulatorType(op);
  int64_t slots = input.sizes[2];
  fillZero(out, e);
  forEachToken(out.sizes, e, [&](Expr b, Expr t) {
    auto loadIndex = [&](Expr j) {
      return e.load(indices, e.at(indices, {b, t, j}));
    };
    e.loop(0, slots, [&](Expr j) {
      Expr index = loadIndex(j);
      Expr i = e.cast(index, e.getBuilder().getIndexType());
      e.when(isInRange(i, out.sizes[2]), [&] {
        Expr sum =
            e.loop(e.index(0), e.index(slots), e.constant(wide, 0.0),
                   [&](Expr k, ArrayRef<Expr> acc) -> SmallVector<Expr> {
                     Expr term = e.load(input, e.at(input, {b, t, k}));
                     Expr next = acc[0] + e.cast(term, wide);
                     return {e.select(loadIndex(k) == index, next, acc[0])};
                   })[0];
        e.store(out, e.at(out, {b, t, i}), sum);
      });
    });
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch and combine
//===----------------------------------------------------------------------===//

/// Slots per token of R routed rows of [B,T,..]; 1 if there is no token.
static int64_t getSlotsPerToken(int64_t rows, const Buffer &tokens) {
  int64_t count = tokens.sizes[0] * tokens.sizes[1];
  return count == 0 ? 1 : std::max<int64_t>(rows / count, 1);
}

LogicalResult dsv4::decompose(DispatchRowsGradOp op, Emitter &e) {
  Buffer rows = e.flatten(op.getRows()), order = e.flatten(op.getOrder());
  Buffer out = e.flatten(op.getInit());
  int64_t perToken = getSlotsPerToken(rows.sizes[0], out);
  fillZero(out, e);
  e.loop(0, rows.sizes[0], [&](Expr r) {
    Expr token = e.divide(loadSlot(order, r, e), e.index(perToken));
    addRow(rows, e.at(rows, {r, e.index(0)}), out, atToken(out, token, e),
           out.sizes[2], e);
  });
  return success();
}

LogicalResult dsv4::decompose(DispatchWeightsGradOp op, Emitter &e) {
  Buffer gradient = e.flatten(op.getGradient());
  Buffer order = e.flatten(op.getOrder()), out = e.flatten(op.getInit());
  int64_t perToken = out.sizes[2];
  fillZero(out, e);
  e.loop(0, gradient.sizes[0], [&](Expr r) {
    Expr slot = loadSlot(order, r, e);
    Expr token = e.divide(slot, e.index(perToken));
    Expr at =
        atToken(out, token, e) + (slot - token * perToken) * out.strides[2];
    e.store(out, at, e.load(gradient, e.at(gradient, {r})));
  });
  return success();
}

LogicalResult dsv4::decompose(CombineRowsGradOp op, Emitter &e) {
  Buffer tokens = e.flatten(op.getTokens()), order = e.flatten(op.getOrder());
  Buffer offsets = e.flatten(op.getOffsets()), out = e.flatten(op.getInit());
  int64_t perToken = getSlotsPerToken(out.sizes[0], tokens);
  Expr count = loadRowCount(offsets, out.sizes[0], e);
  e.loop(e.index(0), count, [&](Expr r) {
    Expr token = e.divide(loadSlot(order, r, e), e.index(perToken));
    copyRow(tokens, atToken(tokens, token, e), out, e.at(out, {r, e.index(0)}),
            out.sizes[1], e);
  });
  e.loop(count, e.index(out.sizes[0]), [&](Expr r) {
    e.loop(0, out.sizes[1], [&](Expr c) {
      e.store(out, e.at(out, {r, c}), e.constant(out.element, 0.0));
    });
  });
  return success();
}

//===----------------------------------------------------------------------===//
// GroupedOuterOp
//===----------------------------------------------------------------------===//

/// The same chains as the kernel table's, for types that it lacks.
static void emitOuterLoops(const Buffer &rows, const Buffer &gradient,
                           const Buffer &offsets, const Buffer &out, Type wide,
                           Emitter &e) {
  auto loadOffset = [&](Expr g) {
    return e.cast(e.load(offsets, e.at(offsets, {g})),
                  e.getBuilder().getIndexType());
  };
  e.loop(0, out.sizes[0], [&](Expr g) {
    e.loop(0, out.sizes[1], [&](Expr i) {
      e.loop(0, out.sizes[2], [&](Expr o) {
        Expr sum = e.loop(
            loadOffset(g), loadOffset(g + 1), e.constant(wide, 0.0),
            [&](Expr r, ArrayRef<Expr> acc) -> SmallVector<Expr> {
              Expr x = e.load(rows, e.at(rows, {r, i}));
              Expr y = e.load(gradient, e.at(gradient, {r, o}));
              return {e.fma(e.cast(x, wide), e.cast(y, wide), acc[0])};
            })[0];
        e.store(out, e.at(out, {g, i, o}), sum);
      });
    });
  });
}

LogicalResult dsv4::decompose(GroupedOuterOp op, RuntimeCalls &runtime,
                              Emitter &e) {
  Buffer rows = e.flatten(op.getRows()), gradient = e.flatten(op.getGradient());
  Buffer offsets = e.flatten(op.getOffsets()), out = e.flatten(op.getInit());
  dsv4rt_contract_desc desc = {};
  desc.struct_size = sizeof(desc);
  desc.mode = DSV4RT_CONTRACT_EXACT;
  if (!setContractTypes(desc, rows.element, gradient.element, out.element) ||
      offsets.strides[0] != 1) {
    emitOuterLoops(rows, gradient, offsets, out, getAccumulatorType(op), e);
    return success();
  }
  for (int64_t &extent : desc.batch)
    extent = 1;
  desc.m = out.sizes[1];
  desc.n = out.sizes[2];
  desc.k = rows.sizes[0];
  desc.a_m = rows.strides[1];
  desc.a_k = rows.strides[0];
  desc.b_k = gradient.strides[0];
  desc.b_n = gradient.strides[1];
  desc.c_m = out.strides[1];
  desc.c_n = out.strides[2];
  Expr start = e.index(0);
  runtime.groupedOuter(desc, out.sizes[0], out.strides[0],
                       runtime.getPointer(offsets, start, e),
                       runtime.getPointer(rows, start, e),
                       runtime.getPointer(gradient, start, e),
                       runtime.getPointer(out, start, e), e);
  return success();
}
