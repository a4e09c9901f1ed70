//===- SlicingTest.cpp - Parts of tensors ---------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Slicing.h"

#include "gtest/gtest.h"

using namespace mlir::dsv4;

/// All runs of a part.
static std::vector<SliceRun> getRuns(llvm::ArrayRef<DimSlice> dims) {
  std::vector<SliceRun> runs;
  forEachRun(dims, [&](const SliceRun &run) { runs.push_back(run); });
  return runs;
}

TEST(SlicingTest, RanksAreRowMajorOverTheMesh) {
  std::vector<int64_t> sizes = {2, 3};
  // Rank 5 is the last of both axes, rank 1 the second of the inner one.
  EXPECT_EQ(getRankPlace(sizes, {0, 1}, 5), (RankPlace{5, 6}));
  EXPECT_EQ(getRankPlace(sizes, {0}, 1), (RankPlace{0, 2}));
  EXPECT_EQ(getRankPlace(sizes, {1}, 1), (RankPlace{1, 3}));
  EXPECT_EQ(getRankPlace(sizes, {}, 4), (RankPlace{0, 1}));
}

TEST(SlicingTest, ListOfAxesGivesTheOrder) {
  std::vector<int64_t> sizes = {2, 3};
  // Rank 1 is (0, 1): row-major over (axis 1, axis 0) it is 1 * 2 + 0.
  EXPECT_EQ(getRankPlace(sizes, {1, 0}, 1), (RankPlace{2, 6}));
  EXPECT_EQ(getRankPlace(sizes, {1, 0}, 3), (RankPlace{1, 6}));
}

TEST(SlicingTest, MeshWithoutAxesHasOneRank) {
  EXPECT_EQ(getRankPlace({}, {}, 0), (RankPlace{0, 1}));
}

TEST(SlicingTest, UnevenRowsEndInPadding) {
  // 5 rows, 2 on each of 4 ranks.
  EXPECT_EQ(getDimSlice(5, 2, {0, 4}), (DimSlice{5, 2, 0, 2}));
  EXPECT_EQ(getDimSlice(5, 2, {2, 4}), (DimSlice{5, 2, 4, 1}));
  EXPECT_EQ(getDimSlice(5, 2, {3, 4}), (DimSlice{5, 2, 5, 0}));
}

TEST(SlicingTest, WholeTensorIsOneRun) {
  EXPECT_EQ(getRuns({{2, 2, 0, 2}, {3, 3, 0, 3}}),
            (std::vector<SliceRun>{{0, 0, 6}}));
  EXPECT_EQ(getRuns({}), (std::vector<SliceRun>{{0, 0, 1}}));
}

TEST(SlicingTest, SplitRowsAreOneRun) {
  EXPECT_EQ(getRuns({getDimSlice(4, 2, {1, 2}), {3, 3, 0, 3}}),
            (std::vector<SliceRun>{{6, 0, 6}}));
}

TEST(SlicingTest, SplitColumnsAreOneRunEach) {
  EXPECT_EQ(getRuns({{2, 2, 0, 2}, getDimSlice(8, 4, {1, 2})}),
            (std::vector<SliceRun>{{4, 0, 4}, {12, 4, 4}}));
}

TEST(SlicingTest, SplitInBothDimensions) {
  // [3, 4, 2] over 2 x 2 ranks: the last one has row 2 and a row of padding.
  std::vector<DimSlice> dims = {
      getDimSlice(3, 2, {1, 2}), getDimSlice(4, 2, {1, 2}), {2, 2, 0, 2}};
  EXPECT_EQ(getRuns(dims), (std::vector<SliceRun>{{20, 0, 4}}));
  dims[0] = getDimSlice(3, 2, {0, 2});
  EXPECT_EQ(getRuns(dims), (std::vector<SliceRun>{{4, 0, 4}, {12, 4, 4}}));
}

TEST(SlicingTest, PaddingHasNoRuns) {
  EXPECT_TRUE(getRuns({getDimSlice(2, 1, {3, 4}), {4, 4, 0, 4}}).empty());
  EXPECT_TRUE(
      getRuns({getDimSlice(2, 1, {3, 4}), getDimSlice(4, 2, {0, 2})}).empty());
}

TEST(SlicingTest, ShardsCutParameters) {
  // [a a a a a a | b b b b | c c], slices of 5 with 3 of padding.
  std::vector<Segment> segments = {
      {"a", 0, {2, 3}}, {"b", 6, {4}}, {"c", 10, {2}}};
  EXPECT_EQ(getSegmentParts(segments, 5, 0),
            (std::vector<SegmentPart>{{0, 0, 0, 5}}));
  EXPECT_EQ(getSegmentParts(segments, 5, 1),
            (std::vector<SegmentPart>{{0, 5, 0, 1}, {1, 0, 1, 4}}));
  EXPECT_EQ(getSegmentParts(segments, 5, 2),
            (std::vector<SegmentPart>{{2, 0, 0, 2}}));
}

TEST(SlicingTest, GapsAndEmptyShardsAreLegal) {
  std::vector<Segment> segments = {{"a", 0, {3}}, {"b", 8, {2}}};
  EXPECT_EQ(getSegmentParts(segments, 4, 1), (std::vector<SegmentPart>{}));
  EXPECT_EQ(getSegmentParts(segments, 4, 2),
            (std::vector<SegmentPart>{{1, 0, 0, 2}}));
  EXPECT_EQ(getSegmentParts(segments, 4, 3), (std::vector<SegmentPart>{}));
}
