//===- NameSeedTest.cpp - Numbers that depend on a name only --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constants were computed by a separate implementation in another language.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/NameSeed.h"

#include "dsv4/Support/SafeTensors.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir::dsv4;

TEST(NameSeedTest, HashesNames) {
  EXPECT_EQ(hashFnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hashFnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hashFnv1a("input_ids"), 0x6c2e38976e3630f6u);
  EXPECT_EQ(hashFnv1a("model.layers.0.self_attn.wq_a.weight"),
            0xf79f00eda4626d46u);
}

TEST(NameSeedTest, IndexesSplitMix64) {
  EXPECT_EQ(getSplitMix64(0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(getSplitMix64(0, 1), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(getSplitMix64(0, 2), 0x06c45d188009454fu);
  EXPECT_EQ(getSplitMix64(~uint64_t(0), 2), 0x382ff84cb27281e9u);
}

TEST(NameSeedTest, FillsF64) {
  std::vector<double> values(256);
  fillUniform("model.layers.1.self_attn.compressor.ape_param.weight", 0.5, 0.0,
              0, llvm::MutableArrayRef(values));
  EXPECT_EQ(values[0], -0x1.b12f9091ff6c8p-4);
  EXPECT_EQ(values[1], -0x1.28dd55e91a8fcp-2);
  EXPECT_EQ(values[100], -0x1.3bdc547ae17f2p-2);
  EXPECT_EQ(values[255], -0x1.8a0a5b1959a0cp-3);
}

TEST(NameSeedTest, FillsF32AndBF16WithRounding) {
  constexpr llvm::StringLiteral name = "model.layers.0.self_attn.q_norm.weight";
  std::vector<double> wide(32);
  std::vector<float> single(32);
  std::vector<uint16_t> half(32);
  fillUniform(name, 0.2, 1.0, 0, llvm::MutableArrayRef(wide));
  fillUniform(name, 0.2, 1.0, 0, llvm::MutableArrayRef(single));
  fillUniform(name, 0.2, 1.0, 0, llvm::MutableArrayRef(half));
  EXPECT_EQ(wide[1], 0x1.1cf578111c0bap+0);
  EXPECT_EQ(single[0], 0x1.9cd4a8p-1f);
  EXPECT_EQ(single[1], 0x1.1cf578p+0f);
  EXPECT_EQ(single[31], 0x1.fffc34p-1f);
  EXPECT_EQ(half[0], 0x3f4e);
  EXPECT_EQ(half[1], 0x3f8e);
  EXPECT_EQ(half[31], 0x3f80);
}

TEST(NameSeedTest, FillsAnyRangeAlone) {
  std::vector<double> all(6144);
  fillUniform("lm_head.weight", 1.0, 0.0, 0, llvm::MutableArrayRef(all));
  for (size_t begin : {0, 1, 4095, 6143}) {
    std::vector<double> part(std::min<size_t>(17, all.size() - begin));
    fillUniform("lm_head.weight", 1.0, 0.0, begin, llvm::MutableArrayRef(part));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin));
  }
  std::vector<int64_t> ids(128), tail(5);
  fillRandomIntegers("input_ids", 96, 0, ids);
  fillRandomIntegers("input_ids", 96, 123, tail);
  EXPECT_EQ(std::vector(ids.begin() + 123, ids.end()), tail);
  // An index beyond any buffer that fits in memory.
  std::vector<float> far(2);
  fillUniform("lm_head.weight", 1.0, 0.0, uint64_t(1) << 40,
              llvm::MutableArrayRef(far));
  EXPECT_EQ(far[0], static_cast<float>(getUniform(hashFnv1a("lm_head.weight"),
                                                  uint64_t(1) << 40, 1, 0)));
}

TEST(NameSeedTest, RoundsToNearestEvenBF16) {
  EXPECT_EQ(roundToBF16(1.0f), 0x3f80);
  EXPECT_EQ(roundToBF16(0x1.01p0f), 0x3f80);     // tie, down to even
  EXPECT_EQ(roundToBF16(0x1.03p0f), 0x3f82);     // tie, up to even
  EXPECT_EQ(roundToBF16(0x1.010002p0f), 0x3f81); // just above the tie
  EXPECT_EQ(roundToBF16(-0x1.03p0f), 0xbf82);
  EXPECT_EQ(roundToBF16(-0.0f), 0x8000);
  EXPECT_EQ(roundToBF16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(roundToBF16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(roundToBF16(0x1p-149f), 0x0000);
  EXPECT_TRUE(std::isnan(
      extendBF16(roundToBF16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(
      extendBF16(roundToBF16(llvm::bit_cast<float>(uint32_t(0x7f800001))))));
  EXPECT_EQ(extendBF16(0x3f81), 0x1.02p0f);
}

TEST(NameSeedTest, FillsTokenToExpert) {
  // Vocabulary 10, three experts a token, seven experts.
  std::vector<int64_t> table(30);
  fillTokenToExpert(7, 0, table);
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[5], 5);
  EXPECT_EQ(table[8], 1);
  EXPECT_EQ(table[20], 6);
  EXPECT_EQ(table[29], 1);
  std::vector<int64_t> row(3);
  fillTokenToExpert(7, 9 * 3, row);
  EXPECT_EQ(row, std::vector(table.end() - 3, table.end()));
}

TEST(NameSeedTest, ComputesBatchOfAnySize) {
  TokenBatch batch = computeTokenBatch(3, 5, 11);
  EXPECT_EQ(batch.inputIds, (std::vector<int64_t>{4, 6, 10, 6, 6, 3, 3, 7, 6, 2,
                                                  10, 9, 8, 3, 1}));
  EXPECT_EQ(batch.labels, (std::vector<int64_t>{6, -100, 6, 6, -100, 3, 7, 6, 2,
                                                -100, 9, 8, -100, 1, -100}));
  EXPECT_TRUE(computeTokenBatch(0, 5, 11).inputIds.empty());
  EXPECT_TRUE(computeTokenBatch(2, 0, 11).labels.empty());
}

TEST(NameSeedTest, ComputesTheStoredBatch) {
  llvm::Expected<SafeTensorsFile> file =
      SafeTensorsFile::open(DSV4_TEST_DATA "/tiny-batch.safetensors");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  TokenBatch batch = computeTokenBatch(2, 64, 96);
  EXPECT_EQ(llvm::cantFail(file->readIntegers("input_ids")), batch.inputIds);
  EXPECT_EQ(llvm::cantFail(file->readIntegers("labels")), batch.labels);
  EXPECT_EQ(batch.labels.size() - llvm::count(batch.labels, kIgnoredLabel),
            102u);
}
