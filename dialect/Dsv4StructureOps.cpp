//===- Dsv4StructureOps.cpp - modules and FSDP units ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// ModuleOp
//===----------------------------------------------------------------------===//

LogicalResult dsv4::ModuleOp::verify() {
  if (getPath().empty()) // (C1)
    return emitOpError() << "'path' must not be empty";
  if (auto parent = (*this)->getParentOfType<dsv4::ModuleOp>()) {
    std::string prefix = (parent.getPath() + ".").str();
    if (!getPath().starts_with(prefix))
      return emitOpError() << "'path' must extend \"" << parent.getPath()
                           << "\", got \"" << getPath() << "\"";
  }
  auto yield = dyn_cast_or_null<YieldOp>(getBody().front().empty()
                                             ? nullptr
                                             : &getBody().front().back());
  if (!yield)
    return emitOpError() << "must end in dsv4.yield";
  if (yield.getNumOperands() != getNumResults()) // (C2)
    return emitOpError() << "yields " << yield.getNumOperands()
                         << " values, expected " << getNumResults();
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "yields " << yield.getOperandTypes()
                         << ", expected " << getResultTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// FsdpUnitOp
//===----------------------------------------------------------------------===//

/// A non-negative i64 of a dictionary, or nullopt.
static std::optional<int64_t> findCount(DictionaryAttr dict, StringRef name) {
  auto attr = dict ? dict.getAs<IntegerAttr>(name) : IntegerAttr();
  if (!attr || !attr.getType().isInteger(64) || attr.getInt() < 0)
    return std::nullopt;
  return attr.getInt();
}

/// (C5) The segments of one buffer ascend and stay inside it.
static LogicalResult verifySegments(FsdpUnitOp op, size_t buffer,
                                    ArrayAttr segments, int64_t total) {
  int64_t end = 0;
  for (Attribute attr : segments) {
    auto segment = dyn_cast<DictionaryAttr>(attr);
    auto name = segment ? segment.getAs<StringAttr>("name") : StringAttr();
    auto shape = segment ? segment.getAs<DenseI64ArrayAttr>("shape")
                         : DenseI64ArrayAttr();
    std::optional<int64_t> offset = findCount(segment, "offset");
    if (!name || !shape || !offset)
      return op.emitOpError() << "a segment of buffer " << buffer
                              << " needs 'name', 'offset' and 'shape'";
    int64_t count = 1;
    bool fits = *offset >= end;
    for (int64_t size : shape.asArrayRef())
      fits &= size >= 0 && !llvm::MulOverflow(count, size, count);
    if (!fits || llvm::AddOverflow(*offset, count, end) || end > total)
      return op.emitOpError()
             << "segment " << name << " of buffer " << buffer
             << " must start after the one before it and end within " << total
             << " elements";
  }
  return success();
}

/// (C5) The form of each flat buffer.
static LogicalResult verifyBuffers(FsdpUnitOp op, ArrayAttr buffers) {
  for (auto [i, attr] : llvm::enumerate(buffers)) {
    auto buffer = dyn_cast<DictionaryAttr>(attr);
    auto dtype = buffer ? buffer.getAs<TypeAttr>("dtype") : TypeAttr();
    auto segments = buffer ? buffer.getAs<ArrayAttr>("segments") : ArrayAttr();
    std::optional<int64_t> total = findCount(buffer, "total");
    if (!dtype || !isa<FloatType>(dtype.getValue()) || !segments || !total ||
        !findCount(buffer, "shard") || !buffer.getAs<BoolAttr>("frozen"))
      return op.emitOpError() << "buffer " << i
                              << " needs a float 'dtype', 'frozen', 'total', "
                                 "'shard' and 'segments'";
    if (failed(verifySegments(op, i, segments, *total)))
      return failure();
  }
  return success();
}

LogicalResult FsdpUnitOp::verify() {
  llvm::StringSet<> seen;
  for (StringAttr name : getParams().getAsRange<StringAttr>())
    if (!seen.insert(name.getValue()).second) // (C2)
      return emitOpError() << "parameter " << name << " is listed twice";
  for (Type type : {getGatherDtype(), getReduceDtype()}) {
    if (!isa<FloatType>(type)) // (C4)
      return emitOpError() << "gathers and reduces floats, got " << type;
    if (getIsland() && type.getIntOrFloatBitWidth() < 32) // (C3)
      return emitOpError() << "is an island and needs a float of at least 32 "
                              "bits, got "
                           << type;
  }
  return getBuffersAttr() ? verifyBuffers(*this, getBuffersAttr()) : success();
}

LogicalResult FsdpUnitOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> ranks =
      computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols); // (C1)
  if (failed(ranks) || !getBuffersAttr())
    return ranks;
  for (auto [i, buffer] :
       llvm::enumerate(getBuffersAttr().getAsRange<DictionaryAttr>())) {
    int64_t shard = buffer.getAs<IntegerAttr>("shard").getInt(), held;
    int64_t total = buffer.getAs<IntegerAttr>("total").getInt();
    if (!llvm::MulOverflow(shard, *ranks, held) && held < total) // (C6)
      return emitOpError() << "buffer " << i << " has " << total
                           << " elements, but " << *ranks << " shards of "
                           << shard << " hold " << held;
  }
  return success();
}
