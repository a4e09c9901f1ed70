//===- ContractSweepTest.cpp - Small shapes, every bit --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m and n in 1..40, k in 1..300. An element depends on its row of A and column
// of B alone, so one reference of 40 x 40 elements serves all m and n of a k.
//
//===----------------------------------------------------------------------===//

#include "ContractReference.h"

#include <gtest/gtest.h>

using namespace dsv4rt::test;

namespace {

constexpr int64_t kMax = 40, kLdC = 43;

std::vector<int64_t> getDepths() {
  std::vector<int64_t> depths;
  for (int64_t k = 1; k <= 40; ++k)
    depths.push_back(k);
  for (int64_t k : {63, 64, 65, 127, 128, 129, 255, 256, 257, 300})
    depths.push_back(k);
  return depths;
}

struct SweepParam {
  uint32_t engine;
  Types types;
  bool transposedB;
};

class ContractSweep : public testing::TestWithParam<SweepParam> {
protected:
  /// A fixed sample, so that every (m, n) meets several k. The scalar engine
  /// makes a library call per fma: fewer.
  static bool isChosen(int64_t m, int64_t n, int64_t k) {
    const auto index = static_cast<uint64_t>((m * 64 + n) * 512 + k);
    const uint64_t hash = (index * 0x9e3779b97f4a7c15u) >> 40;
    return hash % (GetParam().engine == DSV4RT_ENGINE_SCALAR ? 97 : 11) == 0;
  }

  static Desc makeCase(int64_t m, int64_t n, int64_t k, bool accumulate) {
    Desc desc = makeDesc(GetParam().types, m, n, k);
    desc.a_m = k + 3;
    desc.b_k = GetParam().transposedB ? 1 : kMax + 5;
    desc.b_n = GetParam().transposedB ? k + 1 : 1;
    desc.c_m = kLdC;
    desc.accumulate = accumulate;
    return desc;
  }
};

TEST_P(ContractSweep, equals_fma_chain) {
  const auto [engine, types, transposedB] = GetParam();
  int64_t numRun = 0;
  for (int64_t k : getDepths()) {
    const bool accumulate = k % 3 == 0;
    Buffer a(types.a, kMax * (k + 3));
    Buffer b(types.b, transposedB ? kMax * (k + 1) : k * (kMax + 5));
    Buffer initial(types.c, kMax * kLdC);
    a.fill(1);
    b.fill(2);
    initial.fill(3);
    Buffer whole = initial;
    computeReference(makeCase(kMax, kMax, k, accumulate), a, b, whole);
    for (int64_t m = 1; m <= kMax; ++m) {
      for (int64_t n = 1; n <= kMax; ++n) {
        if (!isChosen(m, n, k))
          continue;
        const Desc desc = makeCase(m, n, k, accumulate);
        Buffer got = initial;
        const int32_t status = dsv4rt_contract_with_engine(
            engine, &desc, a.at(0), b.at(0), got.at(0));
        if (status == DSV4RT_E_UNSUPPORTED)
          GTEST_SKIP() << "engine not available";
        ASSERT_EQ(status, DSV4RT_OK);
        for (int64_t i = 0; i < got.getCount(); ++i) {
          const bool inside = i / kLdC < m && i % kLdC < n;
          ASSERT_TRUE(got.equals(i, inside ? whole : initial, i))
              << "m=" << m << " n=" << n << " k=" << k << " row " << i / kLdC
              << " column " << i % kLdC << ": got " << got.get(i)
              << ", expected " << whole.get(i);
        }
        ++numRun;
      }
    }
  }
  EXPECT_GT(numRun, 500);
}

std::vector<SweepParam> getSweepParams() {
  std::vector<SweepParam> params;
  for (uint32_t engine = DSV4RT_ENGINE_SCALAR; engine <= DSV4RT_ENGINE_LIBXSMM;
       ++engine)
    for (const Types &types : kAllTypes)
      for (bool transposedB : {false, true})
        params.push_back({engine, types, transposedB});
  return params;
}

INSTANTIATE_TEST_SUITE_P(Engines, ContractSweep,
                         testing::ValuesIn(getSweepParams()),
                         [](const testing::TestParamInfo<SweepParam> &info) {
                           return std::string(kEngineNames[info.param.engine]) +
                                  "_" + getName(info.param.types) +
                                  (info.param.transposedB ? "_NT" : "_NN");
                         });

} // namespace
