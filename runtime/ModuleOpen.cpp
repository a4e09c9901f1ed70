//===- ModuleOpen.cpp - Checking and opening a compiled module ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening is one decision of all ranks: each checks its own tables and
// publishes the outcome with the hash and what memory it sees; from the records
// of all ranks each comes to the same verdict, and only then memory is mapped.
//
//===----------------------------------------------------------------------===//

#include "DataType.h"
#include "Memory.h"
#include "Module.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace dsv4::rt;

namespace {

struct Verdict {
  int32_t status = DSV4RT_OK;
  std::string text;

  explicit operator bool() const { return status != DSV4RT_OK; }
};

/// What a rank tells the others.
struct OpenRecord {
  uint8_t hash[32];
  char name[96];
  char text[512];
  char memory[160];
  int32_t status;
  uint64_t needed;
  uint64_t available;
};

template <size_t N>
void copyText(char (&to)[N], const std::string &from) {
  size_t length = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

//===----------------------------------------------------------------------===//
// Local checks
//===----------------------------------------------------------------------===//

Verdict checkHeader(const dsv4rt_module_desc *desc) {
  if (!desc)
    return {DSV4RT_E_INVALID, "module descriptor is NULL"};
  if (desc->struct_size < sizeof(*desc))
    return {DSV4RT_E_INVALID,
            "module descriptor has " + std::to_string(desc->struct_size) +
                " bytes, expected at least " + std::to_string(sizeof(*desc))};
  if (desc->abi_version >> 16 != DSV4RT_ABI_MAJOR ||
      (desc->abi_version & 0xFFFFu) > DSV4RT_ABI_MINOR)
    return {DSV4RT_E_MODULE, "module is compiled for interface " +
                                 std::to_string(desc->abi_version >> 16) + "." +
                                 std::to_string(desc->abi_version & 0xFFFFu) +
                                 ", the runtime has " +
                                 std::to_string(DSV4RT_ABI_MAJOR) + "." +
                                 std::to_string(DSV4RT_ABI_MINOR)};
  if ((desc->n_groups && desc->group_size < sizeof(dsv4rt_group_desc)) ||
      (desc->n_sites && desc->site_size < sizeof(dsv4rt_site)) ||
      (desc->n_arguments && desc->argument_size < sizeof(dsv4rt_argument)) ||
      (desc->n_work_buffers &&
       desc->work_buffer_size < sizeof(dsv4rt_work_buffer)))
    return {DSV4RT_E_INVALID, "element size of a table is too small"};
  bool missing = (desc->n_axes && !desc->axis_sizes) ||
                 (desc->n_groups && !desc->groups) ||
                 (desc->n_sites && !desc->sites) ||
                 (desc->n_arguments && !desc->arguments) ||
                 (desc->n_work_buffers && !desc->work_buffers);
  if (missing || desc->n_axes > 32)
    return {DSV4RT_E_INVALID, "a table is NULL or has more than 32 axes"};
  return {};
}

Verdict checkMesh(const dsv4rt_module_desc &desc, int32_t worldSize) {
  int64_t product = 1;
  std::string shape;
  for (uint32_t i = 0; i < desc.n_axes; ++i) {
    const char *name = desc.axis_names ? desc.axis_names[i] : nullptr;
    shape += (i ? ", " : "") + std::string(name ? name : "axis") + "=" +
             std::to_string(desc.axis_sizes[i]);
    if (desc.axis_sizes[i] < 1 || desc.axis_sizes[i] > INT32_MAX ||
        __builtin_mul_overflow(product, desc.axis_sizes[i], &product))
      return {DSV4RT_E_MODULE, "mesh {" + shape + "} is not a mesh of ranks"};
  }
  if (product == worldSize)
    return {};
  return {DSV4RT_E_MODULE,
          "mesh {" + shape + "} has " + std::to_string(product) +
              " ranks, the job has " + std::to_string(worldSize)};
}

/// Copies a table whose elements may be longer than the ones known here.
template <class T>
std::vector<T> copyTable(const T *table, uint32_t count, uint32_t stride) {
  std::vector<T> result(count);
  for (uint32_t i = 0; i < count; ++i)
    std::memcpy(&result[i],
                reinterpret_cast<const char *>(table) + size_t(i) * stride,
                sizeof(T));
  return result;
}

Verdict checkSites(const dsv4rt_module &module) {
  for (size_t i = 0; i < module.sites.size(); ++i) {
    const dsv4rt_site &site = module.sites[i];
    std::string place = "site " + std::to_string(i);
    if (site.location)
      place += std::string(" (") + site.location + ")";
    if (site.group >= module.desc->n_groups)
      return {DSV4RT_E_INVALID, place + ": group must be in [0, " +
                                    std::to_string(module.desc->n_groups) +
                                    "), got " + std::to_string(site.group)};
    if (site.count < -1)
      return {DSV4RT_E_INVALID, place + ": count must be -1 or more, got " +
                                    std::to_string(site.count)};
    std::string reason = findUnsupported(site);
    if (!reason.empty())
      return {DSV4RT_E_UNSUPPORTED, place + ": " + reason};
  }
  return {};
}

Verdict checkArgument(const dsv4rt_module_desc &desc,
                      const dsv4rt_argument &argument) {
  std::string place = std::string("argument ") +
                      (argument.name ? argument.name : "without a name");
  int64_t width = dsv4rt_dtype_size(argument.dtype);
  if (width == 0)
    return {DSV4RT_E_INVALID, place + ": element type code " +
                                  std::to_string(argument.dtype) +
                                  " is unknown"};
  if (argument.arena > DSV4RT_ARENA_WORK)
    return {DSV4RT_E_INVALID, place + ": arena must be 0 or 1, got " +
                                  std::to_string(argument.arena)};
  if (argument.offset % width != 0)
    return {DSV4RT_E_INVALID, place + ": offset " +
                                  std::to_string(argument.offset) +
                                  " is not aligned to its element"};
  uint64_t bytes = width;
  bool overflow = argument.rank != 0 && !argument.shape;
  for (uint32_t i = 0; i < argument.rank && !overflow; ++i)
    overflow =
        argument.shape[i] < 0 ||
        __builtin_mul_overflow(bytes, uint64_t(argument.shape[i]), &bytes);
  uint64_t size =
      argument.arena == DSV4RT_ARENA_STATE ? desc.state_bytes : desc.work_bytes;
  if (overflow || argument.offset > size || bytes > size - argument.offset)
    return {DSV4RT_E_INVALID, place + ": does not fit its arena of " +
                                  std::to_string(size) + " bytes"};
  return {};
}

Verdict checkWorkBuffers(const dsv4rt_module &module) {
  uint64_t size = module.desc->work_bytes;
  for (size_t i = 0; i < module.workBuffers.size(); ++i) {
    const dsv4rt_work_buffer &buffer = module.workBuffers[i];
    if (buffer.offset > size || buffer.bytes > size - buffer.offset)
      return {DSV4RT_E_INVALID,
              "work buffer " + std::to_string(i) + ": " +
                  std::to_string(buffer.bytes) + " bytes at " +
                  std::to_string(buffer.offset) +
                  " do not fit the work arena of " + std::to_string(size) +
                  " bytes"};
  }
  return {};
}

Verdict readTables(dsv4rt_module &module) {
  const dsv4rt_module_desc &desc = *module.desc;
  std::vector<dsv4rt_group_desc> groups =
      copyTable(desc.groups, desc.n_groups, desc.group_size);
  for (size_t i = 0; i < groups.size(); ++i) {
    uint64_t known = (uint64_t(1) << desc.n_axes) - 1;
    if (groups[i].axis_mask & ~known)
      return {DSV4RT_E_INVALID, "group " + std::to_string(i) +
                                    " names an axis the mesh does not have"};
    Group group =
        makeGroup(module.axisSizes, groups[i].axis_mask, module.world->rank);
    group.name = groups[i].name ? groups[i].name : "group " + std::to_string(i);
    module.groups.push_back(std::move(group));
  }
  module.sites = copyTable(desc.sites, desc.n_sites, desc.site_size);
  module.counters.resize(module.sites.size());
  if (Verdict verdict = checkSites(module))
    return verdict;
  module.arguments =
      copyTable(desc.arguments, desc.n_arguments, desc.argument_size);
  for (const dsv4rt_argument &argument : module.arguments)
    if (Verdict verdict = checkArgument(desc, argument))
      return verdict;
  module.workBuffers =
      copyTable(desc.work_buffers, desc.n_work_buffers, desc.work_buffer_size);
  return checkWorkBuffers(module);
}

Verdict checkLocally(dsv4rt_module &module) {
  if (Verdict verdict = checkHeader(module.desc))
    return verdict;
  const dsv4rt_module_desc &desc = *module.desc;
  module.name = desc.name ? desc.name : "";
  if (Verdict verdict = checkMesh(desc, module.world->size))
    return verdict;
  module.axisSizes.assign(desc.axis_sizes, desc.axis_sizes + desc.n_axes);
  module.coordinates.resize(desc.n_axes);
  int64_t rest = module.world->rank;
  for (size_t axis = desc.n_axes; axis-- > 0;) {
    module.coordinates[axis] =
        static_cast<int32_t>(rest % module.axisSizes[axis]);
    rest /= module.axisSizes[axis];
  }
  return readTables(module);
}

//===----------------------------------------------------------------------===//
// Collective verdict
//===----------------------------------------------------------------------===//

uint64_t addSaturating(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// What the arenas of all ranks may use together, and how that was found.
void readAvailable(const dsv4rt_world &world, OpenRecord &record) {
  MemoryReport report = readMemory();
  record.available = report.getAvailable();
  std::string text = toString(report);
  if (world.memoryLimit) {
    uint64_t used = 0;
    for (const dsv4rt_module *open : world.modules)
      used += open->desc->state_bytes + open->desc->work_bytes;
    used *= world.backend->getMachineRanks();
    uint64_t left = world.memoryLimit - std::min(world.memoryLimit, used);
    record.available = std::min(record.available, left);
    text += ", memory_limit_bytes leaves " + std::to_string(left);
  }
  copyText(record.memory, text);
}

std::string describeIdentity(const OpenRecord &record) {
  static const char digits[] = "0123456789abcdef";
  std::string text = "\"" + std::string(record.name) + "\" with hash ";
  for (uint8_t byte : record.hash)
    text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

Verdict judgeIdentity(const std::vector<OpenRecord> &records) {
  const OpenRecord &first = records.front();
  for (size_t i = 0; i < records.size(); ++i) {
    const OpenRecord &other = records[i];
    if (other.status != DSV4RT_OK)
      return {other.status, "rank " + std::to_string(i) + ": module \"" +
                                other.name + "\": " + other.text};
  }
  for (size_t i = 1; i < records.size(); ++i) {
    const OpenRecord &other = records[i];
    if (std::memcmp(first.hash, other.hash, sizeof(first.hash)) != 0)
      return {DSV4RT_E_MODULE, "ranks open different modules: rank 0 " +
                                   describeIdentity(first) + ", rank " +
                                   std::to_string(i) + " " +
                                   describeIdentity(other)};
  }
  return {};
}

/// The ranks of this machine are `machineRanks` consecutive ones; every module
/// needs the same on each, so the first stand for all.
Verdict judgeMemory(const std::vector<OpenRecord> &records,
                    int32_t machineRanks) {
  uint64_t needed = 0, available = UINT64_MAX;
  const OpenRecord *tightest = &records.front();
  for (int32_t i = 0; i < machineRanks; ++i)
    needed = addSaturating(needed, records[i].needed);
  for (const OpenRecord &record : records)
    if (record.available < available) {
      available = record.available;
      tightest = &record;
    }
  if (needed <= available)
    return {};
  return {DSV4RT_E_OOM,
          "module \"" + std::string(records.front().name) + "\" needs " +
              std::to_string(records.front().needed) +
              " bytes of arenas per rank, " + std::to_string(needed) +
              " bytes for the " + std::to_string(machineRanks) +
              " ranks of this machine; " + std::to_string(available) +
              " bytes are available (" + tightest->memory + ")"};
}

Verdict judge(dsv4rt_module &module, const Verdict &own) {
  dsv4rt_world &world = *module.world;
  OpenRecord mine = {};
  copyText(mine.name, module.name);
  copyText(mine.text, own.text);
  mine.status = own.status;
  if (!own) {
    std::memcpy(mine.hash, module.desc->hash, sizeof(mine.hash));
    mine.needed =
        addSaturating(module.desc->state_bytes, module.desc->work_bytes);
  }
  readAvailable(world, mine);
  std::vector<OpenRecord> records(world.size);
  if (int32_t status =
          world.backend->gatherControl(&mine, sizeof(mine), records.data()))
    return {status, ""};
  if (Verdict verdict = judgeIdentity(records))
    return verdict;
  return judgeMemory(records, world.backend->getMachineRanks());
}

Verdict allocateArenas(dsv4rt_module &module) {
  dsv4rt_world &world = *module.world;
  char failed =
      !module.arenas[DSV4RT_ARENA_STATE].allocate(module.desc->state_bytes) ||
      !module.arenas[DSV4RT_ARENA_WORK].allocate(module.desc->work_bytes);
  std::vector<char> all(world.size);
  if (int32_t status = world.backend->gatherControl(&failed, 1, all.data()))
    return {status, ""};
  auto culprit = std::find(all.begin(), all.end(), 1);
  if (culprit == all.end())
    return {};
  return {DSV4RT_E_OOM, "rank " + std::to_string(culprit - all.begin()) +
                            ": the system refuses to map arenas of " +
                            std::to_string(module.desc->state_bytes) + " and " +
                            std::to_string(module.desc->work_bytes) + " bytes"};
}

Verdict openModule(dsv4rt_module &module) {
  Verdict own = checkLocally(module);
  if (Verdict verdict = judge(module, own))
    return verdict;
  if (Verdict verdict = allocateArenas(module))
    return verdict;
  return {module.world->backend->openGroups(module), ""};
}

} // namespace

int32_t dsv4rt_module_open(dsv4rt_world *world, const dsv4rt_module_desc *desc,
                           dsv4rt_module **out) {
  if (!world || !out)
    return DSV4RT_E_INVALID;
  *out = nullptr;
  auto module = std::make_unique<dsv4rt_module>();
  module->world = world;
  module->desc = desc;
  if (Verdict verdict = openModule(*module)) {
    // Without a text the backend has recorded the failure already.
    if (verdict.text.empty())
      return verdict.status;
    return world->backend->failAll(verdict.status, verdict.text);
  }
  world->modules.push_back(module.get());
  *out = module.release();
  return DSV4RT_OK;
}
