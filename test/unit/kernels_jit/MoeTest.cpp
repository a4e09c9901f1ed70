//===- MoeTest.cpp - routing to experts and back --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>

namespace {

constexpr int64_t kTokens = 18, kChoices = 3, kExperts = 5;
constexpr int64_t kRows = kTokens * kChoices;

struct Routing {
  std::vector<int64_t> experts, order, offsets;
};

/// Expert 2 has no rows, some slots have no expert.
Routing makeRouting() {
  Routing r;
  std::mt19937 generator(1);
  for (int64_t i = 0; i < kRows; ++i) {
    int64_t expert = int64_t(generator() % 6) - 1;
    r.experts.push_back(expert == 2 ? 3 : expert);
  }
  r.order.resize(kRows);
  std::iota(r.order.begin(), r.order.end(), 0);
  auto key = [&](int64_t slot) {
    return r.experts[slot] < 0 ? kExperts : r.experts[slot];
  };
  std::stable_sort(r.order.begin(), r.order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  for (int64_t e = 0; e <= kExperts; ++e)
    r.offsets.push_back(
        std::count_if(r.experts.begin(), r.experts.end(),
                      [&](int64_t x) { return x >= 0 && x < e; }));
  return r;
}

TEST(Moe, SortIsStable) {
  JitKernel kernel(R"(
    (%e: memref<2x9x3xi64>, %o: memref<54xi64>, %n: memref<6xi64>) {
      dsv4.sort_by_expert ins(%e : memref<2x9x3xi64>) outs(%o, %n : memref<54xi64>, memref<6xi64>)
      return
    })");
  Routing want = makeRouting();
  std::vector<int64_t> order(kRows, -5), offsets(kExperts + 1, -5);
  kernel(want.experts.data(), order.data(), offsets.data());
  EXPECT_EQ(order, want.order);
  EXPECT_EQ(offsets, want.offsets);
}

TEST(Moe, DispatchAndCombine) {
  JitKernel kernel(R"(
    (%t: memref<2x9x7xbf16>, %w: memref<2x9x3xf32>, %o: memref<54xi64>, %n: memref<6xi64>,
     %e: memref<2x9x3xi64>, %x: memref<54x7xbf16>, %g: memref<54xf32>, %y: memref<2x9x7xf32>) {
      dsv4.dispatch_rows ins(%t, %o : memref<2x9x7xbf16>, memref<54xi64>) outs(%x : memref<54x7xbf16>)
      dsv4.dispatch_weights ins(%w, %o : memref<2x9x3xf32>, memref<54xi64>) outs(%g : memref<54xf32>)
      dsv4.combine_rows ins(%x, %o, %n, %e : memref<54x7xbf16>, memref<54xi64>, memref<6xi64>, memref<2x9x3xi64>)
        outs(%y : memref<2x9x7xf32>)
      return
    })");
  Routing r = makeRouting();
  auto tokens = makeRandom<BF16>(kTokens * 7, 1);
  auto weights = makeRandom<float>(kRows, 2);
  std::vector<BF16> rows(kRows * 7);
  std::vector<float> gates(kRows), sums = makeRandom<float>(kTokens * 7, 3),
                                   want = sums;
  kernel(tokens.data(), weights.data(), r.order.data(), r.offsets.data(),
         r.experts.data(), rows.data(), gates.data(), sums.data());
  for (int64_t row = 0; row < kRows; ++row) {
    int64_t token = r.order[row] / kChoices;
    EXPECT_EQ(gates[row], weights[r.order[row]]);
    for (int64_t c = 0; c < 7; ++c) {
      EXPECT_EQ(rows[row * 7 + c].bits, tokens[token * 7 + c].bits);
      if (row < r.offsets[kExperts])
        want[token * 7 + c] += float(rows[row * 7 + c]);
    }
  }
  EXPECT_TRUE(hasEqualBits(sums, want));
}

template <typename A, typename B>
void testGrouped(int64_t in, int64_t out) {
  using W = Wide<A>;
  JitKernel kernel(substitute(R"(
    (%x: memref<54x$ix$a>, %w: memref<5x$ix$ox$b>, %n: memref<6xi64>, %y: memref<54x$ox$w>) {
      dsv4.grouped_matmul ins(%x, %w, %n : memref<54x$ix$a>, memref<5x$ix$ox$b>, memref<6xi64>)
        outs(%y : memref<54x$ox$w>)
      return
    })",
                              {{"ix", std::to_string(in) + "x"},
                               {"ox", std::to_string(out) + "x"},
                               {"a", TypeInfo<A>::name},
                               {"b", TypeInfo<B>::name},
                               {"w", TypeInfo<W>::name}}));
  Routing r = makeRouting();
  auto rows = makeRandom<A>(kRows * in, 1);
  auto weights = makeRandom<B>(kExperts * in * out, 2);
  std::vector<W> got(kRows * out, W(7)), want(kRows * out);
  kernel(rows.data(), weights.data(), r.offsets.data(), got.data());
  for (int64_t e = 0; e < kExperts; ++e)
    for (int64_t row = r.offsets[e]; row < r.offsets[e + 1]; ++row)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t i = 0; i < in; ++i)
          want[row * out + o] =
              std::fma(W(rows[row * in + i]),
                       W(weights[(e * in + i) * out + o]), want[row * out + o]);
  EXPECT_TRUE(hasEqualBits(got, want));
}

TEST(Moe, GroupedMatmulIsOneChain) {
  testGrouped<float, float>(16, 24);
  testGrouped<BF16, BF16>(13, 7);
  testGrouped<double, double>(9, 5);
}

} // namespace
