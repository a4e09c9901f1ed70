//===- MemoryTest.cpp - Reading limits from files of a made-up machine ----===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dsv4::rt;

namespace {

class MemoryTest : public testing::Test {
protected:
  void SetUp() override {
    root = std::filesystem::temp_directory_path() /
           ("dsv4rt-memory-" + std::to_string(getpid()));
    std::filesystem::remove_all(root);
    write("proc/meminfo", "MemTotal:    9000 kB\nMemFree:  1 kB\n"
                          "MemAvailable:    2000 kB\nBuffers: 5 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::filesystem::path root;
};

TEST_F(MemoryTest, MachineAlone) {
  MemoryReport report = readMemory(root);
  EXPECT_EQ(report.machine, 2000u * 1024);
  EXPECT_EQ(report.cgroup, UINT64_MAX);
  EXPECT_EQ(report.getAvailable(), 2000u * 1024);
  EXPECT_EQ(toString(report), "MemAvailable 2048000, control group unlimited");
}

TEST_F(MemoryTest, Version2TightestParentWins) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "10000\n");
  write("sys/fs/cgroup/job/memory.current", "7000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 1500\n");
  // Cache that can be dropped counts as free: 10000 - (7000 - 1500).
  EXPECT_EQ(readMemory(root).cgroup, 4500u);
}

TEST_F(MemoryTest, Version1) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n0::/\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000\n");
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "6000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(readMemory(root).cgroup, 0u);
}

TEST_F(MemoryTest, PathNotVisibleFallsBackToTheRoot) {
  write("proc/self/cgroup", "0::/outside/container\n");
  write("sys/fs/cgroup/memory.max", "800\n");
  write("sys/fs/cgroup/memory.current", "300\n");
  EXPECT_EQ(readMemory(root).cgroup, 500u);
}

TEST(MemoryOfThisMachineTest, IsPositive) {
  EXPECT_GT(readMemory().getAvailable(), 0u);
  EXPECT_NE(readMemory().machine, UINT64_MAX);
}

} // namespace
