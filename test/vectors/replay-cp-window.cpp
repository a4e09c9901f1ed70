//===- replay-cp-window.cpp - Cases of windows ----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last window of a rank moves to the next one through the runtime. What a
// window computes from its tokens is compiled code elsewhere; here it is
// written out once more.
//
//===----------------------------------------------------------------------===//

#include "replay-cp-cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dsv4::replay;

namespace {

using Row = std::vector<double>;

/// [B][W][ratio][features], flat, and the document of each window.
struct Windows {
  int64_t batch = 0, count = 0, ratio = 0, features = 0;
  Row values;
  std::vector<int64_t> ids; ///< empty when unpacked

  const double *at(int64_t row, int64_t window, int64_t token) const {
    return &values[((row * count + window) * ratio + token) * features];
  }
  int64_t id(int64_t row, int64_t window) const {
    return ids.empty() ? 1 : ids[row * count + window];
  }
};

std::string readWindows(const Tensor &tensor, const Json &ids, Windows &out) {
  const dsv4rt_tensor &view = tensor.view;
  if (view.rank != 4)
    return "expected windows [B][W][ratio][features]";
  out.batch = view.shape[0];
  out.count = view.shape[1];
  out.ratio = view.shape[2];
  out.features = view.shape[3];
  for (int64_t i = 0; i < tensor.count(); ++i)
    out.values.push_back(tensor.get(i));
  if (ids.isNull())
    return "";
  Tensor metadata;
  if (std::string problem = readTensor(ids, DSV4RT_I64, metadata);
      !problem.empty())
    return problem;
  if (metadata.shape() != std::vector<int64_t>{out.batch, out.count})
    return "expected window_seq_ids [B][W]";
  for (int64_t i = 0; i < metadata.count(); ++i)
    out.ids.push_back(static_cast<int64_t>(metadata.get(i)));
  return "";
}

/// What a rank needs of its predecessor: per row the document of the last
/// window, then the first half of its features.
Row takeHalo(const Windows &windows, int64_t last, int64_t half) {
  Row halo;
  for (int64_t row = 0; row < windows.batch; ++row) {
    halo.push_back(static_cast<double>(windows.id(row, last)));
    for (int64_t token = 0; token < windows.ratio; ++token)
      halo.insert(halo.end(), windows.at(row, last, token),
                  windows.at(row, last, token) + half);
  }
  return halo;
}

/// Windows [first, last) with their past: [B][last - first][2 * ratio][half].
/// `halo` stands for window first - 1. Places of a missing past get `fill`;
/// `missing` lists them when set.
Row overlapWindows(const Windows &windows, int64_t first, int64_t last,
                   int64_t half, const Row &halo, double fill,
                   std::vector<char> *missing = nullptr) {
  Row out;
  bool packed = !windows.ids.empty();
  int64_t haloRow = 1 + windows.ratio * half;
  for (int64_t row = 0; row < windows.batch; ++row)
    for (int64_t w = first; w < last; ++w) {
      int64_t id = windows.id(row, w);
      bool fromHalo = w == first;
      int64_t pastId = 0;
      if (w > 0)
        pastId = fromHalo ? static_cast<int64_t>(halo[row * haloRow])
                          : windows.id(row, w - 1);
      bool hasPast = w > 0 && (!packed || (id > 0 && id == pastId));
      if (missing)
        missing->push_back(!hasPast);
      for (int64_t token = 0; token < windows.ratio; ++token)
        for (int64_t d = 0; d < half; ++d)
          out.push_back(!hasPast   ? fill
                        : fromHalo ? halo[row * haloRow + 1 + token * half + d]
                                   : windows.at(row, w - 1, token)[d]);
      for (int64_t token = 0; token < windows.ratio; ++token)
        for (int64_t d = 0; d < half; ++d)
          out.push_back(!packed || id > 0 ? windows.at(row, w, token)[half + d]
                                          : fill);
    }
  return out;
}

/// Send the own halo to the next rank and take that of the former one.
int32_t exchangeHalo(dsv4rt_module *module, const Row &mine, Row &former) {
  int32_t rank = dsv4rt_group_rank(module, 0);
  int32_t ranks = dsv4rt_group_size(module, 0);
  int64_t count = mine.size();
  former.assign(count, 0);
  dsv4rt_peer next = {rank + 1, 0, 0, count},
              previous = {rank - 1, 0, 0, count};
  int64_t token =
      dsv4rt_exchange_start(module, SiteExchange, mine.data(), rank + 1 < ranks,
                            &next, former.data(), rank > 0, &previous, 0);
  return dsv4rt_wait(module, token, 0);
}

struct OverlapRank {
  Row values;
  std::vector<char> missing;
};

/// Pieces [B][local][...] of all ranks as [B][W][...].
template <typename T>
std::vector<T> joinPieces(const std::vector<std::vector<T>> &pieces,
                          int64_t batch) {
  std::vector<T> out;
  for (int64_t row = 0; row < batch; ++row)
    for (const std::vector<T> &piece : pieces) {
      int64_t size = piece.size() / batch;
      out.insert(out.end(), piece.begin() + row * size,
                 piece.begin() + (row + 1) * size);
    }
  return out;
}

Tensor toTensor(const Row &values, const std::vector<int64_t> &shape) {
  Tensor tensor(DSV4RT_F64, shape);
  std::memcpy(tensor.bytes.data(), values.data(),
              std::min(tensor.bytes.size(), values.size() * sizeof(double)));
  return tensor;
}

void compareRows(const char *name, const Json &expect, const Tensor &got,
                 Differences &out, double rtol = -1) {
  Tensor want;
  std::string difference = readTensor(expect, got.view.dtype, want);
  if (difference.empty())
    difference = findDifference(want, got, rtol);
  if (!difference.empty())
    out.push_back(std::string(name) + ": " + difference);
}

} // namespace

Differences dsv4::replay::replayOverlap(const Json &inputs,
                                        const Json &expect) {
  Tensor tensor;
  Windows windows;
  std::string problem = readTensor(inputs["windows"], DSV4RT_F64, tensor);
  if (problem.empty())
    problem = readWindows(tensor, inputs["window_seq_ids"], windows);
  int64_t half = inputs["D"].getInteger(0);
  int64_t ranks = std::max<int64_t>(inputs["cp_size"].getInteger(1), 1);
  if (problem.empty() &&
      (!windows.batch || !windows.count || windows.count % ranks ||
       windows.ratio != inputs["ratio"].getInteger(0) ||
       windows.features != 2 * half))
    problem = "windows do not fit cp_size, ratio and D";
  if (!problem.empty())
    return {"input: " + problem};

  int64_t local = windows.count / ranks;
  std::vector<Row> values(ranks);
  std::vector<std::vector<char>> missing(ranks);
  std::string failure = runRanks(ranks, [&](dsv4rt_module *module) {
    int64_t rank = dsv4rt_group_rank(module, 0), end = (rank + 1) * local;
    Row halo;
    if (int32_t status =
            exchangeHalo(module, takeHalo(windows, end - 1, half), halo))
      return status;
    values[rank] = overlapWindows(windows, rank * local, end, half, halo, 0,
                                  &missing[rank]);
    return int32_t(DSV4RT_OK);
  });
  if (!failure.empty())
    return {"job: " + failure};

  Differences out;
  compareRows("kv", expect["kv"],
              toTensor(joinPieces(values, windows.batch),
                       {windows.batch, windows.count, 2 * windows.ratio, half}),
              out);
  std::vector<char> all = joinPieces(missing, windows.batch);
  std::string rows;
  for (int64_t i = 0; i < int64_t(all.size()); ++i)
    if (all[i])
      rows += (rows.empty() ? "[" : ", [") + std::to_string(i / windows.count) +
              ", " + std::to_string(i % windows.count) + "]";
  if (print(expect["gate_fill_rows"]) != "[" + rows + "]")
    out.push_back("gate_fill_rows: expected " +
                  print(expect["gate_fill_rows"]) + ", got [" + rows + "]");
  return out;
}

Differences dsv4::replay::replayMetadata(const Json &inputs,
                                         const Json &expect) {
  Tensor ids, positions;
  std::string problem = readTensor(inputs["seq_ids"], DSV4RT_I64, ids);
  if (problem.empty())
    problem = readTensor(inputs["position_ids"], DSV4RT_I64, positions);
  int64_t ratio = inputs["ratio"].getInteger(0);
  int64_t ready = inputs["ready_len"].getInteger(-1);
  if (problem.empty() &&
      (ids.view.rank != 2 || ids.shape() != positions.shape() || ratio < 1 ||
       ready < 0 || ready > ids.view.shape[1]))
    problem = "ids, positions, ratio and ready_len do not fit";
  if (!problem.empty())
    return {"input: " + problem};
  int64_t batch = ids.view.shape[0], length = ids.view.shape[1];
  int64_t count = ready / ratio;
  Row windowIds, windowPositions;
  for (int64_t row = 0; row < batch; ++row)
    for (int64_t window = 0; window < count; ++window) {
      int64_t first = row * length + window * ratio;
      double id = ids.get(first);
      bool isOne = id > 0;
      for (int64_t i = 1; i < ratio; ++i)
        isOne &= ids.get(first + i) == id;
      windowIds.push_back(isOne ? id : 0);
      windowPositions.push_back(
          isOne ? std::floor(positions.get(first) / double(ratio)) : 0);
    }
  Differences out;
  compareRows("window_seq_ids", expect["window_seq_ids"],
              toTensor(windowIds, {batch, count}), out);
  compareRows("window_positions", expect["window_positions"],
              toTensor(windowPositions, {batch, count}), out);
  return out;
}

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [B][tokens][features] cut into windows, `bias` [ratio][features] added.
std::string cutWindows(const Json &data, int64_t ratio, const Json &ids,
                       const Json *bias, Windows &windows) {
  Tensor tensor, added;
  if (std::string problem = readTensor(data, DSV4RT_F64, tensor);
      !problem.empty())
    return problem;
  if (tensor.view.rank != 3 || ratio < 1)
    return "expected [B][tokens][features] and a ratio";
  int64_t batch = tensor.view.shape[0], tokens = tensor.view.shape[1];
  int64_t features = tensor.view.shape[2], count = tokens / ratio;
  if (bias) {
    std::string problem = readTensor(*bias, DSV4RT_F64, added);
    if (!problem.empty() ||
        added.shape() != std::vector<int64_t>{ratio, features})
      return "expected ape [ratio][features]";
  }
  Tensor cut(DSV4RT_F64, {batch, count, ratio, features});
  auto *values = reinterpret_cast<double *>(cut.bytes.data());
  int64_t rowSize = count * ratio * features;
  for (int64_t i = 0; i < cut.count(); ++i)
    values[i] =
        tensor.get(i / std::max<int64_t>(rowSize, 1) * tokens * features +
                   i % rowSize) +
        (bias ? added.get(i % (ratio * features)) : 0);
  return readWindows(cut, ids, windows);
}

/// Softmax of the gates over the slots of a window, per feature.
double poolFeature(const double *kv, const double *gate, int64_t slots,
                   int64_t features) {
  double top = kMinusInfinity, sum = 0, pooled = 0;
  for (int64_t i = 0; i < slots; ++i)
    top = std::max(top, gate[i * features]);
  for (int64_t i = 0; i < slots; ++i) {
    double weight =
        top == kMinusInfinity ? 1 : std::exp(gate[i * features] - top);
    sum += weight;
    pooled += weight * kv[i * features];
  }
  return pooled / sum;
}

} // namespace

Differences dsv4::replay::replayPool(const Json &inputs, const Json &expect) {
  int64_t ratio = inputs["ratio"].getInteger(0);
  int64_t features = inputs["D"].getInteger(0);
  const Json &ids = inputs["window_seq_ids"];
  Windows kv, gate;
  std::string problem = cutWindows(inputs["kv"], ratio, ids, nullptr, kv);
  if (problem.empty())
    problem = cutWindows(inputs["gate"], ratio, ids, &inputs["ape"], gate);
  bool overlap = inputs["overlap"].getInteger(0);
  if (problem.empty() && (kv.values.size() != gate.values.size() ||
                          kv.features != (overlap ? 2 : 1) * features))
    problem = "kv, gate and D do not fit";
  if (!problem.empty())
    return {"input: " + problem};
  int64_t slots = ratio;
  Row values = kv.values, gates = gate.values;
  if (overlap) {
    slots = 2 * ratio;
    Row none(kv.batch * (1 + ratio * features), 0);
    values = overlapWindows(kv, 0, kv.count, features, none, 0);
    gates = overlapWindows(gate, 0, kv.count, features, none, kMinusInfinity);
  }
  Row pooled;
  for (int64_t window = 0; window < kv.batch * kv.count; ++window)
    for (int64_t d = 0; d < features; ++d) {
      int64_t at = window * slots * features + d;
      pooled.push_back(poolFeature(&values[at], &gates[at], slots, features));
    }
  Differences out;
  compareRows("pooled", expect["pooled"],
              toTensor(pooled, {kv.batch, kv.count, features}), out,
              expect["rtol"].isNull() ? 0 : expect["rtol"].real);
  return out;
}
