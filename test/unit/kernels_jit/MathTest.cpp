//===- MathTest.cpp - accuracy of expanded mathematics --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "gtest/gtest.h"

namespace {

constexpr int kCount = 1 << 16;

template <typename T>
std::vector<T> evaluate(const char *name, std::vector<T> x) {
  JitKernel kernel(substitute(R"(
    (%a: memref<65536x$t>, %r: memref<65536x$t>) {
      linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]}
        ins(%a : memref<65536x$t>) outs(%r : memref<65536x$t>) {
      ^bb0(%x: $t, %o: $t):
        %y = math.$f %x : $t
        linalg.yield %y : $t
      }
      return
    })",
                              {{"t", TypeInfo<T>::name}, {"f", name}}));
  std::vector<T> y(kCount);
  x.resize(kCount);
  kernel(x.data(), y.data());
  return y;
}

std::vector<double> spread(double from, double to) {
  std::vector<double> x(kCount);
  for (int i = 0; i < kCount; ++i)
    x[i] = from + (to - from) * i / (kCount - 1);
  return x;
}

/// The largest error in units of the last place of the result.
template <typename T>
double getUlps(const char *name, double from, double to,
               long double (*reference)(long double)) {
  std::vector<T> x;
  for (double value : spread(from, to))
    x.push_back(static_cast<T>(value));
  std::vector<T> y = evaluate<T>(name, x);
  double worst = 0;
  for (int i = 0; i < kCount; ++i) {
    long double want = reference(x[i]);
    T near = static_cast<T>(std::fabs(want));
    T ulp = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
    worst = std::max(worst, double(std::fabs(y[i] - want) / ulp));
  }
  return worst;
}

TEST(Math, ExpIsWithinOneUlp) {
  EXPECT_LE(getUlps<float>("exp", -104, 88.7, std::exp), 1.0);
  EXPECT_LE(getUlps<float>("exp", -1, 1, std::exp), 1.0);
  EXPECT_LE(getUlps<double>("exp", -745, 709.7, std::exp), 1.0);
  EXPECT_LE(getUlps<double>("exp", -1, 1, std::exp), 1.0);
}

TEST(Math, ExpHasItsLimits) {
  auto f = evaluate<float>(
      "exp", {-INFINITY, INFINITY, NAN, 0.0f, -0.0f, 1000, -1000});
  EXPECT_EQ(f[0], 0.0f);
  EXPECT_FALSE(std::signbit(f[0]));
  EXPECT_EQ(f[1], INFINITY);
  EXPECT_TRUE(std::isnan(f[2]));
  EXPECT_EQ(f[3], 1.0f);
  EXPECT_EQ(f[4], 1.0f);
  EXPECT_EQ(f[5], INFINITY);
  EXPECT_EQ(f[6], 0.0f);
  auto d = evaluate<double>("exp", {-INFINITY, INFINITY, NAN, 0.0, 1e5, -1e5});
  EXPECT_EQ(d[0], 0.0);
  EXPECT_EQ(d[1], INFINITY);
  EXPECT_TRUE(std::isnan(d[2]));
  EXPECT_EQ(d[3], 1.0);
  EXPECT_EQ(d[4], INFINITY);
  EXPECT_EQ(d[5], 0.0);
}

TEST(Math, LogarithmsAreWithinTwoUlps) {
  EXPECT_LE(getUlps<float>("log", 1e-3, 0.5, std::log), 2.0);
  EXPECT_LE(getUlps<float>("log", 0.5, 2.5, std::log), 2.0);
  EXPECT_LE(getUlps<float>("log", 2, 1e6, std::log), 2.0);
  EXPECT_LE(getUlps<float>("log1p", 0, 1, std::log1p), 2.0);
  EXPECT_LE(getUlps<float>("log1p", 0, 1e-5, std::log1p), 2.0);
  EXPECT_LE(getUlps<double>("log", 1e-3, 1e3, std::log), 1.0);
  EXPECT_LE(getUlps<double>("log1p", 0, 1, std::log1p), 1.0);
}

TEST(Math, RootsRoundOncePerOperation) {
  std::vector<float> x;
  for (double value : spread(1e-6, 1e3))
    x.push_back(static_cast<float>(value));
  auto root = evaluate<float>("sqrt", x), inverse = evaluate<float>("rsqrt", x);
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(root[i], std::sqrt(x[i]));
    ASSERT_EQ(inverse[i], 1.0f / std::sqrt(x[i]));
  }
}

TEST(Math, TanhIsClose) {
  EXPECT_LE(getUlps<float>("tanh", -9, 9, std::tanh), 8.0);
  EXPECT_LE(getUlps<double>("tanh", -9, 9, std::tanh), 4.0);
}

TEST(Math, SineAndCosineUpToTwentyBitPositions) {
  for (double limit : {1.0, 100.0, 1048576.0, 16777216.0}) {
    std::vector<double> x = spread(-limit, limit * 0.999999);
    auto sine = evaluate<double>("sin", x), cosine = evaluate<double>("cos", x);
    double worst = 0;
    for (int i = 0; i < kCount; ++i) {
      worst = std::max(worst, std::fabs(double(sine[i] - sinl(x[i]))));
      worst = std::max(worst, std::fabs(double(cosine[i] - cosl(x[i]))));
    }
    EXPECT_LE(worst, 5e-16) << limit;
  }
  auto f = evaluate<float>("sin", {65535.0f, -3.0f, 0.0f});
  EXPECT_NEAR(f[0], std::sin(65535.0), 6e-8);
  EXPECT_NEAR(f[1], std::sin(-3.0), 6e-8);
  EXPECT_EQ(f[2], 0.0f);
}

} // namespace
