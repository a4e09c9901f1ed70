//===- LinalgContraction.cpp - sums of products ---------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each output is one chain of fused multiply-adds that starts at the init and
// takes the reduced loops in lexicographic order. Large products are calls of
// the runtime's kernel table, whose chains are the same:
//
//   small   for outer outputs                  large   loops -> batch, m, n, k
//             for chunk of contiguous outputs            llvm.call
//               acc = out                                  @dsv4rt_contract
//               for k.. : acc = fma(a, b, acc)
//               out = acc
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "LinalgNest.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// From this many multiply-adds a call pays.
constexpr int64_t kCallVolume = 32 * 32 * 32;

/// Loops in the roles of a batched matrix product; what does not fit are
/// loops around the call.
struct MatrixForm {
  unsigned a, b, c;
  NestLoop m, n, k;
  SmallVector<NestLoop> batch;
  SmallVector<NestLoop> around;
};

} // namespace

/// Takes the largest loop out of a list; a loop of size 1 if there is none.
static NestLoop takeLargest(SmallVectorImpl<NestLoop> &loops, unsigned rank) {
  if (loops.empty())
    return NestLoop{1, false, 0, SmallVector<int64_t>(rank, 0)};
  auto it = std::max_element(
      loops.begin(), loops.end(),
      [](const NestLoop &x, const NestLoop &y) { return x.size < y.size; });
  NestLoop loop = *it;
  loops.erase(it);
  return loop;
}

static MatrixForm getMatrixForm(LinalgNest &nest, unsigned a, unsigned b) {
  unsigned c = nest.getNumInputs(), rank = nest.accesses.size();
  MatrixForm form{a, b, c, {}, {}, {}, {}, {}};
  SmallVector<NestLoop> m, n, k;
  for (const NestLoop &loop : nest.loops) {
    bool inA = loop.strides[a] != 0, inB = loop.strides[b] != 0;
    if (loop.size == 1)
      continue;
    (loop.isReduction ? k
     : inA == inB     ? form.batch
     : inA            ? m
                      : n)
        .push_back(loop);
  }
  for (SmallVector<NestLoop> *loops : {&m, &n, &form.batch}) {
    sortByStride(*loops, c);
    mergeLoops(nest, *loops);
  }
  mergeLoops(nest, k);
  form.m = takeLargest(m, rank);
  form.n = takeLargest(n, rank);
  form.k = k.empty() ? takeLargest(k, rank) : k.pop_back_val();
  form.batch.append(m);
  form.batch.append(n);
  // Outer k loops must be outermost but for batch loops, which never share
  // an output: any order of these is right.
  while (form.batch.size() > 3) {
    form.around.push_back(form.batch.front());
    form.batch.erase(form.batch.begin());
  }
  form.around.append(k);
  if (form.m.strides[c] == 1 && form.n.strides[c] != 1) {
    std::swap(form.a, form.b);
    std::swap(form.m, form.n);
  }
  return form;
}

static std::optional<dsv4rt_contract_desc> getDesc(LinalgNest &nest,
                                                   const MatrixForm &form) {
  dsv4rt_contract_desc desc = {};
  desc.struct_size = sizeof(desc);
  desc.mode = DSV4RT_CONTRACT_EXACT;
  desc.accumulate = 1;
  auto getType = [&](unsigned i) { return nest.accesses[i].buffer.element; };
  if (!setContractTypes(desc, getType(form.a), getType(form.b),
                        getType(form.c)))
    return std::nullopt;
  unsigned a = form.a, b = form.b, c = form.c;
  for (int i = 0; i < 3; ++i)
    desc.batch[i] = 1;
  for (auto [i, loop] : llvm::enumerate(form.batch)) {
    desc.batch[i] = loop.size;
    desc.a_batch[i] = loop.strides[a];
    desc.b_batch[i] = loop.strides[b];
    desc.c_batch[i] = loop.strides[c];
  }
  desc.m = form.m.size;
  desc.n = form.n.size;
  desc.k = form.k.size;
  desc.a_m = form.m.strides[a];
  desc.a_k = form.k.strides[a];
  desc.b_k = form.k.strides[b];
  desc.b_n = form.n.strides[b];
  desc.c_m = form.m.strides[c];
  desc.c_n = form.n.strides[c];
  return desc;
}

/// Emits calls if the product is large and the kernel table has its types.
static bool tryCall(LinalgNest &nest, unsigned a, unsigned b,
                    RuntimeCalls &runtime, Emitter &e) {
  if (nest.usesIndex)
    return false;
  MatrixForm form = getMatrixForm(nest, a, b);
  if (form.m.size * form.n.size * form.k.size < kCallVolume)
    return false;
  std::optional<dsv4rt_contract_desc> desc = getDesc(nest, form);
  if (!desc)
    return false;
  // A chain in several calls passes through the output: it must not round.
  bool isSplit = llvm::any_of(form.around,
                              [](const NestLoop &l) { return l.isReduction; });
  if (isSplit && desc->c_dtype == DSV4RT_BF16)
    return false;
  forEachPoint(nest, form.around, getStart(nest, e), e,
               [&](const NestPoint &point) {
                 auto getPointer = [&](unsigned i) {
                   return runtime.getPointer(nest.accesses[i].buffer,
                                             point.positions[i], e);
                 };
                 runtime.contract(*desc, getPointer(form.a), getPointer(form.b),
                                  getPointer(form.c), e);
               });
  return true;
}

/// A loop of contiguous outputs whose factors are uniform or contiguous.
static NestLoop *findLaneLoop(LinalgNest &nest, MutableArrayRef<NestLoop> loops,
                              unsigned a, unsigned b) {
  unsigned c = nest.getNumInputs();
  NestLoop *it = llvm::find_if(loops, [&](const NestLoop &loop) {
    return loop.strides[c] == 1 && loop.size > 1 &&
           isLaneLoop(nest, loop, {a, b});
  });
  return it == loops.end() ? nullptr : it;
}

void dsv4::emitContraction(LinalgNest &nest, const Combiner &combiner,
                           std::pair<unsigned, unsigned> factors,
                           RuntimeCalls &runtime, Emitter &e) {
  auto [a, b] = factors;
  if (tryCall(nest, a, b, runtime, e))
    return;
  unsigned c = nest.getNumInputs();
  Type wide = combiner.op->getResult(0).getType();
  if (!wide.isF64())
    wide = e.getBuilder().getF32Type();
  SmallVector<NestLoop> outputs, reduced;
  for (const NestLoop &loop : nest.loops)
    (loop.isReduction ? reduced : outputs).push_back(loop);
  sortByStride(outputs, c);
  mergeLoops(nest, outputs);
  mergeLoops(nest, reduced);

  auto emitOutputs = [&, a = a, b = b](const NestPoint &first,
                                       const NestLoop *lane, int64_t width) {
    auto load = [&](const NestPoint &point, unsigned i) {
      return e.cast(loadOperand(nest, point, i, lane, width, Expr(), e), wide);
    };
    Expr acc = load(first, c);
    acc = foldPoints(nest, reduced, first, acc, e,
                     [&](const NestPoint &point,
                         ArrayRef<Expr> state) -> SmallVector<Expr> {
                       return {e.fma(load(point, a), load(point, b), state[0])};
                     })
              .front();
    e.store(nest.accesses[c].buffer, first.positions[c], acc);
  };

  NestPoint start = getStart(nest, e);
  NestLoop *found = findLaneLoop(nest, outputs, a, b);
  if (!found) {
    forEachPoint(nest, outputs, start, e, [&](const NestPoint &point) {
      emitOutputs(point, nullptr, 1);
    });
    return;
  }
  NestLoop lane = *found;
  outputs.erase(found);
  forEachPoint(nest, outputs, start, e, [&](const NestPoint &point) {
    e.chunks(lane.size, {32, 8, 1}, [&](Expr i, int64_t width) {
      emitOutputs(advanceLanes(nest, point, lane, i, width, e), &lane, width);
    });
  });
}
