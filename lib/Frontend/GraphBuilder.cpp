//===- GraphBuilder.cpp - Small pieces of model graphs --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// ScalarBuilder
//===----------------------------------------------------------------------===//

Value ScalarBuilder::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(wideType, value));
}

Value ScalarBuilder::constantInt(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value ScalarBuilder::add(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::sub(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::max(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::min(Value a, Value b) {
  return arith::MinimumFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::neg(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}

Value ScalarBuilder::abs(Value a) {
  return math::AbsFOp::create(builder, loc, a);
}

Value ScalarBuilder::exp(Value a) {
  return math::ExpOp::create(builder, loc, a);
}

Value ScalarBuilder::log(Value a) {
  return math::LogOp::create(builder, loc, a);
}

Value ScalarBuilder::log1p(Value a) {
  return math::Log1pOp::create(builder, loc, a);
}

Value ScalarBuilder::sqrt(Value a) {
  return math::SqrtOp::create(builder, loc, a);
}

Value ScalarBuilder::sigmoid(Value a) {
  Value one = constant(1.0);
  return div(one, add(one, exp(neg(a))));
}

Value ScalarBuilder::differs(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, a,
                               constantInt(b));
}

Value ScalarBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScalarBuilder::widen(Value a) {
  auto type = dyn_cast<FloatType>(a.getType());
  if (!type || type == wideType)
    return a;
  return arith::ExtFOp::create(builder, loc, wideType, a);
}

Value ScalarBuilder::round(Value a, Type type) {
  if (a.getType() == type)
    return a;
  return arith::TruncFOp::create(builder, loc, type, a);
}

//===----------------------------------------------------------------------===//
// Place in the module tree
//===----------------------------------------------------------------------===//

Location GraphBuilder::getLoc() {
  std::string name = path;
  if (!step.empty())
    name += (name.empty() ? "" : ".") + step;
  return NameLoc::get(builder.getStringAttr(name));
}

SmallVector<Value>
GraphBuilder::inModule(const Twine &name, StringRef className,
                       llvm::function_ref<SmallVector<Value>()> build) {
  size_t outerLength = path.size();
  std::string outerStep = std::move(step);
  path += (path.empty() ? "" : ".") + name.str();
  step.clear();
  Location loc = getLoc();

  // The result types are known only when the body exists.
  Region body;
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body.emplaceBlock());
    yielded = build();
    YieldOp::create(builder, loc, yielded);
  }
  auto module = dsv4::ModuleOp::create(
      builder, loc, TypeRange(ValueRange(yielded)), path, className);
  module.getBody().takeBody(body);
  path.resize(outerLength);
  step = std::move(outerStep);
  return llvm::to_vector_of<Value>(module.getResults());
}

Value GraphBuilder::inModule1(const Twine &name, StringRef className,
                              llvm::function_ref<Value()> build) {
  return inModule(name, className,
                  [&] { return SmallVector<Value>{build()}; })[0];
}

void GraphBuilder::addParameter(StringRef path, Value value) {
  parameters[path] = value;
}

Value GraphBuilder::getParameter(StringRef name) const {
  auto it = parameters.find((path + "." + name).str());
  assert(it != parameters.end() && "no parameter of this name");
  return it->second;
}

//===----------------------------------------------------------------------===//
// Destinations and constants
//===----------------------------------------------------------------------===//

Value GraphBuilder::createEmpty(ArrayRef<int64_t> shape, Type type) {
  return tensor::EmptyOp::create(builder, getLoc(), shape, type);
}

Value GraphBuilder::createFilled(ArrayRef<int64_t> shape, FloatType type,
                                 double value) {
  Value scalar = arith::ConstantOp::create(builder, getLoc(),
                                           builder.getFloatAttr(type, value));
  Value empty = createEmpty(shape, type);
  return linalg::FillOp::create(builder, getLoc(), scalar, empty).getResult(0);
}

Value GraphBuilder::createIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, getLoc(), value);
}

//===----------------------------------------------------------------------===//
// Elementwise operations, contractions, reductions
//===----------------------------------------------------------------------===//

/// The letters of each input, then those of the result.
static SmallVector<StringRef> splitSpec(StringRef spec) {
  auto [inputs, result] = spec.split("->");
  SmallVector<StringRef> parts;
  inputs.split(parts, ',');
  parts.push_back(result);
  return parts;
}

GraphBuilder::Shape GraphBuilder::getResultShape(StringRef spec,
                                                 ValueRange inputs,
                                                 int64_t newSize) const {
  SmallVector<StringRef> parts = splitSpec(spec);
  Shape shape;
  for (char letter : parts.back()) {
    int64_t size = newSize;
    for (auto [part, input] : llvm::zip(parts, inputs))
      if (size_t dim = part.find(letter); dim != StringRef::npos)
        size = getDim(input, dim);
    assert(size > 0 && "a letter without a size");
    shape.push_back(size);
  }
  return shape;
}

Value GraphBuilder::createGeneric(StringRef spec, ValueRange inputs, Value init,
                                  ScalarFn body, bool widens) {
  SmallVector<StringRef> parts = splitSpec(spec);
  assert(parts.size() == inputs.size() + 1 && "one list of letters each");
  std::string loops = parts.back().str();
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::parallel);
  for (StringRef part : parts)
    for (char letter : part)
      if (!StringRef(loops).contains(letter)) {
        loops.push_back(letter);
        iterators.push_back(utils::IteratorType::reduction);
      }
  SmallVector<AffineMap> maps;
  for (StringRef part : parts) {
    SmallVector<AffineExpr> dims;
    for (char letter : part)
      dims.push_back(builder.getAffineDimExpr(StringRef(loops).find(letter)));
    maps.push_back(AffineMap::get(loops.size(), 0, dims, builder.getContext()));
  }
  Type element = getElementTypeOrSelf(init.getType());
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    ScalarBuilder scalars(b, loc, wideType);
    SmallVector<Value> values(args);
    if (widens)
      for (Value &value : MutableArrayRef(values).drop_back())
        value = scalars.widen(value);
    Value result = body(scalars, values);
    linalg::YieldOp::create(b, loc, scalars.round(result, element));
  };
  return linalg::GenericOp::create(builder, getLoc(), init.getType(), inputs,
                                   init, maps, iterators, buildBody)
      .getResult(0);
}

Value GraphBuilder::elementwiseAs(StringRef spec, ValueRange inputs, Type type,
                                  ScalarFn body) {
  Value init = createEmpty(getResultShape(spec, inputs), type);
  // The element of the init is no operand of an elementwise operation.
  return createGeneric(spec, inputs, init,
                       [&](ScalarBuilder &b, ValueRange args) {
                         return body(b, args.drop_back());
                       });
}

Value GraphBuilder::elementwise(StringRef spec, ValueRange inputs,
                                ScalarFn body) {
  return elementwiseAs(spec, inputs, wideType, body);
}

Value GraphBuilder::elementwiseRounded(StringRef spec, ValueRange inputs,
                                       StringRef label, ScalarFn body) {
  Value result = elementwiseAs(spec, inputs, activationType, body);
  if (isMixed())
    result.getDefiningOp()->setAttr(kCastAttr, builder.getStringAttr(label));
  return result;
}

Value GraphBuilder::broadcast(StringRef spec, Value input, int64_t size) {
  Value init =
      createEmpty(getResultShape(spec, input, size), getElement(input));
  return createGeneric(
      spec, input, init,
      [](ScalarBuilder &, ValueRange args) { return args[0]; },
      /*widens=*/false);
}

Value GraphBuilder::contract(StringRef spec, Value a, Value b) {
  return sum(spec, {a, b}, [](ScalarBuilder &s, ValueRange args) {
    return s.mul(args[0], args[1]);
  });
}

Value GraphBuilder::sum(StringRef spec, ValueRange inputs, ScalarFn body) {
  Value init = createFilled(getResultShape(spec, inputs), wideType, 0.0);
  return createGeneric(spec, inputs, init,
                       [&](ScalarBuilder &s, ValueRange args) {
                         return s.add(args.back(), body(s, args.drop_back()));
                       });
}

Value GraphBuilder::max(StringRef spec, Value input) {
  Value init = createFilled(getResultShape(spec, input), wideType,
                            -std::numeric_limits<double>::infinity());
  return createGeneric(spec, input, init,
                       [](ScalarBuilder &s, ValueRange args) {
                         return s.max(args[1], args[0]);
                       });
}

Value GraphBuilder::count(StringRef spec, ValueRange inputs, ScalarFn body) {
  Value zero = arith::ConstantOp::create(builder, getLoc(),
                                         builder.getI64IntegerAttr(0));
  Value empty = createEmpty(getResultShape(spec, inputs), builder.getI64Type());
  Value init =
      linalg::FillOp::create(builder, getLoc(), zero, empty).getResult(0);
  return createGeneric(
      spec, inputs, init, [&](ScalarBuilder &s, ValueRange args) -> Value {
        Value one =
            arith::ExtUIOp::create(s.builder, s.loc, s.builder.getI64Type(),
                                   body(s, args.drop_back()));
        return arith::AddIOp::create(s.builder, s.loc, args.back(), one);
      });
}

Value GraphBuilder::round(Value value, StringRef label) {
  if (!isMixed())
    return value;
  StringRef letters = StringRef("abcd").take_front(getShape(value).size());
  return elementwiseRounded(
      (letters + "->" + letters).str(), value, label,
      [](ScalarBuilder &, ValueRange args) { return args[0]; });
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Groups of dimensions of a reshape that keeps all but the `count` dimensions
/// from `dim` on, which are one group.
static SmallVector<ReassociationIndices> getGroups(unsigned rank, unsigned dim,
                                                   unsigned count) {
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < rank; ++i) {
    if (i <= dim || i >= dim + count)
      groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

Value GraphBuilder::split(Value value, unsigned dim, ArrayRef<int64_t> sizes) {
  Shape shape(getShape(value));
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  auto type = RankedTensorType::get(shape, getElement(value));
  return tensor::ExpandShapeOp::create(
      builder, getLoc(), type, value,
      getGroups(shape.size(), dim, sizes.size()));
}

Value GraphBuilder::merge(Value value, unsigned dim) {
  return tensor::CollapseShapeOp::create(
      builder, getLoc(), value, getGroups(getShape(value).size(), dim, 2));
}

/// A slice of `size` entries of one dimension; `type` may lack the dimension.
static Value createSlice(OpBuilder &builder, Location loc, Value value,
                         RankedTensorType type, unsigned dim, int64_t offset,
                         int64_t size) {
  unsigned rank = getShape(value).size();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), getShape(value));
  SmallVector<OpFoldResult> strides(rank, builder.getIndexAttr(1));
  offsets[dim] = builder.getIndexAttr(offset);
  sizes[dim] = builder.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(builder, loc, type, value, offsets,
                                        sizes, strides);
}

Value GraphBuilder::slice(Value value, unsigned dim, int64_t offset,
                          int64_t size) {
  Shape shape(getShape(value));
  shape[dim] = size;
  auto type = RankedTensorType::get(shape, getElement(value));
  return createSlice(builder, getLoc(), value, type, dim, offset, size);
}

Value GraphBuilder::pick(Value value, unsigned dim, int64_t index) {
  Shape shape(getShape(value));
  shape.erase(shape.begin() + dim);
  auto type = RankedTensorType::get(shape, getElement(value));
  return createSlice(builder, getLoc(), value, type, dim, index, 1);
}
