//===- Dsv4Interfaces.h - interfaces of dsv4 operations --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_IR_DSV4INTERFACES_H
#define DSV4_IR_DSV4INTERFACES_H

#include "dsv4/IR/LayoutRule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dsv4 {

/// Number of ranks in the group that `axes` of the mesh span. Emits a located
/// error on `op` when the mesh does not exist (G1) or an axis is not declared
/// or named twice (G2).
FailureOr<int64_t> computeGroupSize(Operation *op, FlatSymbolRefAttr mesh,
                                    ArrayAttr axes);

/// The same check inside `verifySymbolUses`.
FailureOr<int64_t> computeGroupSize(Operation *op, FlatSymbolRefAttr mesh,
                                    ArrayAttr axes,
                                    SymbolTableCollection &symbols);

} // namespace mlir::dsv4

#include "dsv4/IR/Dsv4Interfaces.h.inc"

#endif // DSV4_IR_DSV4INTERFACES_H
