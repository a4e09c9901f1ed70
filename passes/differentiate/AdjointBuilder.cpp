//===- AdjointBuilder.cpp - reverse mode over one block -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Passes/Differentiation.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsv4;

#include "dsv4/Passes/DifferentiableOpInterface.cpp.inc"

bool dsv4::isDifferentiableType(Type type) {
  if (isa<FloatType>(type))
    return true;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

Type dsv4::getAccumulatorType(Type element) {
  return element.getIntOrFloatBitWidth() < 32
             ? Type(Float32Type::get(element.getContext()))
             : element;
}

AdjointBuilder::AdjointBuilder(Location loc, OpBuilder insertion,
                               const llvm::DenseSet<Value> &active,
                               const Replication *replication)
    : ImplicitLocOpBuilder(loc, insertion), active(active),
      replication(replication) {
  setListener(&marker);
}

/// Bodies of operations belong to the operation around them.
void AdjointBuilder::Marker::notifyOperationInserted(Operation *op, InsertPoint) {
  if (!origin || !isa_and_nonnull<func::FuncOp>(op->getParentOp()))
    return;
  if (Attribute path = origin->getAttr(kPathAttr))
    op->setAttr(kPathAttr, path);
  op->setAttr(kDirectionAttr, StringAttr::get(op->getContext(), "backward"));
}

//===----------------------------------------------------------------------===//
// Cotangents
//===----------------------------------------------------------------------===//

Value AdjointBuilder::getCotangent(Value value) const {
  return cotangents.lookup(value).value;
}

/// A contribution is one rank's own when the operation computes something else
/// on every rank, or when what it was given already was.
Replication::Axes AdjointBuilder::getDefaultPartial() const {
  Replication::Axes partial = replication->getVarying(current);
  for (Value result : current->getResults())
    if (getCotangent(result))
      partial |= cotangents.lookup(result).partial;
  return partial;
}

void AdjointBuilder::addCotangent(Value value, Value contribution,
                                  ArrayAttr wholeOver) {
  assert(value.getType() == contribution.getType() && "of another type");
  Replication::Axes partial = 0;
  if (replication) {
    partial = getDefaultPartial();
    if (wholeOver)
      partial &= ~replication->getAxes(wholeOver);
    // Where ranks hold different values, each has its own cotangent.
    partial &= ~replication->getVarying(value);
  }
  auto [it, isNew] = cotangents.try_emplace(value);
  if (isNew) {
    it->second = {contribution, partial};
    return;
  }
  if (it->second.partial != partial) {
    current->emitOpError()
        << "contributes to the cotangent of an operand as a partial sum over "
        << replication->format(partial) << ", but other uses contribute one over "
        << replication->format(it->second.partial)
        << ", expected all uses to be alike";
    isUndecided = true;
    return;
  }
  Value sum = makeSum(it->second.value, contribution);
  cotangents[value].value = sum;
}

ArrayAttr AdjointBuilder::getPartialAxes(Value value, ArrayAttr axes) const {
  return replication ? replication->select(axes, cotangents.lookup(value).partial)
                     : ArrayAttr::get(getContext(), {});
}

void AdjointBuilder::seedOne(Value loss) {
  marker.origin = loss.getDefiningOp();
  Value one = makeConstant(getElementTypeOrSelf(loss), 1.0);
  seed(loss, linalg::FillOp::create(*this, getLoc(), one,
                                    makeEmpty(loss.getType()))
                 .getResult(0));
}

bool AdjointBuilder::isAxisSplit(Attribute axis) const {
  return replication &&
         replication->getAxes(ArrayAttr::get(getContext(), axis)) != 0;
}

LogicalResult AdjointBuilder::visit(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    auto hasCotangent = [&](Value result) { return !!getCotangent(result); };
    auto needs = [&](Value operand) { return needsCotangent(operand); };
    if (llvm::none_of(op->getResults(), hasCotangent) ||
        llvm::none_of(op->getOperands(), needs))
      continue;
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    if (!rule)
      return op->emitOpError() << "has no differentiation rule";
    current = marker.origin = op;
    setLoc(op->getLoc());
    if (failed(rule.buildAdjoint(*this)) || isUndecided)
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value AdjointBuilder::makeConstant(Type type, double value) {
  TypedAttr attr = FloatAttr::get(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(*this, getLoc(), attr);
}

Value AdjointBuilder::makeEmpty(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor::EmptyOp::create(*this, getLoc(), tensor.getShape(),
                                 tensor.getElementType());
}

Value AdjointBuilder::makeZero(Type type) {
  if (!isa<RankedTensorType>(type))
    return makeConstant(type, 0.0);
  Value zero = makeConstant(getElementTypeOrSelf(type), 0.0);
  return linalg::FillOp::create(*this, getLoc(), zero, makeEmpty(type))
      .getResult(0);
}

/// Scalar addition, in f32 for narrow floats.
static Value addScalars(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Type type = lhs.getType(), wide = getAccumulatorType(type);
  if (wide == type)
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  lhs = arith::ExtFOp::create(builder, loc, wide, lhs);
  rhs = arith::ExtFOp::create(builder, loc, wide, rhs);
  Value sum = arith::AddFOp::create(builder, loc, lhs, rhs);
  return arith::TruncFOp::create(builder, loc, type, sum);
}

Value AdjointBuilder::makeSum(Value lhs, Value rhs) {
  auto type = dyn_cast<RankedTensorType>(lhs.getType());
  if (!type)
    return addScalars(*this, getLoc(), lhs, rhs);
  SmallVector<AffineMap> maps(3, getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto sum = linalg::GenericOp::create(
      *this, getLoc(), TypeRange(type), ValueRange{lhs, rhs},
      ValueRange{makeEmpty(type)}, maps, loops,
      [](OpBuilder &builder, Location loc, ValueRange args) {
        linalg::YieldOp::create(builder, loc,
                                addScalars(builder, loc, args[0], args[1]));
      });
  if (getAccumulatorType(type.getElementType()) != type.getElementType())
    sum->setAttr(kCastAttr, getStringAttr("sum of cotangents"));
  return sum.getResult(0);
}
