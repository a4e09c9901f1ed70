//===- AgreementTest.cpp - Ranks that succeed or fail together ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After each call all ranks meet at a barrier: a rank that was left waiting, or
// that went on alone, would end the job at the time limit.
//
//===----------------------------------------------------------------------===//

#include "BatchTester.h"
#include "TestJob.h"

#include <gtest/gtest.h>

using namespace dsv4::test;
using dsv4::CpBatch;

namespace {

struct Result {
  int32_t status = -1;
  int32_t code = -1;
  std::string text;
  int64_t width = 0;
};

/// Each rank fills its own batch, all shard it together, none in a group.
std::vector<Result>
shardOnAll(int32_t ranks,
           const std::function<void(int32_t rank, BatchTester &tester)> &fill) {
  TestModule module({ranks});
  module.addGroup("world", 1);
  uint32_t agree = module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, 0, DSV4RT_MAX);
  uint32_t barrier = module.addSite(DSV4RT_OP_BARRIER, DSV4RT_I8, 0);
  std::vector<Result> results(ranks);
  Outcome outcome = runModule(ranks, module, [&](dsv4rt_module *opened) {
    int32_t rank = dsv4rt_group_rank(opened, 0);
    dsv4rt_agree_site site = {opened, agree};
    BatchTester tester;
    tester.desc.agree = dsv4rt_agree_over_site;
    tester.desc.agree_context = &site;
    tester.desc.world_rank = rank;
    fill(rank, tester);
    CpBatch batch;
    Result &result = results[rank];
    result.status = batch.shard(tester.desc);
    result.code = batch.getErrorCode();
    result.text = batch.getError();
    if (result.status == DSV4RT_OK)
      result.width = batch.getLayout().padded_seq_len;
    return dsv4rt_barrier(opened, barrier);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  return results;
}

void addDocument(BatchTester &tester, int64_t columns, int64_t length) {
  tester.addTokens(columns).add<int64_t>("seq_lens", {1}, {length});
}

TEST(Agreement, PackedLengthIsThatOfTheLongestRank) {
  for (int32_t ranks : {1, 2, 3, 4}) {
    auto results = shardOnAll(ranks, [](int32_t rank, BatchTester &tester) {
      tester.desc.flags = DSV4RT_CP_SYNC_PACKED_LENGTH;
      tester.desc.packed_alignment = 4;
      addDocument(tester, 4 * rank + 5, 4 * rank + 3);
    });
    for (const Result &result : results) {
      EXPECT_EQ(result.status, DSV4RT_OK) << result.text;
      EXPECT_EQ(result.width, 4 * ranks + 4);
    }
  }
}

TEST(Agreement, WithoutSyncEachRankKeepsItsLength) {
  auto results = shardOnAll(2, [](int32_t rank, BatchTester &tester) {
    if (rank)
      addDocument(tester, 6, 6);
    else
      tester.addTokens(3); // not packed: no matter
  });
  EXPECT_EQ(results[0].width, 3);
  EXPECT_EQ(results[1].width, 6);
}

TEST(Agreement, AnInvalidRankFailsAll) {
  for (uint32_t flags : {0u, uint32_t(DSV4RT_CP_SYNC_PACKED_LENGTH)})
    for (int32_t bad = 0; bad < 3; ++bad) {
      auto results = shardOnAll(3, [&](int32_t rank, BatchTester &tester) {
        tester.desc.flags = flags;
        addDocument(tester, 4, rank == bad ? 9 : 4);
      });
      for (int32_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(results[rank].code, DSV4RT_CP_E_DOCUMENT);
        EXPECT_EQ(results[rank].status,
                  rank == bad ? DSV4RT_E_INVALID : DSV4RT_E_REMOTE);
        if (rank != bad)
          EXPECT_EQ(results[rank].text,
                    "rank " + std::to_string(bad) +
                        " refused its batch with CP-E08, see its text");
      }
    }
}

TEST(Agreement, ARankWithoutMemoryFailsAll) {
  auto results = shardOnAll(2, [](int32_t rank, BatchTester &tester) {
    tester.addTokens(4).setGroup(1);
    tester.desc.pad_multiple = rank ? int64_t(1) << 40 : 1;
  });
  EXPECT_EQ(results[0].status, DSV4RT_E_REMOTE);
  EXPECT_EQ(results[0].text, "rank 1 has no memory for its batch");
  EXPECT_EQ(results[1].status, DSV4RT_E_OOM);
}

TEST(Agreement, ARankWithoutAHandleFailsAll) {
  TestModule module({2});
  module.addGroup("world", 1);
  uint32_t agree = module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, 0, DSV4RT_MAX);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) {
    dsv4rt_agree_site site = {opened, agree};
    BatchTester tester;
    tester.addTokens(4);
    tester.desc.agree = dsv4rt_agree_over_site;
    tester.desc.agree_context = &site;
    tester.desc.world_rank = dsv4rt_group_rank(opened, 0);
    CpBatch batch;
    bool isBad = tester.desc.world_rank == 1;
    int32_t status =
        dsv4rt_shard_cp_batch(isBad ? nullptr : batch.get(), &tester.desc);
    EXPECT_EQ(status, isBad ? DSV4RT_E_INVALID : DSV4RT_E_REMOTE);
    if (!isBad)
      EXPECT_STREQ(batch.getError(), "rank 1 has no memory for its batch");
    return int32_t(DSV4RT_OK);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

TEST(Agreement, SyncingPackedAndUnpackedRanksIsRefusedOnAll) {
  auto results = shardOnAll(2, [](int32_t rank, BatchTester &tester) {
    tester.desc.flags = DSV4RT_CP_SYNC_PACKED_LENGTH;
    if (rank)
      tester.addTokens(4);
    else
      addDocument(tester, 4, 4);
  });
  for (const Result &result : results) {
    EXPECT_EQ(result.status, DSV4RT_E_MISMATCH);
    EXPECT_EQ(result.code, DSV4RT_CP_E_RANKS_DISAGREE);
  }
  EXPECT_EQ(results[1].text,
            "CP-E17: one rank's batch syncs, unpacked, another's syncs, "
            "packed, this one's syncs, unpacked; expected one kind on all "
            "ranks: give 'seq_lens' on each, or set "
            "DSV4RT_CP_SYNC_PACKED_LENGTH on none");
}

TEST(Agreement, SyncingOnOneRankOnlyIsRefusedOnAll) {
  auto results = shardOnAll(2, [](int32_t rank, BatchTester &tester) {
    tester.desc.flags = rank ? DSV4RT_CP_SYNC_PACKED_LENGTH : 0;
    addDocument(tester, 4, 4);
  });
  for (const Result &result : results)
    EXPECT_EQ(result.status, DSV4RT_E_MISMATCH);
}

TEST(Agreement, AllUnpackedMaySync) {
  auto results = shardOnAll(2, [](int32_t, BatchTester &tester) {
    tester.desc.flags = DSV4RT_CP_SYNC_PACKED_LENGTH;
    tester.addTokens(4);
  });
  for (const Result &result : results)
    EXPECT_EQ(result.status, DSV4RT_OK) << result.text;
}

TEST(Agreement, AFailingAgreementIsReported) {
  BatchTester tester;
  tester.addTokens(4);
  tester.desc.agree = [](void *, int64_t *, int32_t) {
    return int32_t(DSV4RT_E_TIMEOUT);
  };
  CpBatch batch;
  EXPECT_EQ(batch.shard(tester.desc), DSV4RT_E_TIMEOUT);
  EXPECT_STREQ(batch.getError(),
               "agreeing with the other ranks failed: DSV4RT_E_TIMEOUT");
}

TEST(Agreement, ValuesOf64BitsTravelWhole) {
  TestModule module({2});
  module.addGroup("world", 1);
  uint32_t agree = module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, 0, DSV4RT_MAX);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) {
    int32_t rank = dsv4rt_group_rank(opened, 0);
    dsv4rt_agree_site site = {opened, agree};
    int64_t large = int64_t(1) << 40;
    Ints values = rank ? Ints({large + 1, -2, -large, 0, 5})
                       : Ints({large, -1, -large - 1, INT32_MAX, large});
    int32_t status =
        dsv4rt_agree_over_site(&site, values.data(), values.size());
    EXPECT_EQ(values, Ints({large + 1, -1, -large, INT32_MAX, large}));
    return status;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

} // namespace
