//===- Pack.cpp - Widening copies in plain loops --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pack.h"

namespace dsv4rt::kernels {

namespace {

template <typename T, typename S>
void packTyped(T *dst, int64_t ld, const S *src, const MatrixRef &ref,
               int64_t rows, int64_t cols, int64_t paddedCols) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j)
      dst[i * ld + j] = widen(src[i * ref.rowStride + j * ref.colStride]);
    for (int64_t j = cols; j < paddedCols; ++j)
      dst[i * ld + j] = T(0);
  }
}

} // namespace

void packScalar(float *dst, int64_t ld, const MatrixRef &src, int64_t rows,
                int64_t cols, int64_t paddedCols) {
  if (src.type == ElementType::BF16)
    packTyped(dst, ld, static_cast<const uint16_t *>(src.data), src, rows, cols,
              paddedCols);
  else
    packTyped(dst, ld, static_cast<const float *>(src.data), src, rows, cols,
              paddedCols);
}

void packScalar(double *dst, int64_t ld, const MatrixRef &src, int64_t rows,
                int64_t cols, int64_t paddedCols) {
  packTyped(dst, ld, static_cast<const double *>(src.data), src, rows, cols,
            paddedCols);
}

void narrowScalar(uint16_t *dst, const float *src, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = narrow(src[i]);
}

} // namespace dsv4rt::kernels
