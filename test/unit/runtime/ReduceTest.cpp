//===- ReduceTest.cpp - Kernels against the definition of the formats -----===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include "DataType.h"
#include "Reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace dsv4::rt;
using namespace dsv4::test;

namespace {

struct Select {
  const char *name;
  ReduceFn (*get)(uint32_t, uint32_t);
};
void PrintTo(const Select &select, std::ostream *os) { *os << select.name; }

class ReduceTest : public testing::TestWithParam<Select> {
protected:
  ReduceFn get(uint32_t dtype, uint32_t redop) {
    return GetParam().get(dtype, redop);
  }
};

const uint32_t kDataTypes[] = {
    DSV4RT_I8,     DSV4RT_U8,     DSV4RT_I32, DSV4RT_U32, DSV4RT_I64,
    DSV4RT_U64,    DSV4RT_F16,    DSV4RT_F32, DSV4RT_F64, DSV4RT_BF16,
    DSV4RT_F8E4M3, DSV4RT_F8E5M2, DSV4RT_I1};

TEST_P(ReduceTest, MatchesDefinition) {
  for (uint32_t dtype : kDataTypes)
    for (uint32_t redop : {DSV4RT_SUM, DSV4RT_MAX, DSV4RT_MIN})
      for (int numSources = 1; numSources <= 9; ++numSources) {
        if (!isReductionSupported(dtype, redop))
          continue;
        ReduceFn reduce = get(dtype, redop);
        if (!reduce)
          GTEST_SKIP() << "not available on this processor";
        const int64_t begin = 5, count = 2500;
        std::vector<Bytes> operands;
        std::vector<const void *> sources;
        for (int i = 0; i < numSources; ++i)
          operands.push_back(makeData(dtype, i, begin + count, true));
        for (const Bytes &operand : operands)
          sources.push_back(operand.data());
        Bytes result(count * getWidth(dtype));
        reduce(sources.data(), numSources, begin, count, result.data());
        Bytes expected = reduceInOrder(dtype, redop, operands, begin, count);
        EXPECT_TRUE(
            haveEqualElements(dtype, result.data(), expected.data(), count))
            << dsv4rt_dtype_name(dtype) << " " << dsv4rt_redop_name(redop)
            << " of " << numSources;
      }
}

/// Adds `a` and `b` (f32 bits that are 16-bit floats, or anything for f32).
template <class T>
std::vector<T> reduceTwo(ReduceFn reduce, const std::vector<T> &a,
                         const std::vector<T> &b) {
  std::vector<T> result(a.size());
  const void *sources[] = {a.data(), b.data()};
  reduce(sources, 2, 0, a.size(), result.data());
  return result;
}

// Every finite value of the format, plus a zero and plus half of a step up: the
// first must return the value, the second shows ties and carries.
TEST_P(ReduceTest, RoundsEveryValueOfTheFormat) {
  for (uint32_t dtype : {DSV4RT_F16, DSV4RT_BF16}) {
    int exponentBits = dtype == DSV4RT_F16 ? 5 : 8;
    ReduceFn reduce = get(dtype, DSV4RT_SUM);
    if (!reduce)
      GTEST_SKIP() << "not available on this processor";
    std::vector<uint16_t> all(65536), zeros(65536), halves(65536);
    std::iota(all.begin(), all.end(), 0);
    for (int i = 0; i < 65536; ++i) {
      // Half of the distance to the next value of larger magnitude.
      double value = decode16(i, exponentBits);
      double next = decode16(i + 1, exponentBits);
      bool finite = std::isfinite(value) && std::isfinite(next);
      halves[i] = finite ? encode16((next - value) / 2, exponentBits) : 0;
    }
    auto check = [&](const std::vector<uint16_t> &addend) {
      std::vector<uint16_t> result = reduceTwo(reduce, all, addend);
      int wrong = 0;
      for (int i = 0; i < 65536; ++i) {
        float sum = float(decode16(all[i], exponentBits)) +
                    float(decode16(addend[i], exponentBits));
        uint16_t expected = encode16(sum, exponentBits);
        bool nan =
            std::isnan(sum) && std::isnan(decode16(result[i], exponentBits));
        wrong += !nan && result[i] != expected;
      }
      EXPECT_EQ(wrong, 0) << dsv4rt_dtype_name(dtype);
    };
    check(zeros);
    check(halves);
  }
}

// Overflow to infinity happens where rounding says so.
TEST_P(ReduceTest, OverflowOfHalfPrecision) {
  ReduceFn reduce = get(DSV4RT_F16, DSV4RT_SUM);
  if (!reduce)
    GTEST_SKIP() << "not available on this processor";
  std::vector<uint16_t> a(16, encode16(65504, 5)), b(16);
  for (int i = 0; i < 16; ++i)
    b[i] = encode16(i * 2, 5);
  std::vector<uint16_t> sums = reduceTwo(reduce, a, b);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(sums[i], i * 2 < 16 ? 0x7BFF : 0x7C00) << i;
}

// A sum of many bf16 terms is rounded once: eight times 1 + 2^-7 ... would lose
// the small parts if every partial sum were rounded.
TEST_P(ReduceTest, RoundsOnce) {
  ReduceFn reduce = get(DSV4RT_BF16, DSV4RT_SUM);
  if (!reduce)
    GTEST_SKIP() << "not available on this processor";
  std::vector<uint16_t> big(8, encode16(256, 8)), small(8, encode16(1, 8));
  const void *sources[] = {big.data(), small.data(), small.data()};
  std::vector<uint16_t> result(8);
  reduce(sources, 3, 0, 8, result.data());
  // 256 + 1 rounds to 256 in bf16 (step 2), 258 is exact.
  EXPECT_EQ(decode16(result[0], 8), 258.0);
}

TEST_P(ReduceTest, RankOrderMatters) {
  ReduceFn reduce = get(DSV4RT_F32, DSV4RT_SUM);
  if (!reduce)
    GTEST_SKIP() << "not available on this processor";
  float big = 1e8f, one = 1.0f, minus = -1e8f, result = 0;
  const void *lost[] = {&big, &one, &minus};
  reduce(lost, 3, 0, 1, &result);
  EXPECT_EQ(result, 0.0f);
  const void *kept[] = {&big, &minus, &one};
  reduce(kept, 3, 0, 1, &result);
  EXPECT_EQ(result, 1.0f);
}

TEST_P(ReduceTest, RefusesWhatHasNoRule) {
  EXPECT_EQ(get(DSV4RT_F8E4M3, DSV4RT_SUM), nullptr);
  EXPECT_EQ(get(DSV4RT_F8E4M3, DSV4RT_MAX), nullptr);
  EXPECT_EQ(get(DSV4RT_F32, DSV4RT_PROD), nullptr);
  for (uint32_t dtype : kDataTypes)
    for (uint32_t redop = 0; redop < 5; ++redop)
      if (!isReductionSupported(dtype, redop)) {
        EXPECT_EQ(getReduceKernel(dtype, redop), nullptr);
      } else {
        EXPECT_NE(getReduceKernel(dtype, redop), nullptr);
      }
}

INSTANTIATE_TEST_SUITE_P(Baseline, ReduceTest,
                         testing::Values(Select{"baseline",
                                                &getBaselineReduceKernel}));
INSTANTIATE_TEST_SUITE_P(Avx2, ReduceTest,
                         testing::Values(Select{"avx2", &getAvx2ReduceKernel}));

} // namespace
