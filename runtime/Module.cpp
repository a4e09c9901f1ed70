//===- Module.cpp - Opened modules: tables, queries, counters -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening itself is in ModuleOpen.cpp.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include <algorithm>

using namespace dsv4::rt;

Group dsv4::rt::makeGroup(const std::vector<int64_t> &axisSizes,
                          uint32_t axisMask, int32_t rank) {
  // For each rank, its numbers along the axes inside and outside of the mask,
  // both row-major.
  auto split = [&](int64_t worldRank, int64_t &inside, int64_t &outside) {
    int64_t insideStride = 1, outsideStride = 1;
    inside = outside = 0;
    for (size_t axis = axisSizes.size(); axis-- > 0;) {
      int64_t coordinate = worldRank % axisSizes[axis];
      worldRank /= axisSizes[axis];
      bool in = (axisMask >> axis) & 1u;
      (in ? inside : outside) +=
          coordinate * (in ? insideStride : outsideStride);
      (in ? insideStride : outsideStride) *= axisSizes[axis];
    }
    return outsideStride;
  };

  Group group;
  group.axisMask = axisMask;
  int64_t inside, color, otherInside, otherColor;
  group.numColors = static_cast<uint32_t>(split(rank, inside, color));
  group.rank = static_cast<int32_t>(inside);
  group.color = static_cast<uint32_t>(color);
  int64_t worldSize = 1;
  for (int64_t size : axisSizes)
    worldSize *= size;
  // World ranks ascend with the inside number when the outside one is fixed.
  for (int64_t other = 0; other < worldSize; ++other) {
    split(other, otherInside, otherColor);
    if (otherColor == color)
      group.members.push_back(static_cast<int32_t>(other));
  }
  return group;
}

std::string dsv4::rt::describeOperation(const dsv4rt_module *module,
                                        const Operation &operation) {
  if (operation.site == kSiteControl)
    return "opening or closing a module";
  if (operation.site == kSiteStepEnd)
    return "the end of the step";
  std::string text = dsv4rt_op_name(operation.op);
  switch (operation.op) {
  case DSV4RT_OP_AGREE:
    text += std::string("(") + dsv4rt_redop_name(operation.redop) + ", i32)";
    break;
  case DSV4RT_OP_EXCHANGE:
    text += std::string("(") + dsv4rt_dtype_name(operation.dtype) + ")";
    break;
  case DSV4RT_OP_BARRIER:
    break;
  default:
    text += "(count=" + std::to_string(operation.count) + ", " +
            dsv4rt_dtype_name(operation.dtype) + ")";
  }
  text += " at site " + std::to_string(operation.site);
  const char *location = module && operation.site < module->sites.size()
                             ? module->sites[operation.site].location
                             : nullptr;
  return location ? text + " (" + location + ")" : text;
}

void dsv4::rt::destroyModule(dsv4rt_module *module) {
  module->world->backend->closeGroups(*module);
  std::vector<dsv4rt_module *> &open = module->world->modules;
  open.erase(std::remove(open.begin(), open.end(), module), open.end());
  delete module;
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

int32_t dsv4rt_raise(dsv4rt_world *world, int32_t status, const char *text) {
  if (!world)
    return DSV4RT_E_INVALID;
  bool known = status >= DSV4RT_E_INVALID && status <= DSV4RT_E_MODULE;
  return world->backend->failHere(known ? status : DSV4RT_E_ABORTED,
                                  text ? text : dsv4rt_status_name(status));
}

int32_t dsv4rt_status_of(const dsv4rt_world *world) {
  return world ? world->backend->checkStatus() : DSV4RT_E_INVALID;
}

int32_t dsv4rt_rank(const dsv4rt_world *world) { return world->rank; }

int32_t dsv4rt_world_size(const dsv4rt_world *world) { return world->size; }

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

int32_t dsv4rt_module_close(dsv4rt_module *module) {
  if (!module)
    return DSV4RT_E_INVALID;
  dsv4rt_world *world = module->world;
  int32_t status = world->backend->endStep(*module);
  std::vector<char> all(world->size);
  if (status == DSV4RT_OK)
    status = world->backend->gatherControl("", 1, all.data());
  destroyModule(module);
  return status;
}

dsv4rt_world *dsv4rt_module_world(const dsv4rt_module *module) {
  return module->world;
}

const dsv4rt_module_desc *
dsv4rt_module_descriptor(const dsv4rt_module *module) {
  return module->desc;
}

void *dsv4rt_module_arena(const dsv4rt_module *module, uint32_t which) {
  return which <= DSV4RT_ARENA_WORK ? module->arenas[which].getData() : nullptr;
}

const dsv4rt_argument *dsv4rt_module_argument(const dsv4rt_module *module,
                                              uint32_t index) {
  return index < module->arguments.size() ? &module->arguments[index] : nullptr;
}

const dsv4rt_site *dsv4rt_module_site(const dsv4rt_module *module,
                                      uint32_t index) {
  return index < module->sites.size() ? &module->sites[index] : nullptr;
}

int32_t dsv4rt_group_rank(const dsv4rt_module *module, uint32_t group) {
  return group < module->groups.size() ? module->groups[group].rank : -1;
}

int32_t dsv4rt_group_size(const dsv4rt_module *module, uint32_t group) {
  return group < module->groups.size() ? module->groups[group].getSize() : -1;
}

int32_t dsv4rt_axis_index(const dsv4rt_module *module, int32_t axis) {
  bool known =
      axis >= 0 && static_cast<size_t>(axis) < module->coordinates.size();
  return known ? module->coordinates[axis] : -1;
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

int32_t dsv4rt_counters(const dsv4rt_module *module, uint32_t site,
                        dsv4rt_counters_v1 *out) {
  bool all = site == DSV4RT_ALL_SITES;
  if (!module || !out || out->struct_size < sizeof(*out) ||
      (!all && site >= module->counters.size()))
    return DSV4RT_E_INVALID;
  size_t begin = all ? 0 : site;
  size_t end = all ? module->counters.size() : begin + 1;
  SiteCounters sum;
  for (size_t i = begin; i < end; ++i) {
    sum.launches += module->counters[i].launches;
    sum.calls += module->counters[i].calls;
    sum.receivedBytes += module->counters[i].receivedBytes;
    sum.waitNs += module->counters[i].waitNs;
  }
  out->launches = sum.launches;
  out->calls = sum.calls;
  out->received_bytes = sum.receivedBytes;
  out->wait_ns = sum.waitNs;
  return DSV4RT_OK;
}

void dsv4rt_counters_reset(dsv4rt_module *module) {
  std::fill(module->counters.begin(), module->counters.end(), SiteCounters());
}

int32_t dsv4rt_module_fill_pattern(dsv4rt_module *module) {
  if (!module)
    return DSV4RT_E_INVALID;
  module->arenas[DSV4RT_ARENA_WORK].fillPattern();
  return DSV4RT_OK;
}

int32_t dsv4rt_module_touched_bytes(const dsv4rt_module *module, uint64_t begin,
                                    uint64_t end, uint64_t *touched_end) {
  if (!module || !touched_end || begin > end ||
      end > module->arenas[DSV4RT_ARENA_WORK].getSize())
    return DSV4RT_E_INVALID;
  *touched_end = module->arenas[DSV4RT_ARENA_WORK].findTouchedEnd(begin, end);
  return DSV4RT_OK;
}

/// The first gap between `buffers`, or after them, in which a byte changed: the
/// end of its highest changed byte; 0 if there is none.
static uint64_t findStrayEnd(const Arena &arena,
                             std::vector<dsv4rt_work_buffer> buffers) {
  std::sort(buffers.begin(), buffers.end(),
            [](const dsv4rt_work_buffer &a, const dsv4rt_work_buffer &b) {
              return a.offset < b.offset;
            });
  buffers.push_back({arena.getSize(), 0});
  uint64_t planned = 0;
  for (const dsv4rt_work_buffer &buffer : buffers) {
    if (buffer.offset > planned) {
      uint64_t end = arena.findTouchedEnd(planned, buffer.offset);
      if (end != planned)
        return end;
    }
    planned = std::max(planned, buffer.offset + buffer.bytes);
  }
  return 0;
}

int32_t dsv4rt_module_measure_work(dsv4rt_module *module,
                                   uint64_t *measured_end) {
  if (!module || !measured_end)
    return DSV4RT_E_INVALID;
  const Arena &arena = module->arenas[DSV4RT_ARENA_WORK];
  if (uint64_t end = findStrayEnd(arena, module->workBuffers)) {
    std::string text = "byte " + std::to_string(end - 1) +
                       " of the work arena changed, which lies in no planned "
                       "buffer";
    return dsv4rt_raise(module->world, DSV4RT_E_MODULE, text.c_str());
  }
  std::vector<dsv4rt_work_buffer> buffers = module->workBuffers;
  std::sort(buffers.begin(), buffers.end(),
            [](const dsv4rt_work_buffer &a, const dsv4rt_work_buffer &b) {
              return a.offset + a.bytes > b.offset + b.bytes;
            });
  *measured_end = 0;
  for (const dsv4rt_work_buffer &buffer : buffers) {
    uint64_t end = buffer.offset + buffer.bytes;
    if (arena.findTouchedEnd(buffer.offset, end) != buffer.offset) {
      *measured_end = end;
      break;
    }
  }
  return DSV4RT_OK;
}
