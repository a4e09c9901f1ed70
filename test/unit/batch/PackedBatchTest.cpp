//===- PackedBatchTest.cpp - Rows of several documents --------------------===//
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

TEST(PackedBatch, DocumentsStartAtTheAlignment) {
  BatchTester tester;
  tester.addTokens(6).add<int32_t>("seq_lens", {3}, {1, 3, 2});
  tester.desc.padding_token_id = 9;
  tester.desc.packed_alignment = 4;
  CpBatch batch;
  ASSERT_EQ(batch.shard(tester.desc), DSV4RT_OK) << batch.getError();
  EXPECT_EQ(getInts(batch, "input_ids"),
            Ints({10, 9, 9, 9, 11, 12, 13, 9, 14, 15, 9, 9}));
  EXPECT_EQ(getInts(batch, "position_ids"),
            Ints({0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 0, 0}));
  EXPECT_EQ(getInts(batch, "packed_seq_ids"),
            Ints({1, 0, 0, 0, 2, 2, 2, 0, 3, 3, 0, 0}));
  EXPECT_EQ(getInts(batch, "attention_mask"),
            Ints({1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(batch.find("seq_lens"), nullptr);
  EXPECT_EQ(getMap(batch, DSV4RT_CP_MAP_INPUT, 6), Ints({0, 4, 5, 6, 8, 9}));
  EXPECT_EQ(getMap(batch, DSV4RT_CP_MAP_SOURCE, 12),
            Ints({0, -1, -1, -1, 1, 2, 3, -1, 4, 5, -1, -1}));
  EXPECT_EQ(getMap(batch, DSV4RT_CP_MAP_POSITIONS, 12),
            getInts(batch, "position_ids"));
  EXPECT_EQ(getMap(batch, DSV4RT_CP_MAP_DOCUMENTS, 12),
            getInts(batch, "packed_seq_ids"));
}

TEST(PackedBatch, ShardsAreThePiecesOfTheWholeRows) {
  // Two rows; documents cross the borders of the shards of every count.
  auto fill = [](BatchTester &tester) {
    Ints ids;
    for (int64_t i = 0; i < 46; ++i)
      ids.push_back(100 + i);
    tester.add("input_ids", {2, 23}, ids)
        .add("labels", {2, 23}, ids)
        .add<int64_t>("seq_lens", {2, 4}, {1, 7, 0, 9, -1000, 2, 13, 1})
        .add<int64_t>("seq_lens_padded", {2, 4}, {2, 8, 0, 13, 0, 2, 14, 7});
    tester.desc.packed_alignment = 4;
  };
  BatchTester wholeTester;
  fill(wholeTester);
  CpBatch whole, part;
  ASSERT_EQ(whole.shard(wholeTester.desc), DSV4RT_OK) << whole.getError();
  int64_t width = whole.getLayout().padded_seq_len;
  EXPECT_EQ(width, 24);
  EXPECT_EQ(whole.getLayout().dropped_tokens, 46 - 33);
  for (int32_t ranks : {1, 2, 3, 5, 8, 13})
    for (int32_t rank = 0; rank < ranks; ++rank) {
      BatchTester tester;
      fill(tester);
      shardRank(part, tester, ranks, rank);
      dsv4rt_cp_layout layout = part.getLayout();
      for (const char *name :
           {"input_ids", "labels", "attention_mask", "packed_seq_ids"}) {
        int64_t pad = std::string(name) == "labels" ? -100 : 0;
        Ints all = getInts(whole, name), piece = getInts(part, name);
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t i = 0; i < layout.local_seq_len; ++i) {
            int64_t column = layout.local_begin + i;
            EXPECT_EQ(piece[row * layout.local_seq_len + i],
                      column < width ? all[row * width + column] : pad)
                << name << " row " << row << " column " << column;
          }
      }
    }
}

TEST(PackedBatch, PaddingContinuesThePositionsOfTheLastColumn) {
  CpBatch batch;
  BatchTester full;
  full.addTokens(6).add<int64_t>("seq_lens", {1}, {6});
  shardRank(batch, full, 2, 1);
  EXPECT_EQ(getInts(batch, "position_ids"), Ints({4, 5, 6, 7}));
  BatchTester masked;
  masked.addTokens(6).add<int64_t>("seq_lens", {1}, {5});
  shardRank(batch, masked, 2, 1);
  EXPECT_EQ(getInts(batch, "position_ids"), Ints({4, 0, 1, 2}));
}

TEST(PackedBatch, LossMaskOfTheBatchIsCutToo) {
  BatchTester tester;
  tester.addTokens(3)
      .add<int64_t>("seq_lens", {2}, {1, 2})
      .add<uint8_t>("loss_mask", {1, 3}, {1, 1, 1});
  tester.desc.packed_alignment = 2;
  CpBatch batch;
  shardRank(batch, tester, 2, 0);
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 0}));
  tester.desc.flags = DSV4RT_CP_REF_BATCH_LOSS_MASK;
  shardRank(batch, tester, 2, 0);
  EXPECT_EQ(getInts(batch, "loss_mask"), Ints({1, 0, 1, 1}));
}

TEST(PackedBatch, AbsentDocumentsTakeANumber) { // T13
  BatchTester tester;
  tester.addTokens(4).add<int64_t>("seq_lens", {1, 4}, {1, 0, -1000, 2});
  CpBatch batch;
  ASSERT_EQ(batch.shard(tester.desc), DSV4RT_OK) << batch.getError();
  EXPECT_EQ(getInts(batch, "packed_seq_ids"), Ints({1, 4, 4, 0}));
}

TEST(PackedBatch, BoundariesNextToLengthsAreHandedOn) { // T10
  BatchTester tester;
  tester.addTokens(4)
      .add<int64_t>("seq_lens", {2}, {1, 2})
      .add<int32_t>("cu_seqlens", {3}, {0, 1, 3})
      .addText("qkv_format", "thd");
  tester.desc.packed_alignment = 4;
  CpBatch batch;
  shardRank(batch, tester, 2, 0);
  EXPECT_EQ(getInts(batch, "cu_seqlens"), Ints({0, 1, 3}));
  EXPECT_EQ(dsv4rt_cp_batch_find(batch.get(), "qkv_format"), nullptr);
}

TEST(PackedBatch, RowsWithoutDocuments) {
  BatchTester tester;
  tester.add<int64_t>("input_ids", {2, 2}, {1, 2, 3, 4})
      .add<int64_t>("labels", {2, 2}, {1, 2, 3, 4})
      .add<int64_t>("seq_lens", {2, 2}, {0, -1000, 0, 1});
  CpBatch batch;
  shardRank(batch, tester, 1, 0);
  EXPECT_EQ(getInts(batch, "input_ids"), Ints({0, 0, 3, 0}));
  EXPECT_EQ(getInts(batch, "packed_seq_ids"), Ints({0, 0, 2, 0}));
  EXPECT_EQ(batch.getLayout().dropped_tokens, 3);

  BatchTester none; // no places for documents at all
  none.addTokens(2).add<int64_t>("seq_lens", {1, 0}, {});
  shardRank(batch, none, 1, 0);
  EXPECT_EQ(getInts(batch, "attention_mask"), Ints({0, 0}));
}

TEST(PackedBatch, LabelsAreNotNeededWithoutAGroup) {
  BatchTester tester;
  tester.addTokens(2, false).add<int64_t>("seq_lens", {1}, {2});
  CpBatch batch;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_OK) << batch.getError();
  tester.setGroup(1);
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_NO_LABELS);
}

} // namespace
