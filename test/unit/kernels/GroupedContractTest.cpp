//===- GroupedContractTest.cpp - Rows grouped by their B ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractReference.h"

#include <gtest/gtest.h>

using namespace dsv4rt::test;

namespace {

class GroupedContract : public testing::TestWithParam<Types> {
protected:
  static constexpr int64_t kN = 24, kK = 40;
  Types types = GetParam();

  /// Compares with one plain contraction per group; B is [group, n, k].
  void check(int64_t m, const std::vector<int64_t> &offsets,
             bool accumulate = false) {
    const auto groups = static_cast<int64_t>(offsets.size()) - 1;
    Desc desc = makeDesc(types, m, kN, kK);
    desc.accumulate = accumulate;
    desc.b_k = 1;
    desc.b_n = kK;
    Buffer a(types.a, m * kK), b(types.b, (groups + 1) * kN * kK),
        c(types.c, m * kN);
    a.fill(21);
    b.fill(22);
    c.fill(23);
    Buffer expected = c;
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t row = offsets[g]; row < offsets[g + 1]; ++row)
        for (int64_t n = 0; n < kN; ++n)
          computeElement(desc, a, row * kK, b, (g * kN + n) * kK, expected,
                         row * kN + n);
    for (int64_t i = offsets[groups] * kN; i < m * kN; ++i)
      expected.set(i, 0.0);
    ASSERT_EQ(dsv4rt_grouped_contract(&desc, groups, kN * kK, offsets.data(),
                                      a.at(0), b.at(0), c.at(0)),
              DSV4RT_OK);
    EXPECT_EQ(countDifferences(c, expected), 0);
  }
};

TEST_P(GroupedContract, one_group) { check(33, {0, 33}); }
TEST_P(GroupedContract, groups_of_all_sizes) {
  check(70, {0, 1, 3, 20, 51, 70});
}
TEST_P(GroupedContract, empty_groups) { check(20, {0, 0, 7, 7, 7, 20, 20}); }
TEST_P(GroupedContract, trailing_rows_are_zero) { check(30, {0, 4, 17}); }
TEST_P(GroupedContract, all_groups_empty) { check(5, {0, 0, 0}); }
TEST_P(GroupedContract, no_group) { check(5, {0}); }
TEST_P(GroupedContract, accumulates) { check(30, {0, 4, 17}, true); }

INSTANTIATE_TEST_SUITE_P(Types, GroupedContract, testing::ValuesIn(kAllTypes),
                         [](const testing::TestParamInfo<Types> &info) {
                           return getName(info.param);
                         });

TEST(GroupedContractDesc, refuses) {
  std::vector<float> a(32, 1.0f), b(32, 1.0f), c(16, 7.0f);
  const Desc desc = makeDesc({kF32, kF32, kF32}, 4, 4, 4);
  auto call = [&](const Desc &d, int64_t groups, const int64_t *offsets) {
    return dsv4rt_grouped_contract(&d, groups, 16, offsets, a.data(), b.data(),
                                   c.data());
  };
  const int64_t good[] = {0, 2, 4}, late[] = {1, 2, 4}, far[] = {0, 2, 5},
                falling[] = {0, 3, 2}, negative[] = {0, -1, 2};
  for (const int64_t *offsets : {late, far, falling, negative})
    EXPECT_EQ(call(desc, 2, offsets), DSV4RT_E_INVALID);
  EXPECT_EQ(call(desc, 2, nullptr), DSV4RT_E_INVALID);
  EXPECT_EQ(call(desc, -1, good), DSV4RT_E_INVALID);
  Desc batched = desc;
  batched.batch[2] = 2;
  batched.c_batch[2] = 16;
  EXPECT_EQ(call(batched, 2, good), DSV4RT_E_INVALID);
  Desc fast = desc;
  fast.mode = 1;
  EXPECT_EQ(call(fast, 2, good), DSV4RT_E_UNSUPPORTED);
  EXPECT_EQ(c, std::vector<float>(16, 7.0f)) << "C was touched";
  EXPECT_EQ(call(desc, 2, good), DSV4RT_OK);
  EXPECT_EQ(c, std::vector<float>(16, 4.0f));
}

/// k instead of m in groups: C is [group, m, n].
class GroupedOuter : public testing::TestWithParam<Types> {
protected:
  static constexpr int64_t kM = 40, kN = 24;
  Types types = GetParam();

  void check(int64_t k, const std::vector<int64_t> &offsets,
             bool accumulate = false) {
    const auto groups = static_cast<int64_t>(offsets.size()) - 1;
    Desc desc = makeDesc(types, kM, kN, k);
    desc.accumulate = accumulate;
    desc.a_m = 1;
    desc.a_k = kM;
    Buffer a(types.a, k * kM), b(types.b, k * kN),
        c(types.c, (groups + 1) * kM * kN);
    a.fill(31);
    b.fill(32);
    c.fill(33);
    Buffer expected = c;
    for (int64_t g = 0; g < groups; ++g) {
      Desc part = desc;
      part.k = offsets[g + 1] - offsets[g];
      for (int64_t m = 0; m < kM; ++m)
        for (int64_t n = 0; n < kN; ++n)
          computeElement(part, a, offsets[g] * kM + m, b, offsets[g] * kN + n,
                         expected, (g * kM + m) * kN + n);
    }
    ASSERT_EQ(dsv4rt_grouped_outer(&desc, groups, kM * kN, offsets.data(),
                                   a.at(0), b.at(0), c.at(0)),
              DSV4RT_OK);
    EXPECT_EQ(countDifferences(c, expected), 0);
  }
};

TEST_P(GroupedOuter, one_group) { check(33, {0, 33}); }
TEST_P(GroupedOuter, groups_of_all_sizes) { check(70, {0, 1, 3, 20, 51, 70}); }
TEST_P(GroupedOuter, empty_groups) { check(20, {0, 0, 7, 7, 7, 20, 20}); }
TEST_P(GroupedOuter, trailing_rows_are_not_read) { check(30, {0, 4, 17}); }
TEST_P(GroupedOuter, all_groups_empty) { check(5, {0, 0, 0}); }
TEST_P(GroupedOuter, no_group) { check(5, {0}); }
TEST_P(GroupedOuter, accumulates) { check(30, {0, 0, 4, 17}, true); }

INSTANTIATE_TEST_SUITE_P(Types, GroupedOuter, testing::ValuesIn(kAllTypes),
                         [](const testing::TestParamInfo<Types> &info) {
                           return getName(info.param);
                         });

TEST(GroupedOuterDesc, refuses) {
  std::vector<float> a(16, 1.0f), b(16, 1.0f), c(32, 7.0f);
  const Desc desc = makeDesc({kF32, kF32, kF32}, 4, 4, 4);
  auto call = [&](const Desc &d, int64_t groups, const int64_t *offsets) {
    return dsv4rt_grouped_outer(&d, groups, 16, offsets, a.data(), b.data(),
                                c.data());
  };
  const int64_t good[] = {0, 2, 4}, late[] = {1, 2, 4}, far[] = {0, 2, 5},
                falling[] = {0, 3, 2};
  for (const int64_t *offsets : {late, far, falling})
    EXPECT_EQ(call(desc, 2, offsets), DSV4RT_E_INVALID);
  EXPECT_EQ(call(desc, 2, nullptr), DSV4RT_E_INVALID);
  EXPECT_EQ(call(desc, -1, good), DSV4RT_E_INVALID);
  Desc batched = desc;
  batched.batch[2] = 2;
  batched.c_batch[2] = 16;
  EXPECT_EQ(call(batched, 2, good), DSV4RT_E_INVALID);
  EXPECT_EQ(c, std::vector<float>(32, 7.0f)) << "C was touched";
  EXPECT_EQ(call(desc, 2, good), DSV4RT_OK);
  EXPECT_EQ(c, std::vector<float>(32, 2.0f));
}

} // namespace
