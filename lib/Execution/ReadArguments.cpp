//===- ReadArguments.cpp - Where arguments lie and what they hold ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The product of sizes that are not negative, below 2^63 bytes.
static bool isLegalShape(ArrayRef<int64_t> shape, uint32_t dtype) {
  int64_t bytes = dsv4rt_dtype_size(dtype);
  for (int64_t size : shape) {
    std::optional<int64_t> product = llvm::checkedMul(bytes, size);
    if (size < 0 || !product)
      return false;
    bytes = *product;
  }
  return true;
}

LogicalResult ProgramReader::readArgument(const Entry &entry) {
  auto kind = getCode(entry, "kind",
                      {{"batch", uint32_t(ArgumentKind::Batch)},
                       {"buffer", uint32_t(ArgumentKind::Buffer)},
                       {"shard", uint32_t(ArgumentKind::Shard)},
                       {"param", uint32_t(ArgumentKind::Param)},
                       {"result", uint32_t(ArgumentKind::Result)},
                       {"gradient", uint32_t(ArgumentKind::Gradient)}});
  auto name = getString(entry, "name");
  auto offset = getInteger(entry, "offset", INT64_MAX);
  auto type = get<TypeAttr>(entry, "type", "a type");
  if (failed(kind) || failed(name) || failed(offset) || failed(type))
    return failure();
  auto local = dyn_cast<RankedTensorType>(type->getValue());
  if (!local || !local.hasStaticShape())
    return fail(entry) << "'type' must be a static tensor, got "
                       << type->getValue();
  auto dtype = getElementType(entry, local.getElementType());
  if (failed(dtype))
    return failure();
  ProgramArgument argument{static_cast<ArgumentKind>(*kind),
                           *name,
                           *dtype,
                           static_cast<uint64_t>(*offset),
                           local.getShape(),
                           {},
                           {},
                           {}};
  uint64_t end = 0;
  if (!isLegalShape(argument.shape, *dtype) ||
      *offset % dsv4rt_dtype_size(*dtype) != 0 ||
      (end = *offset + argument.getNumBytes()) > program.stateBytes)
    return fail(entry) << "\"" << *name << "\" of type " << local
                       << " at offset " << *offset
                       << " does not fit the state of " << program.stateBytes
                       << " bytes";
  bool isFlat = argument.kind == ArgumentKind::Shard ||
                argument.kind == ArgumentKind::Gradient;
  if (failed(isFlat ? readShard(entry, argument) : readDims(entry, argument)))
    return failure();
  program.arguments.push_back(std::move(argument));
  return success();
}

/// Without a layout, every rank holds the whole.
LogicalResult ProgramReader::readDims(const Entry &entry,
                                      ProgramArgument &argument) {
  ArrayRef<int64_t> global = argument.shape;
  if (auto attribute = entry.dict.getAs<TypeAttr>("global_type")) {
    auto type = dyn_cast<RankedTensorType>(attribute.getValue());
    if (!type || !type.hasStaticShape() ||
        !isLegalShape(type.getShape(), argument.dtype))
      return fail(entry) << "'global_type' must be a static tensor, got "
                         << attribute.getValue();
    global = type.getShape();
  }
  auto layout = entry.dict.getAs<ArrayAttr>("layout");
  size_t rank = argument.shape.size();
  if (global.size() != rank || (layout && layout.size() != rank))
    return fail(entry) << "'type', 'global_type' and 'layout' of \""
                       << argument.name << "\" must have the same rank";
  for (auto [i, local] : llvm::enumerate(argument.shape)) {
    ProgramDim dim{global[i], local, {}};
    if (layout) {
      auto axes = getAxes(entry, layout[i]);
      if (failed(axes))
        return failure();
      dim.axes = std::move(*axes);
    }
    int64_t count = getRankPlace(program.axisSizes, dim.axes, 0).count;
    if (local != static_cast<int64_t>(llvm::divideCeil(global[i], count)))
      return fail(entry) << "dimension " << i << " of \"" << argument.name
                         << "\" has " << global[i] << " elements over " << count
                         << " ranks, expected "
                         << llvm::divideCeil(global[i], count)
                         << " on each, got " << local;
    argument.dims.push_back(std::move(dim));
  }
  return success();
}

LogicalResult ProgramReader::readShard(const Entry &entry,
                                       ProgramArgument &argument) {
  auto axes = getAxes(entry, entry.dict.get("axes"));
  auto total = getInteger(entry, "total", INT64_MAX);
  auto shard = getInteger(entry, "shard", INT64_MAX);
  auto segments = get<ArrayAttr>(entry, "segments", "an array");
  if (failed(axes) || failed(total) || failed(shard) || failed(segments))
    return failure();
  if (argument.getNumElements() != *shard)
    return fail(entry) << "'type' must have " << *shard << " elements, got "
                       << argument.getNumElements();
  argument.axes = std::move(*axes);
  int64_t count = getRankPlace(program.axisSizes, argument.axes, 0).count;
  std::optional<int64_t> held = llvm::checkedMul(*shard, count);
  if (!held || *held < *total)
    return fail(entry) << count << " shards of " << *shard
                       << " elements cannot hold " << *total;
  for (Attribute segment : *segments)
    if (failed(readSegment(entry, segment, *total, argument)))
      return failure();
  return success();
}

LogicalResult ProgramReader::readSegment(const Entry &entry,
                                         Attribute attribute, int64_t total,
                                         ProgramArgument &argument) {
  Entry inner{dyn_cast<DictionaryAttr>(attribute), entry.place + "segment: "};
  if (!inner.dict)
    return fail(inner) << "must be a dictionary, got " << attribute;
  auto name = getString(inner, "name");
  auto offset = getInteger(inner, "offset", total);
  if (failed(name) || failed(offset))
    return failure();
  Segment segment{*name, *offset, {}};
  Attribute shape = inner.dict.get("shape");
  if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(shape)) {
    llvm::append_range(segment.shape, dense.asArrayRef());
  } else if (auto list = dyn_cast_or_null<ArrayAttr>(shape)) {
    for (Attribute size : list) {
      auto value = dyn_cast<IntegerAttr>(size);
      segment.shape.push_back(
          value ? value.getValue().trySExtValue().value_or(-1) : -1);
    }
  } else {
    return fail(inner) << "'shape' must be an array of integers";
  }
  if (!isLegalShape(segment.shape, argument.dtype) ||
      segment.getNumElements() > total - *offset)
    return fail(inner) << "\"" << *name << "\" does not fit the flat buffer of "
                       << total << " elements";
  argument.segments.push_back(std::move(segment));
  return success();
}
