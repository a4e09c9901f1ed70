//===- ExchangeTest.cpp - Messages between neighbours ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace dsv4::test;

namespace {

constexpr int64_t kRows = 6;

int32_t getRank(dsv4rt_module *module) {
  return dsv4rt_rank(dsv4rt_module_world(module));
}

/// The rows of one rank: 1000 * rank, 1000 * rank + 1, ..
std::vector<int32_t> makeRows(int32_t rank) {
  std::vector<int32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 1000 * rank);
  return rows;
}

TestModule makeLine(int64_t ranks) {
  TestModule module({ranks});
  module.addSite(DSV4RT_OP_EXCHANGE, DSV4RT_I32, module.addGroup("cp", 1),
                 DSV4RT_SUM, -1, "halo");
  return module;
}

// A window longer than a shard: eight rows before the own ones come from the
// two ranks before, two of the farther one and six of the nearer.
TEST(ExchangeTest, HaloOverTwoNeighbours) {
  TestModule module = makeLine(4);
  std::vector<std::vector<int32_t>> halos(4);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    std::vector<int32_t> rows = makeRows(rank);
    std::vector<int32_t> &halo = halos[rank];
    halo.assign(8, -1);
    std::vector<dsv4rt_peer> sends, recvs;
    if (rank + 1 < 4)
      sends.push_back({rank + 1, 0, 0, kRows});
    if (rank + 2 < 4)
      sends.push_back({rank + 2, 0, kRows - 2, 2});
    if (rank >= 2)
      recvs.push_back({rank - 2, 0, 0, 2});
    if (rank >= 1)
      recvs.push_back({rank - 1, 0, 2, kRows});
    int64_t token = dsv4rt_exchange_start(opened, 0, rows.data(), sends.size(),
                                          sends.data(), halo.data(),
                                          recvs.size(), recvs.data(), 0);
    // The lists are the runtime's own once start has returned.
    sends.assign(sends.size(), {0, 0, 99, 99});
    recvs.assign(recvs.size(), {0, 0, 99, 99});
    return dsv4rt_wait(opened, token, 0);
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  using Rows = std::vector<int32_t>;
  // Nothing is received in front of the first row: those places stay.
  EXPECT_EQ(halos[0], (Rows{-1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(halos[1], (Rows{-1, -1, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(halos[2], (Rows{4, 5, 1000, 1001, 1002, 1003, 1004, 1005}));
  EXPECT_EQ(halos[3], (Rows{1004, 1005, 2000, 2001, 2002, 2003, 2004, 2005}));
}

// Prefix: rank r receives the rows of all ranks up to itself, itself included.
TEST(ExchangeTest, PrefixWithOwnPart) {
  TestModule module = makeLine(3);
  std::vector<std::vector<int32_t>> prefixes(3);
  std::vector<uint64_t> received(3);
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    std::vector<int32_t> rows = makeRows(rank);
    std::vector<int32_t> &prefix = prefixes[rank];
    prefix.assign(3 * kRows, 0);
    std::vector<dsv4rt_peer> sends, recvs;
    for (int32_t to = rank; to < 3; ++to)
      sends.push_back({to, 0, 0, kRows});
    for (int32_t from = 0; from <= rank; ++from)
      recvs.push_back({from, 0, from * kRows, kRows});
    int64_t token = dsv4rt_exchange_start(opened, 0, rows.data(), sends.size(),
                                          sends.data(), prefix.data(),
                                          recvs.size(), recvs.data(), 0);
    int32_t status = dsv4rt_wait(opened, token, 0);
    dsv4rt_counters_v1 counters = {};
    counters.struct_size = sizeof(counters);
    dsv4rt_counters(opened, 0, &counters);
    received[rank] = counters.received_bytes;
    return status;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  for (int32_t rank = 0; rank < 3; ++rank) {
    for (int32_t i = 0; i < 3 * kRows; ++i) {
      int32_t from = i / kRows;
      int32_t expected = from <= rank ? 1000 * from + i % kRows : 0;
      EXPECT_EQ(prefixes[rank][i], expected) << rank << " " << i;
    }
    EXPECT_EQ(received[rank], rank * kRows * sizeof(int32_t));
  }
}

// Two messages between the same ranks are matched in the order of the lists.
TEST(ExchangeTest, SeveralMessagesToOnePeer) {
  TestModule module = makeLine(2);
  std::vector<std::vector<int32_t>> results(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = getRank(opened);
    std::vector<int32_t> rows = makeRows(rank);
    results[rank].assign(4, -1);
    dsv4rt_peer sends[] = {{1 - rank, 0, 4, 2}, {1 - rank, 0, 0, 1}};
    dsv4rt_peer recvs[] = {{1 - rank, 0, 2, 2}, {1 - rank, 0, 0, 1}};
    int64_t token = dsv4rt_exchange_start(opened, 0, rows.data(), 2, sends,
                                          results[rank].data(), 2, recvs, 0);
    return dsv4rt_wait(opened, token, 0);
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(results[0], (std::vector<int32_t>{1000, -1, 1004, 1005}));
  EXPECT_EQ(results[1], (std::vector<int32_t>{0, -1, 4, 5}));
}

TEST(ExchangeTest, AloneCopiesToItself) {
  TestModule module = makeLine(1);
  std::vector<int32_t> result(3, -1);
  Outcome outcome = runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
    std::vector<int32_t> rows = makeRows(0);
    dsv4rt_peer send = {0, 0, 2, 2}, recv = {0, 0, 1, 2};
    int64_t token = dsv4rt_exchange_start(opened, 0, rows.data(), 1, &send,
                                          result.data(), 1, &recv, 0);
    EXPECT_EQ(token, 0);
    return dsv4rt_wait(opened, token, 0);
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(result, (std::vector<int32_t>{-1, 2, 3}));
}

TEST(ExchangeTest, NothingToSend) {
  TestModule module = makeLine(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int64_t token = dsv4rt_exchange_start(opened, 0, nullptr, 0, nullptr,
                                          nullptr, 0, nullptr, 0);
    return dsv4rt_wait(opened, token, 0);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

Outcome runPair(dsv4rt_peer send, std::vector<dsv4rt_peer> recvs) {
  TestModule module = makeLine(2);
  return runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    std::vector<int32_t> rows = makeRows(0), result(kRows);
    bool sender = getRank(opened) == 0;
    int64_t token = dsv4rt_exchange_start(
        opened, 0, rows.data(), sender ? 1 : 0, &send, result.data(),
        sender ? 0 : recvs.size(), recvs.data(), 0);
    return dsv4rt_wait(opened, token, 0);
  });
}

TEST(ExchangeTest, CountsDiffer) {
  Outcome outcome = runPair({1, 0, 0, 4}, {{0, 0, 0, 3}});
  EXPECT_EQ(outcome.status, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\", exchange(i32) at site 0 (halo): "
            "rank 1 expects 3 elements from rank 0, which sends 4");
  EXPECT_TRUE(haveOneText(outcome));
}

TEST(ExchangeTest, MessageNotExpected) {
  Outcome outcome = runPair({1, 0, 0, 4}, {});
  EXPECT_EQ(outcome.status, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\", exchange(i32) at site 0 (halo): "
            "rank 1 expects 0 messages from rank 0, which sends 1");
}

TEST(ExchangeTest, PeerOutOfRange) {
  Outcome outcome = runPair({2, 0, 0, 4}, {});
  EXPECT_EQ(outcome.status, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 0: exchange(i32) at site 0 (halo): peer must "
                          "be in [0, 2), got 2");
  EXPECT_EQ(outcome.rankStatus[0], DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.rankStatus[1], DSV4RT_E_REMOTE);
}

} // namespace
