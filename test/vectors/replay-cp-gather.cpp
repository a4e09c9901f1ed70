//===- replay-cp-gather.cpp - Cases of gather_sequence --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One all-gather through the runtime and, for its gradient, one reduce-scatter.
//
//===----------------------------------------------------------------------===//

#include "replay-cp-cases.h"

#include <cstring>

using namespace dsv4::replay;

namespace {

/// Whether all ranks hold tensors of one shape and type.
int32_t agreeOnShape(dsv4rt_module *module, const dsv4rt_tensor &tensor,
                     bool &equal) {
  std::vector<int64_t> values = {tensor.dtype, tensor.rank};
  values.insert(values.end(), tensor.shape,
                tensor.shape + DSV4RT_TENSOR_MAX_RANK);
  size_t count = values.size();
  for (size_t i = 0; i < count; ++i)
    values.push_back(-values[i]);
  dsv4rt_agree_site site = {module, SiteAgree};
  int32_t status = dsv4rt_agree_over_site(&site, values.data(), values.size());
  equal = true;
  for (size_t i = 0; i < count; ++i)
    equal &= values[i] == -values[count + i];
  return status;
}

/// Bytes of one column of [B, L, ...].
int64_t columnBytes(const Tensor &tensor) {
  int64_t columns = tensor.view.shape[0] * tensor.view.shape[1];
  return columns ? int64_t(tensor.bytes.size()) / columns : 0;
}

/// [P][B, L, ...] <-> [B, P * L, ...]: copy(shard place, row place, bytes).
template <typename Copy>
void visitShards(int64_t ranks, int64_t batch, int64_t length, int64_t column,
                 Copy copy) {
  int64_t bytes = length * column;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t row = 0; row < batch; ++row)
      copy((rank * batch + row) * bytes, (row * ranks + rank) * bytes, bytes);
}

int32_t gather(dsv4rt_module *module, const Tensor &shard, Tensor &output) {
  int64_t ranks = dsv4rt_group_size(module, 0);
  std::vector<int64_t> shape = shard.shape();
  shape[1] *= ranks;
  output = Tensor(shard.view.dtype, shape);
  std::vector<char> shards(output.bytes.size());
  int64_t token =
      dsv4rt_all_gather_start(module, SiteGather, shard.bytes.data(),
                              shards.data(), shard.bytes.size(), 0);
  if (int32_t status = dsv4rt_wait(module, token, 0))
    return status;
  visitShards(ranks, shape[0], shard.view.shape[1], columnBytes(shard),
              [&](int64_t from, int64_t to, int64_t bytes) {
                std::memcpy(output.bytes.data() + to, shards.data() + from,
                            bytes);
              });
  return DSV4RT_OK;
}

int32_t scatterGradient(dsv4rt_module *module, const Tensor &upstream,
                        Tensor &gradient) {
  int64_t ranks = dsv4rt_group_size(module, 0);
  std::vector<int64_t> shape = upstream.shape();
  shape[1] /= ranks;
  gradient = Tensor(upstream.view.dtype, shape);
  std::vector<char> shards(upstream.bytes.size());
  visitShards(ranks, shape[0], shape[1], columnBytes(upstream),
              [&](int64_t to, int64_t from, int64_t bytes) {
                std::memcpy(shards.data() + to, upstream.bytes.data() + from,
                            bytes);
              });
  bool isReal = gradient.view.dtype == DSV4RT_F64;
  int64_t token = dsv4rt_reduce_scatter_start(
      module, isReal ? SiteReduceReal : SiteReduceInteger, shards.data(),
      gradient.bytes.data(), gradient.count(), 0);
  return dsv4rt_wait(module, token, 0);
}

struct GatherRank {
  Tensor shard, upstream, output, gradient;
  bool equalShapes = true;
};

std::string readRanks(const Json &inputs, std::vector<GatherRank> &ranks) {
  const std::vector<Json> &shards = inputs["shards"].items;
  const std::vector<Json> &upstream = inputs["upstream"].items;
  ranks.resize(shards.size());
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    std::string problem = readUntyped(shards[rank], ranks[rank].shard);
    if (problem.empty() && rank < upstream.size())
      problem = readUntyped(upstream[rank], ranks[rank].upstream);
    if (problem.empty() && ranks[rank].shard.view.rank < 2)
      problem = "a shard needs a batch and a sequence axis";
    if (!problem.empty())
      return problem;
  }
  if (ranks.empty() || (!upstream.empty() && upstream.size() != shards.size()))
    return "expected shards, and upstream for each or for none";
  return "";
}

void compareRanks(const std::string &name, const Json &expect,
                  const Tensor &got, int32_t rank, Differences &out) {
  Tensor want;
  std::string difference = readUntyped(expect, want);
  if (difference.empty())
    difference = findDifference(want, got);
  if (!difference.empty())
    out.push_back("rank " + std::to_string(rank) + " " + name + ": " +
                  difference);
}

} // namespace

Differences dsv4::replay::replayGather(const Json &inputs, const Json &expect) {
  std::vector<GatherRank> ranks;
  if (std::string problem = readRanks(inputs, ranks); !problem.empty())
    return {"input: " + problem};
  bool hasGradient = inputs.has("upstream");
  std::string failure = runRanks(ranks.size(), [&](dsv4rt_module *module) {
    GatherRank &self = ranks[dsv4rt_rank(dsv4rt_module_world(module))];
    if (int32_t status =
            agreeOnShape(module, self.shard.view, self.equalShapes))
      return status;
    if (!self.equalShapes)
      return int32_t(DSV4RT_OK);
    if (int32_t status = gather(module, self.shard, self.output))
      return status;
    return hasGradient ? scatterGradient(module, self.upstream, self.gradient)
                       : int32_t(DSV4RT_OK);
  });
  if (!failure.empty())
    return {"job: " + failure};

  Differences out;
  std::string code = expect["error"]["code"].string;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string got = ranks[rank].equalShapes ? "" : "CP-E20";
    if (code != got)
      out.push_back("rank " + std::to_string(rank) + ": expected error '" +
                    code + "', got '" + got + "'");
    if (!code.empty() || !got.empty())
      continue;
    compareRanks("output", expect["output"], ranks[rank].output, rank, out);
    if (!hasGradient)
      continue;
    const std::vector<Json> &grads = expect["input_grads"].items;
    if (rank < grads.size())
      compareRanks("input_grads", grads[rank], ranks[rank].gradient, rank, out);
    else
      out.push_back("input_grads: missing");
  }
  return out;
}
