//===- IndexTest.cpp - selection of windows, top-k, rows by index ---------===//
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

std::string str(int64_t value) { return std::to_string(value); }

/// Indices 0..n-1 by falling score, then rising index; NaN last.
template <typename W>
std::vector<int64_t> rank(const std::vector<W> &scores) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b]))
      return !std::isnan(scores[a]) && std::isnan(scores[b]);
    return scores[a] > scores[b];
  });
  return order;
}

struct IndexProblem {
  int64_t batch, queries, heads, channels, windows, count, ratio, firstQuery;
};

template <typename T>
void testIndexTopk(const IndexProblem &p, double keyScale,
                   bool hasNaN = false) {
  using W = Wide<T>;
  JitKernel kernel(substitute(
      R"(
    (%q: memref<$bx$tx$ax$dx$e>, %k: memref<$bx$nx$dx$e>, %w: memref<$bx$tx$axf32>,
     %o: memref<$bx$tx$jxi64>, %t0: index) {
      dsv4.index_topk {ratio = $ratio : i64, scale = 0.25 : f64}
        ins(%q, %k, %w, %t0 : memref<$bx$tx$ax$dx$e>, memref<$bx$nx$dx$e>, memref<$bx$tx$axf32>)
        outs(%o : memref<$bx$tx$jxi64>)
      return
    })",
      {{"ratio", str(p.ratio)},
       {"bx", str(p.batch) + "x"},
       {"tx", str(p.queries) + "x"},
       {"ax", str(p.heads) + "x"},
       {"dx", str(p.channels) + "x"},
       {"nx", str(p.windows) + "x"},
       {"jx", str(p.count) + "x"},
       {"e", TypeInfo<T>::name}}));
  auto query = makeRandom<T>(p.batch * p.queries * p.heads * p.channels, 1);
  auto keys = makeRandom<T>(p.batch * p.windows * p.channels, 2, keyScale);
  auto weights = makeRandom<float>(p.batch * p.queries * p.heads, 3);
  if (hasNaN)
    keys[3 * p.channels] = T(NAN);
  std::vector<int64_t> got(p.batch * p.queries * p.count, -99);
  for (bool atEnd : {false, true}) {
    Guarded q(query, atEnd), k(keys, atEnd);
    Guarded w(weights, atEnd);
    kernel(q.data(), k.data(), w.data(), got.data(), p.firstQuery);
  }
  for (int64_t row = 0; row < p.batch * p.queries; ++row) {
    int64_t b = row / p.queries, t = row % p.queries;
    int64_t visible = std::min((p.firstQuery + t + 1) / p.ratio, p.windows);
    std::vector<W> scores(visible);
    for (int64_t w = 0; w < visible; ++w)
      for (int64_t a = 0; a < p.heads; ++a) {
        W dot = 0;
        for (int64_t d = 0; d < p.channels; ++d)
          dot = std::fma(W(query[(row * p.heads + a) * p.channels + d]),
                         W(keys[(b * p.windows + w) * p.channels + d]), dot);
        W relu = std::isnan(dot) || dot > 0 ? dot : W(0);
        scores[w] = scores[w] + relu * W(0.25) * W(weights[row * p.heads + a]);
      }
    std::vector<int64_t> want = rank(scores);
    want.resize(std::min(p.count, visible));
    std::sort(want.begin(), want.end());
    want.resize(p.count, -1);
    std::vector<int64_t> mine(&got[row * p.count],
                              &got[row * p.count] + p.count);
    ASSERT_EQ(mine, want) << "row " << row;
  }
}

TEST(IndexTopk, SelectsTheBestOfTheVisible) {
  testIndexTopk<float>({2, 64, 2, 16, 16, 4, 4, 0}, 1.0);
  testIndexTopk<double>({2, 64, 2, 16, 16, 4, 4, 0}, 1.0);
  testIndexTopk<BF16>({2, 64, 2, 16, 16, 4, 4, 0}, 1.0);
  testIndexTopk<float>({1, 40, 7, 5, 100, 33, 2, 170}, 1.0);
  testIndexTopk<float>({1, 20, 1, 7, 9, 1, 1, 3}, 1.0);
  testIndexTopk<float>({1, 8, 4, 3, 5, 9, 1, 0}, 1.0);
}

TEST(IndexTopk, TiesTakeTheLowestWindow) {
  // All scores are 0 in the first; few distinct values in the second.
  testIndexTopk<float>({1, 60, 3, 4, 60, 7, 1, 0}, 0.0);
  testIndexTopk<BF16>({1, 60, 1, 1, 60, 7, 1, 0}, 1e-30);
}

TEST(IndexTopk, NaNIsLast) {
  testIndexTopk<float>({1, 30, 2, 4, 30, 5, 1, 0}, 1.0, true);
}

template <typename W>
void testTopk(int64_t size, int64_t count) {
  JitKernel kernel(substitute(R"(
    (%s: memref<2x5x$nx$w>, %o: memref<2x5x$jxi64>) {
      dsv4.topk ins(%s : memref<2x5x$nx$w>) outs(%o : memref<2x5x$jxi64>)
      return
    })",
                              {{"nx", str(size) + "x"},
                               {"jx", str(count) + "x"},
                               {"w", TypeInfo<W>::name}}));
  auto scores = makeRandom<W>(10 * size, 1);
  for (size_t i = 0; i < scores.size(); i += 3)
    scores[i] = i % 2 ? W(0.0) : W(-0.0);
  for (size_t i = 1; i < scores.size(); i += 5)
    scores[i] = i % 2 ? W(NAN) : W(INFINITY);
  for (size_t i = 2; i < scores.size(); i += 7)
    scores[i] = i % 2 ? W(-NAN) : W(-INFINITY);
  std::vector<int64_t> got(10 * count);
  kernel(scores.data(), got.data());
  for (int64_t row = 0; row < 10; ++row) {
    auto want =
        rank(std::vector<W>(&scores[row * size], &scores[row * size] + size));
    want.resize(count);
    std::vector<int64_t> mine(&got[row * count], &got[row * count] + count);
    ASSERT_EQ(mine, want) << size << " " << row;
  }
}

TEST(Topk, OrdersByScoreThenIndex) {
  testTopk<float>(16, 2);
  testTopk<float>(17, 17);
  testTopk<float>(1, 1);
  testTopk<double>(40, 6);
}

TEST(Rows, OutsideReadsZero) {
  JitKernel kernel(R"(
    (%t: memref<4x3xbf16>, %i: memref<1x4xi64>, %r: memref<1x4x3xbf16>,
     %s: memref<1x4x5xf32>, %j: memref<1x4x2xi64>, %g: memref<1x4x2xf32>) {
      dsv4.gather_rows ins(%t, %i : memref<4x3xbf16>, memref<1x4xi64>) outs(%r : memref<1x4x3xbf16>)
      dsv4.take_along ins(%s, %j : memref<1x4x5xf32>, memref<1x4x2xi64>) outs(%g : memref<1x4x2xf32>)
      return
    })");
  auto table = makeRandom<BF16>(12, 1);
  auto scores = makeRandom<float>(20, 2);
  std::vector<int64_t> ids = {3, -1, 0, 4}, picks = {0, 4, 5, -1, 2, 2, 1, 100};
  std::vector<BF16> rows(12, BF16(9.0f));
  std::vector<float> taken(8, 9.0f);
  kernel(table.data(), ids.data(), rows.data(), scores.data(), picks.data(),
         taken.data());
  for (int t = 0; t < 4; ++t)
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(rows[t * 3 + c].bits,
                ids[t] >= 0 && ids[t] < 4 ? table[ids[t] * 3 + c].bits : 0);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(taken[i], picks[i] >= 0 && picks[i] < 5
                            ? scores[i / 2 * 5 + picks[i]]
                            : 0.0f);
}

} // namespace
