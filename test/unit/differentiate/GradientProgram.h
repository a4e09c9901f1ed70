//===- GradientProgram.h - gradients against central differences -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that the pass differentiates, executed on one rank. Each test
// writes the value of interest; the loss is its product with random numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_GRADIENTPROGRAM_H
#define DSV4_TEST_GRADIENTPROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

namespace dsv4test {

/// A tensor of the program: f64 parameters are random in [-scale, scale),
/// integers are given.
struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  double scale = 1.0;
  std::vector<int64_t> integers = {};
};

/// `body` computes %y from %NAME of each tensor; it may use %zero and %empty,
/// made for the type of %y, `shape`. Differentiates, executes, and compares the
/// gradient of each parameter with slopes along random directions.
void expectGradients(const std::vector<Tensor> &tensors,
                     const std::vector<int64_t> &shape,
                     const std::string &body);

/// "tensor<2x3xf64>"
std::string getType(const std::vector<int64_t> &shape,
                    const char *element = "f64");

} // namespace dsv4test

#endif // DSV4_TEST_GRADIENTPROGRAM_H
