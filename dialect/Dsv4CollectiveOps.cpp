//===- Dsv4CollectiveOps.cpp - collectives over mesh groups ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Checks `result` = `operand` with dimension `dim` scaled: result size * div
/// == operand size * mul.
static LogicalResult verifyScaledDim(Operation *op, int64_t dim, Value operand,
                                     Value result, int64_t mul, int64_t div) {
  auto from = cast<RankedTensorType>(operand.getType());
  auto to = cast<RankedTensorType>(result.getType());
  if (dim < 0 || dim >= from.getRank()) // (C1)
    return op->emitOpError() << "'dim' must be in [0, " << from.getRank()
                             << "), got " << dim;
  SmallVector<int64_t> shape(from.getShape());
  int64_t scaled;
  if (llvm::MulOverflow(shape[dim], mul, scaled)) // (C2)
    return op->emitOpError() << "dimension " << dim << " has size "
                             << shape[dim] << ", too large for " << mul
                             << " ranks";
  if (scaled % div != 0)
    return op->emitOpError() << "dimension " << dim << " has size "
                             << shape[dim] << ", which " << div
                             << " ranks do not divide";
  shape[dim] = scaled / div;
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (to != expected)
    return op->emitOpError() << "has result type " << to << ", expected "
                             << expected;
  return success();
}

/// True for element types that the runtime adds.
static bool isSummable(Type type) {
  return type.isInteger(32) || type.isInteger(64) ||
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

/// Replaces a collective over a group of one by its operand.
template <typename OpT>
static LogicalResult foldSingleRank(OpT op, Value operand,
                                    PatternRewriter &rewriter) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, op.getMeshAttr());
  if (!mesh)
    return rewriter.notifyMatchFailure(op, "the mesh is not declared");
  for (StringAttr axis : op.getAxes().template getAsRange<StringAttr>())
    if (mesh.getAxisSize(axis) != 1)
      return rewriter.notifyMatchFailure(op, "the group has several ranks");
  rewriter.replaceOp(op, operand);
  return success();
}

//===----------------------------------------------------------------------===//
// SeqShardOp, SeqGatherOp, SeqReduceScatterOp
//===----------------------------------------------------------------------===//

LogicalResult SeqShardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size))
    return failure();
  return verifyScaledDim(*this, getDim(), getInput(), getResult(), 1, *size);
}

LogicalResult SeqGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size))
    return failure();
  Type element = getInput().getType().getElementType();
  if (getDifferentiable() && !isa<FloatType>(element)) // (C3)
    return emitOpError() << "is differentiable and needs a float element type, "
                            "got "
                         << element;
  return verifyScaledDim(*this, getDim(), getInput(), getResult(), *size, 1);
}

LogicalResult
SeqReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size))
    return failure();
  Type element = getInput().getType().getElementType();
  if (!isSummable(element)) // (C3)
    return emitOpError() << "adds i32, i64 or floats, got " << element;
  return verifyScaledDim(*this, getDim(), getInput(), getResult(), 1, *size);
}

LogicalResult SeqShardOp::canonicalize(SeqShardOp op, PatternRewriter &rewriter) {
  return foldSingleRank(op, op.getInput(), rewriter);
}
LogicalResult SeqGatherOp::canonicalize(SeqGatherOp op,
                                        PatternRewriter &rewriter) {
  return foldSingleRank(op, op.getInput(), rewriter);
}
LogicalResult SeqReduceScatterOp::canonicalize(SeqReduceScatterOp op,
                                               PatternRewriter &rewriter) {
  return foldSingleRank(op, op.getInput(), rewriter);
}

//===----------------------------------------------------------------------===//
// AllReduceOp, AgreeOp, UnshardOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyReduction(Operation *op, ReductionKind kind,
                                     Type element) {
  if (kind == ReductionKind::sum && !isSummable(element))
    return op->emitOpError() << "adds i32, i64 or floats, got " << element;
  if (!isa<IntegerType, FloatType>(element))
    return op->emitOpError() << "compares integers or floats, got " << element;
  return success();
}

LogicalResult AllReduceOp::verify() { // (C1)
  return verifyReduction(*this, getKind(), getInput().getType().getElementType());
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
}
LogicalResult AllReduceOp::canonicalize(AllReduceOp op,
                                        PatternRewriter &rewriter) {
  return foldSingleRank(op, op.getInput(), rewriter);
}

LogicalResult AgreeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
}
LogicalResult AgreeOp::canonicalize(AgreeOp op, PatternRewriter &rewriter) {
  return foldSingleRank(op, op.getFlag(), rewriter);
}

/// (C2) one operand per flat buffer. The unit's own verifier has checked the
/// form of its buffers.
static LogicalResult verifyShards(UnshardOp op, ArrayAttr buffers) {
  if (op.getShards().size() != buffers.size())
    return op.emitOpError() << "has " << op.getShards().size()
                            << " shards, expected one per buffer of "
                            << op.getUnitAttr() << ", " << buffers.size();
  for (auto [i, buffer] :
       llvm::enumerate(buffers.getAsRange<DictionaryAttr>())) {
    auto expected = RankedTensorType::get(
        {buffer.getAs<IntegerAttr>("shard").getInt()},
        buffer.getAs<TypeAttr>("dtype").getValue());
    if (op.getShards()[i].getType() != expected)
      return op.emitOpError() << "shard " << i << " has type "
                              << op.getShards()[i].getType() << ", expected "
                              << expected;
  }
  return success();
}

/// The type of each parameter that lies in one of the buffers.
static llvm::StringMap<RankedTensorType> getSegmentTypes(ArrayAttr buffers) {
  llvm::StringMap<RankedTensorType> types;
  for (auto buffer : buffers.getAsRange<DictionaryAttr>()) {
    Type dtype = buffer.getAs<TypeAttr>("dtype").getValue();
    for (auto segment :
         buffer.getAs<ArrayAttr>("segments").getAsRange<DictionaryAttr>())
      types[segment.getAs<StringAttr>("name")] = RankedTensorType::get(
          segment.getAs<DenseI64ArrayAttr>("shape").asArrayRef(), dtype);
  }
  return types;
}

/// (C3) one result per parameter.
static LogicalResult verifyParameters(UnshardOp op, FsdpUnitOp unit) {
  if (op.getResults().size() != unit.getParams().size())
    return op.emitOpError() << "has " << op.getResults().size()
                            << " results, expected one per parameter, "
                            << unit.getParams().size();
  llvm::StringMap<RankedTensorType> types =
      getSegmentTypes(unit.getBuffersAttr());
  for (auto [result, name] :
       llvm::zip(op.getResults(), unit.getParams().getAsRange<StringAttr>())) {
    RankedTensorType expected = types.lookup(name);
    if (!expected)
      return op.emitOpError()
             << "parameter " << name << " is in no buffer of " << op.getUnitAttr();
    if (result.getType() != expected)
      return op.emitOpError() << "parameter " << name << " has type "
                              << result.getType() << ", expected " << expected;
  }
  return success();
}

LogicalResult UnshardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols)))
    return failure();
  auto unit = symbols.lookupNearestSymbolFrom<FsdpUnitOp>(*this, getUnitAttr());
  if (!unit || !unit.getBuffersAttr()) // (C1)
    return emitOpError() << "'unit' must name a dsv4.fsdp_unit with buffers, got "
                         << getUnitAttr();
  if (failed(verifyShards(*this, unit.getBuffersAttr())))
    return failure();
  return verifyParameters(*this, unit);
}

//===----------------------------------------------------------------------===//
// Start and wait
//===----------------------------------------------------------------------===//

/// The number of elements times `factor`; nullopt when it has no 64-bit value.
static std::optional<int64_t> countElements(ShapedType type, int64_t factor) {
  int64_t count = factor;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

/// Checks of every start: `init` has `mul` times the elements of `input`
/// divided by `div`, same element type, results as on tensors or memrefs.
template <typename OpT>
static LogicalResult verifyStart(OpT op, int64_t mul, int64_t div) {
  auto from = dyn_cast<ShapedType>(op.getInput().getType());
  auto to = dyn_cast<ShapedType>(op.getInit().getType());
  bool onTensors = isa_and_present<RankedTensorType>(from) &&
                   isa_and_present<RankedTensorType>(to);
  bool onMemRefs =
      isa_and_present<MemRefType>(from) && isa_and_present<MemRefType>(to);
  if ((!onTensors && !onMemRefs) || !from.hasStaticShape() || !to.hasStaticShape())
    return op.emitOpError() << "needs static tensors or static memrefs, got "
                            << op.getInput().getType() << " and "
                            << op.getInit().getType();
  std::optional<int64_t> sent = countElements(from, mul);
  std::optional<int64_t> received = countElements(to, div);
  if (from.getElementType() != to.getElementType() || !sent || !received ||
      *sent != *received) // (C1)
    return op.emitOpError() << "moves " << from << " into " << to
                            << ", expected " << mul << "/" << div
                            << " of the elements in a group of "
                            << std::max(mul, div) << " ranks";
  if (op.getStarted().size() != (onTensors ? 1 : 0) ||
      (onTensors && op.getStarted().front().getType() != to)) // (C2)
    return op.emitOpError() << "on tensors returns the destination and a token, "
                               "on memrefs a token";
  return success();
}

template <typename OpT>
static void getStartEffects(
    OpT op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
                &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), CommunicatorResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), CommunicatorResource::get());
  if (isa<BaseMemRefType>(op.getInput().getType())) {
    effects.emplace_back(MemoryEffects::Read::get(), &op.getInputMutable());
    effects.emplace_back(MemoryEffects::Write::get(), &op.getInitMutable());
  }
}

LogicalResult AllGatherStartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  return failed(size) ? failure() : verifyStart(*this, *size, 1);
}
void AllGatherStartOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getStartEffects(*this, effects);
}

LogicalResult
ReduceScatterStartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  return failed(size) ? failure() : verifyStart(*this, 1, *size);
}
void ReduceScatterStartOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getStartEffects(*this, effects);
}

LogicalResult AllReduceStartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols)) ||
      failed(verifyStart(*this, 1, 1)))
    return failure();
  return verifyReduction(*this, getKind(),
                         getElementTypeOrSelf(getInput().getType()));
}
void AllReduceStartOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getStartEffects(*this, effects);
}

LogicalResult WaitOp::verify() {
  Operation *start = getToken().getDefiningOp();
  if (!isa_and_present<AllGatherStartOp, ReduceScatterStartOp, AllReduceStartOp>(
          start)) // (C1)
    return emitOpError() << "must wait for the token of a start";
  bool onTensors = isa<RankedTensorType>(getStarted().getType());
  if (!onTensors && !isa<MemRefType>(getStarted().getType()))
    return emitOpError() << "waits for a tensor or a memref, got "
                         << getStarted().getType();
  if (isa<TensorType>(getSource().getType()) != onTensors)
    return emitOpError() << "mixes tensors and memrefs";
  // On memrefs source and destination may be other views of the same buffers.
  if (onTensors && getStarted().getDefiningOp() != start)
    return emitOpError() << "must wait for the started value of its start";
  if (onTensors && start->getOperand(0) != getSource())
    return emitOpError() << "must read the source of its start";
  if (!getToken().hasOneUse() || (onTensors && !getStarted().hasOneUse())) // (C2)
    return emitOpError() << "must be the only use of its token and started value";
  if (getResult().size() != (onTensors ? 1 : 0) ||
      (onTensors && getResult().front().getType() != getStarted().getType())) // (C3)
    return emitOpError() << "returns the started tensor, or nothing on memrefs";
  return success();
}

void WaitOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), CommunicatorResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), CommunicatorResource::get());
  if (isa<BaseMemRefType>(getStarted().getType())) {
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
    effects.emplace_back(MemoryEffects::Write::get(), &getStartedMutable());
  }
}
