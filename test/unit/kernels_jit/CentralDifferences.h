//===- CentralDifferences.h - slopes of a loss -----------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_CENTRALDIFFERENCES_H
#define DSV4_TEST_CENTRALDIFFERENCES_H

#include "JitKernel.h"
#include "gtest/gtest.h"

/// Compares the gradient of `loss` in every entry of `x` with its slope, relative
/// to the largest entry.
inline void expectSlopes(const char *what, std::vector<double> &x,
                         const std::vector<double> &gradient,
                         const std::function<double()> &loss) {
  ASSERT_EQ(x.size(), gradient.size()) << what;
  const double step = 1e-5;
  double worst = 0, largest = 1e-2;
  for (size_t i = 0; i < x.size(); ++i) {
    double value = x[i];
    x[i] = value + step;
    double above = loss();
    x[i] = value - step;
    double below = loss();
    x[i] = value;
    double slope = (above - below) / (2 * step);
    worst = std::max(worst, std::fabs(slope - gradient[i]));
    largest = std::max(largest, std::fabs(gradient[i]));
  }
  EXPECT_LE(worst / largest, 1e-7) << what;
}

inline double getDot(const std::vector<double> &a,
                     const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

#endif // DSV4_TEST_CENTRALDIFFERENCES_H
