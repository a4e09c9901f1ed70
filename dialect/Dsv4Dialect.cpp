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

/// (A1) Attributes that hold a name are non-empty strings.
static LogicalResult verifyNameAttr(Operation *op, NamedAttribute attr) {
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (!name || name.empty())
    return op->emitError() << "'" << attr.getName().getValue()
                           << "' must be a non-empty string, got "
                           << attr.getValue();
  return success();
}

static bool isNameAttr(StringRef name) {
  return name == kBatchAttr || name == kParamAttr || name == kBufferAttr ||
         name == kResultAttr || name == kPathAttr || name == kCastAttr;
}

/// (A2) Marks have no value: their presence says it.
static LogicalResult verifyMarkAttr(Operation *op, NamedAttribute attr) {
  if (isa<UnitAttr>(attr.getValue()))
    return success();
  return op->emitError() << "'" << attr.getName().getValue()
                         << "' must be a unit attribute, got "
                         << attr.getValue();
}

static LogicalResult verifyDiscardableAttr(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (isNameAttr(name))
    return verifyNameAttr(op, attr);
  if (name == kFrozenAttr || name == kKernelAttr)
    return verifyMarkAttr(op, attr);
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
