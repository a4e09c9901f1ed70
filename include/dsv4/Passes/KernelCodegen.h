//===- KernelCodegen.h - from kernels to LLVM functions --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_KERNELCODEGEN_H
#define DSV4_PASSES_KERNELCODEGEN_H

#include "mlir/Pass/PassManager.h"

namespace mlir::dsv4 {

/// Turns every function marked `dsv4.kernel` into an `llvm.func` of one bare
/// pointer for each memref and one i64 for each index. Other functions, in
/// whatever dialect, pass through untouched. `pm` is anchored on modules.
void addKernelCodegenPasses(OpPassManager &pm);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_KERNELCODEGEN_H
