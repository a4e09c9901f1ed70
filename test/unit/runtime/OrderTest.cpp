//===- OrderTest.cpp - Starts, waits, steps and counters ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

using namespace dsv4::test;

extern "C" int dsv4_test_run_from_c(void);

namespace {

int32_t getRank(dsv4rt_module *module) {
  return dsv4rt_rank(dsv4rt_module_world(module));
}

dsv4rt_counters_v1 getCounters(dsv4rt_module *module, uint32_t site) {
  dsv4rt_counters_v1 counters = {};
  counters.struct_size = sizeof(counters);
  EXPECT_EQ(dsv4rt_counters(module, site, &counters), DSV4RT_OK);
  return counters;
}

TEST(OrderTest, RunsFromC) { EXPECT_EQ(dsv4_test_run_from_c(), 0); }

// Two operations on two communicators; half of the ranks wait for the second
// first. A wait that served only its own operation would never return.
TEST(OrderTest, WaitsInOppositeOrders) {
  TestModule module({2, 2});
  uint32_t axis0 = module.addGroup("axis0", 1);
  uint32_t axis1 = module.addGroup("axis1", 2);
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, axis0);
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, axis1);
  std::vector<float> sums(8);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    for (int32_t step = 0; step < 300; ++step) {
      float src = float(1 << rank);
      int64_t first =
          dsv4rt_all_reduce_start(opened, 0, &src, &sums[2 * rank], 1, 0);
      int64_t second =
          dsv4rt_all_reduce_start(opened, 1, &src, &sums[2 * rank + 1], 1, 0);
      bool swapped = rank == 1 || rank == 2;
      if (int32_t status = dsv4rt_wait(opened, swapped ? second : first, 0))
        return status;
      if (int32_t status = dsv4rt_wait(opened, swapped ? first : second, 0))
        return status;
    }
    return DSV4RT_OK;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  // Axis 0 joins ranks {0,2} and {1,3}; axis 1 joins {0,1} and {2,3}.
  EXPECT_EQ(sums, (std::vector<float>{5, 3, 10, 3, 5, 12, 10, 12}));
}

// Starts on two communicators in opposite orders, too.
TEST(OrderTest, StartsInOppositeOrders) {
  TestModule module({2});
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, module.addGroup("a", 1));
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, module.addGroup("b", 1));
  std::vector<int32_t> sums(4);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened), src[2] = {rank + 1, 10 * (rank + 1)};
    int64_t tokens[2];
    for (int32_t i = 0; i < 2; ++i) {
      uint32_t site = rank ? 1 - i : i;
      tokens[site] = dsv4rt_all_reduce_start(opened, site, &src[site],
                                             &sums[2 * rank + site], 1, 0);
    }
    for (int64_t token : tokens)
      if (int32_t status = dsv4rt_wait(opened, token, 0))
        return status;
    return DSV4RT_OK;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(sums, (std::vector<int32_t>{3, 30, 3, 30}));
}

// `wait` returns only after every peer has read the source: changing it at once
// must not change what the late peer receives.
TEST(OrderTest, SourceIsFreeAfterWait) {
  TestModule module({2});
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_I32, module.addGroup("w", 1));
  std::vector<std::vector<int32_t>> gathered(2, std::vector<int32_t>(2));
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened), src = 40 + rank;
    int64_t token =
        dsv4rt_all_gather_start(opened, 0, &src, gathered[rank].data(), 1, 0);
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    int32_t status = dsv4rt_wait(opened, token, 0);
    src = -1;
    return status;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(gathered[0], (std::vector<int32_t>{40, 41}));
  EXPECT_EQ(gathered[1], (std::vector<int32_t>{40, 41}));
}

// More operations in flight than a ring holds.
TEST(OrderTest, ManyInFlight) {
  constexpr int kOperations = 1000;
  TestModule module({3});
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I64, module.addGroup("w", 1));
  std::vector<int64_t> wrong(3);
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    std::vector<int64_t> values(kOperations), tokens(kOperations);
    for (int i = 0; i < kOperations; ++i) {
      values[i] = (rank + 1) * i;
      tokens[i] =
          dsv4rt_all_reduce_start(opened, 0, &values[i], &values[i], 1, 0);
    }
    for (int i = kOperations; i-- > 0;)
      if (int32_t status = dsv4rt_wait(opened, tokens[i], 0))
        return status;
    for (int i = 0; i < kOperations; ++i)
      wrong[rank] += values[i] != 6 * i;
    return DSV4RT_OK;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(wrong, (std::vector<int64_t>{0, 0, 0}));
}

TEST(OrderTest, OneLaunchOfSeveralOperations) {
  TestModule module({2});
  uint32_t world = module.addGroup("w", 1);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_I32, world);
  module.addSite(DSV4RT_OP_REDUCE_SCATTER, DSV4RT_F32, world);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_I8, world);
  std::vector<std::vector<int32_t>> gathered(2, std::vector<int32_t>(4));
  std::vector<float> scattered(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    int32_t ints[2] = {10 * rank, 10 * rank + 1};
    float floats[2] = {1.0f + rank, 5.0f + rank};
    const void *src[] = {ints, floats, nullptr};
    void *dst[] = {gathered[rank].data(), &scattered[rank], nullptr};
    int64_t count[] = {2, 1, 0};
    int64_t token = dsv4rt_start_v(opened, 0, 3, src, dst, count, 0);
    EXPECT_GT(token, 0);
    int32_t status = dsv4rt_wait(opened, token, 0);
    EXPECT_EQ(getCounters(opened, 0).launches, 1u);
    EXPECT_EQ(getCounters(opened, 1).launches, 0u);
    EXPECT_EQ(getCounters(opened, DSV4RT_ALL_SITES).calls, 3u);
    return status;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(gathered[0], (std::vector<int32_t>{0, 1, 10, 11}));
  EXPECT_EQ(gathered[1], gathered[0]);
  EXPECT_EQ(scattered, (std::vector<float>{3, 11}));
}

TEST(OrderTest, AgreeAndBarrier) {
  TestModule module({4});
  uint32_t world = module.addGroup("w", 1);
  module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, world);
  module.addSite(DSV4RT_OP_BARRIER, DSV4RT_I32, world);
  std::vector<std::vector<int32_t>> results(4, std::vector<int32_t>(3));
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    const int32_t in[] = {INT32_MAX, INT32_MIN, 7, 0};
    const int32_t redops[] = {DSV4RT_SUM, DSV4RT_MAX, DSV4RT_MIN};
    for (int i = 0; i < 3; ++i)
      if (int32_t status = dsv4rt_agree_i32(opened, 0, redops[i], in[rank],
                                            &results[rank][i]))
        return status;
    return dsv4rt_barrier(opened, 1);
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  for (const std::vector<int32_t> &result : results)
    EXPECT_EQ(result, (std::vector<int32_t>{6, INT32_MAX, INT32_MIN}));
}

// No rank passes a barrier before the last has arrived.
TEST(OrderTest, BarrierHoldsEveryone) {
  TestModule module({3});
  module.addSite(DSV4RT_OP_BARRIER, DSV4RT_I32, module.addGroup("w", 1));
  std::vector<std::chrono::steady_clock::time_point> passed(3), arrived(3);
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
    arrived[rank] = std::chrono::steady_clock::now();
    int32_t status = dsv4rt_barrier(opened, 0);
    passed[rank] = std::chrono::steady_clock::now();
    return status;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  for (auto &time : passed)
    EXPECT_GE(time, arrived[2]);
}

TEST(OrderTest, TestMakesProgress) {
  TestModule module({2});
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, module.addGroup("w", 1));
  std::vector<int32_t> sums(2), polls(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened), src = rank + 1, status;
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    int64_t token = dsv4rt_all_reduce_start(opened, 0, &src, &sums[rank], 1, 0);
    while ((status = dsv4rt_test(opened, token)) == DSV4RT_PENDING) {
      ++polls[rank];
      std::this_thread::yield();
    }
    // A token stays good: complete is complete.
    EXPECT_EQ(dsv4rt_wait(opened, token, 0), DSV4RT_OK);
    EXPECT_EQ(dsv4rt_wait(opened, 0, 0), DSV4RT_OK);
    return status;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(sums, (std::vector<int32_t>{3, 3}));
  EXPECT_GT(polls[0], 0);
}

TEST(OrderTest, StepEndCompletesWhatWasNotWaitedFor) {
  TestModule module({2});
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, module.addGroup("w", 1));
  std::vector<int32_t> src = {1, 2}, sums(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    dsv4rt_all_reduce_start(opened, 0, &src[rank], &sums[rank], 1, 0);
    int32_t status = dsv4rt_step_end(opened);
    EXPECT_EQ(sums[rank], 3);
    return status;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

TEST(OrderTest, CountersPerSite) {
  TestModule module({2, 2});
  uint32_t axis1 = module.addGroup("axis1", 2);
  uint32_t world = module.addGroup("world", 3);
  uint32_t gather = module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_BF16, axis1);
  uint32_t scatter =
      module.addSite(DSV4RT_OP_REDUCE_SCATTER, DSV4RT_F32, world);
  uint32_t reduce = module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_F64, world);
  uint32_t agree = module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, world);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    std::vector<double> src(400), dst(400);
    int64_t tokens[] = {
        dsv4rt_all_gather_start(opened, gather, src.data(), dst.data(), 10, 0),
        dsv4rt_reduce_scatter_start(opened, scatter, src.data(),
                                    dst.data() + 100, 5, 0),
        dsv4rt_all_reduce_start(opened, reduce, src.data(), dst.data() + 200, 7,
                                0)};
    for (int64_t token : tokens)
      if (int32_t status = dsv4rt_wait(opened, token, 0))
        return status;
    int32_t flag;
    if (int32_t status = dsv4rt_agree_i32(opened, agree, DSV4RT_MAX, 1, &flag))
      return status;
    // Half of a buffer of 20 bf16; three quarters of 20 f32; three operands of
    // 7 f64; three flags.
    EXPECT_EQ(getCounters(opened, gather).received_bytes, 20u);
    EXPECT_EQ(getCounters(opened, scatter).received_bytes, 60u);
    EXPECT_EQ(getCounters(opened, reduce).received_bytes, 168u);
    EXPECT_EQ(getCounters(opened, agree).received_bytes, 12u);
    EXPECT_EQ(getCounters(opened, DSV4RT_ALL_SITES).received_bytes, 260u);
    EXPECT_EQ(getCounters(opened, DSV4RT_ALL_SITES).launches, 4u);
    dsv4rt_counters_reset(opened);
    EXPECT_EQ(getCounters(opened, DSV4RT_ALL_SITES).calls, 0u);
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

} // namespace
