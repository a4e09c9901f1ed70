//===- BenchBatch.cpp - Speed of sharding a batch -------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row of 1,048,576 tokens in 64 documents, prepared on one rank, next to a
// memcpy of arrays of the same sizes as the result's. The two take turns; the
// least of many times counts.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Runtime/Batch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t kTokens = 1 << 20;
constexpr int64_t kDocuments = 64;
constexpr int kTurns = 40;

template <typename Body>
double measure(Body body) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

dsv4rt_batch_entry makeEntry(const char *name,
                             const std::vector<int64_t> &values) {
  dsv4rt_batch_entry entry = {};
  entry.name = name;
  entry.tensor.data = values.data();
  entry.tensor.dtype = DSV4RT_I64;
  entry.tensor.rank = 2;
  entry.tensor.shape[0] = 1;
  entry.tensor.shape[1] = static_cast<int64_t>(values.size());
  return entry;
}

/// Lengths that sum up to the row, none a multiple of the alignment but by
/// chance.
std::vector<int64_t> makeLengths() {
  std::vector<int64_t> lengths;
  int64_t left = kTokens;
  for (int64_t i = 0; i + 1 < kDocuments; ++i) {
    lengths.push_back(kTokens / kDocuments + (i % 2 ? 37 * i : -37 * i));
    left -= lengths.back();
  }
  lengths.push_back(left);
  return lengths;
}

struct CopyTask {
  std::vector<char> from, to;
};

} // namespace

int main() {
  std::vector<int64_t> ids(kTokens), labels(kTokens, 5);
  for (int64_t i = 0; i < kTokens; ++i)
    ids[i] = i % 1000;
  std::vector<int64_t> lengths = makeLengths();
  dsv4rt_batch_entry entries[] = {makeEntry("input_ids", ids),
                                  makeEntry("labels", labels),
                                  makeEntry("seq_lens", lengths)};
  dsv4rt_cp_desc desc = dsv4::CpBatch::makeDesc();
  desc.cp_size = 1;
  desc.entries = entries;
  desc.n_entries = 3;
  desc.pad_multiple = desc.packed_alignment = 128;

  dsv4::CpBatch batch;
  if (batch.shard(desc) != DSV4RT_OK) {
    std::fprintf(stderr, "bench-batch: %s\n", batch.getError());
    return 1;
  }
  std::vector<CopyTask> copies;
  int64_t total = 0;
  for (int32_t i = 0; i < batch.size(); ++i) {
    const dsv4rt_tensor &tensor = batch[i].tensor;
    size_t bytes = tensor.shape[1] * dsv4rt_dtype_size(tensor.dtype);
    total += static_cast<int64_t>(bytes);
    copies.push_back({std::vector<char>(bytes, 1), std::vector<char>(bytes)});
  }
  double shardTime = 1e30, copyTime = 1e30;
  for (int turn = 0; turn < kTurns; ++turn) {
    shardTime = std::min(shardTime, measure([&] { batch.shard(desc); }));
    copyTime = std::min(copyTime, measure([&] {
                          for (CopyTask &copy : copies)
                            std::memcpy(copy.to.data(), copy.from.data(),
                                        copy.from.size());
                        }));
  }
  std::printf(
      "shard_cp_batch: %lld tokens, %lld documents, %.1f MB of results\n"
      "  prepare %.2f ms, copy %.2f ms, ratio %.2f (goal: at most 3)\n",
      static_cast<long long>(kTokens), static_cast<long long>(kDocuments),
      total * 1e-6, shardTime * 1e3, copyTime * 1e3, shardTime / copyTime);
  return 0;
}
