//===- LinalgRulesTest.cpp - linalg, arith, math and tensor ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProgram.h"

#include "gtest/gtest.h"

using namespace dsv4test;

namespace {

/// `%y` from `%a` and `%b` by one elementwise operation; `body` computes %r from
/// the scalars %p and %q.
std::string getElementwise(const std::string &body) {
  std::string type = getType({3, 5}), map = "affine_map<(i, j) -> (i, j)>";
  return "  %y = linalg.generic {indexing_maps = [" + map + ", " + map + ", " +
         map + "], iterator_types = [\"parallel\", \"parallel\"]} ins(%a, %b : " +
         type + ", " + type + ") outs(%empty : " + type + ") {\n  ^bb0(%p: f64, %q: f64, %out: f64):\n" +
         body + "\n    linalg.yield %r : f64\n  } -> " + type;
}

void expectScalarGradients(const std::string &body) {
  SCOPED_TRACE(body);
  expectGradients({{"a", {3, 5}}, {"b", {3, 5}}}, {3, 5}, getElementwise(body));
}

/// The operation on %s, in [1, 3), which depends on both.
void expectUnaryGradients(const std::string &op) {
  expectScalarGradients("    %two = arith.constant 2.0 : f64\n"
                        "    %pq = arith.mulf %p, %q : f64\n"
                        "    %s = arith.addf %pq, %two : f64\n"
                        "    %r = " + op + " %s : f64");
}

} // namespace

TEST(ArithRules, Operations) {
  expectScalarGradients("    %r = arith.addf %p, %q : f64");
  expectScalarGradients("    %r = arith.subf %p, %q : f64");
  expectScalarGradients("    %r = arith.mulf %p, %q : f64");
  expectScalarGradients("    %n = arith.negf %q : f64\n"
                        "    %r = arith.mulf %p, %n : f64");
  expectScalarGradients("    %two = arith.constant 2.0 : f64\n"
                        "    %d = arith.addf %q, %two : f64\n"
                        "    %r = arith.divf %p, %d : f64");
  expectScalarGradients("    %r = arith.maximumf %p, %q : f64");
  expectScalarGradients("    %r = arith.minimumf %p, %q : f64");
  expectScalarGradients("    %c = arith.cmpf olt, %p, %q : f64\n"
                        "    %t = arith.mulf %p, %p : f64\n"
                        "    %r = arith.select %c, %t, %q : f64");
}

/// 0 outside the limits, 1 inside.
TEST(ArithRules, Clamp) {
  expectScalarGradients("    %low = arith.constant -0.3 : f64\n"
                        "    %high = arith.constant 0.4 : f64\n"
                        "    %m = arith.maximumf %p, %low : f64\n"
                        "    %n = arith.minimumf %m, %high : f64\n"
                        "    %r = arith.mulf %n, %q : f64");
}

TEST(MathRules, Operations) {
  for (const char *op : {"math.exp", "math.log", "math.log1p", "math.sqrt",
                         "math.rsqrt", "math.tanh"})
    expectUnaryGradients(op);
  expectScalarGradients("    %m = math.absf %p : f64\n"
                        "    %r = arith.mulf %m, %q : f64");
  expectScalarGradients("    %r = math.fma %p, %q, %p : f64");
}

/// The stable form, of which each part alone has a kink.
TEST(MathRules, Softplus) {
  expectScalarGradients("    %z = arith.constant 0.0 : f64\n"
                        "    %d = arith.subf %p, %q : f64\n"
                        "    %m = arith.maximumf %d, %z : f64\n"
                        "    %g = math.absf %d : f64\n"
                        "    %n = arith.negf %g : f64\n"
                        "    %e = math.exp %n : f64\n"
                        "    %l = math.log1p %e : f64\n"
                        "    %r = arith.addf %m, %l : f64");
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

namespace {

/// One reduction of %a and %b; `start` is the tensor that it adds to.
std::string getReduction(const std::string &maps, const std::string &loops,
                         const std::string &types, const std::string &out,
                         const std::string &body,
                         const std::string &start = "%filled") {
  return "  %filled = linalg.fill ins(%zero : f64) outs(%empty : " + out +
         ") -> " + out + "\n  %y = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [" + loops + "]} ins(%a, %b : " + types +
         ") outs(" + start + " : " + out +
         ") {\n  ^bb0(%p: f64, %q: f64, %acc: f64):\n" + body +
         "\n    linalg.yield %r : f64\n  } -> " + out;
}

const char *const kMultiplyAdd = "    %m = arith.mulf %p, %q : f64\n"
                                 "    %r = arith.addf %acc, %m : f64";
const char *const kLoops = "\"parallel\", \"parallel\", \"reduction\"";

} // namespace

TEST(LinalgRules, Contraction) {
  expectGradients({{"a", {3, 7}}, {"b", {5, 7}}}, {3, 5},
                  getReduction("affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, "
                               "affine_map<(i, j, k) -> (i, j)>",
                               kLoops, getType({3, 7}) + ", " + getType({5, 7}),
                               getType({3, 5}), kMultiplyAdd));
}

/// What is added to is a parameter too.
TEST(LinalgRules, AddsToAParameter) {
  expectGradients({{"a", {3, 7}}, {"b", {5, 7}}, {"c", {3, 5}}}, {3, 5},
                  getReduction("affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, "
                               "affine_map<(i, j, k) -> (i, j)>",
                               kLoops, getType({3, 7}) + ", " + getType({5, 7}),
                               getType({3, 5}), kMultiplyAdd, "%c"));
}

/// One operand twice, and a loop that only it walks.
TEST(LinalgRules, SumOfSquares) {
  std::string body = "    %s = arith.mulf %p, %p : f64\n"
                     "    %t = arith.addf %s, %q : f64\n"
                     "    %r = arith.addf %acc, %t : f64";
  expectGradients({{"a", {3, 7}}, {"b", {3}}}, {3},
                  getReduction("affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>, "
                               "affine_map<(i, k) -> (i)>",
                               "\"parallel\", \"reduction\"",
                               getType({3, 7}) + ", " + getType({3}), getType({3}), body));
}

TEST(LinalgRules, Broadcast) {
  std::string out = getType({3, 5});
  expectGradients(
      {{"a", {5}}, {"b", {3}}}, {3, 5},
      "  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, "
      "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], "
      "iterator_types = [\"parallel\", \"parallel\"]} ins(%a, %b : " +
          getType({5}) + ", " + getType({3}) + ") outs(%empty : " + out +
          ") {\n  ^bb0(%p: f64, %q: f64, %out: f64):\n"
          "    %r = arith.mulf %p, %q : f64\n    linalg.yield %r : f64\n  } -> " + out);
}

/// The positions of a mask are no operand.
TEST(LinalgRules, SelectsByIndex) {
  expectScalarGradients("    %i = linalg.index 0 : index\n"
                        "    %j = linalg.index 1 : index\n"
                        "    %c = arith.cmpi sle, %j, %i : index\n"
                        "    %t = arith.mulf %p, %q : f64\n"
                        "    %r = arith.select %c, %t, %p : f64");
}

TEST(LinalgRules, Transpose) {
  expectGradients({{"a", {5, 3}}}, {3, 5},
                  "  %y = linalg.transpose ins(%a : " + getType({5, 3}) +
                      ") outs(%empty : " + getType({3, 5}) + ") permutation = [1, 0]");
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

TEST(TensorRules, ExtractSlice) {
  expectGradients({{"a", {4, 9}}}, {3},
                  "  %y = tensor.extract_slice %a[2, 1] [1, 3] [1, 2] : " +
                      getType({4, 9}) + " to " + getType({3}));
}

/// A slice and the rest of the same tensor.
TEST(TensorRules, InsertSlice) {
  expectGradients({{"a", {2, 3}}, {"b", {4, 5}}}, {4, 5},
                  "  %y = tensor.insert_slice %a into %b[1, 2] [2, 3] [1, 1] : " +
                      getType({2, 3}) + " into " + getType({4, 5}));
}

TEST(TensorRules, Reshapes) {
  expectGradients({{"a", {2, 6}}}, {4, 3},
                  "  %f = tensor.collapse_shape %a [[0, 1]] : " + getType({2, 6}) +
                      " into " + getType({12}) +
                      "\n  %y = tensor.expand_shape %f [[0, 1]] output_shape [4, 3] : " +
                      getType({12}) + " into " + getType({4, 3}));
}
