//===- ArenaTest.cpp - Finding the last byte that changed -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include <gtest/gtest.h>

using dsv4::rt::Arena;

namespace {

// Every single-byte change, in ranges of every alignment.
TEST(ArenaTest, FindsEveryByte) {
  constexpr uint64_t kSize = 45;
  Arena arena;
  ASSERT_TRUE(arena.allocate(kSize));
  arena.fillPattern();
  auto *data = static_cast<unsigned char *>(arena.getData());
  for (uint64_t changed = 0; changed < kSize; ++changed) {
    data[changed] ^= 1;
    for (uint64_t begin = 0; begin <= kSize; ++begin)
      for (uint64_t end = begin; end <= kSize; ++end) {
        bool inside = begin <= changed && changed < end;
        ASSERT_EQ(arena.findTouchedEnd(begin, end),
                  inside ? changed + 1 : begin)
            << changed << " in [" << begin << ", " << end << ")";
      }
    data[changed] ^= 1;
  }
}

TEST(ArenaTest, FillCoversZeros) {
  Arena arena;
  ASSERT_TRUE(arena.allocate(1 << 16));
  // Fresh memory is zero and must not look like the pattern for long.
  EXPECT_EQ(arena.findTouchedEnd(0, 1 << 16), uint64_t(1) << 16);
  arena.fillPattern();
  EXPECT_EQ(arena.findTouchedEnd(0, 1 << 16), 0u);
}

TEST(ArenaTest, Empty) {
  Arena arena;
  EXPECT_TRUE(arena.allocate(0));
  EXPECT_EQ(arena.getData(), nullptr);
  EXPECT_EQ(arena.findTouchedEnd(0, 0), 0u);
}

} // namespace
