//===- ModuleTest.cpp - Opening modules, their memory and tables ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace dsv4::test;

namespace {

/// Opens `module` on `ranks` ranks; `change` may edit the descriptor of a rank.
Outcome openOn(
    int32_t ranks, TestModule &module,
    const std::function<void(int32_t, dsv4rt_module_desc &)> &change = nullptr,
    dsv4rt_config config = makeConfig()) {
  module.get();
  return runJob(ranks, config, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module_desc desc = module.desc;
    if (change)
      change(dsv4rt_rank(world), desc);
    dsv4rt_module *opened = nullptr;
    int32_t status = dsv4rt_module_open(world, &desc, &opened);
    EXPECT_EQ(opened == nullptr, status != DSV4RT_OK);
    return status ? status : dsv4rt_module_close(opened);
  });
}

void expectAll(const Outcome &outcome, int32_t status,
               const std::string &text) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_EQ(outcome.text, text);
  for (int32_t seen : outcome.rankStatus)
    EXPECT_EQ(seen, status);
  EXPECT_TRUE(haveOneText(outcome));
}

std::string repeat(const char *text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST(ModuleTest, HashDiffers) {
  TestModule module({3}, "tiny");
  Outcome outcome = openOn(3, module, [](int32_t rank, auto &desc) {
    if (rank == 2)
      desc.hash[31] = 1;
    desc.hash[0] = 0xAB;
  });
  expectAll(outcome, DSV4RT_E_MODULE,
            "ranks open different modules: rank 0 \"tiny\" with hash ab" +
                repeat("07", 31) + ", rank 2 \"tiny\" with hash ab" +
                repeat("07", 30) + "01");
}

TEST(ModuleTest, MeshDoesNotFitTheJob) {
  TestModule module({2, 4}, "tiny");
  expectAll(openOn(4, module), DSV4RT_E_MODULE,
            "rank 0: module \"tiny\": mesh {replicate=2, dp_shard=4} has 8 "
            "ranks, the job has 4");
}

TEST(ModuleTest, NewerInterface) {
  TestModule module({1}, "tiny");
  module.desc.abi_version = (DSV4RT_ABI_MAJOR + 1) << 16;
  expectAll(openOn(1, module), DSV4RT_E_MODULE,
            "rank 0: module \"\": module is compiled for interface 2.0, the "
            "runtime has 1.0");
}

TEST(ModuleTest, UnsupportedSite) {
  struct Case {
    uint32_t op, dtype, redop, acc;
    const char *reason;
  };
  const Case cases[] = {
      {DSV4RT_OP_ALL_REDUCE, DSV4RT_I8, DSV4RT_SUM, 0,
       "all_reduce sum of i8 has no rule"},
      {DSV4RT_OP_REDUCE_SCATTER, DSV4RT_F32, DSV4RT_PROD, 0,
       "reduce_scatter prod of f32 has no rule"},
      {DSV4RT_OP_ALL_REDUCE, DSV4RT_F8E4M3, DSV4RT_MAX, 0,
       "all_reduce max of f8e4m3 has no rule"},
      {DSV4RT_OP_AGREE, DSV4RT_F32, DSV4RT_MAX, 0,
       "agree of f32 has no rule, expected i32"},
      {DSV4RT_OP_ALL_REDUCE, DSV4RT_F64, DSV4RT_SUM, DSV4RT_ACC_F32,
       "all_reduce of f64 accumulates in f64, got an f32 accumulator"},
      {4, DSV4RT_F32, DSV4RT_SUM, 0, "operation code 4 is unknown"},
      {DSV4RT_OP_ALL_GATHER, 55, DSV4RT_SUM, 0,
       "element type code 55 is unknown"}};
  for (const Case &test : cases) {
    TestModule module({2}, "tiny");
    module.addSite(test.op, test.dtype, module.addGroup("cp", 1), test.redop,
                   -1, "layer 3");
    module.sites[0].acc = test.acc;
    expectAll(openOn(2, module), DSV4RT_E_UNSUPPORTED,
              std::string("rank 0: module \"tiny\": site 0 (layer 3): ") +
                  test.reason);
  }
}

TEST(ModuleTest, BadTables) {
  TestModule group({2}, "tiny");
  group.addGroup("cp", 2);
  expectAll(openOn(2, group), DSV4RT_E_INVALID,
            "rank 0: module \"tiny\": group 0 names an axis the mesh does not "
            "have");
  TestModule site({2}, "tiny");
  site.addSite(DSV4RT_OP_BARRIER, DSV4RT_I32, 5);
  expectAll(openOn(2, site), DSV4RT_E_INVALID,
            "rank 0: module \"tiny\": site 0: group must be in [0, 0), got 5");
  TestModule argument({2}, "tiny");
  const int64_t shape[] = {3, 5};
  argument.desc.state_bytes = 100;
  argument.arguments.push_back(
      {"w", DSV4RT_ARENA_STATE, DSV4RT_F32, 44, 2, DSV4RT_ARG_BATCH, shape});
  expectAll(openOn(2, argument), DSV4RT_E_INVALID,
            "rank 0: module \"tiny\": argument w: does not fit its arena of "
            "100 bytes");
  TestModule small({1}, "tiny");
  small.desc.struct_size = 8;
  EXPECT_EQ(openOn(1, small).status, DSV4RT_E_INVALID);
}

TEST(ModuleTest, OneRankHasNoModule) {
  TestModule module({2}, "tiny");
  const dsv4rt_module_desc *desc = module.get();
  Outcome outcome = runJob(2, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened;
    return dsv4rt_module_open(world, dsv4rt_rank(world) ? nullptr : desc,
                              &opened);
  });
  expectAll(outcome, DSV4RT_E_INVALID,
            "rank 1: module \"\": module descriptor is NULL");
}

TEST(ModuleTest, ArenasBeyondTheLimit) {
  TestModule module({4}, "tiny");
  module.desc.state_bytes = 600;
  module.desc.work_bytes = 400;
  dsv4rt_config config = makeConfig();
  config.memory_limit_bytes = 3999;
  Outcome outcome = openOn(4, module, nullptr, config);
  EXPECT_EQ(outcome.status, DSV4RT_E_OOM);
  EXPECT_EQ(outcome.text.find(
                "module \"tiny\" needs 1000 bytes of arenas per rank, 4000 "
                "bytes for the 4 ranks of this machine; 3999 bytes are "
                "available (MemAvailable "),
            0u)
      << outcome.text;
  EXPECT_NE(outcome.text.find("memory_limit_bytes leaves 3999)"),
            std::string::npos)
      << outcome.text;
  EXPECT_TRUE(haveOneText(outcome));
  config.memory_limit_bytes = 4000;
  EXPECT_EQ(openOn(4, module, nullptr, config).status, DSV4RT_OK);
}

TEST(ModuleTest, ArenasBeyondTheMachine) {
  TestModule module({2}, "huge");
  module.desc.work_bytes = uint64_t(1) << 52;
  Outcome outcome = openOn(2, module);
  EXPECT_EQ(outcome.status, DSV4RT_E_OOM);
  EXPECT_EQ(outcome.text.find("module \"huge\" needs 4503599627370496 bytes of "
                              "arenas per rank, 9007199254740992 bytes"),
            0u)
      << outcome.text;
  module.desc.state_bytes = UINT64_MAX;
  EXPECT_EQ(openOn(2, module).status, DSV4RT_E_OOM);
}

TEST(ModuleTest, SecondModuleSharesTheLimit) {
  TestModule module({2}, "tiny");
  module.desc.state_bytes = 1000;
  const dsv4rt_module_desc *desc = module.get();
  dsv4rt_config config = makeConfig();
  config.memory_limit_bytes = 3000;
  Outcome outcome = runJob(2, config, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *first = nullptr, *second = nullptr;
    for (int i = 0; i < 3; ++i) { // closing gives the memory back
      if (int32_t status = dsv4rt_module_open(world, desc, &first))
        return status;
      if (int32_t status = dsv4rt_module_close(first))
        return status;
    }
    EXPECT_EQ(dsv4rt_module_open(world, desc, &first), DSV4RT_OK);
    return dsv4rt_module_open(world, desc, &second);
  });
  EXPECT_EQ(outcome.status, DSV4RT_E_OOM);
  EXPECT_NE(outcome.text.find("memory_limit_bytes leaves 1000"),
            std::string::npos)
      << outcome.text;
}

TEST(ModuleTest, TablesAndCoordinates) {
  TestModule module({2, 3}, "tiny");
  module.addGroup("dp", 1);
  module.addGroup("cp", 2);
  module.addSite(DSV4RT_OP_BARRIER, DSV4RT_I32, 1);
  const int64_t shape[] = {3, 5};
  module.desc.state_bytes = 100;
  module.desc.work_bytes = 64;
  module.arguments.push_back(
      {"w", DSV4RT_ARENA_STATE, DSV4RT_F32, 40, 2, DSV4RT_ARG_BATCH, shape});
  Outcome outcome = runModule(6, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = dsv4rt_rank(dsv4rt_module_world(opened));
    EXPECT_EQ(dsv4rt_axis_index(opened, 0), rank / 3);
    EXPECT_EQ(dsv4rt_axis_index(opened, 1), rank % 3);
    EXPECT_EQ(dsv4rt_axis_index(opened, 2), -1);
    EXPECT_EQ(dsv4rt_axis_index(opened, -1), -1);
    EXPECT_EQ(dsv4rt_group_size(opened, 0), 2);
    EXPECT_EQ(dsv4rt_group_rank(opened, 0), rank / 3);
    EXPECT_EQ(dsv4rt_group_size(opened, 1), 3);
    EXPECT_EQ(dsv4rt_group_rank(opened, 1), rank % 3);
    EXPECT_EQ(dsv4rt_group_size(opened, 2), -1);
    EXPECT_STREQ(dsv4rt_module_argument(opened, 0)->name, "w");
    EXPECT_EQ(dsv4rt_module_argument(opened, 1), nullptr);
    EXPECT_EQ(dsv4rt_module_site(opened, 0)->group, 1u);
    EXPECT_EQ(dsv4rt_module_site(opened, 1), nullptr);
    EXPECT_STREQ(dsv4rt_module_descriptor(opened)->name, "tiny");
    auto *state = static_cast<unsigned char *>(
        dsv4rt_module_arena(opened, DSV4RT_ARENA_STATE));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(state) % 256, 0u);
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(state[i], 0);
    EXPECT_NE(dsv4rt_module_arena(opened, DSV4RT_ARENA_WORK), nullptr);
    EXPECT_EQ(dsv4rt_module_arena(opened, 2), nullptr);
    return dsv4rt_barrier(opened, 0);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

// A compiler of a later version may append fields to every table element.
TEST(ModuleTest, LargerTableElements) {
  struct LaterSite {
    dsv4rt_site site;
    uint64_t more[3];
  };
  TestModule module({2}, "later");
  uint32_t group = module.addGroup("cp", 1);
  module.addSite(DSV4RT_OP_BARRIER, DSV4RT_I32, group);
  module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, group);
  LaterSite later[2];
  std::memset(later, 0xEE, sizeof(later));
  for (int i = 0; i < 2; ++i)
    later[i].site = module.sites[i];
  dsv4rt_module_desc desc = *module.get();
  desc.sites = &later[0].site;
  desc.site_size = sizeof(LaterSite);
  Outcome outcome = runJob(2, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened = nullptr;
    if (int32_t status = dsv4rt_module_open(world, &desc, &opened))
      return status;
    int32_t sum = 0;
    int32_t status = dsv4rt_agree_i32(opened, 1, DSV4RT_SUM, 4, &sum);
    EXPECT_EQ(sum, 8);
    return status ? status : dsv4rt_module_close(opened);
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

TEST(ModuleTest, TouchedBytes) {
  TestModule module({1}, "tiny");
  module.desc.work_bytes = 4099;
  Outcome outcome = runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
    auto *work = static_cast<unsigned char *>(
        dsv4rt_module_arena(opened, DSV4RT_ARENA_WORK));
    uint64_t end = 1;
    EXPECT_EQ(dsv4rt_module_fill_pattern(opened), DSV4RT_OK);
    EXPECT_EQ(dsv4rt_module_touched_bytes(opened, 0, 4099, &end), DSV4RT_OK);
    EXPECT_EQ(end, 0u);
    // Writing zeros counts, too.
    std::memset(work + 1000, 0, 64);
    dsv4rt_module_touched_bytes(opened, 0, 4099, &end);
    EXPECT_EQ(end, 1064u);
    dsv4rt_module_touched_bytes(opened, 1064, 4099, &end);
    EXPECT_EQ(end, 1064u);
    EXPECT_EQ(dsv4rt_module_touched_bytes(opened, 0, 4100, &end),
              DSV4RT_E_INVALID);
    EXPECT_EQ(dsv4rt_module_touched_bytes(opened, 3, 2, &end),
              DSV4RT_E_INVALID);
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

// Buffers of 40 bytes at 0 and 64 and a longer one over the second; 104 to 127
// and 200 to 255 are padding.
static TestModule makePlannedModule() {
  static const dsv4rt_work_buffer buffers[] = {{128, 72}, {0, 40}, {64, 40}};
  TestModule module({1}, "tiny");
  module.desc.work_bytes = 256;
  module.desc.work_buffers = buffers;
  module.desc.n_work_buffers = 3;
  module.desc.work_buffer_size = sizeof(dsv4rt_work_buffer);
  return module;
}

TEST(ModuleTest, MeasureWork) {
  TestModule module = makePlannedModule();
  Outcome outcome = runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
    auto *work = static_cast<unsigned char *>(
        dsv4rt_module_arena(opened, DSV4RT_ARENA_WORK));
    uint64_t end = 1;
    dsv4rt_module_fill_pattern(opened);
    EXPECT_EQ(dsv4rt_module_measure_work(opened, &end), DSV4RT_OK);
    EXPECT_EQ(end, 0u);
    // The end of the buffer, not of the byte.
    work[64] ^= 1;
    EXPECT_EQ(dsv4rt_module_measure_work(opened, &end), DSV4RT_OK);
    EXPECT_EQ(end, 104u);
    work[199] ^= 1;
    EXPECT_EQ(dsv4rt_module_measure_work(opened, &end), DSV4RT_OK);
    EXPECT_EQ(end, 200u);
    EXPECT_EQ(dsv4rt_module_measure_work(opened, nullptr), DSV4RT_E_INVALID);
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

TEST(ModuleTest, MeasureWorkFindsStrayBytes) {
  for (unsigned stray : {40, 63, 104, 127, 200, 255}) {
    TestModule module = makePlannedModule();
    Outcome outcome =
        runModule(1, module, [&](dsv4rt_module *opened) -> int32_t {
          auto *work = static_cast<unsigned char *>(
              dsv4rt_module_arena(opened, DSV4RT_ARENA_WORK));
          uint64_t end = 0;
          dsv4rt_module_fill_pattern(opened);
          work[0] ^= 1;
          work[stray] ^= 1;
          return dsv4rt_module_measure_work(opened, &end);
        });
    EXPECT_EQ(outcome.status, DSV4RT_E_MODULE);
    EXPECT_EQ(outcome.text, "rank 0: byte " + std::to_string(stray) +
                                " of the work arena changed, which lies in no "
                                "planned buffer");
  }
}

TEST(ModuleTest, WorkBufferOutsideTheArena) {
  TestModule module = makePlannedModule();
  module.desc.work_bytes = 199;
  Outcome outcome = runModule(1, module, [](dsv4rt_module *) { return 0; });
  EXPECT_EQ(outcome.status, DSV4RT_E_INVALID);
  EXPECT_NE(outcome.text.find("work buffer 0: 72 bytes at 128 do not fit the "
                              "work arena of 199 bytes"),
            std::string::npos)
      << outcome.text;
}

// Two modules on one world; operations of both are in flight at once.
TEST(ModuleTest, TwoModules) {
  TestModule one({2}, "one"), two({2}, "two");
  one.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, one.addGroup("cp", 1));
  two.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_I32, two.addGroup("cp", 1));
  const dsv4rt_module_desc *descs[] = {one.get(), two.get()};
  Outcome outcome = runJob(2, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened[2];
    int32_t src[2] = {1, 2}, sums[2] = {0, 0};
    int64_t tokens[2];
    for (int i = 0; i < 2; ++i)
      if (int32_t status = dsv4rt_module_open(world, descs[i], &opened[i]))
        return status;
    for (int i = 0; i < 2; ++i)
      tokens[i] =
          dsv4rt_all_reduce_start(opened[i], 0, &src[i], &sums[i], 1, 0);
    for (int i = 0; i < 2; ++i) {
      int which = dsv4rt_rank(world) ? 1 - i : i;
      if (int32_t status = dsv4rt_wait(opened[which], tokens[which], 0))
        return status;
    }
    EXPECT_EQ(sums[0], 2);
    EXPECT_EQ(sums[1], 4);
    for (dsv4rt_module *module : opened)
      if (int32_t status = dsv4rt_module_close(module))
        return status;
    return DSV4RT_OK;
  });
  EXPECT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
}

TEST(ModuleTest, Names) {
  EXPECT_EQ(dsv4rt_abi_version(), DSV4RT_ABI_VERSION);
  EXPECT_STREQ(dsv4rt_status_name(DSV4RT_E_MODULE), "DSV4RT_E_MODULE");
  EXPECT_STREQ(dsv4rt_status_name(DSV4RT_E_MISMATCH), "DSV4RT_E_MISMATCH");
  EXPECT_STREQ(dsv4rt_status_name(-1), "unknown");
  EXPECT_STREQ(dsv4rt_status_name(12), "unknown");
  EXPECT_STREQ(dsv4rt_dtype_name(DSV4RT_I1), "i1");
  EXPECT_EQ(dsv4rt_dtype_size(DSV4RT_I1), 1);
  EXPECT_EQ(dsv4rt_dtype_size(DSV4RT_BF16), 2);
  EXPECT_EQ(dsv4rt_dtype_size(99), 0);
  EXPECT_STREQ(dsv4rt_op_name(DSV4RT_OP_EXCHANGE), "exchange");
  EXPECT_STREQ(dsv4rt_op_name(4), "unknown");
  EXPECT_STREQ(dsv4rt_redop_name(DSV4RT_MIN), "min");
}

} // namespace
