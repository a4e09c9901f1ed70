//===- Dsv4GradientOps.cpp - gradients of sharded parameters --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dsv4;

static bool isFrozen(DictionaryAttr buffer) {
  return buffer.getAs<BoolAttr>("frozen").getValue();
}

/// (C2) The shapes of the parameters that are not frozen, in unit order.
static LogicalResult verifyGradients(GradReduceScatterOp op, FsdpUnitOp unit) {
  llvm::StringMap<ArrayRef<int64_t>> shapes;
  for (auto buffer : unit.getBuffersAttr().getAsRange<DictionaryAttr>())
    if (!isFrozen(buffer))
      for (auto segment :
           buffer.getAs<ArrayAttr>("segments").getAsRange<DictionaryAttr>())
        shapes[segment.getAs<StringAttr>("name")] =
            segment.getAs<DenseI64ArrayAttr>("shape").asArrayRef();
  if (op.getGradients().size() != shapes.size())
    return op.emitOpError() << "has " << op.getGradients().size()
                            << " gradients, expected one per parameter of "
                            << op.getUnitAttr() << " that is not frozen, "
                            << shapes.size();
  unsigned next = 0;
  for (auto name : unit.getParams().getAsRange<StringAttr>()) {
    auto shape = shapes.find(name);
    if (shape == shapes.end())
      continue;
    auto type = cast<RankedTensorType>(op.getGradients()[next++].getType());
    if (type.getShape() != shape->second || !isa<FloatType>(type.getElementType()))
      return op.emitOpError()
             << "gradient of parameter " << name << " has type " << type
             << ", expected floats of shape [" << shape->second << "]";
  }
  return success();
}

/// (C3) One shard per buffer that is not frozen.
static LogicalResult verifyShards(GradReduceScatterOp op, FsdpUnitOp unit) {
  SmallVector<Type> expected;
  for (auto buffer : unit.getBuffersAttr().getAsRange<DictionaryAttr>())
    if (!isFrozen(buffer))
      expected.push_back(RankedTensorType::get(
          {buffer.getAs<IntegerAttr>("shard").getInt()}, unit.getReduceDtype()));
  if (TypeRange(op.getShards()) != TypeRange(expected))
    return op.emitOpError() << "returns (" << op.getShards().getTypes()
                            << "), expected the shards (" << expected << ")";
  return success();
}

LogicalResult
GradReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols)) ||
      failed(computeGroupSize(*this, getMeshAttr(), getReplicasAttr(), symbols)))
    return failure();
  for (Attribute axis : getReplicas()) // (C4)
    if (llvm::is_contained(getAxes(), axis))
      return emitOpError() << "has axis " << axis
                           << " in both 'axes' and 'replicas'";
  auto unit = symbols.lookupNearestSymbolFrom<FsdpUnitOp>(*this, getUnitAttr());
  if (!unit || !unit.getBuffersAttr()) // (C1)
    return emitOpError() << "'unit' must name a dsv4.fsdp_unit with buffers, got "
                         << getUnitAttr();
  if (unit.getMeshAttr() != getMeshAttr() || unit.getAxesAttr() != getAxesAttr())
    return emitOpError() << "reduces over " << getAxesAttr() << ", expected "
                         << unit.getAxesAttr() << " of its unit";
  return success(succeeded(verifyGradients(*this, unit)) &&
                 succeeded(verifyShards(*this, unit)));
}
