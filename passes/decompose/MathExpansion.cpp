//===- MathExpansion.cpp - mathematics as arithmetic ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits of a result must not depend on a C library, on the width of the
// vector, nor on the processor. So exp, sin and cos are written here, in
// operations that round once each:
//
//   exp   x = n ln2 + r, |r| <= ln2/2; Taylor series of r; scaled by 2^n in two
//         steps, so that subnormals round once. Error below 1 ulp.
//   sin   x = n pi/2 + r, |r| <= pi/4, with pi/2 in three parts; polynomials of
//         r in f64, also for f32. Error below 1e-15 for |x| up to 2^20.
//
// `n` is rounded by adding 1.5 * 2^(mantissa bits), which also leaves it as an
// integer in the low bits. Logarithms of f32 are upstream's polynomials; those
// of f64, which only verification needs, are calls of the C library.
//
//===----------------------------------------------------------------------===//

#include "MathExpansion.h"
#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// What differs between f32 and f64.
struct FloatFormat {
  unsigned mantissaBits;
  int64_t exponentBias;
  double roundingConstant;
  double ln2High, ln2Low;
  /// Beyond these exp is 0 or infinity.
  double expLowest, expHighest;
  unsigned expDegree;
};

constexpr double kLog2E = 1.4426950408889634074;

FloatFormat getFormat(Type type) {
  if (type.isF32())
    return {23,     127,   0x1.8p23, 0.693359375, -2.12194440054690583e-4,
            -110.0, 100.0, 7};
  return {52,
          1023,
          0x1.8p52,
          6.93147180369123816490e-01,
          1.90821492927058770002e-10,
          -760.0,
          720.0,
          13};
}

bool isExpandable(Type type) {
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  return (element.isF32() || element.isF64()) &&
         (!vector || vector.getRank() == 1);
}

/// Horner's scheme; coefficients from the highest power.
Expr evaluate(ArrayRef<double> coefficients, Expr x, Emitter &e) {
  Expr sum = e.broadcast(makeLiteral(x, coefficients.front()), x.getWidth());
  for (double coefficient : coefficients.drop_front())
    sum = e.fma(sum, x, makeLiteral(x, coefficient));
  return sum;
}

/// 2^n for an integer vector within the range of normal numbers.
Expr makePowerOfTwo(Expr n, Type element, const FloatFormat &format,
                    Emitter &e) {
  return e.bitcast(e.shiftLeft(n + format.exponentBias, format.mantissaBits),
                   element);
}

struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32 or f64");
    Emitter e(rewriter, op.getLoc());
    Type element = getElementTypeOrSelf(op.getType());
    FloatFormat format = getFormat(element);
    Type integer = rewriter.getIntegerType(element.getIntOrFloatBitWidth());
    Expr x = e.wrap(op.getOperand());
    // Both keep a NaN.
    x = e.maximum(x, makeLiteral(x, format.expLowest));
    Expr highest = e.broadcast(makeLiteral(x, format.expHighest), x.getWidth());
    x = e.wrap(arith::MinimumFOp::create(rewriter, op.getLoc(), x, highest));
    Expr shifted = e.fma(x, makeLiteral(x, kLog2E),
                         makeLiteral(x, format.roundingConstant));
    Expr n = shifted - format.roundingConstant;
    Expr r = e.fma(n, makeLiteral(x, -format.ln2High), x);
    r = e.fma(n, makeLiteral(x, -format.ln2Low), r);
    SmallVector<double> taylor = {1.0, 1.0};
    for (unsigned i = 2; i <= format.expDegree; ++i)
      taylor.push_back(taylor.back() / i);
    std::reverse(taylor.begin(), taylor.end());
    Expr value = evaluate(taylor, r, e);
    Expr zeroBits = e.bitcast(makeLiteral(x, format.roundingConstant), integer);
    Expr count = e.bitcast(shifted, integer) - zeroBits;
    Expr half = e.shiftRightSigned(count, 1);
    value = value * makePowerOfTwo(half, element, format, e);
    value = value * makePowerOfTwo(count - half, element, format, e);
    rewriter.replaceOp(op, value.get());
    return success();
  }
};

// Minimax polynomials of sine and cosine on [-pi/4, pi/4].
constexpr double kSine[] = {
    1.58969099521155010221e-10, -2.50507602534068634195e-08,
    2.75573137070700676789e-06, -1.98412698298579493134e-04,
    8.33333333332248946124e-03, -1.66666666666666324348e-01};
constexpr double kCosine[] = {
    -1.13596475577881948265e-11, 2.08757232129817482790e-09,
    -2.75573143513906633035e-07, 2.48015872894767294178e-05,
    -1.38888888888741095749e-03, 4.16666666666666019037e-02};
constexpr double kHalfPi[] = {1.57079632673412561417e+00,
                              6.07710050630396597660e-11,
                              2.02226624879595063154e-21};
constexpr double kTwoOverPi = 6.36619772367581382433e-01;

/// sin(x + quarters * pi/2) of f64.
Expr expandSine(Expr x, int64_t quarters, Emitter &e) {
  Type i64 = e.getBuilder().getI64Type(), f64 = e.getBuilder().getF64Type();
  Expr shifted = e.fma(x, makeLiteral(x, kTwoOverPi), makeLiteral(x, 0x1.8p52));
  Expr n = shifted - 0x1.8p52;
  Expr r = x;
  for (double part : kHalfPi)
    r = e.fma(n, makeLiteral(x, -part), r);
  Expr z = r * r;
  Expr sine = e.fma(r * z, evaluate(kSine, z, e), r);
  Expr cosine = e.fma(z * z, evaluate(kCosine, z, e),
                      e.fma(z, makeLiteral(z, -0.5), makeLiteral(z, 1.0)));
  Expr quadrant = e.bitcast(shifted, i64) + quarters;
  Expr isOdd = e.compare(arith::CmpIPredicate::ne,
                         e.bitAnd(quadrant, makeLiteral(quadrant, int64_t(1))),
                         makeLiteral(quadrant, int64_t(0)));
  Expr sign =
      e.shiftLeft(e.bitAnd(quadrant, makeLiteral(quadrant, int64_t(2))), 62);
  Expr value = e.select(isOdd, cosine, sine);
  return e.bitcast(e.bitXor(e.bitcast(value, i64), sign), f64);
}

template <typename OpTy, int64_t quarters>
struct ExpandTrigonometry : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32 or f64");
    Emitter e(rewriter, op.getLoc());
    Expr x = e.wrap(op.getOperand());
    Expr value = expandSine(e.cast(x, rewriter.getF64Type()), quarters, e);
    rewriter.replaceOp(op, e.cast(value, x.getElementType()).get());
    return success();
  }
};

struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Expr x = e.wrap(op.getOperand());
    Expr root = e.wrap(math::SqrtOp::create(rewriter, op.getLoc(), x));
    Expr one = e.broadcast(makeLiteral(x, 1.0), x.getWidth());
    rewriter.replaceOp(op, (one / root).get());
    return success();
  }
};

/// A call of the C library's function for each lane.
template <typename OpTy>
struct CallLibrary : OpRewritePattern<OpTy> {
  CallLibrary(MLIRContext *context, ::mlir::ModuleOp module, StringRef name)
      : OpRewritePattern<OpTy>(context), module(module), name(name) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type f64 = rewriter.getF64Type();
    if (!getElementTypeOrSelf(op.getType()).isF64() ||
        !isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f64");
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      callee =
          LLVM::LLVMFuncOp::create(rewriter, module.getLoc(), name,
                                   LLVM::LLVMFunctionType::get(f64, {f64}));
    }
    Emitter e(rewriter, op.getLoc());
    Expr x = e.wrap(op.getOperand());
    auto call = [&](Expr lane) {
      return LLVM::CallOp::create(rewriter, op.getLoc(), callee,
                                  ValueRange{lane.get()})
          .getResult();
    };
    Value result = x.isVector() ? x.get() : call(x);
    for (int64_t i = 0; x.isVector() && i < x.getWidth(); ++i)
      result = vector::InsertOp::create(rewriter, op.getLoc(),
                                        call(e.extract(x, i)), result, i);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  mutable ::mlir::ModuleOp module;
  StringRef name;
};

} // namespace

void dsv4::populateMathExpansionPatterns(RewritePatternSet &patterns,
                                         ::mlir::ModuleOp module) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpandExp, ExpandTrigonometry<math::SinOp, 0>,
               ExpandTrigonometry<math::CosOp, 1>, ExpandRsqrt>(context);
  patterns.add<CallLibrary<math::LogOp>>(context, module, "log");
  patterns.add<CallLibrary<math::Log1pOp>>(context, module, "log1p");
  patterns.add<CallLibrary<math::Log2Op>>(context, module, "log2");
  patterns.add<CallLibrary<math::TanhOp>>(context, module, "tanh");
  patterns.add<CallLibrary<math::ErfOp>>(context, module, "erf");
  patterns.add<CallLibrary<math::ExpM1Op>>(context, module, "expm1");
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(
        {math::LogOp::getOperationName(), math::Log1pOp::getOperationName(),
         math::Log2Op::getOperationName(), math::TanhOp::getOperationName(),
         math::ErfOp::getOperationName(), math::ExpM1Op::getOperationName()},
        name);
  });
}
