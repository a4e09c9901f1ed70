//===- FlatBuffers.cpp - how the parameters of a unit are stored ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FlatBuffers.h"

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <optional>

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Elements per aligned piece, or nullopt for dtypes that do not divide it.
static std::optional<int64_t> findAlignment(Type dtype) {
  if (!isa<FloatType>(dtype))
    return std::nullopt;
  int64_t bits = dtype.getIntOrFloatBitWidth();
  if (bits % 8 != 0 || kFlatAlignment * 8 % bits != 0)
    return std::nullopt;
  return kFlatAlignment * 8 / bits;
}

static std::optional<int64_t> findAligned(int64_t count, int64_t alignment) {
  std::optional<int64_t> sum = llvm::checkedAdd(count, alignment - 1);
  return sum ? std::optional(*sum / alignment * alignment) : std::nullopt;
}

static std::optional<int64_t> findNumElements(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t size : shape)
    if (count)
      count = llvm::checkedMul(*count, size);
  return count;
}

/// Appends a parameter behind `end`, the elements so far. False when the buffer
/// grows too large.
static bool addSegment(FlatBuffer &buffer, int64_t &end, int64_t alignment,
                       const FlatParameter &parameter) {
  std::optional<int64_t> offset = findAligned(end, alignment);
  std::optional<int64_t> count = findNumElements(parameter.type.getShape());
  std::optional<int64_t> newEnd =
      offset && count ? llvm::checkedAdd(*offset, *count) : std::nullopt;
  if (!newEnd)
    return false;
  buffer.segments.push_back(
      {parameter.name, *offset, llvm::to_vector(parameter.type.getShape())});
  end = *newEnd;
  return true;
}

/// Divides `end` elements over the ranks. False when the bytes of all exceed 64
/// bits.
static bool setShard(FlatBuffer &buffer, int64_t end, int64_t alignment,
                     int64_t numRanks) {
  std::optional<int64_t> shard =
      findAligned(llvm::divideCeilSigned(end, numRanks), alignment);
  std::optional<int64_t> total =
      shard ? llvm::checkedMul(*shard, numRanks) : std::nullopt;
  if (!total || !llvm::checkedMul(*total, kFlatAlignment / alignment))
    return false;
  buffer.shard = *shard;
  buffer.total = *total;
  return true;
}

/// The buffer of all parameters of one dtype and frozenness; without segments
/// when there are none.
static FailureOr<FlatBuffer> computeBuffer(ArrayRef<FlatParameter> parameters,
                                           Type dtype, bool isFrozen,
                                           int64_t numRanks,
                                           EmitFlatErrorFn emitError) {
  FlatBuffer buffer;
  buffer.dtype = dtype;
  buffer.isFrozen = isFrozen;
  int64_t alignment = *findAlignment(dtype), end = 0;
  unsigned last = 0;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    if (parameter.type.getElementType() != dtype ||
        parameter.isFrozen != isFrozen)
      continue;
    last = i;
    if (!addSegment(buffer, end, alignment, parameter))
      return emitError(i) << "parameter " << parameter.name << " of type "
                          << parameter.type
                          << " does not fit a buffer of 2^63 bytes";
  }
  if (!setShard(buffer, end, alignment, numRanks))
    return emitError(last) << "a buffer of " << end << " elements over "
                           << numRanks << " ranks exceeds 2^63 bytes";
  return buffer;
}

FailureOr<SmallVector<FlatBuffer>>
dsv4::computeFlatBuffers(ArrayRef<FlatParameter> parameters, int64_t numRanks,
                         EmitFlatErrorFn emitError) {
  llvm::SmallSetVector<Type, 2> dtypes;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    Type dtype = parameter.type.getElementType();
    if (!findAlignment(dtype))
      return emitError(i) << "parameter " << parameter.name
                          << " must hold floats of 8, 16, 32 or 64 bits, got "
                          << dtype;
    dtypes.insert(dtype);
  }
  SmallVector<FlatBuffer> buffers;
  for (Type dtype : dtypes)
    for (bool isFrozen : {false, true}) {
      auto buffer =
          computeBuffer(parameters, dtype, isFrozen, numRanks, emitError);
      if (failed(buffer))
        return failure();
      if (!buffer->segments.empty())
        buffers.push_back(std::move(*buffer));
    }
  return buffers;
}

//===----------------------------------------------------------------------===//
// Attribute
//===----------------------------------------------------------------------===//

static DictionaryAttr getSegmentAttr(Builder &builder,
                                     const FlatSegment &segment) {
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("name", segment.name),
       builder.getNamedAttr("offset",
                            builder.getI64IntegerAttr(segment.offset)),
       builder.getNamedAttr("shape",
                            builder.getDenseI64ArrayAttr(segment.shape))});
}

ArrayAttr dsv4::getFlatBuffersAttr(MLIRContext *context,
                                   ArrayRef<FlatBuffer> buffers) {
  Builder builder(context);
  SmallVector<Attribute> entries;
  for (const FlatBuffer &buffer : buffers) {
    SmallVector<Attribute> segments;
    for (const FlatSegment &segment : buffer.segments)
      segments.push_back(getSegmentAttr(builder, segment));
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("dtype", TypeAttr::get(buffer.dtype)),
         builder.getNamedAttr("frozen", builder.getBoolAttr(buffer.isFrozen)),
         builder.getNamedAttr("shard", builder.getI64IntegerAttr(buffer.shard)),
         builder.getNamedAttr("total", builder.getI64IntegerAttr(buffer.total)),
         builder.getNamedAttr("segments", builder.getArrayAttr(segments))}));
  }
  return builder.getArrayAttr(entries);
}

/// The verifier of the unit vouches for every entry.
SmallVector<FlatBuffer> dsv4::getFlatBuffers(FsdpUnitOp unit) {
  SmallVector<FlatBuffer> buffers;
  if (!unit.getBuffersAttr())
    return buffers;
  for (auto entry : unit.getBuffersAttr().getAsRange<DictionaryAttr>()) {
    FlatBuffer &buffer = buffers.emplace_back();
    buffer.dtype = entry.getAs<TypeAttr>("dtype").getValue();
    buffer.isFrozen = entry.getAs<BoolAttr>("frozen").getValue();
    buffer.shard = entry.getAs<IntegerAttr>("shard").getInt();
    buffer.total = entry.getAs<IntegerAttr>("total").getInt();
    for (auto segment :
         entry.getAs<ArrayAttr>("segments").getAsRange<DictionaryAttr>())
      buffer.segments.push_back(
          {segment.getAs<StringAttr>("name"),
           segment.getAs<IntegerAttr>("offset").getInt(),
           llvm::to_vector(
               segment.getAs<DenseI64ArrayAttr>("shape").asArrayRef())});
  }
  return buffers;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

FlatBytes dsv4::computeFlatBytes(ArrayRef<FlatBuffer> buffers) {
  FlatBytes bytes;
  for (const FlatBuffer &buffer : buffers) {
    int64_t width = llvm::divideCeil(buffer.dtype.getIntOrFloatBitWidth(), 8);
    int64_t used = 0;
    for (const FlatSegment &segment : buffer.segments)
      used += findNumElements(segment.shape).value_or(0);
    bytes.payload += used * width;
    bytes.padding += (buffer.total - used) * width;
  }
  return bytes;
}
