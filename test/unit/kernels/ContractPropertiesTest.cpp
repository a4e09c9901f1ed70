//===- ContractPropertiesTest.cpp - Splits, strides, blocks, values -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractReference.h"

#include <gtest/gtest.h>
#include <limits>
#include <thread>

using namespace dsv4rt::test;

namespace {

class Contract : public testing::TestWithParam<std::tuple<uint32_t, Types>> {
protected:
  uint32_t engine = std::get<0>(GetParam());
  Types types = std::get<1>(GetParam());

  void SetUp() override {
    const Desc desc = makeDesc(types, 0, 0, 0);
    if (dsv4rt_contract_with_engine(engine, &desc, nullptr, nullptr, nullptr) ==
        DSV4RT_E_UNSUPPORTED)
      GTEST_SKIP() << "engine not available";
  }

  void run(const Desc &desc, const Buffer &a, const Buffer &b, Buffer &c,
           int64_t origin = 0) const {
    ASSERT_EQ(dsv4rt_contract_with_engine(engine, &desc, a.at(0), b.at(0),
                                          c.at(origin)),
              DSV4RT_OK);
  }

  /// Runs `desc` on operands of the given sizes and compares all of C.
  void check(const Desc &desc, int64_t sizeA, int64_t sizeB, int64_t sizeC,
             int64_t origin = 0) const {
    Buffer a(types.a, sizeA), b(types.b, sizeB), c(types.c, sizeC);
    a.fill(11);
    b.fill(12);
    c.fill(13);
    Buffer expected = c;
    computeReference(desc, a, b, expected, origin);
    run(desc, a, b, c, origin);
    EXPECT_EQ(countDifferences(c, expected), 0);
  }
};

TEST_P(Contract, split_rows_give_equal_bits) {
  constexpr int64_t m = 37, n = 45, k = 300;
  const Desc whole = makeDesc(types, m, n, k);
  Buffer a(types.a, m * k), b(types.b, n * k), expected(types.c, m * n);
  a.fill(1);
  b.fill(2);
  run(whole, a, b, expected);
  for (int64_t parts : {int64_t(2), int64_t(3), int64_t(4), m}) {
    Buffer c(types.c, m * n);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = m * part / parts, end = m * (part + 1) / parts;
      const Desc desc = makeDesc(types, end - begin, n, k);
      ASSERT_EQ(dsv4rt_contract_with_engine(engine, &desc, a.at(begin * k),
                                            b.at(0), c.at(begin * n)),
                DSV4RT_OK);
    }
    EXPECT_EQ(countDifferences(c, expected), 0) << parts << " parts";
  }
}

TEST_P(Contract, blocks_of_rows_columns_and_links) {
  for (bool transposedB : {false, true}) {
    Desc desc = makeDesc(types, 131, 261, 300);
    desc.accumulate = transposedB;
    if (transposedB) {
      desc.b_k = 1;
      desc.b_n = 300;
    }
    check(desc, 131 * 300, 261 * 300, 131 * 261);
  }
}

TEST_P(Contract, transposed_operands) {
  Desc desc = makeDesc(types, 29, 35, 270);
  desc.accumulate = 1;
  desc.a_m = 1; // A is [k, m]
  desc.a_k = 31;
  desc.b_k = 1; // B is [n, k]
  desc.b_n = 271;
  desc.c_m = 1; // C is [n, m]
  desc.c_n = 33;
  check(desc, 270 * 31, 35 * 271, 35 * 33);
}

TEST_P(Contract, no_unit_stride) {
  Desc desc = makeDesc(types, 9, 21, 17);
  desc.a_m = 40;
  desc.a_k = 2;
  desc.b_k = 66;
  desc.b_n = 3;
  desc.c_m = 90;
  desc.c_n = 4;
  check(desc, 9 * 40, 17 * 66, 9 * 90);
  desc.accumulate = 1;
  check(desc, 9 * 40, 17 * 66, 9 * 90);
}

TEST_P(Contract, negative_strides_of_c) {
  Desc desc = makeDesc(types, 9, 21, 17);
  desc.c_m = -23;
  check(desc, 9 * 17, 21 * 17, 9 * 23, 8 * 23);
}

TEST_P(Contract, batch_with_broadcast) {
  constexpr int64_t m = 11, n = 18, k = 40;
  Desc desc = makeDesc(types, m, n, k);
  const int64_t batch[3] = {2, 3, 2};
  const int64_t strideA[3] = {0, 2 * m * k, m * k};
  const int64_t strideB[3] = {n * k, 0, 0};
  const int64_t strideC[3] = {m * n, 4 * m * n, 2 * m * n};
  std::copy(batch, batch + 3, desc.batch);
  std::copy(strideA, strideA + 3, desc.a_batch);
  std::copy(strideB, strideB + 3, desc.b_batch);
  std::copy(strideC, strideC + 3, desc.c_batch);
  check(desc, 6 * m * k, 2 * n * k, 12 * m * n);
  desc.a_m = 0; // one row of A for all
  check(desc, 6 * m * k, 2 * n * k, 12 * m * n);
  desc.a_k = 0;
  desc.b_n = 0;
  check(desc, 6 * m * k, 2 * n * k, 12 * m * n);
}

TEST_P(Contract, no_links) {
  Desc desc = makeDesc(types, 5, 6, 0);
  Buffer c(types.c, 30), zeros(types.c, 30);
  c.fill(4);
  const Buffer initial = c;
  desc.accumulate = 1;
  ASSERT_EQ(
      dsv4rt_contract_with_engine(engine, &desc, nullptr, nullptr, c.at(0)),
      DSV4RT_OK);
  EXPECT_EQ(countDifferences(c, initial), 0);
  desc.accumulate = 0;
  ASSERT_EQ(
      dsv4rt_contract_with_engine(engine, &desc, nullptr, nullptr, c.at(0)),
      DSV4RT_OK);
  EXPECT_EQ(countDifferences(c, zeros), 0);
}

/// Rows and columns with infinities, NaN, signed zeros, subnormal and huge
/// numbers: each reaches its own row and column of C and no other.
TEST_P(Contract, special_values) {
  constexpr int64_t m = 35, n = 41, k = 19;
  const bool wide = types.isWide();
  const double tiny = wide ? 0x1p-1070 : 0x1p-130;
  const double huge = wide ? 0x1.8p1023 : 0x1.8p127;
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0.0,  -0.0, inf,  -inf, std::nan(""),
                           tiny, huge, -1.0, 0.5,  -tiny};
  for (uint32_t accumulate : {0u, 1u}) {
    Desc desc = makeDesc(types, m, n, k);
    desc.accumulate = accumulate;
    Buffer a(types.a, m * k), b(types.b, k * n), c(types.c, m * n);
    a.fill(5);
    b.fill(6);
    for (int64_t i = 0; i < 10; ++i) {
      a.set((3 * i + 1) * k + i, values[i]);
      b.set((i % k) * n + 4 * i, values[9 - i]);
    }
    for (int64_t p = 0; p < k; ++p) { // products of -0 and of subnormals
      a.set(2 * k + p, p % 2 ? -0.0 : 0.0);
      b.set(p * n + 40, -tiny);
    }
    for (int64_t i = 0; i < m * n; ++i)
      c.set(i, -0.0);
    Buffer expected = c;
    computeReference(desc, a, b, expected);
    run(desc, a, b, c);
    EXPECT_EQ(countDifferences(c, expected), 0);
  }
}

TEST_P(Contract, one_minus_zero_link) {
  Desc desc = makeDesc(types, 1, 1, 1);
  Buffer a(types.a, 1), b(types.b, 1), c(types.c, 1);
  a.set(0, -0.0);
  b.set(0, 1.0);
  run(desc, a, b, c);
  EXPECT_FALSE(std::signbit(c.get(0))) << "fma(-0, 1, +0) is +0";
  c.set(0, -0.0);
  desc.accumulate = 1;
  run(desc, a, b, c);
  EXPECT_TRUE(std::signbit(c.get(0))) << "fma(-0, 1, -0) is -0";
}

TEST_P(Contract, threads_give_equal_bits) {
  constexpr int64_t m = 50, n = 70, k = 300;
  const Desc desc = makeDesc(types, m, n, k);
  Buffer a(types.a, m * k), b(types.b, n * k), expected(types.c, m * n);
  a.fill(7);
  b.fill(8);
  run(desc, a, b, expected);
  std::vector<int64_t> differences(4, -1);
  std::vector<std::thread> threads;
  for (int64_t &result : differences)
    threads.emplace_back([&, this] {
      result = 0;
      for (int repetition = 0; repetition < 5; ++repetition) {
        Buffer c(types.c, m * n);
        dsv4rt_contract_with_engine(engine, &desc, a.at(0), b.at(0), c.at(0));
        result += countDifferences(c, expected);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(differences, std::vector<int64_t>(4, 0));
}

INSTANTIATE_TEST_SUITE_P(Engines, Contract,
                         testing::Combine(testing::Range(0u, 5u),
                                          testing::ValuesIn(kAllTypes)),
                         [](const auto &info) {
                           return std::string(
                                      kEngineNames[std::get<0>(info.param)]) +
                                  "_" + getName(std::get<1>(info.param));
                         });

} // namespace
