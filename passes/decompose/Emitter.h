//===- Emitter.h - loop code that reads like loops -------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over OpBuilder. An `Expr` is an SSA value with operators; a
// `Buffer` is the flat memory of a memref, indexed by element; loops take
// lambdas, which run once, at compile time, to emit the body.
//
//   e.loop(0, n, [&](Expr i) { e.store(out, i, e.load(a, i) * 2.0); });
//
// Every operator works on scalars and on vectors, and a scalar next to a vector
// is broadcast. So one body, emitted with different widths, is both the vector
// loop and its scalar tail (`chunks`), with equal bits per element.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_EMITTER_H
#define DSV4_PASSES_DECOMPOSE_EMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::dsv4 {

class Emitter;

/// A value and the emitter that continues it.
class Expr {
public:
  Expr() = default;
  Expr(Emitter *emitter, Value value) : emitter(emitter), value(value) {}

  operator Value() const { return value; }
  Value get() const { return value; }
  Emitter &getEmitter() const { return *emitter; }
  Type getType() const { return value.getType(); }
  Type getElementType() const { return getElementTypeOrSelf(value.getType()); }
  /// Number of lanes; 1 for a scalar.
  int64_t getWidth() const;
  bool isVector() const { return isa<VectorType>(value.getType()); }
  explicit operator bool() const { return static_cast<bool>(value); }

private:
  Emitter *emitter = nullptr;
  Value value;
};

/// Flat memory: element i of `memref` is element i of the original buffer in
/// units of its element type, whatever its shape and strides.
struct Buffer {
  Value memref;
  Type element;
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> strides;
};

class Emitter {
public:
  using Body = llvm::function_ref<void(Expr)>;
  using CarriedBody =
      llvm::function_ref<SmallVector<Expr>(Expr, ArrayRef<Expr>)>;

  Emitter(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  OpBuilder &getBuilder() { return builder; }
  Location getLoc() const { return loc; }
  MLIRContext *getContext() const { return builder.getContext(); }
  Expr wrap(Value value) { return {this, value}; }

  //===--- constants and types ---===//

  Expr index(int64_t value);
  /// A scalar of a float, integer or index type.
  Expr constant(Type type, double value);
  Expr constantInt(Type type, int64_t value);
  /// 0, 1, ..., width - 1; the scalar 0 for width 1.
  Expr iota(Type type, int64_t width);
  /// `type` itself for width 1, else a vector of it.
  Type getVectorType(Type type, int64_t width);
  /// The value in every lane of a vector of this width.
  Expr broadcast(Expr value, int64_t width);

  //===--- arithmetic ---===//

  /// One rounding: a * b + c.
  Expr fma(Expr a, Expr b, Expr c);
  /// NaN propagates.
  Expr maximum(Expr a, Expr b);
  Expr select(Expr condition, Expr whenTrue, Expr whenFalse);
  Expr exp(Expr x);
  Expr sin(Expr x);
  Expr cos(Expr x);
  Expr compare(arith::CmpFPredicate predicate, Expr a, Expr b);
  Expr compare(arith::CmpIPredicate predicate, Expr a, Expr b);
  Expr min(Expr a, Expr b);
  Expr max(Expr a, Expr b);
  /// Division of non-negative by positive integers.
  Expr divide(Expr a, Expr b);
  /// The largest integer not above a / b, for b > 0.
  Expr floorDivide(Expr a, int64_t b);
  Expr bitAnd(Expr a, Expr b);
  Expr bitOr(Expr a, Expr b);
  Expr bitXor(Expr a, Expr b);
  Expr shiftLeft(Expr a, int64_t amount);
  Expr shiftRightSigned(Expr a, int64_t amount);
  Expr shiftRightUnsigned(Expr a, int64_t amount);
  Expr bitcast(Expr a, Type element);
  /// Between floats (one rounding), and between index and integers.
  Expr cast(Expr value, Type element);
  /// Applies a mask of source lanes to the concatenation of a and b.
  Expr shuffle(Expr a, Expr b, ArrayRef<int64_t> lanes);

  Expr extract(Expr vector, int64_t lane);
  /// Combines lane i with lane i + half, for halves from the widest to 1.
  Expr reduceHalves(Expr vector, llvm::function_ref<Expr(Expr, Expr)> combine);

  //===--- memory ---===//

  /// A few elements on the stack of the kernel.
  Buffer allocateOnStack(Type element, int64_t size);

  /// A view of a memref with static layout and offset 0 as flat memory.
  Buffer flatten(Value memref);
  /// `width` consecutive elements, a scalar for width 1.
  Expr load(const Buffer &buffer, Expr at, int64_t width = 1);
  /// As `load`, but reads only lanes of the mask; others are 0.
  Expr loadMasked(const Buffer &buffer, Expr at, Expr mask);
  /// Lane i is element at[i].
  Expr gather(const Buffer &buffer, Expr at);
  /// Rounds to the buffer's element type.
  void store(const Buffer &buffer, Expr at, Expr value);
  /// Position of an element, from one index per dimension.
  Expr at(const Buffer &buffer, ArrayRef<Expr> indices);

  //===--- control ---===//

  void loop(Expr from, Expr to, Body body, int64_t step = 1);
  void loop(int64_t from, int64_t to, Body body, int64_t step = 1);
  /// Each iteration maps the carried values to their next values.
  SmallVector<Expr> loop(Expr from, Expr to, ArrayRef<Expr> carried,
                         CarriedBody body, int64_t step = 1);
  void when(Expr condition, llvm::function_ref<void()> body);
  void whenElse(Expr condition, llvm::function_ref<void()> body,
                llvm::function_ref<void()> otherwise);
  /// The values of `body`, or `otherwise` if the condition fails.
  SmallVector<Expr> choose(Expr condition,
                           llvm::function_ref<SmallVector<Expr>()> body,
                           ArrayRef<Expr> otherwise);
  /// Covers 0..size-1 by pieces of the given widths, widest first; the last
  /// width must be 1. `body` gets the first element and the width.
  void chunks(int64_t size, ArrayRef<int64_t> widths,
              llvm::function_ref<void(Expr, int64_t)> body);

private:
  OpBuilder &builder;
  Location loc;
};

//===----------------------------------------------------------------------===//
// Operators: floats, integers and index; comparisons are ordered and signed
//===----------------------------------------------------------------------===//

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
/// Floats only.
Expr operator/(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);

/// A literal has the element type of the other operand.
Expr makeLiteral(Expr like, double value);
Expr makeLiteral(Expr like, int64_t value);
template <typename T>
using LiteralType =
    std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

#define DSV4_LITERAL_OPERATOR(OP)                                              \
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>  \
  Expr operator OP(Expr a, T b) {                                              \
    return a OP makeLiteral(a, static_cast<LiteralType<T>>(b));                \
  }
DSV4_LITERAL_OPERATOR(+)
DSV4_LITERAL_OPERATOR(-)
DSV4_LITERAL_OPERATOR(*)
DSV4_LITERAL_OPERATOR(/)
DSV4_LITERAL_OPERATOR(<)
DSV4_LITERAL_OPERATOR(<=)
DSV4_LITERAL_OPERATOR(>)
DSV4_LITERAL_OPERATOR(>=)
DSV4_LITERAL_OPERATOR(==)
#undef DSV4_LITERAL_OPERATOR

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_EMITTER_H
