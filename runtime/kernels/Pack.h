//===- Pack.h - Widening copies and rounding --------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_KERNELS_PACK_H
#define DSV4_RUNTIME_KERNELS_PACK_H

#include "Engine.h"

#include <cstring>

namespace dsv4rt::kernels {

inline float widen(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }

/// Rounds to bf16, nearest even; a NaN stays a (quiet) NaN.
inline uint16_t narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Plain loops, any strides.
void packScalar(float *dst, int64_t ld, const MatrixRef &src, int64_t rows,
                int64_t cols, int64_t paddedCols);
void packScalar(double *dst, int64_t ld, const MatrixRef &src, int64_t rows,
                int64_t cols, int64_t paddedCols);
void narrowScalar(uint16_t *dst, const float *src, int64_t count);

/// Vector code for a unit row or column stride, else the plain loops. To be
/// called only where the processor has AVX2.
void packAvx2(float *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols);
void packAvx2(double *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols);
void narrowAvx2(uint16_t *dst, const float *src, int64_t count);

} // namespace dsv4rt::kernels

#endif // DSV4_RUNTIME_KERNELS_PACK_H
