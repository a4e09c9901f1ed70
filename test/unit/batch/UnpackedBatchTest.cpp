//===- UnpackedBatchTest.cpp - Rows of one document -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchTester.h"

#include <gtest/gtest.h>

using namespace dsv4::test;
using dsv4::CpBatch;

namespace {

TEST(UnpackedBatch, ShardsCoverThePaddedRowForAnySize) {
  CpBatch batch;
  for (int32_t ranks : {1, 2, 3, 5, 7, 8})
    for (int64_t length : {1, 2, 3, 13, 64, 65}) {
      BatchTester tester;
      tester.addTokens(length);
      tester.desc.pad_multiple = 3;
      int64_t total = (length + ranks * 3 - 1) / (ranks * 3) * (ranks * 3);
      Ints ids, labels, positions, mask;
      for (int32_t rank = 0; rank < ranks; ++rank) {
        shardRank(batch, tester, ranks, rank);
        dsv4rt_cp_layout layout = batch.getLayout();
        EXPECT_EQ(layout.local_begin, total / ranks * rank);
        EXPECT_EQ(layout.original_seq_len, length);
        EXPECT_EQ(layout.padded_seq_len, total);
        for (auto [to, name] :
             {std::pair(&ids, "input_ids"), std::pair(&labels, "labels"),
              std::pair(&positions, "position_ids"),
              std::pair(&mask, "attention_mask")}) {
          Ints piece = getInts(batch, name);
          EXPECT_EQ(int64_t(piece.size()), total / ranks);
          to->insert(to->end(), piece.begin(), piece.end());
        }
      }
      for (int64_t i = 0; i < total; ++i) {
        EXPECT_EQ(ids[i], i < length ? 10 + i : 0);
        EXPECT_EQ(labels[i], i < length ? 110 + i : -100);
        EXPECT_EQ(positions[i], i);
        EXPECT_EQ(mask[i], i < length);
      }
    }
}

TEST(UnpackedBatch, PadMultipleBelowTwoIsTwo) {
  CpBatch batch;
  for (int64_t multiple : {-3, 0, 1, 2}) {
    BatchTester tester;
    tester.addTokens(5);
    tester.desc.pad_multiple = multiple;
    shardRank(batch, tester, 2, 0);
    EXPECT_EQ(batch.getLayout().padded_seq_len, 8);
    shardRank(batch, tester, 1, 0); // a group of one pads, too
    EXPECT_EQ(batch.getLayout().padded_seq_len, 6);
  }
}

TEST(UnpackedBatch, LossMaskOfTheBatchIsTreatedLikeTheArgument) {
  BatchTester tester;
  tester.addTokens(5).add<int64_t>("loss_mask", {1, 5}, {1, 1, 0, 1, 1});
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 0, 0, 0}));
  EXPECT_EQ(getInts(batch, "labels"), Ints({114, -100, -100, -100}));

  tester.desc.flags = DSV4RT_CP_REF_BATCH_LOSS_MASK;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 1, 0, 1, 1}));
}

TEST(UnpackedBatch, LossMaskOfTheBatchStandsInForLabels) {
  BatchTester tester;
  tester.addTokens(5, false).add<int64_t>("loss_mask", {1, 5}, {1, 1, 0, 1, 1});
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getInts(batch, "labels"), Ints({1, -100, -100, -100}));
  EXPECT_EQ(batch.find("loss_mask"), nullptr);

  tester.desc.flags = DSV4RT_CP_REF_BATCH_LOSS_MASK;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_NO_LABELS);
}

TEST(UnpackedBatch, ArgumentWinsOverTheLossMaskOfTheBatch) {
  BatchTester tester;
  tester.addTokens(2)
      .add<int64_t>("loss_mask", {1, 2}, {7, 7})
      .setLossMask<float>({1, 2}, {1, 0});
  CpBatch batch;
  shardRank(batch, tester, 1, 0);
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 0}));
  EXPECT_EQ(batch.find("loss_mask")->dtype, uint32_t(DSV4RT_F32));
}

TEST(UnpackedBatch, LabelsMustHoldTheIgnoredLabel) {
  CpBatch batch;
  BatchTester bytes;
  bytes.addTokens(3, false).add<uint8_t>("labels", {1, 3}, {1, 2, 3});
  bytes.setGroup(1);
  EXPECT_EQ(batch.shard(bytes.desc), DSV4RT_E_INVALID);
  EXPECT_STREQ(batch.getError(),
               "CP-E13: 'labels' is u8; expected i8, i32 or i64, which can "
               "hold -100: convert it");
  bytes.desc.flags = DSV4RT_CP_REF_LABEL_TYPES;
  shardRank(batch, bytes, 1, 0);
  EXPECT_EQ(getInts(batch, "labels"), Ints({1, 2, 3, 156}));

  BatchTester mask;
  mask.addTokens(3, false).setLossMask<uint8_t>({1, 3}, {1, 0, 1}, DSV4RT_I1);
  mask.setGroup(1);
  EXPECT_EQ(batch.shard(mask.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_LABEL_TYPE);

  BatchTester small;
  small.addTokens(3, false).add<int8_t>("labels", {1, 3}, {1, 2, 3});
  shardRank(batch, small, 1, 0);
  EXPECT_EQ(getInts(batch, "labels"), Ints({1, 2, 3, -100}));
  EXPECT_EQ(batch.find("labels")->dtype, uint32_t(DSV4RT_I8));

  BatchTester half; // -100 in bf16
  half.addTokens(3, false).add<uint16_t>("labels", {1, 3}, {0, 0, 0});
  half.desc.flags = DSV4RT_CP_REF_LABEL_TYPES;
  shardRank(batch, half, 1, 0);
  EXPECT_EQ(getInts(batch, "labels"), Ints({0, 0, 0, 0xC2C8}));
}

TEST(UnpackedBatch, IntegerPaddingMaskBecomesBoolean) {
  BatchTester tester;
  tester.addTokens(3).add<int32_t>("padding_mask", {1, 3}, {0, 0, 1});
  CpBatch batch;
  shardRank(batch, tester, 1, 0);
  EXPECT_EQ(getInts(batch, "attention_mask"), Ints({1, 1, 0, 0}));
  EXPECT_EQ(batch.find("attention_mask")->dtype, uint32_t(DSV4RT_I1));
  EXPECT_EQ(batch.find("padding_mask"), nullptr);

  tester.desc.flags = DSV4RT_CP_REF_INTEGER_MASK;
  shardRank(batch, tester, 1, 0);
  EXPECT_EQ(getInts(batch, "attention_mask"), Ints({-1, -1, -2, -2}));
  EXPECT_EQ(batch.find("attention_mask")->dtype, uint32_t(DSV4RT_I32));
}

TEST(UnpackedBatch, AttentionMaskAloneIsConvertedWithoutAGroup) {
  BatchTester tester;
  tester.addTokens(3, false).add<float>("attention_mask", {1, 3},
                                        {1, -0.0f, 0.5f});
  CpBatch batch;
  ASSERT_EQ(batch.shard(tester.desc), DSV4RT_OK) << batch.getError();
  EXPECT_EQ(getInts(batch, "attention_mask"), Ints({1, 0, 1}));
  EXPECT_EQ(batch.find("position_ids"), nullptr);
  EXPECT_EQ(batch.getLayout().original_seq_len, -1);

  tester.desc.flags = DSV4RT_CP_REF_MASK_ONLY;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_MASK_ONLY);
}

TEST(UnpackedBatch, DiagonalOfASquareMask) {
  CpBatch batch;
  // Two heads, the first is read.
  std::vector<uint8_t> square = {1, 0, 1, 0, /**/ 0, 0, 0, 0};
  for (uint32_t dtype : {DSV4RT_I1, DSV4RT_U8}) {
    BatchTester tester;
    tester.addTokens(2).add<uint8_t>("attention_mask", {1, 2, 2, 2}, square,
                                     dtype);
    shardRank(batch, tester, 1, 0);
    EXPECT_EQ(getInts(batch, "attention_mask"),
              dtype == DSV4RT_I1 ? Ints({1, 0}) : Ints({0, 1}));
  }
}

TEST(UnpackedBatch, GivenPositionsContinueInTheirType) {
  BatchTester tester;
  tester.addTokens(3).add<int32_t>("position_ids", {1, 3}, {4, 9, 20});
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getInts(batch, "position_ids"), Ints({20 + 0, 21}));
  tester.desc.pad_multiple = 8; // this rank is behind all tokens
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getInts(batch, "position_ids"),
            Ints({26, 27, 28, 29, 30, 31, 32, 33}));
  EXPECT_EQ(batch.find("position_ids")->dtype, uint32_t(DSV4RT_I32));
}

TEST(UnpackedBatch, TrailingAxesOfLabels) {
  BatchTester tester;
  tester.addTokens(3, false)
      .add<int64_t>("labels", {1, 3, 2}, {1, 2, 3, 4, 5, 6})
      .setLossMask<float>({1, 3, 2}, {1, 1, 0, 1, 1, 1});
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getShape(batch, "labels"), Ints({1, 2, 2}));
  EXPECT_EQ(getInts(batch, "labels"), Ints({5, 6, -100, -100}));
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 1, 0, 0}));
}

TEST(UnpackedBatch, OtherEntriesAreHandedOn) {
  BatchTester tester;
  tester.addTokens(3)
      .add<float>("weights", {5}, {1, 2, 3, 4, 5})
      .addText("qkv_format", "bshd")
      .addText("cu_seqlens", nullptr); // no value: as if absent
  CpBatch batch;
  shardRank(batch, tester, 2, 0);
  EXPECT_EQ(batch.find("weights")->data, tester.desc.entries[2].tensor.data);
  const dsv4rt_batch_entry *format =
      dsv4rt_cp_batch_find(batch.get(), "qkv_format");
  ASSERT_NE(format, nullptr);
  EXPECT_STREQ(format->text, "bshd");
  EXPECT_EQ(dsv4rt_cp_batch_find(batch.get(), "cu_seqlens"), nullptr);
}

TEST(UnpackedBatch, MemoryIsReusedAndTheInputKept) {
  BatchTester tester;
  tester.addTokens(64);
  CpBatch batch;
  shardRank(batch, tester, 2, 0);
  const void *first = batch.find("input_ids")->data;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(batch.find("input_ids")->data, first);
  EXPECT_EQ(getInts(batch, "input_ids").front(), 42);
  EXPECT_EQ(*static_cast<const int64_t *>(tester.desc.entries[0].tensor.data),
            10);
}

TEST(UnpackedBatch, EmptyRows) {
  BatchTester tester;
  tester.addTokens(0);
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  EXPECT_EQ(getShape(batch, "position_ids"), Ints({1, 0}));
}

} // namespace
