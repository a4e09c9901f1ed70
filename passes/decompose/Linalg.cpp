//===- Linalg.cpp - choose how a linalg operation becomes loops -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// no reduction loop               elementwise: contiguous loop innermost
// acc + a * b, a and b differ     contraction: one fma chain per element
// acc (+, max, min, ..) f(..)     reduction in 32 lanes
// anything else                   loops in lexicographic order
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "LinalgNest.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Looks through the widening of a value.
static Value peelExtension(Value value) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  return extension ? extension.getIn() : value;
}

static bool isCombiner(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaximumFOp,
                         arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                         arith::AddIOp, arith::MulIOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp>(op);
}

/// Reduction loops leave the output where it is, parallel ones move it.
static bool hasPlainOutput(LinalgNest &nest) {
  unsigned out = nest.getNumInputs();
  return nest.accesses[out].isAffine &&
         llvm::all_of(nest.loops, [&](const NestLoop &loop) {
           return loop.size == 1 ||
                  loop.isReduction == (loop.strides[out] == 0);
         });
}

std::optional<Combiner> dsv4::findCombiner(LinalgNest &nest) {
  if (nest.op.getNumDpsInits() != 1 || !hasPlainOutput(nest))
    return std::nullopt;
  Block &body = nest.getBody();
  BlockArgument acc = body.getArguments().back();
  Value yielded = body.getTerminator()->getOperand(0);
  if (auto truncation = yielded.getDefiningOp<arith::TruncFOp>())
    yielded = truncation.getIn();
  Operation *op = yielded.getDefiningOp();
  if (!isCombiner(op) || !acc.hasOneUse())
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (peelExtension(op->getOperand(i)) == acc &&
        op->getOperand(1 - i) != acc &&
        (op->getOperand(i) == acc || op->getOperand(i).hasOneUse()))
      return Combiner{op, op->getOperand(1 - i)};
  return std::nullopt;
}

std::optional<std::pair<unsigned, unsigned>>
dsv4::findContraction(LinalgNest &nest, const Combiner &combiner) {
  auto product = combiner.value.getDefiningOp<arith::MulFOp>();
  if (!isa<arith::AddFOp>(combiner.op) || !product || !nest.isAffine)
    return std::nullopt;
  auto lhs = dyn_cast<BlockArgument>(peelExtension(product.getLhs()));
  auto rhs = dyn_cast<BlockArgument>(peelExtension(product.getRhs()));
  Block *body = &nest.getBody();
  if (!lhs || !rhs || lhs.getOwner() != body || rhs.getOwner() != body)
    return std::nullopt;
  unsigned a = lhs.getArgNumber(), b = rhs.getArgNumber();
  if (nest.accesses[a].isScalar || nest.accesses[b].isScalar)
    return std::nullopt;
  SmallVector<AffineMap> maps = nest.op.getIndexingMapsArray();
  if (maps[a] == maps[b])
    return std::nullopt;
  return std::make_pair(a, b);
}

LogicalResult dsv4::decomposeLinalg(linalg::LinalgOp op, RuntimeCalls &runtime,
                                    Emitter &e) {
  LinalgNest nest = LinalgNest::get(op, e);
  if (llvm::any_of(nest.loops, [](const NestLoop &l) { return l.size == 0; }))
    return success();
  if (!nest.hasReduction()) {
    emitElementwise(nest, e);
    return success();
  }
  std::optional<Combiner> combiner = findCombiner(nest);
  if (!combiner)
    emitInOrder(nest, e);
  else if (auto factors = findContraction(nest, *combiner))
    emitContraction(nest, *combiner, *factors, runtime, e);
  else
    emitReduction(nest, *combiner, e);
  return success();
}
