//===- LinalgReduction.cpp - reductions in 32 lanes -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of every sum: element j of the innermost reduced dimension belongs
// to lane j mod 32; a lane starts at the identity and takes its elements in
// ascending order (outer reduced dimensions outermost); lanes are combined in
// halves, 16, 8, 4, 2, 1; last, the init is combined with the result.
//
//   rows      for each output                 columns   for each 16 outputs
//               acc = vector<32> identity                 for lane in 0..31
//               for outer, for chunk of 32                  acc = vector<16>
//                 acc = acc + f(chunk)                      for outer, for
//                 chunk
//               halves tree                                   acc = acc + f(..)
//               out = out + acc                             scratch[lane] = acc
//                                                         halves tree in
//                                                         scratch
//
// Rows serve where the reduced dimension is contiguous, columns elsewhere; both
// give the same bits. Fewer than 32 elements use the next power of two, which
// only leaves out identities.
//
//===----------------------------------------------------------------------===//

#include "LinalgNest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kColumns = 16;

class ReductionEmitter {
public:
  ReductionEmitter(LinalgNest &nest, const Combiner &combiner, Emitter &e);
  void run();

private:
  void emitRow(const NestPoint &row);
  void emitColumns(const NestPoint &first, const NestLoop *lane, int64_t width);
  /// The body's value at a point, in the accumulator's type.
  Expr getValue(const NestPoint &point, const NestLoop *lane, int64_t width,
                Expr mask);
  Expr combine(Expr a, Expr b);
  Expr getIdentity();
  /// Combines with what the output holds, and stores.
  void finish(const NestPoint &point, const NestLoop *lane, Expr total);
  const NestLoop *findColumnLoop();
  SmallVector<Expr> foldRow(const NestPoint &point, ArrayRef<Expr> state);

  LinalgNest &nest;
  Combiner combiner;
  Emitter &e;
  SmallVector<NestLoop> parallel, outer;
  NestLoop inner;
  SmallVector<unsigned> inputs;
  Type accumulator;
  int64_t lanes;
  Buffer scratch;
};

} // namespace

ReductionEmitter::ReductionEmitter(LinalgNest &nest, const Combiner &combiner,
                                   Emitter &e)
    : nest(nest), combiner(combiner), e(e), inputs(getUsedInputs(nest)) {
  for (const NestLoop &loop : nest.loops)
    (loop.isReduction ? outer : parallel).push_back(loop);
  inner = outer.pop_back_val();
  lanes = std::min<int64_t>(kLanes, llvm::PowerOf2Ceil(inner.size));
  accumulator = combiner.op->getResult(0).getType();
  if (accumulator.isBF16() || accumulator.isF16())
    accumulator = e.getBuilder().getF32Type();
}

Expr ReductionEmitter::combine(Expr a, Expr b) {
  int64_t width = std::max(a.getWidth(), b.getWidth());
  SmallVector<Value> operands = {e.broadcast(a, width), e.broadcast(b, width)};
  OperationState state(e.getLoc(), combiner.op->getName(), operands,
                       operands[0].getType(), combiner.op->getAttrs());
  return e.wrap(e.getBuilder().create(state)->getResult(0));
}

Expr ReductionEmitter::getIdentity() {
  Operation *op = combiner.op;
  if (isa<FloatType>(accumulator)) {
    double infinity = std::numeric_limits<double>::infinity();
    double identity = isa<arith::MulFOp>(op)                         ? 1.0
                      : isa<arith::MaximumFOp, arith::MaxNumFOp>(op) ? -infinity
                      : isa<arith::MinimumFOp, arith::MinNumFOp>(op) ? infinity
                                                                     : 0.0;
    return e.constant(accumulator, identity);
  }
  unsigned bits =
      accumulator.isIndex() ? 64 : accumulator.getIntOrFloatBitWidth();
  APInt identity(bits, 0);
  if (isa<arith::MulIOp>(op))
    identity = APInt(bits, 1);
  else if (isa<arith::MaxSIOp>(op))
    identity = APInt::getSignedMinValue(bits);
  else if (isa<arith::MinSIOp>(op))
    identity = APInt::getSignedMaxValue(bits);
  else if (isa<arith::MinUIOp, arith::AndIOp>(op))
    identity = APInt::getAllOnes(bits);
  return e.constantInt(accumulator, identity.getSExtValue());
}

Expr ReductionEmitter::getValue(const NestPoint &point, const NestLoop *lane,
                                int64_t width, Expr mask) {
  SmallVector<Expr> arguments(nest.getBody().getNumArguments());
  for (unsigned i : inputs)
    arguments[i] = loadOperand(nest, point, i, lane, width, mask, e);
  Expr value = emitBody(nest, combiner.value, arguments, point, e).front();
  return e.broadcast(e.cast(value, accumulator), width);
}

void ReductionEmitter::finish(const NestPoint &point, const NestLoop *lane,
                              Expr total) {
  unsigned out = nest.getNumInputs();
  Expr init = loadOperand(nest, point, out, lane, total.getWidth(), Expr(), e);
  e.store(nest.accesses[out].buffer, getPosition(nest, point, out, e),
          combine(e.cast(init, accumulator), total));
}

/// One pass over the innermost reduced loop: full chunks, then a masked one.
SmallVector<Expr> ReductionEmitter::foldRow(const NestPoint &point,
                                            ArrayRef<Expr> state) {
  SmallVector<Expr> acc(state);
  int64_t full = inner.size / lanes * lanes, rest = inner.size - full;
  if (full > 0)
    acc = e.loop(
        e.index(0), e.index(full), acc,
        [&](Expr i, ArrayRef<Expr> carried) -> SmallVector<Expr> {
          NestPoint at = advanceLanes(nest, point, inner, i, lanes, e);
          return {combine(carried[0], getValue(at, &inner, lanes, Expr()))};
        },
        lanes);
  if (rest > 0) {
    NestPoint at = advanceLanes(nest, point, inner, e.index(full), lanes, e);
    Expr mask = e.iota(e.getBuilder().getI32Type(), lanes) < rest;
    Expr next = combine(acc[0], getValue(at, &inner, lanes, mask));
    acc[0] = e.select(mask, next, acc[0]);
  }
  return acc;
}

void ReductionEmitter::emitRow(const NestPoint &row) {
  Expr acc = e.broadcast(getIdentity(), lanes);
  acc = foldPoints(nest, outer, row, acc, e,
                   [&](const NestPoint &point, ArrayRef<Expr> state) {
                     return foldRow(point, state);
                   })
            .front();
  acc = e.reduceHalves(acc, [&](Expr a, Expr b) { return combine(a, b); });
  finish(row, nullptr, acc);
}

/// `width` outputs along `lane`, whose reduced elements are not contiguous.
void ReductionEmitter::emitColumns(const NestPoint &first, const NestLoop *lane,
                                   int64_t width) {
  int64_t used = std::min(lanes, inner.size);
  e.loop(0, used, [&](Expr l) {
    SmallVector<Expr> acc = foldPoints(
        nest, outer, first, e.broadcast(getIdentity(), width), e,
        [&](const NestPoint &point, ArrayRef<Expr> state) {
          return e.loop(
              l, e.index(inner.size), state,
              [&](Expr j, ArrayRef<Expr> carried) -> SmallVector<Expr> {
                NestPoint at = advance(nest, point, inner, j, e);
                return {combine(carried[0], getValue(at, lane, width, Expr()))};
              },
              kLanes);
        });
    e.store(scratch, l * kColumns, acc[0]);
  });
  e.loop(used, lanes, [&](Expr l) {
    e.store(scratch, l * kColumns, e.broadcast(getIdentity(), width));
  });
  for (int64_t half = lanes / 2; half >= 1; half /= 2)
    e.loop(0, half, [&](Expr l) {
      Expr low = e.load(scratch, l * kColumns, width);
      Expr high = e.load(scratch, (l + half) * kColumns, width);
      e.store(scratch, l * kColumns, combine(low, high));
    });
  finish(first, lane, e.load(scratch, e.index(0), width));
}

/// A parallel loop along which outputs are contiguous and inputs uniform or
/// contiguous.
const NestLoop *ReductionEmitter::findColumnLoop() {
  if (!nest.isVectorizable)
    return nullptr;
  unsigned out = nest.getNumInputs();
  const NestLoop *it = llvm::find_if(parallel, [&](const NestLoop &loop) {
    return loop.strides[out] == 1 && loop.size > 1 &&
           isLaneLoop(nest, loop, inputs);
  });
  return it == parallel.end() ? nullptr : it;
}

void ReductionEmitter::run() {
  NestPoint start = getStart(nest, e);
  if (nest.isVectorizable && isLaneLoop(nest, inner, inputs)) {
    sortByStride(parallel, nest.getNumInputs());
    mergeLoops(nest, parallel);
    forEachPoint(nest, parallel, start, e,
                 [&](const NestPoint &row) { emitRow(row); });
    return;
  }
  scratch = e.allocateOnStack(accumulator, kLanes * kColumns);
  const NestLoop *found = findColumnLoop();
  if (!found) {
    forEachPoint(nest, parallel, start, e, [&](const NestPoint &point) {
      emitColumns(point, nullptr, 1);
    });
    return;
  }
  NestLoop lane = *found;
  parallel.erase(parallel.begin() + (found - parallel.begin()));
  forEachPoint(nest, parallel, start, e, [&](const NestPoint &point) {
    e.chunks(lane.size, {kColumns, 1}, [&](Expr i, int64_t width) {
      emitColumns(advanceLanes(nest, point, lane, i, width, e), &lane, width);
    });
  });
}

void dsv4::emitReduction(LinalgNest &nest, const Combiner &combiner,
                         Emitter &e) {
  ReductionEmitter(nest, combiner, e).run();
}
