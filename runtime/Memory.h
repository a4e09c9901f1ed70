//===- Memory.h - What memory the machine has left --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_MEMORY_H
#define DSV4_RUNTIME_MEMORY_H

#include <cstdint>
#include <string>

namespace dsv4::rt {

/// Bytes a process may still use, UINT64_MAX where nothing limits it.
struct MemoryReport {
  uint64_t machine = UINT64_MAX; ///< MemAvailable
  uint64_t cgroup = UINT64_MAX;  ///< tightest control group on the path

  uint64_t getAvailable() const { return machine < cgroup ? machine : cgroup; }
};

/// Reads /proc and /sys/fs/cgroup (both versions) below `root`.
MemoryReport readMemory(const std::string &root = "");

/// "MemAvailable 123, control group 456".
std::string toString(const MemoryReport &report);

} // namespace dsv4::rt

#endif // DSV4_RUNTIME_MEMORY_H
