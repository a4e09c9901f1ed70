//===- FaultTest.cpp - Every fault ends every rank with one text ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace dsv4::test;

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
using KeepLeaks = __lsan::ScopedDisabler;
#else
struct KeepLeaks {
  KeepLeaks() {}
};
#endif

namespace {

int32_t getRank(dsv4rt_module *module) {
  return dsv4rt_rank(dsv4rt_module_world(module));
}

void sleepMs(int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/// Sites 0 and 1 gather f32 and bf16, 2 reduces f32, 3 agrees; 4 gathers a
/// fixed number.
TestModule makeModule(int64_t ranks) {
  TestModule module({ranks});
  uint32_t world = module.addGroup("cp", 1);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, world, 0, -1, "layer 0");
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_BF16, world, 0, -1, "layer 1");
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, world, 0, -1, "loss");
  module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, world, 0, -1, "flag");
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, world, 0, 8, "fixed");
  return module;
}

struct Buffers {
  std::vector<float> src = std::vector<float>(64, 1.0f);
  std::vector<float> dst = std::vector<float>(512, -1.0f);
};

int32_t gather(dsv4rt_module *module, uint32_t site, int64_t count,
               Buffers &buffers) {
  return dsv4rt_wait(module,
                     dsv4rt_all_gather_start(module, site, buffers.src.data(),
                                             buffers.dst.data(), count, 0),
                     0);
}

int32_t reduce(dsv4rt_module *module, int64_t count, Buffers &buffers) {
  return dsv4rt_wait(module,
                     dsv4rt_all_reduce_start(module, 2, buffers.src.data(),
                                             buffers.dst.data(), count, 0),
                     0);
}

void expectAll(const Outcome &outcome, int32_t status) {
  EXPECT_EQ(outcome.status, status) << outcome.text;
  for (int32_t seen : outcome.rankStatus)
    EXPECT_EQ(seen, status);
  EXPECT_TRUE(haveOneText(outcome)) << outcome.text;
}

void expectOne(const Outcome &outcome, int32_t culprit, int32_t status) {
  EXPECT_EQ(outcome.status, status) << outcome.text;
  for (size_t rank = 0; rank < outcome.rankStatus.size(); ++rank)
    EXPECT_EQ(outcome.rankStatus[rank],
              int32_t(rank) == culprit ? status : DSV4RT_E_REMOTE);
  EXPECT_TRUE(haveOneText(outcome)) << outcome.text;
}

TEST(FaultTest, WrongCount) {
  TestModule module = makeModule(3);
  std::vector<float> firstByte(3);
  Outcome outcome = runModule(3, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    int32_t status = gather(opened, 0, 4, buffers);
    buffers.dst.assign(512, -1.0f);
    if (status == DSV4RT_OK)
      status = gather(opened, 0, getRank(opened) == 1 ? 0 : 4, buffers);
    firstByte[getRank(opened)] = buffers.dst[0];
    return status;
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #1 of group \"cp\" differs: ranks 0, 2: "
            "all_gather(count=4, f32) at site 0 (layer 0); rank 1: "
            "all_gather(count=0, f32) at site 0 (layer 0)");
  // No byte has moved.
  EXPECT_EQ(firstByte, (std::vector<float>{-1, -1, -1}));
}

TEST(FaultTest, WrongElementType) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return gather(opened, getRank(opened) ? 1 : 0, 4, buffers);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\" differs: rank 0: all_gather(count=4,"
            " f32) at site 0 (layer 0); rank 1: all_gather(count=4, bf16) at "
            "site 1 (layer 1)");
}

// Two sites that differ in nothing but their place in the program.
TEST(FaultTest, WrongSite) {
  TestModule module({2});
  uint32_t world = module.addGroup("cp", 1);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, world, 0, -1, "layer 0");
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, world, 0, -1, "layer 1");
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return gather(opened, getRank(opened), 4, buffers);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\" differs: rank 0: all_gather(count=4,"
            " f32) at site 0 (layer 0); rank 1: all_gather(count=4, f32) at "
            "site 1 (layer 1)");
}

TEST(FaultTest, SwappedOperations) {
  TestModule module = makeModule(4);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    bool swapped = getRank(opened) == 2;
    int32_t status =
        swapped ? reduce(opened, 4, buffers) : gather(opened, 0, 4, buffers);
    if (status)
      return status;
    return swapped ? gather(opened, 0, 4, buffers) : reduce(opened, 4, buffers);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_NE(outcome.text.find("rank 2: all_reduce(count=4, f32) at site 2 "
                              "(loss)"),
            std::string::npos)
      << outcome.text;
}

TEST(FaultTest, CountOtherThanDeclared) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return gather(opened, 4, 9, buffers);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text, "collective #0 of group \"cp\": the program declares "
                          "count 8, every rank passes all_gather(count=9, f32) "
                          "at site 4 (fixed)");
}

TEST(FaultTest, CountOtherThanDeclaredAlone) {
  TestModule module = makeModule(1);
  Outcome outcome = runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return gather(opened, 4, 9, buffers);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_MISMATCH) << outcome.text;
}

TEST(FaultTest, AgreeReductionDiffers) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t out;
    return dsv4rt_agree_i32(opened, 3,
                            getRank(opened) ? DSV4RT_MAX : DSV4RT_MIN, 1, &out);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\" differs: rank 0: agree(min, i32) at "
            "site 3 (flag); rank 1: agree(max, i32) at site 3 (flag)");
}

TEST(FaultTest, ExtraOperationIsFoundAtStepEnd) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return getRank(opened) ? gather(opened, 0, 4, buffers)
                           : dsv4rt_step_end(opened);
  });
  expectAll(outcome, DSV4RT_E_MISMATCH);
  EXPECT_EQ(outcome.text,
            "collective #0 of group \"cp\" differs: rank 0: the end of the "
            "step; rank 1: all_gather(count=4, f32) at site 0 (layer 0)");
}

TEST(FaultTest, LateRank) {
  TestModule module = makeModule(3);
  std::atomic<int32_t> lateStatus{0};
  Outcome outcome = runModule(
      3, module,
      [&](dsv4rt_module *opened) -> int32_t {
        Buffers buffers;
        if (getRank(opened) == 1) {
          if (int32_t status = gather(opened, 0, 4, buffers))
            return status;
          sleepMs(600);
          int32_t status = reduce(opened, 4, buffers);
          lateStatus = status;
          return status;
        }
        if (int32_t status = gather(opened, 0, 4, buffers))
          return status;
        return reduce(opened, 4, buffers);
      },
      makeConfig(200));
  expectAll(outcome, DSV4RT_E_TIMEOUT);
  EXPECT_EQ(lateStatus.load(), DSV4RT_E_TIMEOUT);
  EXPECT_NE(outcome.text.find("time limit of 200 ms: rank "), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find(" waits for all_reduce(count=4, f32) at site 2 "
                              "(loss), collective #1 of group \"cp\"; not "
                              "there: rank 1 (outside the runtime, last "
                              "started site 0 (layer 0))"),
            std::string::npos)
      << outcome.text;
}

TEST(FaultTest, LateInModuleOpen) {
  TestModule module = makeModule(2);
  const dsv4rt_module_desc *desc = module.get();
  Outcome outcome =
      runJob(2, makeConfig(100), [&](dsv4rt_world *world) -> int32_t {
        if (dsv4rt_rank(world) == 1)
          sleepMs(300);
        dsv4rt_module *opened;
        return dsv4rt_module_open(world, desc, &opened);
      });
  expectAll(outcome, DSV4RT_E_TIMEOUT);
  EXPECT_EQ(outcome.text,
            "time limit of 100 ms: rank 0 waits for opening or closing a "
            "module, collective #0 of group \"world\"; not there: rank 1 "
            "(outside the runtime, started nothing)");
}

TEST(FaultTest, LimitOfOneWait) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    if (getRank(opened) == 1) {
      sleepMs(300);
      return reduce(opened, 4, buffers);
    }
    int64_t token = dsv4rt_all_reduce_start(opened, 2, buffers.src.data(),
                                            buffers.dst.data(), 4, 0);
    return dsv4rt_wait_host(opened, token, 50);
  });
  expectAll(outcome, DSV4RT_E_TIMEOUT);
  EXPECT_EQ(outcome.text.find("time limit of 50 ms: rank 0 waits"), 0u);
}

TEST(FaultTest, StartedButNotWaitedFor) {
  TestModule module = makeModule(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    int64_t token = dsv4rt_all_reduce_start(opened, 2, buffers.src.data(),
                                            buffers.dst.data(), 4, 0);
    if (getRank(opened) == 1)
      sleepMs(400);
    return dsv4rt_wait_host(opened, token, 100);
  });
  expectAll(outcome, DSV4RT_E_TIMEOUT);
  EXPECT_NE(outcome.text.find("; started but not waited for: rank 1 (outside "
                              "the runtime, last started site 2 (loss))"),
            std::string::npos)
      << outcome.text;
}

TEST(FaultTest, RankLeavesEarly) {
  TestModule module = makeModule(3);
  const dsv4rt_module_desc *desc = module.get();
  auto begin = std::chrono::steady_clock::now();
  Outcome outcome = runJob(3, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened;
    if (int32_t status = dsv4rt_module_open(world, desc, &opened))
      return status;
    Buffers buffers;
    return dsv4rt_rank(world) == 2 ? int32_t(DSV4RT_OK)
                                   : reduce(opened, 4, buffers);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_RANK_LOST);
  EXPECT_EQ(outcome.text.find("rank 2 has left the job; rank "), 0u)
      << outcome.text;
  // Long before the limit of 20 s.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(FaultTest, RankFunctionReturnsAnError) {
  TestModule module = makeModule(4);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return getRank(opened) == 3 ? 42 : reduce(opened, 4, buffers);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_ABORTED);
  EXPECT_EQ(outcome.text, "rank 3: its function returned 42");
  EXPECT_EQ(outcome.rankStatus[0], DSV4RT_E_REMOTE);
  outcome = runJob(2, [](dsv4rt_world *world) -> int32_t {
    return dsv4rt_rank(world) ? DSV4RT_E_BACKEND : DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_BACKEND);
  EXPECT_EQ(outcome.text, "rank 1: its function returned DSV4RT_E_BACKEND");
}

TEST(FaultTest, RankRaises) {
  TestModule module = makeModule(4);
  Outcome outcome = runModule(4, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    if (getRank(opened) == 3)
      return dsv4rt_raise(dsv4rt_module_world(opened), DSV4RT_E_OOM,
                          "no memory for the optimizer");
    return reduce(opened, 4, buffers);
  });
  expectOne(outcome, 3, DSV4RT_E_OOM);
  EXPECT_EQ(outcome.text, "rank 3: no memory for the optimizer");
}

TEST(FaultTest, FirstFailureStays) {
  TestModule module = makeModule(1);
  Outcome outcome = runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
    dsv4rt_world *world = dsv4rt_module_world(opened);
    EXPECT_EQ(dsv4rt_raise(world, DSV4RT_E_OOM, "first"), DSV4RT_E_OOM);
    EXPECT_EQ(dsv4rt_raise(world, DSV4RT_E_TIMEOUT, "second"), DSV4RT_E_OOM);
    Buffers buffers;
    EXPECT_EQ(reduce(opened, 4, buffers), DSV4RT_E_OOM);
    EXPECT_EQ(buffers.dst[0], -1.0f);
    EXPECT_EQ(dsv4rt_step_end(opened), DSV4RT_E_OOM);
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_OOM);
  EXPECT_EQ(outcome.text, "rank 0: first");
}

TEST(FaultTest, ReturnsWithOperationsInFlight) {
  TestModule module = makeModule(2);
  const dsv4rt_module_desc *desc = module.get();
  std::vector<Buffers> buffers(2);
  Outcome outcome = runJob(2, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened;
    if (int32_t status = dsv4rt_module_open(world, desc, &opened))
      return status;
    Buffers &own = buffers[dsv4rt_rank(world)];
    int64_t token = dsv4rt_all_reduce_start(opened, 2, own.src.data(),
                                            own.dst.data(), 4, 0);
    return dsv4rt_rank(world) ? int32_t(DSV4RT_OK)
                              : dsv4rt_wait(opened, token, 0);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 1: its function returned with 1 operations "
                          "started and not waited for");
}

// A rank that never looks at the runtime again cannot be stopped; the job ends
// without it.
TEST(FaultTest, RankThatDoesNotReturn) {
  static std::atomic<bool> release{false};
  static std::atomic<bool> left{false};
  KeepLeaks keepLeaks; // the stuck rank's job stays
  dsv4rt_config config = makeConfig(50);
  config.exit_timeout_ms = 100;
  int32_t status = dsv4rt_host_run(
      2, &config,
      [](dsv4rt_world *world, void *) -> int32_t {
        if (dsv4rt_rank(world) == 0)
          return dsv4rt_raise(world, DSV4RT_E_TIMEOUT, "gave up");
        while (!release.load())
          sleepMs(1);
        left.store(true);
        return DSV4RT_OK;
      },
      nullptr);
  EXPECT_EQ(status, DSV4RT_E_TIMEOUT);
  release.store(true);
  while (!left.load())
    sleepMs(1);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Runs `call` on rank 1 of 2 while rank 0 reduces.
Outcome
runBadCall(const std::function<int32_t(dsv4rt_module *, Buffers &)> &call) {
  TestModule module = makeModule(2);
  return runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    Buffers buffers;
    return getRank(opened) ? call(opened, buffers) : reduce(opened, 4, buffers);
  });
}

TEST(FaultTest, WrongCallForTheSite) {
  Outcome outcome =
      runBadCall([](dsv4rt_module *opened, Buffers &buffers) -> int32_t {
        return gather(opened, 2, 4, buffers);
      });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 1: site 2 is all_reduce, called as all_gather");
}

TEST(FaultTest, SiteOutOfRange) {
  Outcome outcome =
      runBadCall([](dsv4rt_module *opened, Buffers &buffers) -> int32_t {
        return gather(opened, 77, 4, buffers);
      });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 1: site must be in [0, 5), got 77");
}

TEST(FaultTest, NegativeCount) {
  Outcome outcome =
      runBadCall([](dsv4rt_module *opened, Buffers &buffers) -> int32_t {
        return gather(opened, 0, -4, buffers);
      });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
}

TEST(FaultTest, NullOperand) {
  Outcome outcome =
      runBadCall([](dsv4rt_module *opened, Buffers &buffers) -> int32_t {
        return dsv4rt_wait(opened,
                           dsv4rt_all_gather_start(opened, 0, nullptr,
                                                   buffers.dst.data(), 4, 0),
                           0);
      });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 1: all_gather(count=4, f32) at site 0 (layer "
                          "0): an operand is NULL");
}

TEST(FaultTest, MisalignedOperand) {
  Outcome outcome = runBadCall([](dsv4rt_module *opened,
                                  Buffers &buffers) -> int32_t {
    const char *src = reinterpret_cast<char *>(buffers.src.data()) + 1;
    return dsv4rt_wait(
        opened,
        dsv4rt_all_gather_start(opened, 0, src, buffers.dst.data(), 4, 0), 0);
  });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
}

TEST(FaultTest, OverlappingOperands) {
  Outcome outcome =
      runBadCall([](dsv4rt_module *opened, Buffers &buffers) -> int32_t {
        return dsv4rt_wait(opened,
                           dsv4rt_all_gather_start(opened, 0,
                                                   buffers.dst.data() + 2,
                                                   buffers.dst.data(), 4, 0),
                           0);
      });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text, "rank 1: all_gather(count=4, f32) at site 0 (layer "
                          "0): src and dst overlap and are not in place");
}

TEST(FaultTest, UnknownToken) {
  Outcome outcome = runBadCall([](dsv4rt_module *opened, Buffers &) -> int32_t {
    return dsv4rt_wait(opened, 12345, 0);
  });
  expectOne(outcome, 1, DSV4RT_E_INVALID);
  EXPECT_EQ(outcome.text,
            "rank 1: wait for token 12345, which no start returned");
}

TEST(FaultTest, LaunchAcrossGroups) {
  TestModule module({2});
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, module.addGroup("a", 1));
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, module.addGroup("b", 1));
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    const void *src[] = {nullptr, nullptr};
    void *dst[] = {nullptr, nullptr};
    int64_t count[] = {0, 0};
    return dsv4rt_wait(opened, dsv4rt_start_v(opened, 0, 2, src, dst, count, 0),
                       0);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_INVALID);
  EXPECT_NE(outcome.text.find("cannot join a launch on group \"a\""),
            std::string::npos)
      << outcome.text;
}

TEST(FaultTest, AgreeOfAProduct) {
  Outcome outcome = runBadCall([](dsv4rt_module *opened, Buffers &) -> int32_t {
    int32_t out;
    return dsv4rt_agree_i32(opened, 3, DSV4RT_PROD, 1, &out);
  });
  expectOne(outcome, 1, DSV4RT_E_UNSUPPORTED);
  EXPECT_EQ(outcome.text, "rank 1: agree prod has no rule");
}

TEST(FaultTest, BadConfigurations) {
  auto fn = [](dsv4rt_world *, void *) -> int32_t { return DSV4RT_OK; };
  dsv4rt_config config = makeConfig();
  EXPECT_EQ(dsv4rt_host_run(0, &config, fn, nullptr), DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_host_run(2, &config, nullptr, nullptr), DSV4RT_E_INVALID);
  config.backend = "nccl";
  EXPECT_EQ(dsv4rt_host_run(2, &config, fn, nullptr), DSV4RT_E_INVALID);
  char text[64];
  dsv4rt_error_text(nullptr, text, sizeof(text));
  EXPECT_STREQ(text, "backend is \"nccl\", expected \"host\"");
  config = makeConfig();
  config.world_size = 3;
  EXPECT_EQ(dsv4rt_host_run(2, &config, fn, nullptr), DSV4RT_E_INVALID);
  config.world_size = 2;
  EXPECT_EQ(dsv4rt_host_run(2, &config, fn, nullptr), DSV4RT_OK);
}

} // namespace
