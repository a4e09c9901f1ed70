//===- Dsv4Dialect.cpp - the dsv4 dialect ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Dialect.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsv4;

#include "dsv4/IR/Dsv4Dialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dsv4/IR/Dsv4Types.cpp.inc"

void Dsv4Dialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dsv4/IR/Dsv4Types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dsv4/IR/Dsv4Ops.cpp.inc"
      >();
}

static InFlightDiagnostic emitExpected(Operation *op, NamedAttribute attr,
                                       StringRef expected) {
  return op->emitError() << "'" << attr.getName().getValue() << "' must be "
                         << expected << ", got " << attr.getValue();
}

/// (A1) Attributes that hold a name are non-empty strings.
static LogicalResult verifyNameAttr(Operation *op, NamedAttribute attr) {
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (!name || name.empty())
    return emitExpected(op, attr, "a non-empty string");
  return success();
}

static bool isNameAttr(StringRef name) {
  return name == kBatchAttr || name == kParamAttr || name == kBufferAttr ||
         name == kResultAttr || name == kPathAttr || name == kCastAttr ||
         name == kPhaseAttr;
}

/// (A2) Marks have no value: their presence says it.
static LogicalResult verifyMarkAttr(Operation *op, NamedAttribute attr) {
  if (isa<UnitAttr>(attr.getValue()))
    return success();
  return emitExpected(op, attr, "a unit attribute");
}

static bool isMarkAttr(StringRef name) {
  return name == kFrozenAttr || name == kNoGradAttr || name == kKernelAttr || name == kScratchAttr ||
         name == kWorkAttr || name == kAsStoredAttr;
}

/// (A3) A number counts from 0.
static LogicalResult verifyNumberAttr(Operation *op, NamedAttribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr.getValue());
  if (!number || !number.getType().isInteger(64) || number.getInt() < 0)
    return emitExpected(op, attr, "an i64 of at least 0");
  return success();
}

/// (A4) A layout lists the mesh axes that split each dimension.
static LogicalResult verifyLayoutAttr(Operation *op, NamedAttribute attr) {
  auto isAxes = [](Attribute dim) {
    auto axes = dyn_cast<ArrayAttr>(dim);
    return axes && llvm::all_of(axes, llvm::IsaPred<StringAttr>);
  };
  auto dims = dyn_cast<ArrayAttr>(attr.getValue());
  if (!dims || !llvm::all_of(dims, isAxes))
    return emitExpected(op, attr, "an array of arrays of strings");
  return success();
}

/// (A5) A global type is that of a tensor.
static LogicalResult verifyGlobalTypeAttr(Operation *op, NamedAttribute attr) {
  auto type = dyn_cast<TypeAttr>(attr.getValue());
  if (!type || !isa<RankedTensorType>(type.getValue()))
    return emitExpected(op, attr, "a ranked tensor type");
  return success();
}

/// (A6) A shard names its unit.
static LogicalResult verifyShardAttr(Operation *op, NamedAttribute attr) {
  if (isa<FlatSymbolRefAttr>(attr.getValue()))
    return success();
  return emitExpected(op, attr, "a symbol reference");
}

/// (A7) What is not backward is forward.
static LogicalResult verifyDirectionAttr(Operation *op, NamedAttribute attr) {
  auto direction = dyn_cast<StringAttr>(attr.getValue());
  if (direction && llvm::is_contained({"forward", "backward"}, direction.getValue()))
    return success();
  return emitExpected(op, attr, "\"forward\" or \"backward\"");
}

static LogicalResult verifyDiscardableAttr(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (isNameAttr(name))
    return verifyNameAttr(op, attr);
  if (isMarkAttr(name))
    return verifyMarkAttr(op, attr);
  if (name == kBufferIndexAttr || name == kLaunchAttr)
    return verifyNumberAttr(op, attr);
  if (name == kLayoutAttr)
    return verifyLayoutAttr(op, attr);
  if (name == kGlobalTypeAttr)
    return verifyGlobalTypeAttr(op, attr);
  if (name == kDirectionAttr)
    return verifyDirectionAttr(op, attr);
  if (name == kShardAttr)
    return verifyShardAttr(op, attr);
  return success();
}

LogicalResult Dsv4Dialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  return verifyDiscardableAttr(op, attr);
}

LogicalResult Dsv4Dialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned,
                                                    NamedAttribute attr) {
  return verifyDiscardableAttr(op, attr);
}

LogicalResult Dsv4Dialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned,
                                                       NamedAttribute attr) {
  return verifyDiscardableAttr(op, attr);
}
