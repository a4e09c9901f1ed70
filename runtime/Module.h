//===- Module.h - One rank's world and opened modules -----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The objects behind the opaque handles of the C interface.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_MODULE_H
#define DSV4_RUNTIME_MODULE_H

#include "Arena.h"
#include "Backend.h"

#include <vector>

namespace dsv4::rt {

/// A group as this rank sees it: the sub-group it belongs to.
struct Group {
  std::string name;
  uint32_t axisMask = 0;
  /// Number of this sub-group among those of the same axes.
  uint32_t color = 0;
  /// Number of such sub-groups.
  uint32_t numColors = 1;
  /// This rank's place in `members`.
  int32_t rank = 0;
  /// World ranks, row-major over the axes of the mask.
  std::vector<int32_t> members;

  int32_t getSize() const { return static_cast<int32_t>(members.size()); }
};

struct SiteCounters {
  uint64_t launches = 0;
  uint64_t calls = 0;
  uint64_t receivedBytes = 0;
  uint64_t waitNs = 0;
};

/// Splits `members` of the world into the sub-group of `rank` for `axisMask`.
Group makeGroup(const std::vector<int64_t> &axisSizes, uint32_t axisMask,
                int32_t rank);

/// "all_gather(count=64, f32) at site 3 (layer 2)". `module` may be null.
std::string describeOperation(const dsv4rt_module *module,
                              const Operation &operation);

/// Remove a module from its world and free it, without talking to other ranks.
void destroyModule(dsv4rt_module *module);

} // namespace dsv4::rt

struct dsv4rt_world {
  dsv4::rt::Backend *backend = nullptr;
  int32_t rank = 0;
  int32_t size = 1;
  uint64_t memoryLimit = 0;
  std::vector<dsv4rt_module *> modules;
};

struct dsv4rt_module {
  dsv4rt_world *world = nullptr;
  const dsv4rt_module_desc *desc = nullptr;
  std::string name;
  std::vector<int64_t> axisSizes;
  std::vector<int32_t> coordinates;
  std::vector<dsv4::rt::Group> groups;
  std::vector<dsv4rt_site> sites;
  std::vector<dsv4rt_argument> arguments;
  std::vector<dsv4rt_work_buffer> workBuffers;
  std::vector<dsv4::rt::SiteCounters> counters;
  /// Argument lists of start_v, kept to avoid allocation in a step.
  std::vector<dsv4::rt::Operation> scratch;
  dsv4::rt::Arena arenas[2];
  void *backendState = nullptr;
};

#endif // DSV4_RUNTIME_MODULE_H
