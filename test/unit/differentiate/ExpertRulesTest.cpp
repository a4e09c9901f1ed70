//===- ExpertRulesTest.cpp - rules of the experts, executed ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProgram.h"
#include "gtest/gtest.h"

using namespace dsv4test;

namespace {

/// Seven tokens with two slots each; nobody chooses expert 1, some slots have
/// none.
const std::vector<int64_t> kExperts = {0, 2, 3, -1, 2, 2, -1,
                                       -1, 0, 3, 2, 0, 3, 2};
const Tensor kChoice = {"e", {1, 7, 2}, 1.0, kExperts};
const std::string kSort =
    "  %a = tensor.empty() : tensor<14xi64>\n"
    "  %b = tensor.empty() : tensor<5xi64>\n"
    "  %order, %offsets = dsv4.sort_by_expert ins(%e : tensor<1x7x2xi64>)"
    " outs(%a, %b : tensor<14xi64>, tensor<5xi64>) -> tensor<14xi64>, "
    "tensor<5xi64>\n";

TEST(ExpertRules, DispatchRows) {
  expectGradients({{"x", {1, 7, 3}}, kChoice}, {14, 3},
                  kSort +
                      "  %y = dsv4.dispatch_rows ins(%x, %order : "
                      "tensor<1x7x3xf64>, tensor<14xi64>) outs(%empty : "
                      "tensor<14x3xf64>) -> tensor<14x3xf64>");
}

TEST(ExpertRules, DispatchWeights) {
  expectGradients({{"x", {1, 7, 2}}, kChoice}, {14},
                  kSort +
                      "  %y = dsv4.dispatch_weights ins(%x, %order : "
                      "tensor<1x7x2xf64>, tensor<14xi64>) outs(%empty : "
                      "tensor<14xf64>) -> tensor<14xf64>");
}

/// Its init is an operand too.
TEST(ExpertRules, CombineRows) {
  expectGradients({{"x", {14, 3}}, {"z", {1, 7, 3}}, kChoice}, {1, 7, 3},
                  kSort +
                      "  %y = dsv4.combine_rows ins(%x, %order, %offsets, %e : "
                      "tensor<14x3xf64>, tensor<14xi64>, tensor<5xi64>, "
                      "tensor<1x7x2xi64>) outs(%z : tensor<1x7x3xf64>) -> "
                      "tensor<1x7x3xf64>");
}

TEST(ExpertRules, GroupedMatmul) {
  for (bool transposed : {false, true}) {
    std::vector<int64_t> weights = {4, transposed ? 6 : 3, transposed ? 3 : 6};
    expectGradients({{"x", {14, 3}}, {"w", weights}, kChoice}, {14, 6},
                    kSort + "  %y = dsv4.grouped_matmul " +
                        (transposed ? "{transposed} " : "") +
                        "ins(%x, %w, %offsets : tensor<14x3xf64>, " +
                        getType(weights) +
                        ", tensor<5xi64>) outs(%empty : tensor<14x6xf64>) -> "
                        "tensor<14x6xf64>");
  }
}

/// All of them, with a product of rows and weights between.
TEST(ExpertRules, WholeLayer) {
  expectGradients(
      {{"x", {1, 7, 3}}, {"g", {1, 7, 2}}, {"w", {4, 3, 3}}, kChoice}, {1, 7, 3},
      kSort + R"(
  %r = tensor.empty() : tensor<14x3xf64>
  %s = tensor.empty() : tensor<14xf64>
  %rows = dsv4.dispatch_rows ins(%x, %order : tensor<1x7x3xf64>, tensor<14xi64>) outs(%r : tensor<14x3xf64>) -> tensor<14x3xf64>
  %scales = dsv4.dispatch_weights ins(%g, %order : tensor<1x7x2xf64>, tensor<14xi64>) outs(%s : tensor<14xf64>) -> tensor<14xf64>
  %up = dsv4.grouped_matmul ins(%rows, %w, %offsets : tensor<14x3xf64>, tensor<4x3x3xf64>, tensor<5xi64>) outs(%r : tensor<14x3xf64>) -> tensor<14x3xf64>
  %scaled = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
    ins(%up, %scales : tensor<14x3xf64>, tensor<14xf64>) outs(%r : tensor<14x3xf64>) {
  ^bb0(%u: f64, %v: f64, %o: f64):
    %t = math.exp %u : f64
    %m = arith.mulf %t, %v : f64
    linalg.yield %m : f64
  } -> tensor<14x3xf64>
  %down = dsv4.grouped_matmul {transposed} ins(%scaled, %w, %offsets : tensor<14x3xf64>, tensor<4x3x3xf64>, tensor<5xi64>) outs(%r : tensor<14x3xf64>) -> tensor<14x3xf64>
  %z = linalg.fill ins(%zero : f64) outs(%empty : tensor<1x7x3xf64>) -> tensor<1x7x3xf64>
  %y = dsv4.combine_rows ins(%down, %order, %offsets, %e : tensor<14x3xf64>, tensor<14xi64>, tensor<5xi64>, tensor<1x7x2xi64>) outs(%z : tensor<1x7x3xf64>) -> tensor<1x7x3xf64>)");
}

} // namespace
