//===- ModelTest.cpp - rotation, pooling and sinkhorn ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "gtest/gtest.h"

namespace {

std::string str(int64_t value) { return std::to_string(value); }

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

template <typename T>
std::vector<T> runRope(const std::vector<T> &x, std::vector<int64_t> positions,
                       int64_t heads, int64_t channels, const char *frequencies,
                       const char *attributes = "") {
  std::string shape = "2x" + str(positions.size() / 2) + "x" +
                      (heads ? str(heads) + "x" : "") + str(channels) + "x" +
                      TypeInfo<T>::name;
  JitKernel kernel(substitute(R"(
    (%x: memref<$s>, %p: memref<2x$txi64>, %o: memref<$s>) {
      dsv4.rope {inv_freq = array<f64: $f>$more} ins(%x, %p : memref<$s>, memref<2x$txi64>) outs(%o : memref<$s>)
      return
    })",
                              {{"more", attributes},
                               {"s", shape},
                               {"f", frequencies},
                               {"tx", str(positions.size() / 2) + "x"}}));
  std::vector<T> out(x.size());
  kernel(x.data(), positions.data(), out.data());
  return out;
}

template <typename T>
void testRope(int64_t heads, int64_t channels, const char *text,
              std::vector<double> frequencies, bool isInverse) {
  std::vector<int64_t> positions = {0, 1, 65535, 1048576, 7, 1000};
  int64_t rows = std::max<int64_t>(heads, 1), pairs = frequencies.size();
  auto x = makeRandom<T>(6 * rows * channels, 1);
  auto got = runRope(x, positions, heads, channels, text,
                     isInverse ? ", inverse" : "");
  auto want = x;
  for (int64_t row = 0; row < 6 * rows; ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      double angle = double(positions[row / rows]) * frequencies[i];
      Wide<T> c = std::cos(angle), s = std::sin(angle);
      s = isInverse ? -s : s;
      int64_t at = row * channels + channels - 2 * pairs + 2 * i;
      Wide<T> a = x[at], b = x[at + 1];
      want[at] = T(a * c - b * s);
      want[at + 1] = T(a * s + b * c);
    }
  EXPECT_LE(getError(got, want),
            (std::is_same_v<T, double> ? 4e-16 : getTolerance<T>()));
  for (int64_t row = 0; row < 6 * rows; ++row)
    for (int64_t d = 0; d < channels - 2 * pairs; ++d)
      EXPECT_EQ(Wide<T>(got[row * channels + d]),
                Wide<T>(x[row * channels + d]));
}

TEST(Rope, RotatesTheLastChannels) {
  for (bool isInverse : {false, true}) {
    testRope<float>(4, 32, "1.0, 0.1, 0.01, 0.001", {1.0, 0.1, 0.01, 0.001},
                    isInverse);
    testRope<double>(3, 7, "1.0, 0.3, 0.02", {1.0, 0.3, 0.02}, isInverse);
    testRope<BF16>(0, 9, "1.0, 0.5", {1.0, 0.5}, isInverse);
    testRope<float>(0, 2, "0.7", {0.7}, isInverse);
    testRope<float>(2, 5, "0.7", {0.7}, isInverse);
  }
}

TEST(Rope, RoundsTrigonometryToItsType) {
  auto x = makeRandom<float>(2 * 4 * 4, 1);
  std::vector<int64_t> positions = {1, 2, 3, 4, 5, 6, 7, 8};
  auto got = runRope<float>(x, positions, 0, 4, "1.0, 0.25", ", trig = bf16");
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t i = 0; i < 2; ++i) {
      double angle = double(positions[row]) * (i ? 0.25 : 1.0);
      float c = BF16(float(std::cos(angle))), s = BF16(float(std::sin(angle)));
      float a = x[row * 4 + 2 * i], b = x[row * 4 + 2 * i + 1];
      EXPECT_EQ(got[row * 4 + 2 * i], a * c - b * s);
      EXPECT_EQ(got[row * 4 + 2 * i + 1], a * s + b * c);
    }
}

//===----------------------------------------------------------------------===//
// Pool
//===----------------------------------------------------------------------===//

template <typename T>
std::vector<T> runPool(const std::vector<T> &values, const std::vector<T> &gate,
                       const std::vector<T> &ape, int64_t windows,
                       int64_t tokens, int64_t channels, int64_t rows,
                       bool overlap, int64_t first) {
  JitKernel kernel(
      substitute(R"(
    (%v: memref<2x$mx$rx$fx$t>, %g: memref<2x$mx$rx$fx$t>, %a: memref<$rx$fx$t>, %o: memref<2x$nx$dx$t>, %w0: index) {
      dsv4.pool_windows $attrs ins(%v, %g, %a, %w0 : memref<2x$mx$rx$fx$t>, memref<2x$mx$rx$fx$t>, memref<$rx$fx$t>)
        outs(%o : memref<2x$nx$dx$t>)
      return
    })",
                 {{"attrs", overlap ? "{overlap}" : ""},
                  {"mx", str(windows) + "x"},
                  {"rx", str(tokens) + "x"},
                  {"fx", str(overlap ? 2 * channels : channels) + "x"},
                  {"nx", str(rows) + "x"},
                  {"dx", str(channels) + "x"},
                  {"t", TypeInfo<T>::name}}));
  std::vector<T> out(2 * rows * channels);
  kernel(values.data(), gate.data(), ape.data(), out.data(), first);
  return out;
}

template <typename T>
void testPool(int64_t windows, int64_t tokens, int64_t channels, bool overlap) {
  int64_t width = overlap ? 2 * channels : channels;
  auto values = makeRandom<T>(2 * windows * tokens * width, 1);
  auto gate = makeRandom<T>(2 * windows * tokens * width, 2, 4.0);
  auto ape = makeRandom<T>(tokens * width, 3);
  auto got = runPool(values, gate, ape, windows, tokens, channels, windows,
                     overlap, 0);
  std::vector<T> want(got.size());
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t d = 0; d < channels; ++d) {
        double den = 0, num = 0;
        for (int64_t part = overlap ? 0 : 1; part < 2; ++part)
          for (int64_t j = 0; j < tokens && w - 1 + part >= 0; ++j) {
            int64_t c = overlap && part ? channels + d : d;
            int64_t at =
                ((b * windows + w - 1 + part) * tokens + j) * width + c;
            double p = std::exp(double(gate[at]) + double(ape[j * width + c]));
            den += p;
            num += p * values[at];
          }
        want[(b * windows + w) * channels + d] = num / den;
      }
  EXPECT_LE(getError(got, want), getTolerance<T>());
  // Part of the rows of a gathered input: equal bits.
  if (windows < 3 || !overlap)
    return;
  auto part =
      runPool(values, gate, ape, windows, tokens, channels, 2, overlap, 1);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 2 * channels; ++i)
      EXPECT_EQ(part[b * 2 * channels + i],
                got[(b * windows + 1) * channels + i]);
}

TEST(Pool, EqualsPlainLoops) {
  testPool<float>(4, 4, 32, true);
  testPool<double>(4, 4, 32, true);
  testPool<float>(3, 16, 7, false);
  testPool<double>(5, 4, 19, true);
  testPool<double>(1, 1, 1, true);
  testPool<float>(2, 128, 16, false);
}

//===----------------------------------------------------------------------===//
// Sinkhorn
//===----------------------------------------------------------------------===//

template <typename T>
void testSinkhorn(int64_t tokens, int64_t n, int64_t iterations) {
  JitKernel kernel(substitute(R"(
    (%x: memref<2x$tx$nx$nx$e>, %o: memref<2x$tx$nx$nx$e>) {
      dsv4.sinkhorn {iterations = $i : i64, eps = 1.0e-6 : f64} ins(%x : memref<2x$tx$nx$nx$e>)
        outs(%o : memref<2x$tx$nx$nx$e>)
      return
    })",
                              {{"tx", str(tokens) + "x"},
                               {"nx", str(n) + "x"},
                               {"e", TypeInfo<T>::name},
                               {"i", str(iterations)}}));
  auto x = makeRandom<T>(2 * tokens * n * n, 1, 3.0);
  std::vector<T> got(x.size()), want(x.size());
  kernel(x.data(), got.data());
  const T eps = T(1e-6);
  for (int64_t row = 0; row < 2 * tokens; ++row) {
    T *m = &want[row * n * n];
    const T *from = &x[row * n * n];
    for (int64_t i = 0; i < n; ++i) {
      T highest = *std::max_element(from + i * n, from + i * n + n), sum = 0;
      for (int64_t j = 0; j < n; ++j)
        m[i * n + j] = std::exp(from[i * n + j] - highest);
      for (int64_t j = 0; j < n; ++j)
        sum += m[i * n + j];
      for (int64_t j = 0; j < n; ++j)
        m[i * n + j] = m[i * n + j] / sum + eps;
    }
    for (int64_t step = 0; step < 2 * iterations - 1; ++step) {
      int64_t line = step % 2 ? n : 1, along = step % 2 ? 1 : n;
      for (int64_t i = 0; i < n; ++i) {
        T sum = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += m[i * line + k * along];
        for (int64_t k = 0; k < n; ++k)
          m[i * line + k * along] = m[i * line + k * along] / (sum + eps);
      }
    }
  }
  EXPECT_LE(getError(got, want), (std::is_same_v<T, double> ? 2e-15 : 1e-6));
}

TEST(Sinkhorn, FollowsTheOrderOfTheDefinition) {
  testSinkhorn<float>(20, 4, 20);
  testSinkhorn<double>(33, 4, 20);
  testSinkhorn<double>(3, 5, 1);
  testSinkhorn<float>(1, 1, 2);
}

} // namespace
