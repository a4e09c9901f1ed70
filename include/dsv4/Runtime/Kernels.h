/*===- Kernels.h - CPU kernel table: contractions ------------------*- C -*-===*
 *
 * Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Each element of C is one chain of fused multiply-adds over ascending k:
 *
 *   s = accumulate ? C[m,n] : +0
 *   s = fma(A[m,k], B[k,n], s)    for k = 0, 1, ...
 *   C[m,n] = s, rounded once to the type of C (nearest, ties to even)
 *
 * in f32 (f64 for f64 operands); bf16 is widened exactly. The bits of an
 * element therefore depend on its row of A and its column of B alone: not on
 * m, on how rows are split over calls, on strides, nor on the engine that ran.
 * The one exception is a NaN, whose sign and payload are unspecified.
 *
 * All entries are safe to call from many threads at once. They use 464 KiB of
 * thread-local scratch and allocate nothing, except that the first contraction
 * of the process chooses an engine and the C library may set up the scratch at
 * a thread's first call. C must not overlap A or B.
 *
 *===----------------------------------------------------------------------===*/

#ifndef DSV4_RUNTIME_KERNELS_H
#define DSV4_RUNTIME_KERNELS_H

#include "dsv4/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of `mode`. Others are refused with E_UNSUPPORTED. */
enum { DSV4RT_CONTRACT_EXACT = 0 };

/* Shape, strides and types of one contraction.
 *
 * Types: f64 x f64 -> f64, and {f32, bf16} x {f32, bf16} -> f32 or bf16.
 * Strides count elements and may be negative; those of A and B may be zero
 * (broadcast). A stride of C may be zero only where its extent is at most one.
 * An empty extent is legal: with k = 0 every chain has no link. */
typedef struct {
  uint32_t struct_size; /* sizeof(dsv4rt_contract_desc) */
  uint32_t mode;
  uint32_t a_dtype, b_dtype, c_dtype;
  uint32_t accumulate;       /* 0: chains start at +0; 1: at the value in C */
  int64_t batch[3], m, n, k; /* extents; unused batch dimensions are 1 */
  int64_t a_batch[3], a_m, a_k;
  int64_t b_batch[3], b_k, b_n;
  int64_t c_batch[3], c_m, c_n;
} dsv4rt_contract_desc;

/* C = A B, or C += A B. Returns a dsv4rt_status: OK; E_INVALID for a
 * descriptor that breaks a rule above or a null pointer to a non-empty
 * operand; E_UNSUPPORTED for another mode or combination of types. C is
 * untouched unless the status is OK. */
DSV4RT_API int32_t dsv4rt_contract(const dsv4rt_contract_desc *desc,
                                   const void *a, const void *b, void *c);

/* Rows [offsets[g], offsets[g+1]) of A and C belong to group g, which uses
 * B + g * b_group. `offsets` holds groups + 1 ascending values, from 0 to at
 * most m. Rows of C from offsets[groups] to m are written as zero, with
 * `accumulate` too. Batch extents must be 1. */
DSV4RT_API int32_t dsv4rt_grouped_contract(const dsv4rt_contract_desc *desc,
                                           int64_t groups, int64_t b_group,
                                           const int64_t *offsets,
                                           const void *a, const void *b,
                                           void *c);

/* k is divided into groups: C + g * c_group = A[:, k] B[k, :] over
 * offsets[g] <= k < offsets[g+1], a chain without link where the group is
 * empty. `offsets` holds groups + 1 ascending values, from 0 to at most k. Batch
 * extents must be 1. */
DSV4RT_API int32_t dsv4rt_grouped_outer(const dsv4rt_contract_desc *desc,
                                        int64_t groups, int64_t c_group,
                                        const int64_t *offsets, const void *a,
                                        const void *b, void *c);

/* The same contraction without any library outside this project. Equal bits. */
DSV4RT_API int32_t dsv4rt_contract_portable(const dsv4rt_contract_desc *desc,
                                            const void *a, const void *b,
                                            void *c);

/* Implementations of the tile, for tests and benchmarks. */
enum {
  DSV4RT_ENGINE_AUTO = 0,   /* what dsv4rt_contract uses */
  DSV4RT_ENGINE_SCALAR = 1, /* the C library's fma */
  DSV4RT_ENGINE_AVX2 = 2,
  DSV4RT_ENGINE_AVX512 = 3,
  DSV4RT_ENGINE_LIBXSMM = 4,
};

/* The same contraction by a named engine; E_UNSUPPORTED if this processor or
 * this build lacks it. The environment variable DSV4RT_CONTRACT_ENGINE (auto,
 * scalar, avx2, avx512, libxsmm; read once, at the first contraction) names
 * the one behind AUTO; a name that cannot be honoured means auto. */
DSV4RT_API int32_t dsv4rt_contract_with_engine(uint32_t engine,
                                               const dsv4rt_contract_desc *desc,
                                               const void *a, const void *b,
                                               void *c);

#ifdef __cplusplus
}
#endif

#endif /* DSV4_RUNTIME_KERNELS_H */
