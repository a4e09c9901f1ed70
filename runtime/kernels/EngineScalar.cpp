//===- EngineScalar.cpp - Tiles in std::fma -------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Right on every processor: where there is no fma instruction the C library
// computes one in integers. Where the compiler's target has it (AArch64), the
// loop over columns becomes vector code.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "Pack.h"

#include <cmath>

namespace dsv4rt::kernels {

namespace {

constexpr int64_t kRows = 8, kWidth = 16;

template <typename T>
void scalarTile(int64_t rows, int64_t cols, int64_t k, const T *a, const T *b,
                T *c, int64_t ldc, bool fromZero) {
  for (int64_t i = 0; i < rows; ++i) {
    T acc[kWidth] = {};
    if (!fromZero)
      for (int64_t j = 0; j < cols; ++j)
        acc[j] = c[i * ldc + j];
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < kWidth; ++j)
        acc[j] = std::fma(a[i * kLdA + p], b[p * kWidth + j], acc[j]);
    for (int64_t j = 0; j < cols; ++j)
      c[i * ldc + j] = acc[j];
  }
}

constexpr Engine kScalar = {{kRows, kWidth, 0, scalarTile<float>, packScalar},
                            {kRows, kWidth, 0, scalarTile<double>, packScalar},
                            narrowScalar};

} // namespace

const Engine *getScalarEngine() { return &kScalar; }

} // namespace dsv4rt::kernels
