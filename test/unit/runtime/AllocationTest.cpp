//===- AllocationTest.cpp - The hot path does not allocate ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces operator new of the whole program, the runtime included, by one that
// counts per thread.
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

using namespace dsv4::test;

static thread_local uint64_t numAllocations = 0;

void *operator new(std::size_t bytes) {
  ++numAllocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

int32_t runStep(dsv4rt_module *module, std::vector<float> &buffer) {
  int32_t rank = dsv4rt_rank(dsv4rt_module_world(module));
  float *data = buffer.data();
  const void *src[] = {data, data + 8};
  void *dst[] = {data + 64, data + 72};
  int64_t count[] = {4, 4};
  int64_t launched = dsv4rt_start_v(module, 0, 2, src, dst, count, 0);
  dsv4rt_peer send = {1 - rank, 0, 0, 4}, recv = {1 - rank, 0, 0, 4};
  int64_t exchanged = dsv4rt_exchange_start(module, 2, data + 16, 1, &send,
                                            data + 80, 1, &recv, 0);
  int32_t flag = 0;
  if (int32_t status = dsv4rt_agree_i32(module, 3, DSV4RT_MAX, rank, &flag))
    return status;
  if (int32_t status = dsv4rt_wait(module, exchanged, 0))
    return status;
  if (int32_t status = dsv4rt_wait(module, launched, 0))
    return status;
  return dsv4rt_step_end(module);
}

TEST(AllocationTest, StepsDoNotAllocate) {
  TestModule module({2});
  uint32_t world = module.addGroup("world", 1);
  module.addSite(DSV4RT_OP_ALL_GATHER, DSV4RT_F32, world);
  module.addSite(DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, world);
  module.addSite(DSV4RT_OP_EXCHANGE, DSV4RT_F32, world);
  module.addSite(DSV4RT_OP_AGREE, DSV4RT_I32, world);
  std::vector<uint64_t> allocated(2), probe(2);
  Outcome outcome = runModule(2, module, [&](dsv4rt_module *opened) -> int32_t {
    int32_t rank = dsv4rt_rank(dsv4rt_module_world(opened));
    std::vector<float> buffer(128);
    for (int step = 0; step < 300; ++step) // every ring entry has been used
      if (int32_t status = runStep(opened, buffer))
        return status;
    uint64_t before = numAllocations;
    for (int step = 0; step < 300; ++step)
      if (int32_t status = runStep(opened, buffer))
        return status;
    allocated[rank] = numAllocations - before;
    // The counter does count.
    before = numAllocations;
    std::vector<char> some(100);
    probe[rank] = numAllocations - before + (some[0] != 0);
    return DSV4RT_OK;
  });
  ASSERT_EQ(outcome.status, DSV4RT_OK) << outcome.text;
  EXPECT_EQ(allocated, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(probe, (std::vector<uint64_t>{1, 1}));
}

} // namespace
