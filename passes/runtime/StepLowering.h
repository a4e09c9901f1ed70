//===- StepLowering.h - the main program as calls --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_RUNTIME_STEPLOWERING_H
#define DSV4_PASSES_RUNTIME_STEPLOWERING_H

#include "ProgramTables.h"

namespace mlir::dsv4 {

/// Replaces the public function and the blocks by functions of the LLVM
/// dialect, and erases mesh and units. Kernels stay. A located error leaves the
/// module as it was.
LogicalResult lowerStep(func::FuncOp entry, ProgramTables &tables);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_RUNTIME_STEPLOWERING_H
