//===- replay-cp-shard.cpp - Cases of shard_cp_batch ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a case run at once and agree as in a job. Where rows share their
// length with ranks outside the group, one more rank brings that length.
//
//===----------------------------------------------------------------------===//

#include "replay-cp-cases.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace dsv4::replay;

namespace {

/// The descriptor of a case and what it points to.
struct Case {
  dsv4rt_cp_desc desc = dsv4::CpBatch::makeDesc();
  std::vector<std::string> names, texts;
  std::vector<Tensor> tensors;
  std::vector<dsv4rt_batch_entry> entries;
  Tensor lossMask;
  int32_t ranks = 1;
  int64_t worldLength = 0; ///< of the rank outside the group; 0 = none

  std::string read(const Json &inputs);

private:
  std::string readBatch(const Json &batch);
};

bool isTensor(const Json &value) {
  return value.kind == Json::Object && value.has("dtype");
}

std::string Case::readBatch(const Json &batch) {
  size_t count = batch.members.size();
  names.reserve(count);
  texts.reserve(count);
  tensors.reserve(count);
  for (const auto &[name, value] : batch.members) {
    names.push_back(name);
    dsv4rt_batch_entry entry = {names.back().c_str(), nullptr, {}};
    if (isTensor(value)) {
      Tensor &tensor = tensors.emplace_back();
      std::string problem = readTensor(value, tensor);
      if (!problem.empty())
        return name + ": " + problem;
      entry.tensor = tensor.view;
    } else if (!value.isNull()) {
      texts.push_back(value.kind == Json::String ? value.string : print(value));
      entry.text = texts.back().c_str();
    }
    entries.push_back(entry);
  }
  return "";
}

std::string Case::read(const Json &inputs) {
  if (std::string problem = readBatch(inputs["batch"]); !problem.empty())
    return problem;
  desc.flags = DSV4RT_CP_REFERENCE;
  desc.cp_size = inputs["cp_size"].getInteger(0);
  ranks = std::max(desc.cp_size, 1);
  desc.entries = entries.data();
  desc.n_entries = entries.size();
  desc.padding_token_id = inputs["padding_token_id"].getInteger(0);
  desc.pad_multiple = inputs["pad_multiple"].getInteger(1);
  desc.packed_alignment = inputs["packed_alignment"].getInteger(1);
  if (inputs["sync_packed_length"].getInteger(0)) {
    desc.flags |= DSV4RT_CP_SYNC_PACKED_LENGTH;
    if (!inputs["batch"]["seq_lens"].isNull())
      worldLength =
          std::max<int64_t>(inputs["world_max_length"].getInteger(0), 0);
  }
  if (!isTensor(inputs["loss_mask"]))
    return "";
  std::string problem = readTensor(inputs["loss_mask"], lossMask);
  desc.loss_mask = &lossMask.view;
  return problem.empty() ? "" : "loss_mask: " + problem;
}

/// A packed batch of one document of that length, outside the group.
int32_t shardOutside(int64_t length, const dsv4rt_cp_desc &like) {
  Tensor ids(DSV4RT_I8, {1, length});
  Tensor lengths(DSV4RT_I64, {1, 1});
  std::memcpy(lengths.bytes.data(), &length, sizeof(length));
  dsv4rt_batch_entry entries[] = {{"input_ids", nullptr, ids.view},
                                  {"seq_lens", nullptr, lengths.view}};
  dsv4rt_cp_desc desc = like;
  desc.cp_size = 0;
  desc.entries = entries;
  desc.n_entries = 2;
  desc.loss_mask = nullptr;
  desc.padding_token_id = 0;
  desc.packed_alignment = 1;
  dsv4::CpBatch batch;
  batch.shard(desc);
  return DSV4RT_OK;
}

struct RankResult {
  dsv4::CpBatch batch;
  int32_t status = DSV4RT_OK;
};

/// Compares one rank's result with its expectation.
class Comparison {
public:
  Comparison(const RankResult &result, std::string where, Differences &out)
      : result(result), where(std::move(where)), out(out) {}

  void compareBatch(const Json &expect) {
    for (const auto &[name, value] : expect.members)
      if (name == "cp_group")
        compare(name, value, group());
      else
        compareEntry(name, value);
    for (int32_t i = 0; i < result.batch.size(); ++i)
      if (expect[result.batch[i].name].isNull())
        add(result.batch[i].name, "not expected");
  }

  void compareLayout(const Json &expect) {
    dsv4rt_cp_layout layout = result.batch.getLayout();
    for (const auto &[name, value] : expect.members)
      if (name == "original_seq_len")
        compare(name, value, number(layout.original_seq_len));
      else if (name == "padded_seq_len")
        compare(name, value, number(layout.padded_seq_len));
      else if (name == "local_token_global_indices")
        compareIndices(name, value, layout);
      else if (name == "input_token_stream_positions")
        compareMap(name, value, layout);
      else
        add(name, "no such field");
  }

private:
  void add(const std::string &name, const std::string &what) {
    out.push_back(where + " " + name + ": " + what);
  }
  static Json number(int64_t value) {
    Json json;
    if (value >= 0) {
      json.kind = Json::Integer;
      json.integer = value;
    }
    return json;
  }
  Json group() const {
    Json json;
    if (result.batch.getLayout().cp_size) {
      json.kind = Json::String;
      json.string = "cp";
    }
    return json;
  }

  void compare(const std::string &name, const Json &expect, const Json &got) {
    if (print(expect) != print(got))
      add(name, "expected " + print(expect) + ", got " + print(got));
  }
  void compareTensor(const std::string &name, const Tensor &expect,
                     const Tensor &got) {
    std::string difference = findDifference(expect, got);
    if (!difference.empty())
      add(name, difference);
  }

  void compareEntry(const std::string &name, const Json &expect) {
    const dsv4rt_batch_entry *entry =
        dsv4rt_cp_batch_find(result.batch.get(), name.c_str());
    if (!entry) {
      if (!expect.isNull())
        add(name, "missing");
      return;
    }
    if (!isTensor(expect)) {
      std::string text =
          expect.kind == Json::String ? expect.string : print(expect);
      if (!entry->text || text != entry->text)
        add(name, "expected " + text);
      return;
    }
    Tensor tensor;
    std::string problem = readTensor(expect, tensor);
    if (!problem.empty() || entry->text)
      return add(name, problem.empty() ? "got a text" : problem);
    compareTensor(name, tensor, Tensor::copy(entry->tensor));
  }

  /// The reference lists them without a group only.
  void compareIndices(const std::string &name, const Json &expect,
                      const dsv4rt_cp_layout &layout) {
    if (expect.isNull() || layout.cp_size) {
      if (expect.isNull() != (layout.cp_size != 0))
        add(name, "expected " + print(expect));
      return;
    }
    Tensor want, got(DSV4RT_I64, {layout.local_seq_len});
    for (int64_t i = 0; i < layout.local_seq_len; ++i)
      got.set(i, number(layout.local_begin + i));
    std::string problem = readTensor(expect, DSV4RT_I64, want);
    problem.empty() ? compareTensor(name, want, got) : add(name, problem);
  }

  void compareMap(const std::string &name, const Json &expect,
                  const dsv4rt_cp_layout &layout) {
    if (expect.isNull() || !layout.packed) {
      if (expect.isNull() == (layout.packed != 0))
        add(name, "expected " + print(expect));
      return;
    }
    Tensor want, got(DSV4RT_I64, {layout.batch_size, layout.input_seq_len});
    dsv4rt_cp_batch_map(result.batch.get(), DSV4RT_CP_MAP_INPUT,
                        reinterpret_cast<int64_t *>(got.bytes.data()),
                        got.count());
    std::string problem = readTensor(expect, DSV4RT_I64, want);
    problem.empty() ? compareTensor(name, want, got) : add(name, problem);
  }

  const RankResult &result;
  std::string where;
  Differences &out;
};

void compareError(const std::string &code, const RankResult &result,
                  const std::string &where, Differences &out) {
  std::string text = result.batch.getError();
  if (result.status == DSV4RT_OK)
    out.push_back(where + ": expected " + code + ", got a batch");
  else if (text.compare(0, code.size() + 1, code + ":"))
    out.push_back(where + ": expected " + code + ", got \"" + text + "\"");
}

} // namespace

Differences dsv4::replay::replayShard(const Json &inputs, const Json &expect) {
  Case test;
  if (std::string problem = test.read(inputs); !problem.empty())
    return {"input: " + problem};
  std::vector<RankResult> results(test.ranks);
  int32_t world = test.ranks + (test.worldLength > 0);
  std::string failure = runRanks(world, [&](dsv4rt_module *module) {
    int32_t rank = dsv4rt_rank(dsv4rt_module_world(module));
    dsv4rt_agree_site site = {module, SiteAgree};
    dsv4rt_cp_desc desc = test.desc;
    desc.cp_rank = desc.world_rank = rank;
    desc.agree = dsv4rt_agree_over_site;
    desc.agree_context = &site;
    if (rank == test.ranks)
      return shardOutside(test.worldLength, desc);
    results[rank].status = results[rank].batch.shard(desc);
    return int32_t(DSV4RT_OK);
  });
  if (!failure.empty())
    return {"job: " + failure};

  Differences out;
  std::string code = expect["error"]["code"].string;
  const std::vector<Json> &ranks = expect["ranks"].items;
  if (code.empty() && int32_t(ranks.size()) != test.ranks)
    return {"expected " + std::to_string(ranks.size()) + " ranks, got " +
            std::to_string(test.ranks)};
  for (int32_t rank = 0; rank < test.ranks; ++rank) {
    std::string where = "rank " + std::to_string(rank);
    const RankResult &result = results[rank];
    if (!code.empty()) {
      compareError(code, result, where, out);
      continue;
    }
    if (result.status != DSV4RT_OK) {
      out.push_back(where + ": " + result.batch.getError());
      continue;
    }
    Comparison(result, where, out).compareBatch(ranks[rank]["batch"]);
    Comparison(result, where + " layout", out)
        .compareLayout(ranks[rank]["layout"]);
  }
  return out;
}
