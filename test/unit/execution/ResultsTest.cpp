//===- ResultsTest.cpp - Comparing results --------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Results.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mlir::dsv4;

template <typename T>
static ResultTensor makeResult(TensorType type, std::vector<int64_t> shape,
                               std::vector<T> values) {
  llvm::ArrayRef<char> bytes = asBytes(llvm::ArrayRef<T>(values));
  return {"x", type, std::move(shape), {bytes.begin(), bytes.end()}};
}

static ResultTensor makeDoubles(std::vector<double> values) {
  int64_t size = values.size();
  return makeResult<double>(TensorType::F64, {size}, std::move(values));
}

TEST(ResultsTest, ValuesOfEveryType) {
  EXPECT_EQ(makeResult<float>(TensorType::F32, {1}, {1.5f}).getValue(0), 1.5);
  EXPECT_EQ(makeResult<uint16_t>(TensorType::BF16, {1}, {0x3FC0}).getValue(0),
            1.5);
  EXPECT_EQ(makeResult<uint16_t>(TensorType::F16, {1}, {0x3E00}).getValue(0),
            1.5);
  EXPECT_EQ(makeResult<int64_t>(TensorType::I64, {1}, {-7}).getValue(0), -7.0);
  EXPECT_EQ(makeResult<uint8_t>(TensorType::Bool, {1}, {1}).getValue(0), 1.0);
}

TEST(ResultsTest, DifferencesOfValuesAndBits) {
  ResultTensor a = makeDoubles({1.0, 2.0}), b = makeDoubles({1.0, 2.5});
  std::optional<Difference> difference = compareTensors(a.getRef(), b.getRef());
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->maxAbs, 0.5);
  EXPECT_FALSE(difference->isBitwise);
  EXPECT_TRUE(compareTensors(a.getRef(), a.getRef())->isBitwise);
  // Equal values, other bits.
  difference =
      compareTensors(makeDoubles({0.0}).getRef(), makeDoubles({-0.0}).getRef());
  EXPECT_EQ(difference->maxAbs, 0.0);
  EXPECT_FALSE(difference->isBitwise);
  EXPECT_FALSE(compareTensors(a.getRef(), makeDoubles({1.0}).getRef()));
}

TEST(ResultsTest, NaNOnOneSideIsInfinitelyFar) {
  ResultTensor a = makeDoubles({std::nan("")}), b = makeDoubles({1.0});
  EXPECT_EQ(compareTensors(a.getRef(), b.getRef())->maxAbs,
            std::numeric_limits<double>::infinity());
  EXPECT_TRUE(compareTensors(a.getRef(), a.getRef())->isBitwise);
}

TEST(ResultsTest, FirstNaN) {
  ResultTensor values = makeDoubles({1.0, std::nan(""), std::nan("")});
  EXPECT_EQ(findNaN(values.getRef()), 1u);
  EXPECT_FALSE(findNaN(makeDoubles({1.0}).getRef()));
  EXPECT_EQ(formatPosition({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(formatPosition({}, 0), "[]");
}

TEST(ResultsTest, GradientsDependOnTheNumberOfRanksByTheirLargestEntry) {
  ResultTensor gradient = makeDoubles({0.5, -20.0});
  EXPECT_FALSE(isRankCountInvariant(gradient, {1e-11, false}));
  gradient.name = "grad/model.w";
  EXPECT_TRUE(isRankCountInvariant(gradient, {1e-11, false}));
  EXPECT_FALSE(isRankCountInvariant(gradient, {1e-10, false}));
}

TEST(ResultsTest, OnlyScalarsMayDependOnTheNumberOfRanks) {
  ResultTensor loss = makeResult<double>(TensorType::F64, {}, {5.0});
  EXPECT_TRUE(isRankCountInvariant(loss, {1e-13, false}));
  EXPECT_FALSE(isRankCountInvariant(loss, {1e-11, false}));
  ResultTensor mixed = makeResult<float>(TensorType::F32, {}, {5.0f});
  EXPECT_TRUE(isRankCountInvariant(mixed, {1e-6, false}));
  ResultTensor logits = makeDoubles({1.0});
  EXPECT_FALSE(isRankCountInvariant(logits, {1e-16, false}));
  EXPECT_TRUE(isRankCountInvariant(logits, {0.0, true}));
}
