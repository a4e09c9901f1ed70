//===- PackAvx2.cpp - Widening copies and transposes in AVX2 --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pack.h"

#if defined(__x86_64__)

#include <cstring>
#include <immintrin.h>

#define DSV4_TARGET __attribute__((target("avx2")))
#define DSV4_ISA __attribute__((always_inline)) static inline DSV4_TARGET

namespace dsv4rt::kernels {

namespace {

struct F64Lanes {
  using Scalar = double;
  using Source = double;
  using Vector = __m256d;
  static constexpr int kLanes = 4;
  DSV4_ISA Vector load(const double *p) { return _mm256_loadu_pd(p); }
  DSV4_ISA void store(double *p, Vector v) { _mm256_storeu_pd(p, v); }
  DSV4_ISA Vector zero() { return _mm256_setzero_pd(); }
  DSV4_ISA void transpose(Vector (&r)[4]) {
    const Vector a = _mm256_unpacklo_pd(r[0], r[1]);
    const Vector b = _mm256_unpackhi_pd(r[0], r[1]);
    const Vector c = _mm256_unpacklo_pd(r[2], r[3]);
    const Vector d = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(a, c, 0x20);
    r[1] = _mm256_permute2f128_pd(b, d, 0x20);
    r[2] = _mm256_permute2f128_pd(a, c, 0x31);
    r[3] = _mm256_permute2f128_pd(b, d, 0x31);
  }
};

struct F32Lanes {
  using Scalar = float;
  using Source = float;
  using Vector = __m256;
  static constexpr int kLanes = 8;
  DSV4_ISA Vector load(const float *p) { return _mm256_loadu_ps(p); }
  DSV4_ISA void store(float *p, Vector v) { _mm256_storeu_ps(p, v); }
  DSV4_ISA Vector zero() { return _mm256_setzero_ps(); }
  /// Pairs, then fours, then halves of 128 bits.
  DSV4_ISA void transpose(Vector (&r)[8]) {
    Vector t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    Vector s[8];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const Vector *u = t + 4 * h;
      s[4 * h] = _mm256_shuffle_ps(u[0], u[2], 0x44);
      s[4 * h + 1] = _mm256_shuffle_ps(u[0], u[2], 0xee);
      s[4 * h + 2] = _mm256_shuffle_ps(u[1], u[3], 0x44);
      s[4 * h + 3] = _mm256_shuffle_ps(u[1], u[3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(s[i], s[4 + i], 0x20);
      r[4 + i] = _mm256_permute2f128_ps(s[i], s[4 + i], 0x31);
    }
  }
};

struct BF16Lanes : F32Lanes {
  using Source = uint16_t;
  DSV4_ISA Vector load(const uint16_t *p) {
    const __m128i bits = _mm_loadu_si128(
        static_cast<const __m128i *>(static_cast<const void *>(p)));
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

/// Columns are contiguous in memory.
template <typename Lanes>
DSV4_TARGET void copyRows(typename Lanes::Scalar *dst, int64_t ld,
                          const typename Lanes::Source *src, int64_t stride,
                          int64_t rows, int64_t cols, int64_t paddedCols) {
  constexpr int64_t kStep = Lanes::kLanes;
  for (int64_t i = 0; i < rows; ++i) {
    typename Lanes::Scalar *to = dst + i * ld;
    const typename Lanes::Source *from = src + i * stride;
    int64_t j = 0;
    for (; j + kStep <= cols; j += kStep)
      Lanes::store(to + j, Lanes::load(from + j));
    for (; j < cols; ++j)
      to[j] = widen(from[j]);
    for (; j < paddedCols; ++j)
      to[j] = 0;
  }
}

/// The first `rows` rows (at most kLanes) of the transpose of `cols` columns.
template <typename Lanes>
DSV4_ISA void transposeBlock(typename Lanes::Scalar *dst, int64_t ld,
                             const typename Lanes::Source *src, int64_t stride,
                             int64_t rows, int64_t cols) {
  constexpr int kLanes = Lanes::kLanes;
  typename Lanes::Vector r[kLanes];
  if (rows == kLanes && cols == kLanes) {
#pragma GCC unroll 8
    for (int j = 0; j < kLanes; ++j)
      r[j] = Lanes::load(src + j * stride);
  } else {
    // Elements outside the matrix are not touched, not even by a load.
    typename Lanes::Source edge[kLanes][kLanes] = {};
    for (int64_t j = 0; j < cols; ++j)
      std::memcpy(edge[j], src + j * stride,
                  static_cast<size_t>(rows) * sizeof(edge[0][0]));
#pragma GCC unroll 8
    for (int j = 0; j < kLanes; ++j)
      r[j] = Lanes::load(edge[j]);
  }
  Lanes::transpose(r);
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; ++i)
    if (i < rows)
      Lanes::store(dst + i * ld, r[i]);
}

/// Rows are contiguous in memory. Columns are written in whole vectors, so
/// `ld` must leave room for `cols` rounded up to them.
template <typename Lanes>
DSV4_TARGET void transposeRows(typename Lanes::Scalar *dst, int64_t ld,
                               const typename Lanes::Source *src,
                               int64_t stride, int64_t rows, int64_t cols,
                               int64_t paddedCols) {
  constexpr int64_t kLanes = Lanes::kLanes;
  int64_t j = 0;
  for (; j < cols; j += kLanes) {
    const int64_t width = cols - j < kLanes ? cols - j : kLanes;
    for (int64_t i = 0; i < rows; i += kLanes) {
      const int64_t height = rows - i < kLanes ? rows - i : kLanes;
      transposeBlock<Lanes>(dst + i * ld + j, ld, src + i + j * stride, stride,
                            height, width);
    }
  }
  for (; j < paddedCols; j += kLanes)
    for (int64_t i = 0; i < rows; ++i)
      Lanes::store(dst + i * ld + j, Lanes::zero());
}

template <typename Lanes>
void packLanes(typename Lanes::Scalar *dst, int64_t ld, const MatrixRef &ref,
               int64_t rows, int64_t cols, int64_t paddedCols) {
  const auto *src = static_cast<const typename Lanes::Source *>(ref.data);
  if (ref.colStride == 1)
    copyRows<Lanes>(dst, ld, src, ref.rowStride, rows, cols, paddedCols);
  else if (ref.rowStride == 1)
    transposeRows<Lanes>(dst, ld, src, ref.colStride, rows, cols, paddedCols);
  else
    packScalar(dst, ld, ref, rows, cols, paddedCols);
}

} // namespace

void packAvx2(float *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols) {
  if (src.type == ElementType::BF16)
    packLanes<BF16Lanes>(dst, ld, src, rows, cols, paddedCols);
  else
    packLanes<F32Lanes>(dst, ld, src, rows, cols, paddedCols);
}

void packAvx2(double *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols) {
  packLanes<F64Lanes>(dst, ld, src, rows, cols, paddedCols);
}

DSV4_TARGET void narrowAvx2(uint16_t *dst, const float *src, int64_t count) {
  const __m256i half = _mm256_set1_epi32(0x7fff);
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i quiet = _mm256_set1_epi32(0x400000);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(src + i);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(half, odd));
    const __m256i nan =
        _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i picked =
        _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), nan);
    const __m256i high = _mm256_srli_epi32(picked, 16);
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(high),
                                            _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(static_cast<__m128i *>(static_cast<void *>(dst + i)),
                     packed);
  }
  narrowScalar(dst + i, src + i, count - i);
}

} // namespace dsv4rt::kernels

#else

namespace dsv4rt::kernels {

void packAvx2(float *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols) {
  packScalar(dst, ld, src, rows, cols, paddedCols);
}
void packAvx2(double *dst, int64_t ld, const MatrixRef &src, int64_t rows,
              int64_t cols, int64_t paddedCols) {
  packScalar(dst, ld, src, rows, cols, paddedCols);
}
void narrowAvx2(uint16_t *dst, const float *src, int64_t count) {
  narrowScalar(dst, src, count);
}

} // namespace dsv4rt::kernels

#endif
