//===- AttentionRulesTest.cpp - rules of attention, executed --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProgram.h"
#include "gtest/gtest.h"

using namespace dsv4test;

namespace {

std::string str(int64_t value) { return std::to_string(value); }

/// Eleven queries of two rows.
const std::vector<int64_t> kQuery = {2, 11, 3, 5}, kKeys = {2, 11, 5},
                           kSink = {3}, kPool = {2, 4, 5};

std::string getAttention(int64_t window, int64_t ratio, const std::string &pool) {
  std::string q = getType(kQuery), k = getType(kKeys);
  return "  %y = dsv4.window_attention {window = " + str(window) +
         " : i64, scale = 0.4 : f64, ratio = " + str(ratio) +
         " : i64} ins(%q, %k, %s, %c0, %c0 : " + q + ", " + k + ", " +
         getType(kSink) + ") " + pool + " outs(%empty : " + q + ") -> " + q;
}

TEST(AttentionRules, WindowOnly) {
  for (int64_t window : {1, 4, 40})
    expectGradients({{"q", kQuery, 2.0}, {"k", kKeys}, {"s", kSink}}, kQuery,
                    getAttention(window, 0, ""));
}

TEST(AttentionRules, AllWindows) {
  expectGradients(
      {{"q", kQuery, 2.0}, {"k", kKeys}, {"s", kSink}, {"c", kPool}}, kQuery,
      getAttention(3, 3, "pool(%c : " + getType(kPool) + ")"));
}

TEST(AttentionRules, SelectedWindows) {
  std::vector<int64_t> selected;
  for (int64_t row = 0; row < 22; ++row) {
    int64_t visible = (row % 11 + 1) / 3;
    // Nothing, one window and none, one window twice, and one out of range.
    selected.push_back(visible == 0 || row % 5 == 0 ? -1 : row % visible);
    selected.push_back(row % 4 == 0 ? 4 : visible - 1);
  }
  expectGradients({{"q", kQuery, 2.0},
                   {"k", kKeys},
                   {"s", kSink},
                   {"c", kPool},
                   {"i", {2, 11, 2}, 1.0, selected}},
                  kQuery,
                  getAttention(3, 3, "pool(%c : " + getType(kPool) +
                                         ") selected(%i : " +
                                         getType({2, 11, 2}, "i64") + ")"));
}

/// One value in three places: the contributions add up.
TEST(AttentionRules, KeysAreAlsoThePool) {
  expectGradients({{"q", kQuery, 2.0}, {"k", kKeys}, {"s", kSink}}, kQuery,
                  getAttention(3, 1, "pool(%k : " + getType(kKeys) + ")"));
}

TEST(AttentionRules, Rope) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 22; ++i)
    positions.push_back(i % 11 * 1000 + i / 11);
  for (std::string attrs : {"", ", inverse"})
    expectGradients(
        {{"q", kQuery}, {"p", {2, 11}, 1.0, positions}}, kQuery,
        "  %y = dsv4.rope {inv_freq = array<f64: 1.0, 0.01>" + attrs +
            "} ins(%q, %p : " + getType(kQuery) + ", " +
            getType({2, 11}, "i64") + ") outs(%empty : " + getType(kQuery) +
            ") -> " + getType(kQuery));
}

TEST(AttentionRules, PoolWindows) {
  for (bool overlap : {false, true}) {
    std::vector<int64_t> values = {2, 3, 4, overlap ? 10 : 5},
                         ape = {4, overlap ? 10 : 5}, rows = {2, 3, 5};
    std::string v = getType(values);
    expectGradients({{"v", values}, {"g", values, 2.0}, {"a", ape}}, rows,
                    std::string("  %y = dsv4.pool_windows ") +
                        (overlap ? "{overlap} " : "") +
                        "ins(%v, %g, %a, %c0 : " + v + ", " + v + ", " +
                        getType(ape) + ") outs(%empty : " + getType(rows) +
                        ") -> " + getType(rows));
  }
}

TEST(AttentionRules, Sinkhorn) {
  for (int64_t iterations : {1, 20}) {
    std::vector<int64_t> shape = {2, 9, 4, 4};
    expectGradients({{"x", shape, 2.0}}, shape,
                    "  %y = dsv4.sinkhorn {iterations = " + str(iterations) +
                        " : i64, eps = 1.0e-3 : f64} ins(%x : " +
                        getType(shape) + ") outs(%empty : " + getType(shape) +
                        ") -> " + getType(shape));
  }
}

} // namespace
