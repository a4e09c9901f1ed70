//===- LinalgElementwise.cpp - loops that run a body at each point --------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar loops, which LLVM vectorises: the output's contiguous loop is
// innermost, and loops that every operand walks as one become one.
//
//===----------------------------------------------------------------------===//

#include "LinalgNest.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Loads what the body uses, runs it, stores its results.
static void emitPoint(LinalgNest &nest, const NestPoint &point, Emitter &e) {
  SmallVector<Expr> arguments;
  for (BlockArgument argument : nest.getBody().getArguments())
    arguments.push_back(argument.use_empty()
                            ? Expr()
                            : loadOperand(nest, point, argument.getArgNumber(),
                                          nullptr, 1, Expr(), e));
  SmallVector<Expr> results = emitBody(
      nest, nest.getBody().getTerminator()->getOperands(), arguments, point, e);
  for (auto [i, result] : llvm::enumerate(results)) {
    unsigned out = nest.getNumInputs() + i;
    e.store(nest.accesses[out].buffer, getPosition(nest, point, out, e),
            result);
  }
}

void dsv4::emitElementwise(LinalgNest &nest, Emitter &e) {
  SmallVector<NestLoop> loops = nest.loops;
  sortByStride(loops, nest.getNumInputs());
  mergeLoops(nest, loops);
  forEachPoint(nest, loops, getStart(nest, e), e,
               [&](const NestPoint &point) { emitPoint(nest, point, e); });
}

void dsv4::emitInOrder(LinalgNest &nest, Emitter &e) {
  forEachPoint(nest, nest.loops, getStart(nest, e), e,
               [&](const NestPoint &point) { emitPoint(nest, point, e); });
}
