//===- MoveTest.cpp - Pack, restore, scatter, gather, trim ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchTester.h"
#include "TestJob.h"

#include <gtest/gtest.h>

#include <functional>

using namespace dsv4::test;
using dsv4::CpBatch;

namespace {

template <typename T>
int64_t bytesOf(const std::vector<T> &values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

/// Lengths 3, 2 in spans 3, 5 of a row of 8, aligned to 4.
void fillPacked(BatchTester &tester) {
  tester.addTokens(8)
      .add<int64_t>("seq_lens", {2}, {3, 2})
      .add<int64_t>("seq_lens_padded", {2}, {3, 5});
  tester.desc.packed_alignment = 4;
}

TEST(Move, PackAndRestoreAreInverseOnTokens) {
  BatchTester tester;
  fillPacked(tester);
  CpBatch batch;
  shardRank(batch, tester, 2, 0);
  // A trailing axis of 2.
  std::vector<float> values(16), packed(16), restored(16, 7);
  for (int i = 0; i < 16; ++i)
    values[i] = i + 1;
  float fill = -1;
  dsv4rt_tensor src = tester.keep({1, 8, 2}, values, DSV4RT_F32);
  ASSERT_EQ(dsv4rt_cp_batch_pack(batch.get(), &src, &fill, packed.data(),
                                 bytesOf(packed)),
            DSV4RT_OK)
      << batch.getError();
  EXPECT_EQ(packed, std::vector<float>({1, 2, 3, 4, 5, 6, -1, -1, 7, 8, 9, 10,
                                        -1, -1, -1, -1}));
  dsv4rt_tensor back = tester.keep({1, 8, 2}, packed, DSV4RT_F32);
  ASSERT_EQ(dsv4rt_cp_batch_restore(batch.get(), &back, restored.data(),
                                    bytesOf(restored)),
            DSV4RT_OK);
  EXPECT_EQ(restored, std::vector<float>(
                          {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0}));
}

TEST(Move, GatherBringsScatteredTokensBack) {
  for (bool packed : {false, true})
    for (int32_t ranks : {1, 2, 3, 4, 5}) {
      TestModule module({ranks});
      module.addGroup("cp", 1);
      module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_U8, 0);
      Outcome outcome = runModule(ranks, module, [&](dsv4rt_module *opened) {
        BatchTester tester;
        if (packed)
          fillPacked(tester);
        else
          tester.addTokens(8);
        CpBatch batch;
        shardRank(batch, tester, ranks, dsv4rt_group_rank(opened, 0));
        std::vector<int16_t> values = {1, 2, 3, 4, 5, 6, 7, 8};
        dsv4rt_tensor src = tester.keep({1, 8}, values, DSV4RT_F16);
        std::vector<int16_t> local(batch.getLayout().local_seq_len);
        int16_t fill = -1;
        EXPECT_EQ(dsv4rt_cp_batch_scatter(batch.get(), &src, &fill,
                                          local.data(), bytesOf(local)),
                  DSV4RT_OK)
            << batch.getError();
        auto gather = [](void *context, const void *from, void *to,
                         int64_t bytes) {
          auto *site = static_cast<dsv4rt_module *>(context);
          return dsv4rt_wait(
              site, dsv4rt_all_gather_start(site, 0, from, to, bytes, 0), 0);
        };
        dsv4rt_tensor shard =
            tester.keep({1, int64_t(local.size())}, local, DSV4RT_F16);
        std::vector<int16_t> all(8);
        EXPECT_EQ(dsv4rt_cp_batch_gather(batch.get(), &shard, &fill, gather,
                                         opened, all.data(), bytesOf(all)),
                  DSV4RT_OK)
            << batch.getError();
        if (packed)
          values = {1, 2, 3, 4, 5, -1, -1, -1};
        EXPECT_EQ(all, values);
        return int32_t(DSV4RT_OK);
      });
      EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
    }
}

/// Gather on three ranks with what `change` makes of the shard and the room.
std::vector<std::pair<int32_t, std::string>> gatherOnThree(
    const std::function<void(int32_t rank, dsv4rt_tensor &shard, int64_t &room)>
        &change) {
  TestModule module({3});
  module.addGroup("cp", 1);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_U8, 0);
  std::vector<std::pair<int32_t, std::string>> results(3);
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) {
    int32_t rank = dsv4rt_group_rank(opened, 0);
    BatchTester tester;
    tester.addTokens(6);
    CpBatch batch;
    shardRank(batch, tester, 3, rank);
    dsv4rt_tensor shard = tester.keep({1, 2, 2}, Ints(4), DSV4RT_I64);
    Ints all(12);
    int64_t room = bytesOf(all);
    change(rank, shard, room);
    auto gather = [](void *context, const void *from, void *to, int64_t bytes) {
      auto *site = static_cast<dsv4rt_module *>(context);
      return dsv4rt_wait(
          site, dsv4rt_all_gather_start(site, 0, from, to, bytes, 0), 0);
    };
    results[rank].first = dsv4rt_cp_batch_gather(
        batch.get(), &shard, nullptr, gather, opened, all.data(), room);
    results[rank].second = batch.getError();
    return int32_t(DSV4RT_OK);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  return results;
}

TEST(Move, GatherOfUnequalShardsFailsOnAllRanks) { // CP-E20
  auto results =
      gatherOnThree([](int32_t rank, dsv4rt_tensor &shard, int64_t &) {
        if (rank == 1)
          shard.dtype = DSV4RT_F64;
      });
  for (const auto &[status, text] : results) {
    EXPECT_EQ(status, DSV4RT_E_MISMATCH);
    EXPECT_EQ(text, "CP-E20: gather: rank 1 of the group holds f64 [1, 2, 2], "
                    "rank 0 i64 [1, 2, 2]; expected one type and shape on all "
                    "ranks");
  }
}

TEST(Move, GatherWithABadArgumentFailsOnAllRanks) {
  auto results =
      gatherOnThree([](int32_t rank, dsv4rt_tensor &, int64_t &room) {
        room -= rank == 2 ? 8 : 0;
      });
  for (int32_t rank : {0, 1}) {
    EXPECT_EQ(results[rank].first, DSV4RT_E_REMOTE);
    EXPECT_EQ(results[rank].second,
              "gather: rank 2 of the group failed, see its text");
  }
  EXPECT_EQ(results[2].first, DSV4RT_E_INVALID);
  EXPECT_EQ(results[2].second,
            "gather: the result has 96 bytes, got room for 88");
}

TEST(Move, TrimReadsShardsInRankOrder) {
  BatchTester tester;
  tester.add<int64_t>("input_ids", {2, 3}, Ints(6))
      .add<int64_t>("labels", {2, 3}, Ints(6));
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  Ints shards = {0, 1, 10, 11, /**/ 2, 3, 12, 13}, out(6);
  dsv4rt_tensor src = tester.keep({2, 2, 2}, shards, DSV4RT_I64);
  ASSERT_EQ(dsv4rt_cp_batch_trim(batch.get(), &src, nullptr, out.data(),
                                 bytesOf(out)),
            DSV4RT_OK);
  EXPECT_EQ(out, Ints({0, 1, 2, 10, 11, 12}));
}

TEST(Move, ScatterOfPaddedRowsIsASlice) {
  BatchTester tester;
  tester.addTokens(5);
  CpBatch batch;
  shardRank(batch, tester, 2, 1);
  Ints padded = {0, 1, 2, 3, 4, 5, 6, 7}, out(4);
  dsv4rt_tensor src = tester.keep({1, 8}, padded, DSV4RT_I64);
  ASSERT_EQ(dsv4rt_cp_batch_scatter(batch.get(), &src, nullptr, out.data(),
                                    bytesOf(out)),
            DSV4RT_OK);
  EXPECT_EQ(out, Ints({4, 5, 6, 7}));
}

TEST(Move, MisuseIsNamed) {
  BatchTester tester;
  tester.addTokens(5);
  CpBatch batch;
  Ints out(8);
  auto scatter = [&](int64_t columns, const void *fill, int64_t bytes) {
    dsv4rt_tensor src = tester.keep({1, columns}, Ints(columns), DSV4RT_I64);
    EXPECT_EQ(
        dsv4rt_cp_batch_scatter(batch.get(), &src, fill, out.data(), bytes),
        DSV4RT_E_INVALID);
    return std::string(batch.getError());
  };
  EXPECT_EQ(scatter(5, &out, 32), "scatter: the handle holds no batch");
  shardRank(batch, tester, 2, 0);
  EXPECT_EQ(scatter(5, nullptr, 32), "scatter: columns without a token need a "
                                     "fill, got NULL: pass one element");
  EXPECT_EQ(scatter(6, &out, 32), "scatter: got rows of 6 columns, expected 5 "
                                  "(input) or 8 (padded)");
  EXPECT_EQ(scatter(5, &out, 24),
            "scatter: the result has 32 bytes, got room for 24");
  dsv4rt_tensor src = tester.keep({1, 5}, Ints(5), DSV4RT_I64);
  EXPECT_EQ(dsv4rt_cp_batch_pack(batch.get(), &src, nullptr, out.data(), 64),
            DSV4RT_E_INVALID);
  EXPECT_STREQ(batch.getError(), "pack: the batch is not packed: use scatter");
  EXPECT_EQ(dsv4rt_cp_batch_trim(batch.get(), &src, nullptr, out.data(), 40),
            DSV4RT_E_INVALID);
  EXPECT_STREQ(batch.getError(),
               "trim: got i64 [1, 5], expected [2, 1, 4, ...]");
  EXPECT_EQ(getInts(batch, "input_ids"), Ints({10, 11, 12, 13}));
}

} // namespace
