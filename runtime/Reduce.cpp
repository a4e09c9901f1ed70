//===- Reduce.cpp - Rank-order reductions, baseline and choice ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include "ReduceKernels.inc"

namespace dsv4::rt {

ReduceFn getBaselineReduceKernel(uint32_t dtype, uint32_t redop) {
  return selectKernel(dtype, redop);
}

ReduceFn getReduceKernel(uint32_t dtype, uint32_t redop) {
  ReduceFn fast = getAvx2ReduceKernel(dtype, redop);
  return fast ? fast : selectKernel(dtype, redop);
}

} // namespace dsv4::rt
