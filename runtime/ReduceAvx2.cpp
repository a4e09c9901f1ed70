//===- ReduceAvx2.cpp - Rank-order reductions with AVX2 and F16C ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled with these instruction sets enabled where the compiler targets
// x86-64; elsewhere it only says that there is no such kernel.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#ifdef __AVX2__

#include "ReduceKernels.inc"

dsv4::rt::ReduceFn dsv4::rt::getAvx2ReduceKernel(uint32_t dtype,
                                                 uint32_t redop) {
  static const bool available =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return available ? selectKernel(dtype, redop) : nullptr;
}

#else

dsv4::rt::ReduceFn dsv4::rt::getAvx2ReduceKernel(uint32_t, uint32_t) {
  return nullptr;
}

#endif
