//===- Dsv4Ops.h - operations of the dsv4 dialect --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_IR_DSV4OPS_H
#define DSV4_IR_DSV4OPS_H

#include "dsv4/IR/Dsv4Dialect.h"
#include "dsv4/IR/Dsv4Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsv4/IR/Dsv4Enums.h.inc"

#define GET_OP_CLASSES
#include "dsv4/IR/Dsv4Ops.h.inc"

#endif // DSV4_IR_DSV4OPS_H
