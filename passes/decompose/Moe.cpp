//===- Moe.cpp - routing rows to experts and back -------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sorting is a stable counting sort in place of the offsets:
//
//   offsets = 0; offsets[e + 1] += 1 for each slot      counts
//   running sum                                         offsets[e] = start of e
//   order[offsets[e]++] = slot                          offsets[e] = end of e
//   shift by one                                        offsets[e] = start of e
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// SortByExpertOp
//===----------------------------------------------------------------------===//

namespace {

struct ExpertSort {
  ExpertSort(SortByExpertOp op, Emitter &e)
      : e(e), experts(e.flatten(op.getExperts())),
        order(e.flatten(op.getOrder())), offsets(e.flatten(op.getOffsets())),
        count(offsets.sizes[0] - 1), one(e.constantInt(offsets.element, 1)) {}

  Expr atOffset(Expr i) { return e.at(offsets, {i}); }

  /// Runs `body` for each slot, with its number and its expert.
  void forEachSlot(llvm::function_ref<void(Expr, Expr)> body) {
    e.loop(0, experts.sizes[0], [&](Expr b) {
      e.loop(0, experts.sizes[1], [&](Expr t) {
        e.loop(0, experts.sizes[2], [&](Expr j) {
          Expr slot = (b * experts.sizes[1] + t) * experts.sizes[2] + j;
          Expr expert = e.load(experts, e.at(experts, {b, t, j}));
          body(slot, e.cast(expert, e.getBuilder().getIndexType()));
        });
      });
    });
  }

  Expr isExpert(Expr expert) { return (expert >= 0) & (expert < count); }

  /// Writes the slot where the counter stands, and advances it.
  void place(Expr slot, Expr counter) {
    Expr row = e.load(offsets, atOffset(counter));
    Expr index = e.cast(row, e.getBuilder().getIndexType());
    e.store(order, e.at(order, {index}), e.cast(slot, order.element));
    e.store(offsets, atOffset(counter), row + one);
  }

  void countRows() {
    e.loop(0, count + 1, [&](Expr i) {
      e.store(offsets, atOffset(i), e.constantInt(offsets.element, 0));
    });
    forEachSlot([&](Expr, Expr expert) {
      e.when(isExpert(expert), [&] {
        Expr at = atOffset(expert + 1);
        e.store(offsets, at, e.load(offsets, at) + one);
      });
    });
    e.loop(1, count + 1, [&](Expr i) {
      Expr sum =
          e.load(offsets, atOffset(i)) + e.load(offsets, atOffset(i - 1));
      e.store(offsets, atOffset(i), sum);
    });
  }

  void run() {
    countRows();
    // Slots without expert start where the last expert ends.
    forEachSlot([&](Expr slot, Expr expert) {
      Expr counter = e.select(isExpert(expert), expert, e.index(count));
      place(slot, counter);
    });
    e.loop(0, count, [&](Expr i) {
      Expr to = e.index(count) - i;
      e.store(offsets, atOffset(to), e.load(offsets, atOffset(to - 1)));
    });
    e.store(offsets, atOffset(e.index(0)), e.constantInt(offsets.element, 0));
  }

  Emitter &e;
  Buffer experts, order, offsets;
  int64_t count;
  Expr one;
};

} // namespace

LogicalResult dsv4::decompose(SortByExpertOp op, Emitter &e) {
  ExpertSort(op, e).run();
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch and combine
//===----------------------------------------------------------------------===//

LogicalResult dsv4::decompose(DispatchRowsOp op, Emitter &e) {
  Buffer tokens = e.flatten(op.getTokens()), order = e.flatten(op.getOrder());
  Buffer out = e.flatten(op.getInit());
  if (out.sizes[0] == 0)
    return success();
  int64_t perToken = out.sizes[0] / (tokens.sizes[0] * tokens.sizes[1]);
  e.loop(0, out.sizes[0], [&](Expr r) {
    Expr token = e.divide(loadSlot(order, r, e), e.index(perToken));
    copyRow(tokens, atToken(tokens, token, e), out, e.at(out, {r, e.index(0)}),
            out.sizes[1], e);
  });
  return success();
}

LogicalResult dsv4::decompose(DispatchWeightsOp op, Emitter &e) {
  Buffer weights = e.flatten(op.getWeights()), order = e.flatten(op.getOrder());
  Buffer out = e.flatten(op.getInit());
  int64_t perToken = weights.sizes[2];
  e.loop(0, out.sizes[0], [&](Expr r) {
    Expr slot = loadSlot(order, r, e);
    Expr token = e.divide(slot, e.index(perToken));
    Expr at = atToken(weights, token, e) +
              (slot - token * perToken) * weights.strides[2];
    e.store(out, e.at(out, {r}), e.load(weights, at));
  });
  return success();
}

LogicalResult dsv4::decompose(CombineRowsOp op, Emitter &e) {
  Buffer rows = e.flatten(op.getRows()), order = e.flatten(op.getOrder());
  Buffer offsets = e.flatten(op.getOffsets()), out = e.flatten(op.getInit());
  int64_t perToken = cast<MemRefType>(op.getExperts().getType()).getDimSize(2);
  Expr count = loadRowCount(offsets, rows.sizes[0], e);
  e.loop(e.index(0), count, [&](Expr r) {
    Expr token = e.divide(loadSlot(order, r, e), e.index(perToken));
    addRow(rows, e.at(rows, {r, e.index(0)}), out, atToken(out, token, e),
           out.sizes[2], e);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// GroupedMatmulOp
//===----------------------------------------------------------------------===//

/// The same chains as the kernel table's, for types that it lacks.
static void emitGroupedLoops(const Buffer &rows, const Buffer &weights,
                             const Buffer &offsets, const Buffer &out,
                             bool isTransposed, Emitter &e) {
  Type indexType = e.getBuilder().getIndexType();
  int64_t groups = weights.sizes[0];
  auto loadOffset = [&](Expr i) {
    return e.cast(e.load(offsets, e.at(offsets, {i})), indexType);
  };
  auto forEachOutput = [&](Expr from, Expr to,
                           llvm::function_ref<Expr(Expr, Expr)> value) {
    e.loop(from, to, [&](Expr r) {
      e.loop(0, out.sizes[1], [&](Expr o) {
        e.store(out, e.at(out, {r, o}), value(r, o));
      });
    });
  };
  Expr zero = e.constant(out.element, 0.0);
  e.loop(0, groups, [&](Expr g) {
    forEachOutput(loadOffset(g), loadOffset(g + 1), [&](Expr r, Expr o) {
      return e.loop(e.index(0), e.index(rows.sizes[1]), zero,
                    [&](Expr i, ArrayRef<Expr> acc) -> SmallVector<Expr> {
                      Expr x = e.load(rows, e.at(rows, {r, i}));
                      SmallVector<Expr> at = {g, i, o};
                      if (isTransposed)
                        std::swap(at[1], at[2]);
                      Expr w = e.load(weights, e.at(weights, at));
                      return {e.fma(e.cast(x, out.element),
                                    e.cast(w, out.element), acc[0])};
                    })[0];
    });
  });
  forEachOutput(loadOffset(e.index(groups)), e.index(out.sizes[0]),
                [&](Expr, Expr) { return zero; });
}

LogicalResult dsv4::decompose(GroupedMatmulOp op, RuntimeCalls &runtime,
                              Emitter &e) {
  Buffer rows = e.flatten(op.getRows()), weights = e.flatten(op.getWeights());
  Buffer offsets = e.flatten(op.getOffsets()), out = e.flatten(op.getInit());
  dsv4rt_contract_desc desc = {};
  desc.struct_size = sizeof(desc);
  desc.mode = DSV4RT_CONTRACT_EXACT;
  if (!setContractTypes(desc, rows.element, weights.element, out.element) ||
      offsets.strides[0] != 1) {
    emitGroupedLoops(rows, weights, offsets, out, op.getTransposed(), e);
    return success();
  }
  for (int64_t &extent : desc.batch)
    extent = 1;
  desc.m = out.sizes[0];
  desc.n = out.sizes[1];
  desc.k = rows.sizes[1];
  desc.a_m = rows.strides[0];
  desc.a_k = rows.strides[1];
  desc.b_k = weights.strides[op.getTransposed() ? 2 : 1];
  desc.b_n = weights.strides[op.getTransposed() ? 1 : 2];
  desc.c_m = out.strides[0];
  desc.c_n = out.strides[1];
  Expr start = e.index(0);
  runtime.groupedContract(desc, weights.sizes[0], weights.strides[0],
                          runtime.getPointer(offsets, start, e),
                          runtime.getPointer(rows, start, e),
                          runtime.getPointer(weights, start, e),
                          runtime.getPointer(out, start, e), e);
  return success();
}
