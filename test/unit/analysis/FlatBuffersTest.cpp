//===- FlatBuffersTest.cpp - how the parameters of a unit are stored ------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FlatBuffers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class FlatBuffersTest : public ::testing::Test {
protected:
  FlatParameter parameter(StringRef name, ArrayRef<int64_t> shape, Type dtype,
                          bool isFrozen = false) {
    return {builder.getStringAttr(name), RankedTensorType::get(shape, dtype),
            isFrozen};
  }

  SmallVector<FlatBuffer> compute(ArrayRef<FlatParameter> parameters,
                                  int64_t numRanks) {
    auto buffers = computeFlatBuffers(parameters, numRanks, [&](unsigned) {
      return emitError(builder.getUnknownLoc());
    });
    EXPECT_TRUE(succeeded(buffers));
    return succeeded(buffers) ? *buffers : SmallVector<FlatBuffer>();
  }

  MLIRContext context;
  Builder builder{&context};
};

TEST_F(FlatBuffersTest, PayloadAndPaddingAddUpToTheWholeBuffer) {
  auto buffers = compute({parameter("a", {3}, builder.getF32Type()),
                          parameter("b", {5, 2}, builder.getF32Type()),
                          parameter("c", {7}, builder.getBF16Type(), true)},
                         4);
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(buffers[0].total, 64);
  EXPECT_EQ(buffers[1].total, 128);
  FlatBytes bytes = computeFlatBytes(buffers);
  EXPECT_EQ(bytes.payload, 4 * 13 + 2 * 7);
  EXPECT_EQ(bytes.padding, 4 * (64 - 13) + 2 * (128 - 7));
}

TEST_F(FlatBuffersTest, NoParametersNoBuffers) {
  EXPECT_TRUE(compute({}, 4).empty());
  FlatBytes bytes = computeFlatBytes({});
  EXPECT_EQ(bytes.payload + bytes.padding, 0);
}

/// The rules of the layout, for all small sizes and groups.
TEST_F(FlatBuffersTest, StartsAndShardsAreAlignedAndShardsAreSmall) {
  Type dtypes[] = {builder.getBF16Type(), builder.getF32Type(),
                   builder.getF64Type()};
  for (Type dtype : dtypes)
    for (int64_t numRanks : {1, 2, 3, 4, 8, 64})
      for (int64_t first = 0; first < 70; first += 3)
        for (int64_t second = 0; second < 70; second += 7) {
          auto buffers = compute({parameter("a", {first}, dtype),
                                  parameter("b", {second}, dtype)},
                                 numRanks);
          ASSERT_EQ(buffers.size(), 1u);
          const FlatBuffer &buffer = buffers[0];
          int64_t unit = kFlatAlignment * 8 / dtype.getIntOrFloatBitWidth();
          EXPECT_EQ(buffer.segments[0].offset, 0);
          EXPECT_EQ(buffer.segments[1].offset % unit, 0);
          EXPECT_GE(buffer.segments[1].offset, first);
          EXPECT_LT(buffer.segments[1].offset, first + unit);
          int64_t end = buffer.segments[1].offset + second;
          EXPECT_EQ(buffer.shard % unit, 0);
          EXPECT_EQ(buffer.total, buffer.shard * numRanks);
          EXPECT_GE(buffer.total, end);
          // One aligned piece less per rank would not hold all.
          EXPECT_LT((buffer.shard - unit) * numRanks, end + (end == 0));
        }
}

} // namespace
