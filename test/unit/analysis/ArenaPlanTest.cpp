//===- ArenaPlanTest.cpp - Where buffers lie ------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/ArenaPlan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::dsv4;

namespace {

bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

int64_t getEnd(const ArenaBuffer &buffer, int64_t offset) {
  return offset + static_cast<int64_t>(llvm::alignTo(buffer.bytes, 64));
}

/// What every plan promises, checked pair by pair and point by point.
void expectLegal(ArrayRef<ArenaBuffer> buffers, const ArenaPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  int64_t peak = 0, last = 0;
  for (auto [i, a] : llvm::enumerate(buffers)) {
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    last = std::max(last, a.last);
    if (a.bytes == 0)
      continue;
    peak = std::max(peak, getEnd(a, plan.offsets[i]));
    for (size_t j = 0; j < i; ++j) {
      const ArenaBuffer &b = buffers[j];
      if (b.bytes == 0 || !liveTogether(a, b))
        continue;
      EXPECT_TRUE(getEnd(a, plan.offsets[i]) <= plan.offsets[j] ||
                  getEnd(b, plan.offsets[j]) <= plan.offsets[i])
          << "buffers " << i << " and " << j << " overlap";
    }
  }
  int64_t most = 0;
  for (int64_t point = 0; point <= last; ++point) {
    int64_t alive = 0;
    for (const ArenaBuffer &buffer : buffers)
      if (buffer.first <= point && point <= buffer.last)
        alive += llvm::alignTo(buffer.bytes, 64);
    most = std::max(most, alive);
  }
  EXPECT_EQ(plan.peak, peak);
  EXPECT_EQ(plan.lowerBound, most);
  EXPECT_GE(plan.peak, plan.lowerBound);
}

} // namespace

TEST(ArenaPlanTest, PlacesNothing) {
  ArenaPlan plan = planArena({});
  EXPECT_TRUE(plan.offsets.empty());
  EXPECT_EQ(plan.peak, 0);
  EXPECT_EQ(plan.lowerBound, 0);
}

TEST(ArenaPlanTest, AlignsEverySize) {
  SmallVector<ArenaBuffer> buffers = {{1, 0, 3}, {64, 0, 3}, {65, 0, 3}};
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.peak, 64 + 64 + 128);
  EXPECT_EQ(plan.lowerBound, plan.peak);
}

TEST(ArenaPlanTest, ReusesAPlaceAfterTheLastPoint) {
  SmallVector<ArenaBuffer> buffers = {{64, 0, 1}, {64, 2, 3}};
  ArenaPlan plan = planArena(buffers);
  EXPECT_EQ(plan.offsets, (SmallVector<int64_t>{0, 0}));
  EXPECT_EQ(plan.peak, 64);
  EXPECT_EQ(plan.lowerBound, 64);
}

TEST(ArenaPlanTest, BothEndsOfALifetimeCount) {
  // The operation at point 1 reads the first buffer and writes the second.
  SmallVector<ArenaBuffer> buffers = {{64, 0, 1}, {64, 1, 2}};
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.peak, 128);
}

TEST(ArenaPlanTest, AChainNeedsTwoPlaces) {
  SmallVector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 100; ++i)
    buffers.push_back({256, i, i + 1});
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.peak, 512);
}

TEST(ArenaPlanTest, AChainOfNearlyEqualSizesNeedsTwoPlaces) {
  // By size alone every third buffer would have a place of its own.
  SmallVector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 30; ++i)
    buffers.push_back({4224 - 20 * (i % 3), i, i + 1});
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.peak, 2 * 4224);
}

TEST(ArenaPlanTest, FillsAGapBelow) {
  // The two large buffers leave nothing below, the small one fits where the
  // first ended.
  SmallVector<ArenaBuffer> buffers = {{1024, 0, 1}, {1024, 0, 9}, {64, 2, 9}};
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.offsets, (SmallVector<int64_t>{0, 1024, 0}));
}

TEST(ArenaPlanTest, LargeBuffersComeFirst) {
  SmallVector<ArenaBuffer> buffers = {{64, 0, 9}, {4096, 0, 9}};
  ArenaPlan plan = planArena(buffers);
  EXPECT_EQ(plan.offsets, (SmallVector<int64_t>{4096, 0}));
}

TEST(ArenaPlanTest, EqualBuffersKeepTheirOrder) {
  SmallVector<ArenaBuffer> buffers(8, ArenaBuffer{128, 0, 0});
  ArenaPlan plan = planArena(buffers);
  for (auto [i, offset] : llvm::enumerate(plan.offsets))
    EXPECT_EQ(offset, static_cast<int64_t>(i) * 128);
}

TEST(ArenaPlanTest, EmptyBuffersTakeNoPlace) {
  SmallVector<ArenaBuffer> buffers = {{64, 0, 9}, {0, 0, 9}, {0, 3, 3}};
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.offsets, (SmallVector<int64_t>{0, 0, 0}));
  EXPECT_EQ(plan.peak, 64);
}

TEST(ArenaPlanTest, SizesBeyond32Bits) {
  int64_t large = int64_t(3) << 32;
  SmallVector<ArenaBuffer> buffers = {{large, 0, 1}, {large, 1, 2}, {64, 0, 2}};
  ArenaPlan plan = planArena(buffers);
  expectLegal(buffers, plan);
  EXPECT_EQ(plan.peak, 2 * large + 64);
}

TEST(ArenaPlanTest, IsDeterministic) {
  SmallVector<ArenaBuffer> buffers;
  std::mt19937 random(7);
  for (int64_t i = 0; i < 200; ++i)
    buffers.push_back({int64_t(random() % 5) * 100, i, i + int64_t(random() % 9)});
  EXPECT_EQ(planArena(buffers).offsets, planArena(buffers).offsets);
}

TEST(ArenaPlanTest, RandomPlansAreLegalAndTight) {
  std::mt19937 random(20);
  for (int round = 0; round < 200; ++round) {
    SmallVector<ArenaBuffer> buffers;
    for (size_t i = 0, count = random() % 40; i < count; ++i) {
      int64_t first = random() % 30;
      buffers.push_back({int64_t(random() % 2000), first,
                         first + int64_t(random() % 10)});
    }
    ArenaPlan plan = planArena(buffers);
    expectLegal(buffers, plan);
    EXPECT_LE(plan.peak, 2 * plan.lowerBound);
  }
}
