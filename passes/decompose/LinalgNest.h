//===- LinalgNest.h - a linalg operation as loops over flat memory -*- C++ -*-//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest has loops with constant sizes and accesses, one for each operand. An
// affine access moves by a constant stride per loop:
//
//   linalg.generic (m, n, k)      loop   m   n   k
//     A : (m, k) -> 8x4           A      4   0   1
//     B : (n, k) -> 6x4           B      0   4   1
//     C : (m, n) -> 8x6           C      6   1   0
//
// Which strategy fits an operation is read off this table. Other accesses
// (floordiv, mod) keep their map and are computed from the loop indices.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_LINALGNEST_H
#define DSV4_PASSES_DECOMPOSE_LINALGNEST_H

#include "Emitter.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dsv4 {

/// One operand of the operation.
struct NestAccess {
  /// The operand; a scalar operand has no buffer.
  Value operand;
  Buffer buffer;
  bool isScalar = false;
  /// Position in flat memory over all original loops.
  AffineExpr position;
  bool isAffine = true;
  int64_t offset = 0;
};

/// One loop; `origin` is its number in the operation.
struct NestLoop {
  int64_t size;
  bool isReduction;
  unsigned origin;
  /// Elements that each affine access moves per iteration.
  SmallVector<int64_t> strides;
};

class LinalgNest {
public:
  /// Flattens the operands where the emitter stands.
  static LinalgNest get(linalg::LinalgOp op, Emitter &e);

  linalg::LinalgOp op;
  SmallVector<NestLoop> loops;
  SmallVector<NestAccess> accesses;
  /// Body contains linalg.index.
  bool usesIndex = false;
  /// Every operation of the body works lane by lane.
  bool isVectorizable = true;
  bool isAffine = true;

  unsigned getNumInputs() { return op.getNumDpsInputs(); }
  Block &getBody() { return op->getRegion(0).front(); }
  bool hasReduction() const {
    return llvm::any_of(loops, [](const NestLoop &l) { return l.isReduction; });
  }
};

/// The state of emission: where each loop and each access stands.
struct NestPoint {
  /// Value of each original loop's index; null before it is entered.
  SmallVector<Expr> indices;
  /// Flat position of each affine access.
  SmallVector<Expr> positions;
};

NestPoint getStart(const LinalgNest &nest, Emitter &e);

/// The point after entering `loop` at index `i`.
NestPoint advance(const LinalgNest &nest, const NestPoint &point,
                  const NestLoop &loop, Expr i, Emitter &e);

/// The point at which `width` lanes stand at `first`, `first` + 1, ... of
/// `loop`.
NestPoint advanceLanes(const LinalgNest &nest, const NestPoint &point,
                       const NestLoop &loop, Expr first, int64_t width,
                       Emitter &e);

/// Position of an access at a point at which all loops have been entered.
Expr getPosition(const LinalgNest &nest, const NestPoint &point,
                 unsigned access, Emitter &e);

/// Nested loops without carried values; `body` runs at each point.
void forEachPoint(const LinalgNest &nest, ArrayRef<NestLoop> loops,
                  const NestPoint &start, Emitter &e,
                  llvm::function_ref<void(const NestPoint &)> body);

/// Nested loops that carry values through all of their points in order.
SmallVector<Expr> foldPoints(
    const LinalgNest &nest, ArrayRef<NestLoop> loops, const NestPoint &start,
    ArrayRef<Expr> carried, Emitter &e,
    llvm::function_ref<SmallVector<Expr>(const NestPoint &, ArrayRef<Expr>)>
        body);

/// The value of an operand at a point: `width` lanes along `lane`, where the
/// access must have stride 0 (one value) or 1. `mask`, if set, guards lanes.
Expr loadOperand(const LinalgNest &nest, const NestPoint &point,
                 unsigned access, const NestLoop *lane, int64_t width,
                 Expr mask, Emitter &e);

/// Emits the computation of `values` (results of body operations or arguments)
/// for the given block arguments, with vectors where these are vectors. Indices
/// come from `point`.
SmallVector<Expr> emitBody(LinalgNest &nest, ValueRange values,
                           ArrayRef<Expr> arguments, const NestPoint &point,
                           Emitter &e);

/// Joins neighbours in `loops` that every access walks as one loop. Without
/// effect where the body or an access needs the indices.
void mergeLoops(const LinalgNest &nest, SmallVectorImpl<NestLoop> &loops);

/// Sorts by falling stride of an access, so that its contiguous loop is
/// innermost.
void sortByStride(SmallVectorImpl<NestLoop> &loops, unsigned access);

/// Numbers of the inputs whose value the body uses.
SmallVector<unsigned> getUsedInputs(LinalgNest &nest);

/// True if all of `accesses` have stride 0 or 1 along the loop.
bool isLaneLoop(const LinalgNest &nest, const NestLoop &loop,
                ArrayRef<unsigned> accesses);

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

/// out = combine(out, value): what a body does with its accumulator, looking
/// through widening and rounding.
struct Combiner {
  Operation *op = nullptr;
  /// What is combined with the accumulator.
  Value value;
};

/// The combiner of a nest with one result and reduction loops, if its body has
/// that form with a known identity.
std::optional<Combiner> findCombiner(LinalgNest &nest);

/// For a combiner `acc + a * b` on two inputs with distinct maps: the numbers
/// of the inputs.
std::optional<std::pair<unsigned, unsigned>>
findContraction(LinalgNest &nest, const Combiner &combiner);

class RuntimeCalls;
void emitContraction(LinalgNest &nest, const Combiner &combiner,
                     std::pair<unsigned, unsigned> factors,
                     RuntimeCalls &runtime, Emitter &e);
void emitReduction(LinalgNest &nest, const Combiner &combiner, Emitter &e);
void emitElementwise(LinalgNest &nest, Emitter &e);
/// Any operation, in lexicographic order of its loops.
void emitInOrder(LinalgNest &nest, Emitter &e);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_LINALGNEST_H
