//===- Dsv4KernelOps.cpp - kernel launches ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dsv4;

LogicalResult LaunchOp::verify() {
  for (int64_t i : getWrites()) // (C2)
    if (i < 0 || i >= static_cast<int64_t>(getOperands().size()) ||
        !isa<MemRefType>(getOperands()[i].getType()))
      return emitOpError() << "'writes' must name memref operands, got " << i;
  return success();
}

/// True if both are equal, or memrefs that differ only in their offset.
static bool isCompatible(Type operand, Type argument) {
  auto from = dyn_cast<MemRefType>(operand), to = dyn_cast<MemRefType>(argument);
  if (!from || !to)
    return operand == argument;
  SmallVector<int64_t> fromStrides, toStrides;
  int64_t fromOffset, toOffset;
  return from.getShape() == to.getShape() &&
         from.getElementType() == to.getElementType() &&
         succeeded(from.getStridesAndOffset(fromStrides, fromOffset)) &&
         succeeded(to.getStridesAndOffset(toStrides, toOffset)) &&
         fromStrides == toStrides && toOffset == 0;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel->hasAttr(kKernelAttr)) // (C1)
    return emitOpError() << "'kernel' must name a function marked '"
                         << kKernelAttr << "', got " << getKernelAttr();
  if (kernel.getNumResults())
    return emitOpError() << "'kernel' must have no results, got "
                         << getKernelAttr();
  TypeRange arguments = kernel.getArgumentTypes();
  if (arguments.size() != getOperands().size())
    return emitOpError() << "has " << getOperands().size()
                         << " operands, expected " << arguments.size();
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (!isCompatible(getOperands()[i].getType(), arguments[i]))
      return emitOpError() << "operand " << i << " has type "
                           << getOperands()[i].getType() << ", expected "
                           << arguments[i];
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  for (int64_t i : getWrites())
    effects.emplace_back(MemoryEffects::Write::get(),
                         &getOperation()->getOpOperand(i));
}
