//===- Emitter.cpp - values, memory and loops
//------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dsv4;

int64_t Expr::getWidth() const {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

//===----------------------------------------------------------------------===//
// Constants and types
//===----------------------------------------------------------------------===//

Expr Emitter::index(int64_t value) {
  return wrap(arith::ConstantIndexOp::create(builder, loc, value));
}

Expr Emitter::constant(Type type, double value) {
  if (!isa<FloatType>(type))
    return constantInt(type, static_cast<int64_t>(value));
  return wrap(arith::ConstantOp::create(builder, loc,
                                        builder.getFloatAttr(type, value)));
}

Expr Emitter::constantInt(Type type, int64_t value) {
  return wrap(arith::ConstantOp::create(builder, loc,
                                        builder.getIntegerAttr(type, value)));
}

Expr Emitter::iota(Type type, int64_t width) {
  if (width == 1)
    return constantInt(type, 0);
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < width; ++i)
    lanes.push_back(builder.getIntegerAttr(type, i));
  auto vector = VectorType::get(width, type);
  return wrap(arith::ConstantOp::create(builder, loc,
                                        DenseElementsAttr::get(vector, lanes)));
}

Type Emitter::getVectorType(Type type, int64_t width) {
  return width == 1 ? type : VectorType::get(width, type);
}

Expr Emitter::broadcast(Expr value, int64_t width) {
  if (width == 1 || value.isVector())
    return value;
  Type type = VectorType::get(width, value.getType());
  return wrap(vector::BroadcastOp::create(builder, loc, type, value));
}

Expr dsv4::makeLiteral(Expr like, double value) {
  return like.getEmitter().constant(like.getElementType(), value);
}

Expr dsv4::makeLiteral(Expr like, int64_t value) {
  if (isa<FloatType>(like.getElementType()))
    return makeLiteral(like, static_cast<double>(value));
  return like.getEmitter().constantInt(like.getElementType(), value);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static bool isFloat(Expr value) {
  return isa<FloatType>(value.getElementType());
}

/// Gives both operands the width of the wider one.
static void align(Expr &a, Expr &b) {
  int64_t width = std::max(a.getWidth(), b.getWidth());
  a = a.getEmitter().broadcast(a, width);
  b = b.getEmitter().broadcast(b, width);
}

template <typename FloatOp, typename IntOp>
static Expr binary(Expr a, Expr b) {
  align(a, b);
  Emitter &e = a.getEmitter();
  if (isFloat(a))
    return e.wrap(e.getBuilder().createOrFold<FloatOp>(e.getLoc(), a, b));
  return e.wrap(e.getBuilder().createOrFold<IntOp>(e.getLoc(), a, b));
}

template <typename IntOp>
static Expr integer(Expr a, Expr b) {
  align(a, b);
  Emitter &e = a.getEmitter();
  return e.wrap(
      e.getBuilder().createOrFold<IntOp>(e.getLoc(), a.get(), b.get()));
}

Expr dsv4::operator+(Expr a, Expr b) {
  return binary<arith::AddFOp, arith::AddIOp>(a, b);
}
Expr dsv4::operator-(Expr a, Expr b) {
  return binary<arith::SubFOp, arith::SubIOp>(a, b);
}
Expr dsv4::operator*(Expr a, Expr b) {
  return binary<arith::MulFOp, arith::MulIOp>(a, b);
}
Expr dsv4::operator/(Expr a, Expr b) {
  return binary<arith::DivFOp, arith::DivSIOp>(a, b);
}
Expr dsv4::operator&(Expr a, Expr b) { return integer<arith::AndIOp>(a, b); }
Expr dsv4::operator|(Expr a, Expr b) { return integer<arith::OrIOp>(a, b); }

Expr Emitter::compare(arith::CmpFPredicate predicate, Expr a, Expr b) {
  align(a, b);
  return wrap(builder.createOrFold<arith::CmpFOp>(loc, predicate, a, b));
}

Expr Emitter::compare(arith::CmpIPredicate predicate, Expr a, Expr b) {
  align(a, b);
  return wrap(builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b));
}

static Expr compareEither(Expr a, Expr b, arith::CmpFPredicate ordered,
                          arith::CmpIPredicate isSigned) {
  Emitter &e = a.getEmitter();
  return isFloat(a) ? e.compare(ordered, a, b) : e.compare(isSigned, a, b);
}

Expr dsv4::operator<(Expr a, Expr b) {
  return compareEither(a, b, arith::CmpFPredicate::OLT,
                       arith::CmpIPredicate::slt);
}
Expr dsv4::operator<=(Expr a, Expr b) {
  return compareEither(a, b, arith::CmpFPredicate::OLE,
                       arith::CmpIPredicate::sle);
}
Expr dsv4::operator>(Expr a, Expr b) {
  return compareEither(a, b, arith::CmpFPredicate::OGT,
                       arith::CmpIPredicate::sgt);
}
Expr dsv4::operator>=(Expr a, Expr b) {
  return compareEither(a, b, arith::CmpFPredicate::OGE,
                       arith::CmpIPredicate::sge);
}
Expr dsv4::operator==(Expr a, Expr b) {
  return compareEither(a, b, arith::CmpFPredicate::OEQ,
                       arith::CmpIPredicate::eq);
}

Expr Emitter::fma(Expr a, Expr b, Expr c) {
  int64_t width = std::max({a.getWidth(), b.getWidth(), c.getWidth()});
  return wrap(math::FmaOp::create(builder, loc, broadcast(a, width),
                                  broadcast(b, width), broadcast(c, width)));
}

Expr Emitter::maximum(Expr a, Expr b) {
  align(a, b);
  return wrap(arith::MaximumFOp::create(builder, loc, a, b));
}

Expr Emitter::select(Expr condition, Expr whenTrue, Expr whenFalse) {
  align(whenTrue, whenFalse);
  if (condition.isVector()) {
    whenTrue = broadcast(whenTrue, condition.getWidth());
    whenFalse = broadcast(whenFalse, condition.getWidth());
  }
  return wrap(builder.createOrFold<arith::SelectOp>(
      loc, condition.get(), whenTrue.get(), whenFalse.get()));
}

Expr Emitter::exp(Expr x) { return wrap(math::ExpOp::create(builder, loc, x)); }
Expr Emitter::sin(Expr x) { return wrap(math::SinOp::create(builder, loc, x)); }
Expr Emitter::cos(Expr x) { return wrap(math::CosOp::create(builder, loc, x)); }

Expr Emitter::min(Expr a, Expr b) { return integer<arith::MinSIOp>(a, b); }
Expr Emitter::max(Expr a, Expr b) { return integer<arith::MaxSIOp>(a, b); }
Expr Emitter::divide(Expr a, Expr b) { return integer<arith::DivUIOp>(a, b); }

Expr Emitter::floorDivide(Expr a, int64_t b) {
  if (b == 1)
    return a;
  Expr quotient = integer<arith::DivSIOp>(a, makeLiteral(a, b));
  Expr isAbove = quotient * b > a;
  return select(isAbove, quotient - 1, quotient);
}

Expr Emitter::bitAnd(Expr a, Expr b) { return integer<arith::AndIOp>(a, b); }
Expr Emitter::bitOr(Expr a, Expr b) { return integer<arith::OrIOp>(a, b); }
Expr Emitter::bitXor(Expr a, Expr b) { return integer<arith::XOrIOp>(a, b); }
Expr Emitter::shiftLeft(Expr a, int64_t amount) {
  return integer<arith::ShLIOp>(a, makeLiteral(a, amount));
}
Expr Emitter::shiftRightSigned(Expr a, int64_t amount) {
  return integer<arith::ShRSIOp>(a, makeLiteral(a, amount));
}

Expr Emitter::shiftRightUnsigned(Expr a, int64_t amount) {
  return integer<arith::ShRUIOp>(a, makeLiteral(a, amount));
}

Expr Emitter::bitcast(Expr a, Type element) {
  Type type = getVectorType(element, a.getWidth());
  return wrap(arith::BitcastOp::create(builder, loc, type, a));
}

Expr Emitter::cast(Expr value, Type element) {
  Type from = value.getElementType();
  if (from == element)
    return value;
  Type type = getVectorType(element, value.getWidth());
  if (isa<FloatType>(from) && isa<FloatType>(element)) {
    unsigned has = from.getIntOrFloatBitWidth();
    unsigned wants = element.getIntOrFloatBitWidth();
    if (has < wants)
      return wrap(arith::ExtFOp::create(builder, loc, type, value.get()));
    return wrap(arith::TruncFOp::create(builder, loc, type, value));
  }
  if (isa<IndexType>(from) || isa<IndexType>(element))
    return wrap(arith::IndexCastOp::create(builder, loc, type, value));
  if (isa<FloatType>(element))
    return wrap(arith::SIToFPOp::create(builder, loc, type, value));
  if (from.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    return wrap(arith::TruncIOp::create(builder, loc, type, value));
  return wrap(arith::ExtSIOp::create(builder, loc, type, value));
}

Expr Emitter::shuffle(Expr a, Expr b, ArrayRef<int64_t> lanes) {
  return wrap(vector::ShuffleOp::create(builder, loc, a, b, lanes));
}

Expr Emitter::extract(Expr vector, int64_t lane) {
  return wrap(vector::ExtractOp::create(builder, loc, vector, lane));
}

Expr Emitter::reduceHalves(Expr vector,
                           llvm::function_ref<Expr(Expr, Expr)> combine) {
  for (int64_t half = vector.getWidth() / 2; half > 1; half /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, half));
    auto high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    vector =
        combine(shuffle(vector, vector, low), shuffle(vector, vector, high));
  }
  if (vector.isVector())
    vector = combine(extract(vector, 0), extract(vector, 1));
  return vector;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Buffer Emitter::allocateOnStack(Type element, int64_t size) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto kernel = dyn_cast<FunctionOpInterface>(parent);
  if (!kernel)
    kernel = parent->getParentOfType<FunctionOpInterface>();
  builder.setInsertionPointToStart(&kernel.getFunctionBody().front());
  auto type = MemRefType::get({size}, element);
  Value memref = memref::AllocaOp::create(builder, loc, type,
                                          builder.getI64IntegerAttr(64));
  return {memref, element, {size}, {1}};
}

Buffer Emitter::flatten(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Buffer buffer;
  buffer.element = type.getElementType();
  buffer.sizes.assign(type.getShape().begin(), type.getShape().end());
  int64_t offset;
  LogicalResult hasStrides = type.getStridesAndOffset(buffer.strides, offset);
  assert(succeeded(hasStrides) && offset == 0 && "checked by the pass");
  (void)hasStrides;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip(buffer.sizes, buffer.strides))
    span += (size - 1) * stride;
  if (llvm::is_contained(buffer.sizes, 0))
    span = 0;
  if (type.getRank() == 1 && type.getLayout().isIdentity()) {
    buffer.memref = memref;
    return buffer;
  }
  auto flat = MemRefType::get({span}, buffer.element);
  buffer.memref = memref::ReinterpretCastOp::create(
      builder, loc, flat, memref, /*offset=*/0, ArrayRef<int64_t>{span},
      ArrayRef<int64_t>{1});
  return buffer;
}

Expr Emitter::load(const Buffer &buffer, Expr at, int64_t width) {
  if (width == 1)
    return wrap(memref::LoadOp::create(builder, loc, buffer.memref, at.get()));
  auto type = VectorType::get(width, buffer.element);
  return wrap(vector::LoadOp::create(builder, loc, type, buffer.memref,
                                     ValueRange{at.get()}));
}

Expr Emitter::loadMasked(const Buffer &buffer, Expr at, Expr mask) {
  int64_t width = mask.getWidth();
  auto type = VectorType::get(width, buffer.element);
  Expr zero = broadcast(constant(buffer.element, 0.0), width);
  return wrap(vector::MaskedLoadOp::create(builder, loc, type, buffer.memref,
                                           ValueRange{at.get()}, mask, zero));
}

Expr Emitter::gather(const Buffer &buffer, Expr at) {
  int64_t width = at.getWidth();
  if (width == 1)
    return load(buffer, at);
  auto type = VectorType::get(width, buffer.element);
  Expr mask = broadcast(constantInt(builder.getI1Type(), 1), width);
  Expr zero = broadcast(constant(buffer.element, 0.0), width);
  return wrap(vector::GatherOp::create(builder, loc, type, buffer.memref,
                                       ValueRange{index(0).get()}, at, mask,
                                       zero));
}

void Emitter::store(const Buffer &buffer, Expr at, Expr value) {
  value = cast(value, buffer.element);
  if (value.isVector())
    vector::StoreOp::create(builder, loc, value, buffer.memref,
                            ValueRange{at.get()});
  else
    memref::StoreOp::create(builder, loc, value, buffer.memref, at.get());
}

Expr Emitter::at(const Buffer &buffer, ArrayRef<Expr> indices) {
  assert(indices.size() == buffer.strides.size() && "one index per dimension");
  Expr position = index(0);
  for (auto [i, stride] : llvm::zip(indices, buffer.strides))
    position = position + i * stride;
  return position;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

static SmallVector<Value> getValues(ArrayRef<Expr> exprs) {
  return llvm::map_to_vector(exprs, [](Expr expr) { return expr.get(); });
}

void Emitter::loop(Expr from, Expr to, Body body, int64_t step) {
  auto op = scf::ForOp::create(builder, loc, from, to, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  body(wrap(op.getInductionVar()));
}

void Emitter::loop(int64_t from, int64_t to, Body body, int64_t step) {
  if (to <= from)
    return;
  if (to <= from + step)
    return body(index(from));
  loop(index(from), index(to), body, step);
}

SmallVector<Expr> Emitter::loop(Expr from, Expr to, ArrayRef<Expr> carried,
                                CarriedBody body, int64_t step) {
  if (carried.empty()) {
    loop(from, to, [&](Expr i) { body(i, {}); }, step);
    return {};
  }
  auto op = scf::ForOp::create(builder, loc, from, to, index(step),
                               getValues(carried));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    SmallVector<Expr> state;
    for (Value arg : op.getRegionIterArgs())
      state.push_back(wrap(arg));
    SmallVector<Expr> next = body(wrap(op.getInductionVar()), state);
    scf::YieldOp::create(builder, loc, getValues(next));
  }
  return llvm::map_to_vector(op.getResults(),
                             [&](Value result) { return wrap(result); });
}

void Emitter::when(Expr condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  body();
}

void Emitter::whenElse(Expr condition, llvm::function_ref<void()> body,
                       llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  body();
  builder.setInsertionPointToStart(op.elseBlock());
  otherwise();
}

SmallVector<Expr> Emitter::choose(Expr condition,
                                  llvm::function_ref<SmallVector<Expr>()> body,
                                  ArrayRef<Expr> otherwise) {
  if (otherwise.empty()) {
    when(condition, [&] { body(); });
    return {};
  }
  SmallVector<Value> fallback = getValues(otherwise);
  auto op = scf::IfOp::create(builder, loc, ValueRange(fallback).getTypes(),
                              condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(builder, loc, getValues(body()));
  builder.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(builder, loc, fallback);
  return llvm::map_to_vector(op.getResults(),
                             [&](Value result) { return wrap(result); });
}

void Emitter::chunks(int64_t size, ArrayRef<int64_t> widths,
                     llvm::function_ref<void(Expr, int64_t)> body) {
  int64_t from = 0;
  for (int64_t width : widths) {
    int64_t to = from + (size - from) / width * width;
    loop(
        from, to, [&](Expr i) { body(i, width); }, width);
    from = to;
  }
}
