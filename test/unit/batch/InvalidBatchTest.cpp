//===- InvalidBatchTest.cpp - Refused batches and their texts -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchTester.h"

#include <gtest/gtest.h>

using namespace dsv4::test;
using dsv4::CpBatch;

extern "C" int32_t shardEmptyBatchFromC(void);

namespace {

void expectRefusal(BatchTester &tester, const std::string &text) {
  CpBatch batch;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getError(), text);
  EXPECT_EQ(batch.size(), 0);
  EXPECT_EQ(dsv4rt_cp_batch_layout(batch.get(), nullptr), DSV4RT_E_INVALID);
}

/// One row of 4 tokens in a group of 2.
struct Packed : BatchTester {
  Packed(const Ints &lengths, const Ints &spans = {}) {
    addTokens(4).setGroup(2);
    add<int64_t>("seq_lens", {1, int64_t(lengths.size())}, lengths);
    if (!spans.empty())
      add<int64_t>("seq_lens_padded", {1, int64_t(spans.size())}, spans);
  }
};

TEST(InvalidBatch, E01NotText) {
  BatchTester tester;
  tester.addTokens(4).add<float>("pixel_values", {0}, {});
  expectRefusal(tester, "CP-E01: got 'pixel_values', expected token ids only: "
                        "remove the entry");
}

TEST(InvalidBatch, E02NoLengths) {
  BatchTester tester;
  tester.addTokens(4).addText("qkv_format", "thd");
  expectRefusal(tester,
                "CP-E02: got 'qkv_format' thd without 'seq_lens'; expected "
                "'seq_lens' [B, D] for packed rows: add it, or remove the "
                "entry");
}

TEST(InvalidBatch, E03Alignment) {
  for (int64_t alignment : {0, -4}) {
    Packed tester({4});
    tester.desc.packed_alignment = alignment;
    expectRefusal(tester, "CP-E03: packed_alignment is " +
                              std::to_string(alignment) +
                              ", expected at least 1: set it to 1");
  }
}

TEST(InvalidBatch, E04LengthType) {
  BatchTester tester;
  tester.addTokens(4).add<float>("seq_lens", {1}, {4});
  expectRefusal(tester,
                "CP-E04: 'seq_lens' is f32, expected i32 or i64: convert it");
  BatchTester text;
  text.addTokens(4).addText("seq_lens", "4");
  expectRefusal(text,
                "CP-E04: 'seq_lens' is text, expected i32 or i64: convert it");
}

TEST(InvalidBatch, E05LengthShape) {
  Packed tester({2, 2}, {4});
  expectRefusal(tester, "CP-E05: 'seq_lens' is i64 [1, 2] and "
                        "'seq_lens_padded' i64 [1, 1], expected [1, documents] "
                        "for both: fill missing places with 0");
  BatchTester flat;
  flat.add<int64_t>("input_ids", {2, 1}, {1, 2})
      .add<int64_t>("seq_lens", {2}, {1, 1});
  expectRefusal(flat, "CP-E05: 'seq_lens' is i64 [2], expected [2, documents]: "
                      "fill missing places with 0");
}

TEST(InvalidBatch, E06SpanType) {
  BatchTester tester;
  tester.addTokens(4)
      .add<int64_t>("seq_lens", {1}, {4})
      .add<uint8_t>("seq_lens_padded", {1}, {4});
  expectRefusal(
      tester,
      "CP-E06: 'seq_lens_padded' is u8, expected i32 or i64: convert it");
}

TEST(InvalidBatch, E07AbsentSpan) {
  Packed tester({2, 0}, {2, 2});
  expectRefusal(tester,
                "CP-E07: document 1 of row 0 has length 0 and a span of 2 "
                "columns; expected a span of 0 or -1000, as it is absent: set "
                "seq_lens_padded[0][1] to 0");
}

TEST(InvalidBatch, E08Document) {
  Packed negative({2, -7});
  expectRefusal(negative,
                "CP-E08: document 1 of row 0 has length -7 and a span of -7 "
                "columns; expected a positive length, or 0 or -1000 for no "
                "document: set seq_lens[0][1] to 0");
  Packed narrow({3, 1}, {2, 1});
  expectRefusal(narrow,
                "CP-E08: document 0 of row 0 has length 3 and a span of 2 "
                "columns; expected a span of at least its length: set "
                "seq_lens_padded[0][0] to 3");
  Packed overrun({3, 2});
  expectRefusal(overrun,
                "CP-E08: document 1 of row 0 spans 2 columns from column 3, "
                "expected at most 1 in a row of 4: shorten it, or move it to "
                "another row");
  Packed huge({1, INT64_MAX});
  CpBatch batch;
  EXPECT_EQ(batch.shard(huge.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_DOCUMENT);
}

TEST(InvalidBatch, E09NoInputIds) {
  EXPECT_EQ(shardEmptyBatchFromC(), DSV4RT_CP_E_NO_INPUT_IDS);
  BatchTester tester;
  tester.add<int64_t>("seq_lens", {1}, {4});
  expectRefusal(tester,
                "CP-E09: 'input_ids' is missing, expected integers [B, S]: add "
                "it");
}

TEST(InvalidBatch, E10NoLabels) {
  BatchTester tester;
  tester.addTokens(4, false).setGroup(2);
  expectRefusal(tester, "CP-E10: 'labels' is missing over a group of 2 ranks; "
                        "expected labels or a loss_mask: add one");
}

TEST(InvalidBatch, E14OtherShapes) {
  BatchTester labels;
  labels.addTokens(4, false).add<int64_t>("labels", {1, 5}, Ints(5));
  labels.setGroup(2);
  expectRefusal(labels, "CP-E14: 'labels' is i64 [1, 5], expected [1, 4, ...] "
                        "as 'input_ids' has");
  BatchTester positions;
  positions.addTokens(4).add<int64_t>("position_ids", {4}, Ints(4)).setGroup(2);
  expectRefusal(positions,
                "CP-E14: 'position_ids' is i64 [4], expected integers, f32 or "
                "f64 [1, 4], [1, 4] or [3, 1, 4]");
  BatchTester square;
  square.addTokens(2).add<uint8_t>("attention_mask", {1, 1, 2, 3},
                                   std::vector<uint8_t>(6));
  expectRefusal(square, "CP-E14: 'attention_mask' is u8 [1, 1, 2, 3], expected "
                        "[1, 1, 2, 2] as 'input_ids' has");
  BatchTester ids;
  ids.add<float>("input_ids", {1, 2}, {1, 2});
  expectRefusal(ids,
                "CP-E14: 'input_ids' is f32 [1, 2], expected integers [B, S]");
}

TEST(InvalidBatch, E15Settings) {
  BatchTester tester;
  tester.addTokens(4).setGroup(2, 2);
  expectRefusal(tester, "CP-E15: cp_rank must be in [0, 2), got 2: give the "
                        "rank inside the group, not in the job");
  tester.setGroup(2, 1).desc.flags = 2;
  expectRefusal(tester, "CP-E15: flags 2 are unknown to this version: remove "
                        "them");
  tester.desc.flags = 0;
  tester.desc.struct_size = 8;
  expectRefusal(tester,
                "CP-E15: struct_size of the descriptor is 8, expected 88: set "
                "it by dsv4rt_cp_desc_init");
  BatchTester twice;
  twice.addTokens(4).addTokens(4);
  expectRefusal(twice, "CP-E15: entry 'input_ids' is given twice: remove one");
  BatchTester wide;
  wide.addTokens(4).setGroup(INT32_MAX);
  wide.desc.pad_multiple = int64_t(1) << 40;
  CpBatch batch;
  EXPECT_EQ(batch.shard(wide.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_E_SETTING);
}

TEST(InvalidBatch, E16TokenRange) {
  BatchTester tester;
  tester.add<int8_t>("input_ids", {1, 2}, {1, 2});
  tester.add<int64_t>("labels", {1, 2}, {1, 2}).setGroup(1);
  tester.desc.padding_token_id = 128;
  expectRefusal(tester,
                "CP-E16: padding_token_id is 128, expected a value of "
                "'input_ids', which are i8: use another id or a wider type");
  tester.desc.padding_token_id = -128;
  CpBatch batch;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_OK);
}

TEST(InvalidBatch, MemoryRefusedIsAStatus) {
  BatchTester tester;
  tester.addTokens(4).setGroup(1);
  tester.desc.pad_multiple = int64_t(1) << 40;
  CpBatch batch;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_OOM);
  EXPECT_NE(std::string(batch.getError()).find("no memory"), std::string::npos);
}

TEST(InvalidBatch, AHandleServesAgainAfterAnError) {
  CpBatch batch;
  Packed bad({9});
  EXPECT_EQ(batch.shard(bad.desc), DSV4RT_E_INVALID);
  Packed good({4});
  EXPECT_EQ(batch.shard(good.desc), DSV4RT_OK);
  EXPECT_STREQ(batch.getError(), "");
  EXPECT_EQ(batch.getErrorCode(), DSV4RT_CP_NO_CODE);
}

TEST(InvalidBatch, NullHandle) {
  BatchTester tester;
  EXPECT_EQ(dsv4rt_shard_cp_batch(nullptr, &tester.desc), DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_cp_batch_create(nullptr), DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_cp_batch_pack(nullptr, nullptr, nullptr, nullptr, 0),
            DSV4RT_E_INVALID);
  dsv4rt_cp_batch_destroy(nullptr);
  CpBatch batch;
  EXPECT_EQ(dsv4rt_shard_cp_batch(batch.get(), nullptr), DSV4RT_E_INVALID);
}

} // namespace
