//===- Dsv4StructureOps.cpp - modules and FSDP units ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

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
  if (yield.getOperandTypes() != getResultTypes()) // (C2)
    return emitOpError() << "yields " << yield.getOperandTypes()
                         << ", expected " << getResultTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// FsdpUnitOp
//===----------------------------------------------------------------------===//

LogicalResult FsdpUnitOp::verify() {
  llvm::StringSet<> seen;
  for (StringAttr name : getParams().getAsRange<StringAttr>())
    if (!seen.insert(name.getValue()).second) // (C2)
      return emitOpError() << "parameter " << name << " is listed twice";
  if (getIsland()) // (C3)
    for (Type type : {getGatherDtype(), getReduceDtype()})
      if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() < 32)
        return emitOpError() << "is an island and needs a float of at least 32 "
                                "bits, got "
                             << type;
  return success();
}

LogicalResult FsdpUnitOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols); // (C1)
}
