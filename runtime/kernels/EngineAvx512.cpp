//===- EngineAvx512.cpp - Tiles in AVX-512 --------------------------------===//
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

#define DSV4_TARGET __attribute__((target("avx512f,avx2,fma")))
#define DSV4_ISA __attribute__((always_inline)) static inline DSV4_TARGET

struct Avx512F32 {
  using Scalar = float;
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16, kRows = 14;
  DSV4_ISA Vector zero() { return _mm512_setzero_ps(); }
  DSV4_ISA Vector load(const float *p) { return _mm512_loadu_ps(p); }
  DSV4_ISA void store(float *p, Vector v) { _mm512_storeu_ps(p, v); }
  DSV4_ISA Vector broadcast(float x) { return _mm512_set1_ps(x); }
  DSV4_ISA Mask mask(int64_t n) { return Mask((1u << n) - 1u); }
  DSV4_ISA Vector maskLoad(Mask m, const float *p) {
    return _mm512_maskz_loadu_ps(m, p);
  }
  DSV4_ISA void maskStore(Mask m, float *p, Vector v) {
    _mm512_mask_storeu_ps(p, m, v);
  }
  DSV4_ISA Vector fma(Vector a, Vector b, Vector c) {
    return _mm512_fmadd_ps(a, b, c);
  }
};

struct Avx512F64 {
  using Scalar = double;
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8, kRows = 14;
  DSV4_ISA Vector zero() { return _mm512_setzero_pd(); }
  DSV4_ISA Vector load(const double *p) { return _mm512_loadu_pd(p); }
  DSV4_ISA void store(double *p, Vector v) { _mm512_storeu_pd(p, v); }
  DSV4_ISA Vector broadcast(double x) { return _mm512_set1_pd(x); }
  DSV4_ISA Mask mask(int64_t n) { return Mask((1u << n) - 1u); }
  DSV4_ISA Vector maskLoad(Mask m, const double *p) {
    return _mm512_maskz_loadu_pd(m, p);
  }
  DSV4_ISA void maskStore(Mask m, double *p, Vector v) {
    _mm512_mask_storeu_pd(p, m, v);
  }
  DSV4_ISA Vector fma(Vector a, Vector b, Vector c) {
    return _mm512_fmadd_pd(a, b, c);
  }
};

#include "Tile.inc"

constexpr Engine kAvx512 = {makeTileEngine<Avx512F32>(packAvx2),
                            makeTileEngine<Avx512F64>(packAvx2), narrowAvx2};

} // namespace

const Engine *getAvx512Engine() {
  const bool has = __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx2") &&
                   __builtin_cpu_supports("fma");
  return has ? &kAvx512 : nullptr;
}

} // namespace dsv4rt::kernels

#else

namespace dsv4rt::kernels {
const Engine *getAvx512Engine() { return nullptr; }
} // namespace dsv4rt::kernels

#endif
