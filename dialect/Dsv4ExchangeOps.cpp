//===- Dsv4ExchangeOps.cpp - messages between neighbours ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// True for element types that the runtime adds.
static bool isSummable(Type type) {
  return type.isInteger(32) || type.isInteger(64) ||
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

//===----------------------------------------------------------------------===//
// Halo and prefix
//===----------------------------------------------------------------------===//

/// C1, C2 and C4 of halos: `extended` is `own` with rows on both sides.
template <typename OpT>
static LogicalResult verifyHalo(OpT op, RankedTensorType own,
                                RankedTensorType extended) {
  int64_t dim = op.getDim(), left = op.getLeft(), right = op.getRight();
  auto channels = op.getChannels();
  int64_t dims = own.getRank() - (channels ? 1 : 0);
  if (dim < 0 || dim >= dims) // (C1)
    return op.emitOpError() << "'dim' must be in [0, " << dims << "), got " << dim;
  if (left < 0 || right < 0) // (C2)
    return op.emitOpError() << "'left' and 'right' must be at least 0, got "
                            << left << " and " << right;
  SmallVector<int64_t> shape(own.getShape());
  if (llvm::AddOverflow(shape[dim], left, shape[dim]) ||
      llvm::AddOverflow(shape[dim], right, shape[dim]))
    return op.emitOpError() << "'left' and 'right' are too large, got " << left
                            << " and " << right;
  auto expected = RankedTensorType::get(shape, own.getElementType());
  if (extended != expected)
    return op.emitOpError() << "extends " << own << " by " << left << " and "
                            << right << " rows to " << extended << ", expected "
                            << expected;
  if (!channels)
    return success();
  int64_t width = own.getDimSize(own.getRank() - 1);
  if (channels->size() != 2 || (*channels)[0] < 0 || (*channels)[1] < 1 ||
      (*channels)[0] > width - (*channels)[1]) // (C4)
    return op.emitOpError()
           << "'channels' must be a begin and a size inside the last dimension "
              "of "
           << width << ", got [" << *channels << "]";
  return success();
}

static LogicalResult verifyDifferentiable(Operation *op, bool differentiable,
                                          Type element) {
  if (differentiable && !isa<FloatType>(element)) // (C3)
    return op->emitOpError() << "is differentiable and needs a float element "
                                "type, got "
                             << element;
  return success();
}

static LogicalResult verifySummable(Operation *op, Type element) {
  if (!isSummable(element)) // (C3)
    return op->emitOpError() << "adds i32, i64 or floats, got " << element;
  return success();
}

LogicalResult SeqHaloOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type element = getInput().getType().getElementType();
  if (failed(computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols)) ||
      failed(verifyHalo(*this, getInput().getType(), getResult().getType())) ||
      failed(verifyDifferentiable(*this, getDifferentiable(), element)))
    return failure();
  if (getFillAttr() && (getFillAttr().getType() != element ||
                        !isa<FloatAttr, IntegerAttr>(getFillAttr()))) // (C5)
    return emitOpError() << "'fill' must be a number of type " << element
                         << ", got " << getFillAttr();
  return success();
}

LogicalResult SeqHaloAddOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols)) ||
      failed(verifyHalo(*this, getResult().getType(), getInput().getType())))
    return failure();
  return verifySummable(*this, getInput().getType().getElementType());
}

/// C1 and C2 of prefixes: `full` is `own` with `dim` times the group's size.
static LogicalResult verifyPrefix(Operation *op, int64_t dim,
                                  RankedTensorType own, RankedTensorType full,
                                  int64_t ranks) {
  if (dim < 0 || dim >= own.getRank()) // (C1)
    return op->emitOpError() << "'dim' must be in [0, " << own.getRank()
                             << "), got " << dim;
  SmallVector<int64_t> shape(own.getShape());
  if (llvm::MulOverflow(shape[dim], ranks, shape[dim])) // (C2)
    return op->emitOpError() << "dimension " << dim << " has size "
                             << own.getDimSize(dim) << ", too large for "
                             << ranks << " ranks";
  auto expected = RankedTensorType::get(shape, own.getElementType());
  if (full != expected)
    return op->emitOpError() << "has one rank's part " << own << " of " << full
                             << ", expected " << expected;
  return success();
}

LogicalResult SeqPrefixOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size) ||
      failed(verifyDifferentiable(*this, getDifferentiable(),
                                  getInput().getType().getElementType())))
    return failure();
  return verifyPrefix(*this, getDim(), getInput().getType(),
                      getResult().getType(), *size);
}

LogicalResult SeqPrefixAddOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size) ||
      failed(verifySummable(*this, getInput().getType().getElementType())))
    return failure();
  return verifyPrefix(*this, getDim(), getResult().getType(),
                      getInput().getType(), *size);
}

//===----------------------------------------------------------------------===//
// ExchangeStartOp
//===----------------------------------------------------------------------===//

/// (C3) the parts of a shift.
static LogicalResult verifyParts(ExchangeStartOp op, int64_t elements) {
  ArrayRef<int64_t> shifts = op.getShifts(), offsets = op.getOffsets(),
                    counts = op.getCounts();
  bool isShift = op.getScheme() == ExchangeScheme::shift;
  if (shifts.size() != offsets.size() || shifts.size() != counts.size() ||
      shifts.empty() == isShift)
    return op.emitOpError()
           << "'shifts', 'offsets' and 'counts' must be lists of one length, "
           << (isShift ? "not empty" : "empty unless the scheme is shift");
  int64_t end = 0;
  for (auto [shift, offset, count] : llvm::zip(shifts, offsets, counts)) {
    if (shift == 0 || offset < end || count < 1 || offset > elements - count)
      return op.emitOpError()
             << "part of shift " << shift << " at " << offset << " with "
             << count << " elements must go to another rank and lie in ["
             << end << ", " << elements << ")";
    end = offset + count;
  }
  return success();
}

LogicalResult ExchangeStartOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size = computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
  if (failed(size))
    return failure();
  auto from = dyn_cast<ShapedType>(getInput().getType());
  auto to = dyn_cast<ShapedType>(getInit().getType());
  bool onTensors = isa_and_present<RankedTensorType>(from) &&
                   isa_and_present<RankedTensorType>(to);
  bool onMemRefs =
      isa_and_present<MemRefType>(from) && isa_and_present<MemRefType>(to);
  if ((!onTensors && !onMemRefs) || !from.hasStaticShape() || !to.hasStaticShape())
    return emitOpError() << "needs static tensors or static memrefs, got "
                         << getInput().getType() << " and " << getInit().getType();
  int64_t factor = getScheme() == ExchangeScheme::prefix ? *size : 1, sent = factor,
          received = 1;
  bool fits = true;
  for (int64_t dim : from.getShape())
    fits &= !llvm::MulOverflow(sent, dim, sent);
  for (int64_t dim : to.getShape())
    fits &= !llvm::MulOverflow(received, dim, received);
  if (!fits || from.getElementType() != to.getElementType() || sent != received ||
      (getScheme() == ExchangeScheme::prefix_add && sent % *size != 0)) // (C1)
    return emitOpError() << "moves " << from << " into " << to
                         << " in a group of " << *size << " ranks, expected "
                         << factor << " times the elements, of the same type"
                         << (getScheme() == ExchangeScheme::prefix_add
                                 ? ", in one part per rank"
                                 : "");
  if (getStarted().size() != (onTensors ? 1 : 0) ||
      (onTensors && getStarted().front().getType() != to)) // (C2)
    return emitOpError() << "on tensors returns the destination and a token, "
                            "on memrefs a token";
  return verifyParts(*this, received);
}

void ExchangeStartOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), CommunicatorResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), CommunicatorResource::get());
  if (isa<BaseMemRefType>(getInput().getType())) {
    effects.emplace_back(MemoryEffects::Read::get(), &getInputMutable());
    effects.emplace_back(MemoryEffects::Read::get(), &getInitMutable());
    effects.emplace_back(MemoryEffects::Write::get(), &getInitMutable());
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Checks that `rows` lies in `message` from `offset` on (C1), and returns its
/// end.
static FailureOr<int64_t> verifyPlace(Operation *op, ShapedType rows,
                                      int64_t offset, ShapedType message) {
  Type element = rows.getElementType();
  if (!element.isIntOrFloat())
    return op->emitOpError() << "moves integers or floats, got " << element;
  int64_t width = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  int64_t bytes = width;
  bool fits = offset >= 0 && offset % width == 0;
  for (int64_t size : rows.getShape())
    fits &= !llvm::MulOverflow(bytes, size, bytes);
  int64_t end;
  if (!fits || llvm::AddOverflow(offset, bytes, end) ||
      end > message.getDimSize(0))
    return op->emitOpError()
           << "places " << rows << " at byte " << offset << " of " << message
           << ", expected a multiple of " << width << " and a place inside";
  return end;
}

/// (C2) the buffer of bytes, and results as on tensors or memrefs.
template <typename OpT>
static LogicalResult verifyMessage(OpT op, ShapedType message) {
  if (message.getRank() != 1 || !message.getElementType().isInteger(8))
    return op.emitOpError() << "needs a vector of i8 as message, got " << message;
  bool tensors = op.hasPureTensorSemantics();
  if (!tensors && !op.hasPureBufferSemantics())
    return op.emitOpError() << "mixes tensors and memrefs";
  if (op.getResult().size() != (tensors ? 1 : 0) ||
      (tensors && op.getResult().front().getType() != op.getInit().getType()))
    return op.emitOpError() << "returns the init on tensors, or nothing on memrefs";
  return success();
}

LogicalResult PackMessageOp::verify() {
  auto message = cast<ShapedType>(getInit().getType());
  if (failed(verifyMessage(*this, message)))
    return failure();
  if (getOffsets().size() != getInputs().size())
    return emitOpError() << "has " << getOffsets().size() << " offsets for "
                         << getInputs().size() << " operands";
  SmallVector<std::pair<int64_t, int64_t>> places;
  for (auto [input, offset] : llvm::zip(getInputs(), getOffsets())) {
    auto end = verifyPlace(*this, cast<ShapedType>(input.getType()), offset, message);
    if (failed(end))
      return failure();
    places.push_back({offset, *end});
  }
  llvm::sort(places);
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second)
      return emitOpError() << "operands overlap at byte " << places[i].first;
  return success();
}

LogicalResult UnpackMessageOp::verify() {
  auto message = cast<ShapedType>(getInput().getType());
  if (failed(verifyMessage(*this, message)))
    return failure();
  return verifyPlace(*this, cast<ShapedType>(getInit().getType()), getOffset(),
                     message);
}

void PackMessageOp::getEffects(Effects &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    bool isInit = operand.get() == getInit();
    effects.emplace_back(isInit ? static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())
                                : MemoryEffects::Read::get(),
                         &operand);
  }
}

void UnpackMessageOp::getEffects(Effects &effects) {
  if (!isa<BaseMemRefType>(getInput().getType()))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &getInputMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getInitMutable());
}
