//===- Contract.cpp - The contraction entries -----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Runtime/Kernels.h"

#include "Blocked.h"

#include <cstring>

using namespace dsv4rt::kernels;

static_assert(sizeof(dsv4rt_contract_desc) == 24 + 6 * 8 + 3 * 5 * 8,
              "layout is part of the ABI");

namespace {

using Desc = dsv4rt_contract_desc;

bool hasType(uint32_t dtype, ElementType &type) {
  switch (dtype) {
  case DSV4RT_F32:
    type = ElementType::F32;
    return true;
  case DSV4RT_BF16:
    type = ElementType::BF16;
    return true;
  case DSV4RT_F64:
    type = ElementType::F64;
    return true;
  default:
    return false;
  }
}

struct Types {
  ElementType a, b, c;
};

bool hasRule(const Desc &desc, Types &types) {
  if (!hasType(desc.a_dtype, types.a) || !hasType(desc.b_dtype, types.b) ||
      !hasType(desc.c_dtype, types.c))
    return false;
  const bool wideA = types.a == ElementType::F64;
  const bool wideB = types.b == ElementType::F64;
  const bool wideC = types.c == ElementType::F64;
  return wideA == wideB && wideB == wideC;
}

/// Distinct indices must not name one element of C.
bool mayRepeat(int64_t extent, int64_t stride) {
  return extent > 1 && stride == 0;
}

int32_t checkDesc(const Desc *desc, Types &types) {
  if (!desc || desc->struct_size != sizeof(Desc) || desc->accumulate > 1)
    return DSV4RT_E_INVALID;
  if (desc->m < 0 || desc->n < 0 || desc->k < 0)
    return DSV4RT_E_INVALID;
  if (mayRepeat(desc->m, desc->c_m) || mayRepeat(desc->n, desc->c_n))
    return DSV4RT_E_INVALID;
  for (int i = 0; i < 3; ++i)
    if (desc->batch[i] < 0 || mayRepeat(desc->batch[i], desc->c_batch[i]))
      return DSV4RT_E_INVALID;
  if (desc->mode != DSV4RT_CONTRACT_EXACT || !hasRule(*desc, types))
    return DSV4RT_E_UNSUPPORTED;
  return DSV4RT_OK;
}

bool isEmpty(const Desc &desc) {
  return desc.m == 0 || desc.n == 0 || desc.batch[0] == 0 ||
         desc.batch[1] == 0 || desc.batch[2] == 0;
}

int32_t checkOperands(const Desc &desc, const void *a, const void *b,
                      const void *c) {
  if (isEmpty(desc))
    return DSV4RT_OK;
  if (!c || (desc.k > 0 && (!a || !b)))
    return DSV4RT_E_INVALID;
  return DSV4RT_OK;
}

/// All bits zero is +0 in every type of C.
void writeZeros(const MatrixRef &c, int64_t rows, int64_t cols) {
  const auto size = static_cast<size_t>(getElementSize(c.type));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      std::memset(c.getBlock(i, j).getWritable(), 0, size);
}

void runProduct(const Engine &engine, const Product &product) {
  if (product.k == 0) {
    if (!product.accumulate)
      writeZeros(product.c, product.m, product.n);
  } else if (product.c.type == ElementType::F64) {
    runBlocked<double>(engine, product);
  } else {
    runBlocked<float>(engine, product);
  }
}

Product makeProduct(const Desc &desc, const Types &types, const void *a,
                    const void *b, void *c) {
  return {desc.m,
          desc.n,
          desc.k,
          {a, types.a, desc.a_m, desc.a_k},
          {b, types.b, desc.b_k, desc.b_n},
          {c, types.c, desc.c_m, desc.c_n},
          desc.accumulate != 0};
}

int64_t dot(const int64_t (&index)[3], const int64_t (&strides)[3]) {
  return index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2];
}

void runBatch(const Engine &engine, const Desc &desc, const Types &types,
              const void *a, const void *b, void *c) {
  const Product first = makeProduct(desc, types, a, b, c);
  int64_t at[3];
  for (at[0] = 0; at[0] < desc.batch[0]; ++at[0]) {
    for (at[1] = 0; at[1] < desc.batch[1]; ++at[1]) {
      for (at[2] = 0; at[2] < desc.batch[2]; ++at[2]) {
        Product product = first;
        product.a = first.a.offsetBy(dot(at, desc.a_batch));
        product.b = first.b.offsetBy(dot(at, desc.b_batch));
        product.c = first.c.offsetBy(dot(at, desc.c_batch));
        runProduct(engine, product);
      }
    }
  }
}

int32_t contractWith(const Engine *(*getEngine)(), const Desc *desc,
                     const void *a, const void *b, void *c) {
  Types types;
  if (int32_t status = checkDesc(desc, types))
    return status;
  if (int32_t status = checkOperands(*desc, a, b, c))
    return status;
  const Engine *engine = getEngine();
  if (!engine)
    return DSV4RT_E_UNSUPPORTED;
  if (!isEmpty(*desc))
    runBatch(*engine, *desc, types, a, b, c);
  return DSV4RT_OK;
}

bool areOffsets(int64_t groups, const int64_t *offsets, int64_t m) {
  if (groups < 0 || !offsets || offsets[0] != 0 || offsets[groups] > m)
    return false;
  for (int64_t g = 0; g < groups; ++g)
    if (offsets[g] > offsets[g + 1])
      return false;
  return true;
}

void runGroups(const Engine &engine, const Product &whole, int64_t groups,
               int64_t bGroup, const int64_t *offsets) {
  for (int64_t g = 0; g < groups; ++g) {
    Product product = whole;
    product.m = offsets[g + 1] - offsets[g];
    if (product.m == 0)
      continue;
    product.a = whole.a.getBlock(offsets[g], 0);
    product.b = whole.b.offsetBy(g * bGroup);
    product.c = whole.c.getBlock(offsets[g], 0);
    runProduct(engine, product);
  }
  writeZeros(whole.c.getBlock(offsets[groups], 0), whole.m - offsets[groups],
             whole.n);
}

} // namespace

int32_t dsv4rt_contract(const dsv4rt_contract_desc *desc, const void *a,
                        const void *b, void *c) {
  return contractWith(getDefaultEngine, desc, a, b, c);
}

int32_t dsv4rt_contract_portable(const dsv4rt_contract_desc *desc,
                                 const void *a, const void *b, void *c) {
  return contractWith(getPortableEngine, desc, a, b, c);
}

int32_t dsv4rt_contract_with_engine(uint32_t engine,
                                    const dsv4rt_contract_desc *desc,
                                    const void *a, const void *b, void *c) {
  switch (engine) {
  case DSV4RT_ENGINE_AUTO:
    return contractWith(getDefaultEngine, desc, a, b, c);
  case DSV4RT_ENGINE_SCALAR:
    return contractWith(getScalarEngine, desc, a, b, c);
  case DSV4RT_ENGINE_AVX2:
    return contractWith(getAvx2Engine, desc, a, b, c);
  case DSV4RT_ENGINE_AVX512:
    return contractWith(getAvx512Engine, desc, a, b, c);
  case DSV4RT_ENGINE_LIBXSMM:
    return contractWith(getLibxsmmEngine, desc, a, b, c);
  default:
    return DSV4RT_E_INVALID;
  }
}

int32_t dsv4rt_grouped_contract(const dsv4rt_contract_desc *desc,
                                int64_t groups, int64_t b_group,
                                const int64_t *offsets, const void *a,
                                const void *b, void *c) {
  Types types;
  if (int32_t status = checkDesc(desc, types))
    return status;
  if (desc->batch[0] != 1 || desc->batch[1] != 1 || desc->batch[2] != 1 ||
      !areOffsets(groups, offsets, desc->m))
    return DSV4RT_E_INVALID;
  // With no grouped row there is nothing to read from A and B.
  const bool reads = offsets[groups] > 0;
  if (int32_t status = checkOperands(*desc, reads ? a : c, reads ? b : c, c))
    return status;
  if (!isEmpty(*desc))
    runGroups(*getDefaultEngine(), makeProduct(*desc, types, a, b, c), groups,
              b_group, offsets);
  return DSV4RT_OK;
}

int32_t dsv4rt_grouped_outer(const dsv4rt_contract_desc *desc, int64_t groups,
                             int64_t c_group, const int64_t *offsets,
                             const void *a, const void *b, void *c) {
  Types types;
  if (int32_t status = checkDesc(desc, types))
    return status;
  if (desc->batch[0] != 1 || desc->batch[1] != 1 || desc->batch[2] != 1 ||
      !areOffsets(groups, offsets, desc->k))
    return DSV4RT_E_INVALID;
  // With no grouped row there is nothing to read from A and B.
  const bool reads = offsets[groups] > 0;
  if (int32_t status = checkOperands(*desc, reads ? a : c, reads ? b : c, c))
    return status;
  const Product whole = makeProduct(*desc, types, a, b, c);
  for (int64_t g = 0; g < groups && !isEmpty(*desc); ++g) {
    Product product = whole;
    product.k = offsets[g + 1] - offsets[g];
    product.a = whole.a.getBlock(0, offsets[g]);
    product.b = whole.b.getBlock(offsets[g], 0);
    product.c = whole.c.offsetBy(g * c_group);
    runProduct(*getDefaultEngine(), product);
  }
  return DSV4RT_OK;
}
