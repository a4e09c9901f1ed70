//===- RowRulesTest.cpp - rules of reads by index, executed ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProgram.h"
#include "gtest/gtest.h"

using namespace dsv4test;

namespace {

/// Repeated ids, unused ids and ids outside.
TEST(RowRules, GatherRows) {
  std::string out = getType({2, 4, 33});
  expectGradients({{"t", {5, 33}}, {"i", {2, 4}, 1.0, {0, 4, 4, -1, 2, 5, 4, 0}}},
                  {2, 4, 33},
                  "  %y = dsv4.gather_rows ins(%t, %i : " + getType({5, 33}) +
                      ", " + getType({2, 4}, "i64") + ") outs(%empty : " + out +
                      ") -> " + out);
}

TEST(RowRules, TakeAlong) {
  std::string out = getType({2, 2, 3});
  expectGradients(
      {{"x", {2, 2, 5}},
       {"i", {2, 2, 3}, 1.0, {0, 4, 4, -1, 2, 5, 3, 3, 3, 0, 1, 2}}},
      {2, 2, 3},
      "  %y = dsv4.take_along ins(%x, %i : " + getType({2, 2, 5}) + ", " +
          getType({2, 2, 3}, "i64") + ") outs(%empty : " + out + ") -> " + out);
}

} // namespace
