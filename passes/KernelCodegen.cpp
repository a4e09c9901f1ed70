//===- KernelCodegen.cpp - from kernels to LLVM functions -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Passes/KernelCodegen.h"
#include "dsv4/Passes/Passes.h"

using namespace mlir;

void dsv4::addKernelCodegenPasses(OpPassManager &pm) {
  // Fixes the order of every sum.
  pm.addPass(createDecomposePass());
  // Kernels only: main and blocks may be LLVM functions already.
  pm.addPass(createLowerKernelsPass());
}
