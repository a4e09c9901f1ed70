//===- TestJob.cpp - Jobs and module descriptors for tests ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestJob.h"

#include <cstring>

namespace dsv4::test {

TestModule::TestModule(std::vector<int64_t> sizes, const char *name)
    : axisSizes(std::move(sizes)) {
  static const char *const names[] = {"replicate", "dp_shard", "cp"};
  for (size_t i = 0; i < axisSizes.size(); ++i)
    axisNames.push_back(names[i % 3]);
  desc.struct_size = sizeof(desc);
  desc.abi_version = DSV4RT_ABI_VERSION;
  desc.name = name;
  std::memset(desc.hash, 7, sizeof(desc.hash));
  desc.group_size = sizeof(dsv4rt_group_desc);
  desc.site_size = sizeof(dsv4rt_site);
  desc.argument_size = sizeof(dsv4rt_argument);
}

uint32_t TestModule::addGroup(const char *name, uint32_t axisMask) {
  groups.push_back({name, axisMask, 2});
  return groups.size() - 1;
}

uint32_t TestModule::addSite(uint32_t op, uint32_t dtype, uint32_t group,
                             uint32_t redop, int64_t count,
                             const char *location) {
  dsv4rt_site site = {};
  site.op = op;
  site.dtype = dtype;
  site.redop = redop;
  site.count = count;
  site.group = group;
  site.location = location;
  sites.push_back(site);
  return sites.size() - 1;
}

const dsv4rt_module_desc *TestModule::get() {
  desc.n_axes = axisSizes.size();
  desc.n_groups = groups.size();
  desc.n_sites = sites.size();
  desc.n_arguments = arguments.size();
  desc.axis_names = axisNames.data();
  desc.axis_sizes = axisSizes.data();
  desc.groups = groups.data();
  desc.sites = sites.data();
  desc.arguments = arguments.data();
  return &desc;
}

dsv4rt_config makeConfig(int64_t opTimeoutMs) {
  dsv4rt_config config = {};
  config.struct_size = sizeof(config);
  config.log_level = 1;
  config.op_timeout_ms = opTimeoutMs;
  return config;
}

namespace {

std::string readText(const dsv4rt_world *world) {
  std::string text(dsv4rt_error_text(world, nullptr, 0), '\0');
  dsv4rt_error_text(world, text.data(), text.size() + 1);
  return text;
}

struct Call {
  const std::function<int32_t(dsv4rt_world *)> &fn;
  Outcome &outcome;
};

int32_t callRank(dsv4rt_world *world, void *opaque) {
  auto &call = *static_cast<Call *>(opaque);
  int32_t returned = call.fn(world);
  int32_t rank = dsv4rt_rank(world);
  call.outcome.rankStatus[rank] = dsv4rt_status_of(world);
  call.outcome.rankText[rank] = readText(world);
  return returned;
}

} // namespace

Outcome runJob(int32_t ranks, const dsv4rt_config &config,
               const std::function<int32_t(dsv4rt_world *)> &fn) {
  Outcome outcome;
  outcome.rankStatus.resize(ranks);
  outcome.rankText.resize(ranks);
  Call call = {fn, outcome};
  outcome.status = dsv4rt_host_run(ranks, &config, callRank, &call);
  if (outcome.status != DSV4RT_OK)
    outcome.text = readText(nullptr);
  return outcome;
}

Outcome runJob(int32_t ranks,
               const std::function<int32_t(dsv4rt_world *)> &fn) {
  return runJob(ranks, makeConfig(), fn);
}

Outcome runModule(int32_t ranks, TestModule &module,
                  const std::function<int32_t(dsv4rt_module *)> &fn,
                  const dsv4rt_config &config) {
  const dsv4rt_module_desc *desc = module.get();
  return runJob(ranks, config, [&](dsv4rt_world *world) -> int32_t {
    dsv4rt_module *opened = nullptr;
    if (int32_t status = dsv4rt_module_open(world, desc, &opened))
      return status;
    // A module that is still open when its rank returns is closed for it.
    if (int32_t status = fn(opened))
      return status;
    if (int32_t status = dsv4rt_step_end(opened))
      return status;
    return dsv4rt_module_close(opened);
  });
}

bool haveOneText(const Outcome &outcome) {
  for (const std::string &text : outcome.rankText)
    if (text != outcome.text)
      return false;
  return !outcome.text.empty();
}

} // namespace dsv4::test
