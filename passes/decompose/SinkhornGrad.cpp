//===- SinkhornGrad.cpp - adjoint of alternating scaling ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices side by side, as in Sinkhorn.cpp. The workspace keeps the matrix and
// the divisors of every step:
//
//   Y = softmax;  M[0] = Y + eps
//   for step s = 1 .. 2 * iterations - 1, columns (odd) and rows (even)
//     D[s] = sums of lines + eps;  M[s] = M[s-1] / D[s]
//   for s descending:  G = (G - sum over the line of G * M[s]) / D[s]
//   out = Y * (G - sum over the row of G * Y)
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "dsv4/Analysis/KernelWorkspace.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class SinkhornGradEmitter {
public:
  SinkhornGradEmitter(SinkhornGradOp op, ArrayRef<Buffer> workspace, Emitter &e)
      : e(e), input(e.flatten(op.getInput())),
        gradient(e.flatten(op.getGradient())), out(e.flatten(op.getInit())),
        softmax(workspace[0]), cotangent(workspace[1]), matrices(workspace[2]),
        divisors(workspace[3]), size(input.sizes.back()),
        rounds(static_cast<int64_t>(op.getIterations()) - 1),
        eps(op.getEps().convertToDouble()) {}

  void run() {
    e.loop(0, input.sizes[0], [&](Expr b) {
      e.chunks(input.sizes[1], {kMatrixLanes, 1}, [&](Expr t, int64_t lanes) {
        width = lanes;
        read(input, b, t, softmax);
        read(gradient, b, t, cotangent);
        computeSteps();
        reverseSteps();
        reverseSoftmax();
        write(b, t);
      });
    });
  }

private:
  /// A matrix in the workspace: the number of its first cell.
  struct Matrix {
    const Buffer &buffer;
    Expr first;
  };
  Matrix getMatrix(Expr step) { return {matrices, step * (size * size)}; }
  Matrix getSoftmax() { return {softmax, e.index(0)}; }
  Matrix getCotangent() { return {cotangent, e.index(0)}; }

  Expr atCell(const Matrix &m, Expr i, Expr j) {
    return (m.first + i * size + j) * kMatrixLanes;
  }
  Expr load(const Matrix &m, Expr i, Expr j) {
    return e.load(m.buffer, atCell(m, i, j), width);
  }
  void store(const Matrix &m, Expr i, Expr j, Expr value) {
    e.store(m.buffer, atCell(m, i, j), value);
  }
  Expr loadDivisor(Expr step, Expr line) {
    return e.load(divisors, (step * size + line) * kMatrixLanes, width);
  }
  void storeDivisor(Expr step, Expr line, Expr value) {
    e.store(divisors, (step * size + line) * kMatrixLanes, value);
  }

  void forEachCell(llvm::function_ref<void(Expr, Expr)> body) {
    e.loop(0, size, [&](Expr i) { e.loop(0, size, [&](Expr j) { body(i, j); }); });
  }

  void read(const Buffer &from, Expr b, Expr t, const Buffer &to) {
    forEachCell([&](Expr i, Expr j) {
      e.loop(0, width, [&](Expr lane) {
        e.store(to, (i * size + j) * kMatrixLanes + lane,
                e.load(from, e.at(from, {b, t + lane, i, j})));
      });
    });
  }

  void write(Expr b, Expr t) {
    forEachCell([&](Expr i, Expr j) {
      e.loop(0, width, [&](Expr lane) {
        e.store(out, e.at(out, {b, t + lane, i, j}),
                e.load(cotangent, (i * size + j) * kMatrixLanes + lane));
      });
    });
  }

  /// Folds over k = 1, 2, ... from the value at 0.
  Expr fold(llvm::function_ref<Expr(Expr)> at,
            llvm::function_ref<Expr(Expr, Expr)> combine) {
    return e.loop(e.index(1), e.index(size), at(e.index(0)),
                  [&](Expr k, ArrayRef<Expr> acc) -> SmallVector<Expr> {
                    return {combine(acc[0], at(k))};
                  })[0];
  }

  //===--- forward ---===//

  void computeSteps() {
    Matrix y = getSoftmax();
    e.loop(0, size, [&](Expr i) {
      auto at = [&](Expr j) { return load(y, i, j); };
      Expr highest = fold(at, [&](Expr a, Expr b) { return e.maximum(a, b); });
      e.loop(0, size,
             [&](Expr j) { store(y, i, j, e.exp(load(y, i, j) - highest)); });
      Expr sum = fold(at, [](Expr a, Expr b) { return a + b; });
      e.loop(0, size, [&](Expr j) {
        Expr share = load(y, i, j) / sum;
        store(y, i, j, share);
        store(getMatrix(e.index(0)), i, j, share + eps);
      });
    });
    divide(e.index(1), /*isRow=*/false);
    e.loop(e.index(0), e.index(rounds), [&](Expr round) {
      divide(round * 2 + 2, /*isRow=*/true);
      divide(round * 2 + 3, /*isRow=*/false);
    });
  }

  void divide(Expr step, bool isRow) {
    Matrix from = getMatrix(step - 1), to = getMatrix(step);
    e.loop(0, size, [&](Expr line) {
      auto at = [&](Expr k) {
        return isRow ? load(from, line, k) : load(from, k, line);
      };
      Expr sum = fold(at, [](Expr a, Expr b) { return a + b; }) + eps;
      storeDivisor(step, line, sum);
      e.loop(0, size, [&](Expr k) {
        Expr value = at(k) / sum;
        isRow ? store(to, line, k, value) : store(to, k, line, value);
      });
    });
  }

  //===--- backward ---===//

  void reverseSteps() {
    e.loop(e.index(0), e.index(rounds), [&](Expr done) {
      Expr round = e.index(rounds - 1) - done;
      reverseDivide(round * 2 + 3, /*isRow=*/false);
      reverseDivide(round * 2 + 2, /*isRow=*/true);
    });
    reverseDivide(e.index(1), /*isRow=*/false);
  }

  void reverseDivide(Expr step, bool isRow) {
    Matrix y = getMatrix(step), g = getCotangent();
    e.loop(0, size, [&](Expr line) {
      auto at = [&](const Matrix &m, Expr k) {
        return isRow ? load(m, line, k) : load(m, k, line);
      };
      Expr sum = fold([&](Expr k) { return at(g, k) * at(y, k); },
                      [](Expr a, Expr b) { return a + b; });
      Expr divisor = loadDivisor(step, line);
      e.loop(0, size, [&](Expr k) {
        Expr value = (at(g, k) - sum) / divisor;
        isRow ? store(g, line, k, value) : store(g, k, line, value);
      });
    });
  }

  void reverseSoftmax() {
    Matrix y = getSoftmax(), g = getCotangent();
    e.loop(0, size, [&](Expr i) {
      Expr sum = fold([&](Expr j) { return load(g, i, j) * load(y, i, j); },
                      [](Expr a, Expr b) { return a + b; });
      e.loop(0, size, [&](Expr j) {
        store(g, i, j, load(y, i, j) * (load(g, i, j) - sum));
      });
    });
  }

  Emitter &e;
  Buffer input, gradient, out;
  // Workspace.
  Buffer softmax, cotangent, matrices, divisors;
  int64_t size, rounds;
  double eps;
  int64_t width = 1;
};

} // namespace

LogicalResult dsv4::decompose(SinkhornGradOp op, Emitter &e) {
  FailureOr<SmallVector<Buffer>> workspace = getWorkspace(op, e);
  if (failed(workspace))
    return failure();
  SinkhornGradEmitter(op, *workspace, e).run();
  return success();
}
