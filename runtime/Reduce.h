//===- Reduce.h - Rank-order reductions -------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference semantics of every reduction: operands are combined in rank
// order, in an accumulator of f64 for f64, f32 for f32, bf16 and f16 (rounded
// once at the end), and the own type, wrapping, for integers. All CPU backends
// call this, so their results agree bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_REDUCE_H
#define DSV4_RUNTIME_REDUCE_H

#include <cstdint>

namespace dsv4::rt {

/// dst[i] = reduction over k of srcs[k][begin + i], for i in [0, count). `dst`
/// may be srcs[k] + begin for some k, and may not overlap a source otherwise.
using ReduceFn = void (*)(const void *const *srcs, int32_t numSrcs,
                          int64_t begin, int64_t count, void *dst);

/// The kernel for a pair that isReductionSupported accepts, chosen for this
/// processor; null for any other.
ReduceFn getReduceKernel(uint32_t dtype, uint32_t redop);

/// The two builds behind getReduceKernel, for tests that compare them. Null
/// when the build or the processor lacks one.
ReduceFn getBaselineReduceKernel(uint32_t dtype, uint32_t redop);
ReduceFn getAvx2ReduceKernel(uint32_t dtype, uint32_t redop);

} // namespace dsv4::rt

#endif // DSV4_RUNTIME_REDUCE_H
