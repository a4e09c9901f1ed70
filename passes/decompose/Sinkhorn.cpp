//===- Sinkhorn.cpp - alternating scaling of small matrices ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices side by side: element (i, j) of 16 tokens is one vector of the
// workspace, so each step is lane by lane and a token's bits do not depend on
// its neighbours.
//
//   for b, for chunk of 16 tokens
//     M[i, j] = load
//     softmax over j, plus eps; divide columns
//     iterations - 1 times: divide rows; divide columns
//     store
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "dsv4/Analysis/KernelWorkspace.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class SinkhornEmitter {
public:
  SinkhornEmitter(SinkhornOp op, Buffer scratch, Emitter &e)
      : op(op), e(e), input(e.flatten(op.getInput())),
        out(e.flatten(op.getInit())), scratch(scratch),
        size(input.sizes.back()), eps(op.getEps().convertToDouble()) {}

  void run() {
    e.loop(0, input.sizes[0], [&](Expr b) {
      e.chunks(input.sizes[1], {kMatrixLanes, 1}, [&](Expr t, int64_t lanes) {
        width = lanes;
        copy(b, t, /*isLoad=*/true);
        softmaxRows();
        divide(/*isRow=*/false);
        int64_t rest = static_cast<int64_t>(op.getIterations()) - 1;
        e.loop(e.index(0), e.index(rest), [&](Expr) {
          divide(/*isRow=*/true);
          divide(/*isRow=*/false);
        });
        copy(b, t, /*isLoad=*/false);
      });
    });
  }

private:
  Expr cell(Expr i, Expr j) { return (i * size + j) * kMatrixLanes; }
  Expr load(Expr i, Expr j) { return e.load(scratch, cell(i, j), width); }
  void store(Expr i, Expr j, Expr value) {
    e.store(scratch, cell(i, j), value);
  }

  /// Between `width` matrices of the buffers and lanes of the workspace.
  void copy(Expr b, Expr t, bool isLoad) {
    e.loop(0, size, [&](Expr i) {
      e.loop(0, size, [&](Expr j) {
        e.loop(0, width, [&](Expr lane) {
          Expr at = cell(i, j) + lane;
          if (isLoad)
            e.store(scratch, at,
                    e.load(input, e.at(input, {b, t + lane, i, j})));
          else
            e.store(out, e.at(out, {b, t + lane, i, j}), e.load(scratch, at));
        });
      });
    });
  }

  /// Folds over j = 1, 2, ... from the value at 0.
  Expr fold(llvm::function_ref<Expr(Expr)> at,
            llvm::function_ref<Expr(Expr, Expr)> combine) {
    return e.loop(e.index(1), e.index(size), at(e.index(0)),
                  [&](Expr j, ArrayRef<Expr> acc) -> SmallVector<Expr> {
                    return {combine(acc[0], at(j))};
                  })[0];
  }

  void softmaxRows() {
    e.loop(0, size, [&](Expr i) {
      auto at = [&](Expr j) { return load(i, j); };
      Expr highest = fold(at, [&](Expr a, Expr b) { return e.maximum(a, b); });
      e.loop(0, size,
             [&](Expr j) { store(i, j, e.exp(load(i, j) - highest)); });
      Expr sum = fold(at, [](Expr a, Expr b) { return a + b; });
      e.loop(0, size, [&](Expr j) { store(i, j, load(i, j) / sum + eps); });
    });
  }

  /// Divides each row or column by its sum plus eps.
  void divide(bool isRow) {
    e.loop(0, size, [&](Expr line) {
      auto at = [&](Expr k) { return isRow ? load(line, k) : load(k, line); };
      Expr sum = fold(at, [](Expr a, Expr b) { return a + b; }) + eps;
      e.loop(0, size, [&](Expr k) {
        Expr value = at(k) / sum;
        isRow ? store(line, k, value) : store(k, line, value);
      });
    });
  }

  SinkhornOp op;
  Emitter &e;
  Buffer input, out, scratch;
  int64_t size;
  double eps;
  int64_t width = 1;
};

} // namespace

LogicalResult dsv4::decompose(SinkhornOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  SinkhornEmitter(op, workspace->front(), e).run();
  return success();
}
