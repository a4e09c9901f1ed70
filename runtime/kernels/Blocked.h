//===- Blocked.h - One matrix product, blocked and packed -------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_KERNELS_BLOCKED_H
#define DSV4_RUNTIME_KERNELS_BLOCKED_H

#include "Engine.h"

namespace dsv4rt::kernels {

/// One product of matrices, without batch. All extents are positive but `k`.
struct Product {
  int64_t m, n, k;
  MatrixRef a, b, c; ///< c.data is written
  bool accumulate;
};

/// Computes `product` with `engine`. `T` is the accumulator type.
template <typename T>
void runBlocked(const Engine &engine, const Product &product);

extern template void runBlocked<float>(const Engine &, const Product &);
extern template void runBlocked<double>(const Engine &, const Product &);

} // namespace dsv4rt::kernels

#endif // DSV4_RUNTIME_KERNELS_BLOCKED_H
