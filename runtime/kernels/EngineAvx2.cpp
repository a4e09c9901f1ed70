//===- EngineAvx2.cpp - Tiles in AVX2 with FMA ----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "Pack.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace dsv4rt::kernels {

namespace {

#define DSV4_TARGET __attribute__((target("avx2,fma")))
#define DSV4_ISA __attribute__((always_inline)) static inline DSV4_TARGET

struct Avx2F32 {
  using Scalar = float;
  using Vector = __m256;
  using Mask = __m256i;
  static constexpr int kLanes = 8, kRows = 6;
  DSV4_ISA Vector zero() { return _mm256_setzero_ps(); }
  DSV4_ISA Vector load(const float *p) { return _mm256_loadu_ps(p); }
  DSV4_ISA void store(float *p, Vector v) { _mm256_storeu_ps(p, v); }
  DSV4_ISA Vector broadcast(float x) { return _mm256_set1_ps(x); }
  DSV4_ISA Mask mask(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  DSV4_ISA Vector maskLoad(Mask m, const float *p) {
    return _mm256_maskload_ps(p, m);
  }
  DSV4_ISA void maskStore(Mask m, float *p, Vector v) {
    _mm256_maskstore_ps(p, m, v);
  }
  DSV4_ISA Vector fma(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_ps(a, b, c);
  }
};

struct Avx2F64 {
  using Scalar = double;
  using Vector = __m256d;
  using Mask = __m256i;
  static constexpr int kLanes = 4, kRows = 6;
  DSV4_ISA Vector zero() { return _mm256_setzero_pd(); }
  DSV4_ISA Vector load(const double *p) { return _mm256_loadu_pd(p); }
  DSV4_ISA void store(double *p, Vector v) { _mm256_storeu_pd(p, v); }
  DSV4_ISA Vector broadcast(double x) { return _mm256_set1_pd(x); }
  DSV4_ISA Mask mask(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                              _mm256_setr_epi64x(0, 1, 2, 3));
  }
  DSV4_ISA Vector maskLoad(Mask m, const double *p) {
    return _mm256_maskload_pd(p, m);
  }
  DSV4_ISA void maskStore(Mask m, double *p, Vector v) {
    _mm256_maskstore_pd(p, m, v);
  }
  DSV4_ISA Vector fma(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_pd(a, b, c);
  }
};

#include "Tile.inc"

constexpr Engine kAvx2 = {makeTileEngine<Avx2F32>(packAvx2),
                          makeTileEngine<Avx2F64>(packAvx2), narrowAvx2};

} // namespace

const Engine *getAvx2Engine() {
  const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has ? &kAvx2 : nullptr;
}

} // namespace dsv4rt::kernels

#else

namespace dsv4rt::kernels {
const Engine *getAvx2Engine() { return nullptr; }
} // namespace dsv4rt::kernels

#endif
