//===- replay-cp.cpp - Replay vector files through the runtime ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   replay-cp FILE...
//
// Runs every case of files in the format of test/data/cp_vectors.json and
// prints, for each that fails, what differs; then "N passed, M failed". Exit
// status 1 if any failed. Vectors describe the reference implementation: the
// options that keep its behaviour are set.
//
//===----------------------------------------------------------------------===//

#include "replay-cp-cases.h"

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace dsv4::replay;

namespace {

struct Call {
  const std::function<int32_t(dsv4rt_module *)> &fn;
  const dsv4rt_module_desc &desc;
};

int32_t callRank(dsv4rt_world *world, void *opaque) {
  auto &call = *static_cast<Call *>(opaque);
  dsv4rt_module *module = nullptr;
  if (int32_t status = dsv4rt_module_open(world, &call.desc, &module))
    return status;
  if (int32_t status = call.fn(module))
    return status;
  if (int32_t status = dsv4rt_step_end(module))
    return status;
  return dsv4rt_module_close(module);
}

dsv4rt_site makeSite(uint32_t op, uint32_t dtype, uint32_t redop) {
  dsv4rt_site site = {};
  site.op = op;
  site.dtype = dtype;
  site.redop = redop;
  site.count = -1;
  return site;
}

Differences replayCase(const Json &test) {
  const Json &inputs = test["inputs"], &expect = test["expect"];
  const std::string &op = test["op"].string;
  if (op == "shard_cp_batch")
    return replayShard(inputs, expect);
  if (op == "gather_sequence")
    return replayGather(inputs, expect);
  if (op == "overlap_window")
    return replayOverlap(inputs, expect);
  if (op == "window_metadata")
    return replayMetadata(inputs, expect);
  if (op == "pool_windows")
    return replayPool(inputs, expect);
  return {"unknown op '" + op + "'"};
}

struct Totals {
  int passed = 0;
  int failed = 0;
};

void failFile(const char *path, const std::string &what, Totals &totals) {
  std::printf("FAIL %s: %s\n", path, what.c_str());
  ++totals.failed;
}

void replayFile(const char *path, Totals &totals) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file)
    return failFile(path, "cannot be read", totals);
  Json document;
  if (std::string problem = parseJson(text, document); !problem.empty())
    return failFile(path, problem, totals);
  if (document["cases"].kind != Json::Array)
    return failFile(path, "has no array 'cases'", totals);
  for (const Json &test : document["cases"].items) {
    Differences differences = replayCase(test);
    ++(differences.empty() ? totals.passed : totals.failed);
    if (!differences.empty())
      std::printf("FAIL %s: %s\n", path, test["name"].string.c_str());
    for (const std::string &difference : differences)
      std::printf("  %s\n", difference.c_str());
  }
}

} // namespace

std::string
dsv4::replay::runRanks(int32_t ranks,
                       const std::function<int32_t(dsv4rt_module *)> &fn) {
  dsv4rt_site sites[NumSites] = {};
  sites[SiteAgree] = makeSite(DSV4RT_OP_AGREE, DSV4RT_I32, DSV4RT_MAX);
  sites[SiteGather] = makeSite(DSV4RT_OP_ALL_GATHER, DSV4RT_U8, 0);
  sites[SiteReduceInteger] =
      makeSite(DSV4RT_OP_REDUCE_SCATTER, DSV4RT_I64, DSV4RT_SUM);
  sites[SiteReduceReal] =
      makeSite(DSV4RT_OP_REDUCE_SCATTER, DSV4RT_F64, DSV4RT_SUM);
  sites[SiteExchange] = makeSite(DSV4RT_OP_EXCHANGE, DSV4RT_F64, 0);
  const char *axisName = "world";
  int64_t axisSize = ranks;
  dsv4rt_group_desc group = {"world", 1, 2};
  dsv4rt_module_desc desc = {};
  desc.struct_size = sizeof(desc);
  desc.abi_version = DSV4RT_ABI_VERSION;
  desc.name = "replay-cp";
  desc.n_axes = 1;
  desc.n_groups = 1;
  desc.n_sites = NumSites;
  desc.group_size = sizeof(group);
  desc.site_size = sizeof(dsv4rt_site);
  desc.argument_size = sizeof(dsv4rt_argument);
  desc.axis_names = &axisName;
  desc.axis_sizes = &axisSize;
  desc.groups = &group;
  desc.sites = sites;

  dsv4rt_config config = {};
  config.struct_size = sizeof(config);
  config.log_level = 1;
  config.op_timeout_ms = 60000;
  config.stack_bytes = 1 << 20;
  Call call = {fn, desc};
  if (dsv4rt_host_run(ranks, &config, callRank, &call) == DSV4RT_OK)
    return "";
  std::string text(dsv4rt_error_text(nullptr, nullptr, 0), '\0');
  dsv4rt_error_text(nullptr, text.data(), text.size() + 1);
  return text;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: replay-cp FILE...\n");
    return 2;
  }
  Totals totals;
  for (int i = 1; i < argc; ++i)
    replayFile(argv[i], totals);
  std::printf("%d passed, %d failed\n", totals.passed, totals.failed);
  return totals.failed ? 1 : 0;
}
