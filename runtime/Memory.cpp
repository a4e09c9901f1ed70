//===- Memory.cpp - What memory the machine has left ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dsv4::rt {
namespace {

/// Limits at or above this are how version 1 spells "none".
constexpr uint64_t kNoLimit = uint64_t(1) << 62;

std::string readFile(const std::string &path) {
  std::string text;
  FILE *file = std::fopen(path.c_str(), "r");
  if (!file)
    return text;
  char buffer[4096];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), file))
    text.append(buffer, got);
  std::fclose(file);
  return text;
}

/// The number after `key` at the start of a line.
bool findNumber(const std::string &text, const char *key, uint64_t &out) {
  size_t at = text.compare(0, std::strlen(key), key) == 0
                  ? 0
                  : text.find(std::string("\n") + key);
  if (at == std::string::npos)
    return false;
  at += std::strlen(key) + (text[at] == '\n' ? 1 : 0);
  char *end = nullptr;
  out = std::strtoull(text.c_str() + at, &end, 10);
  return end != text.c_str() + at;
}

/// File names of one version of the interface.
struct CgroupFiles {
  const char *limit;
  const char *usage;
  const char *inactive;
};
constexpr CgroupFiles kVersion2 = {"memory.max", "memory.current",
                                   "inactive_file "};
constexpr CgroupFiles kVersion1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};

/// What the group in `folder` leaves; page cache that can be dropped counts as
/// free.
uint64_t readGroup(const std::string &folder, const CgroupFiles &files) {
  std::string limitText = readFile(folder + "/" + files.limit);
  uint64_t limit = 0, usage = 0, inactive = 0;
  if (!findNumber(limitText, "", limit) || limit >= kNoLimit)
    return UINT64_MAX;
  findNumber(readFile(folder + "/" + files.usage), "", usage);
  findNumber(readFile(folder + "/memory.stat"), files.inactive, inactive);
  usage -= std::min(usage, inactive);
  return limit > usage ? limit - usage : 0;
}

/// The tightest group from `base`/`path` up to `base`.
uint64_t readHierarchy(const std::string &base, std::string path,
                       const CgroupFiles &files) {
  uint64_t available = UINT64_MAX;
  while (!path.empty() && path != "/") {
    available = std::min(available, readGroup(base + path, files));
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return std::min(available, readGroup(base, files));
}

/// Path of this process in the hierarchy whose line of /proc/self/cgroup has
/// `controllers` between its colons.
std::string findGroupPath(const std::string &table, const char *controllers) {
  std::string key = std::string(":") + controllers + ":";
  size_t at = table.find(key);
  if (at == std::string::npos)
    return "";
  at += key.size();
  return table.substr(at, table.find('\n', at) - at);
}

} // namespace

MemoryReport readMemory(const std::string &root) {
  MemoryReport report;
  uint64_t kibibytes = 0;
  if (findNumber(readFile(root + "/proc/meminfo"), "MemAvailable:", kibibytes))
    report.machine = kibibytes * 1024;
  std::string table = readFile(root + "/proc/self/cgroup");
  std::string base = root + "/sys/fs/cgroup";
  report.cgroup =
      std::min(readHierarchy(base, findGroupPath(table, ""), kVersion2),
               readHierarchy(base + "/memory", findGroupPath(table, "memory"),
                             kVersion1));
  return report;
}

std::string toString(const MemoryReport &report) {
  auto print = [](uint64_t bytes) {
    return bytes == UINT64_MAX ? std::string("unlimited")
                               : std::to_string(bytes);
  };
  return "MemAvailable " + print(report.machine) + ", control group " +
         print(report.cgroup);
}

} // namespace dsv4::rt
