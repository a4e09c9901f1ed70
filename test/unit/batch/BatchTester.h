//===- BatchTester.h - Batches for tests ------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_BATCH_BATCHTESTER_H
#define DSV4_TEST_BATCH_BATCHTESTER_H

#include "dsv4/Runtime/Batch.h"

#include <cstring>
#include <list>
#include <string>
#include <vector>

namespace dsv4::test {

template <typename T>
struct TypeOf;
template <>
struct TypeOf<int8_t> {
  static constexpr uint32_t value = DSV4RT_I8;
};
template <>
struct TypeOf<uint8_t> {
  static constexpr uint32_t value = DSV4RT_U8;
};
template <>
struct TypeOf<int32_t> {
  static constexpr uint32_t value = DSV4RT_I32;
};
template <>
struct TypeOf<int64_t> {
  static constexpr uint32_t value = DSV4RT_I64;
};
template <>
struct TypeOf<float> {
  static constexpr uint32_t value = DSV4RT_F32;
};
template <>
struct TypeOf<uint16_t> {
  static constexpr uint32_t value = DSV4RT_BF16;
};

using Ints = std::vector<int64_t>;

/// Collects a batch and its settings; `desc` is ready for every call.
class BatchTester {
public:
  BatchTester() : desc(CpBatch::makeDesc()) {}
  BatchTester(const BatchTester &) = delete;

  /// Add an entry, row-major; `dtype` overrides that of T (for i1).
  template <typename T = int64_t>
  BatchTester &add(const char *name, const std::vector<int64_t> &shape,
                   const std::vector<T> &values,
                   uint32_t dtype = TypeOf<T>::value) {
    entries.push_back({name, nullptr, keep(shape, values, dtype)});
    return update();
  }
  BatchTester &addText(const char *name, const char *text) {
    entries.push_back({name, text, {}});
    return update();
  }
  /// The argument of that name.
  template <typename T>
  BatchTester &setLossMask(const std::vector<int64_t> &shape,
                           const std::vector<T> &values,
                           uint32_t dtype = TypeOf<T>::value) {
    lossMask = keep(shape, values, dtype);
    desc.loss_mask = &lossMask;
    return *this;
  }
  BatchTester &setGroup(int32_t size, int32_t rank = 0) {
    desc.cp_size = size;
    desc.cp_rank = rank;
    return *this;
  }
  /// One row of ids 10, 11, ... and labels 110, 111, ...
  BatchTester &addTokens(int64_t length, bool withLabels = true);

  /// A tensor that lives as long as this object.
  template <typename T>
  dsv4rt_tensor keep(const std::vector<int64_t> &shape,
                     const std::vector<T> &values, uint32_t dtype) {
    auto &bytes = memory.emplace_back(values.size() * sizeof(T) + 1);
    if (!values.empty())
      std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
    dsv4rt_tensor tensor = {};
    tensor.data = bytes.data();
    tensor.dtype = dtype;
    tensor.rank = shape.size();
    std::copy(shape.begin(), shape.end(), tensor.shape);
    return tensor;
  }

  dsv4rt_cp_desc desc;

private:
  BatchTester &update() {
    desc.entries = entries.data();
    desc.n_entries = entries.size();
    return *this;
  }

  std::vector<dsv4rt_batch_entry> entries;
  std::list<std::vector<char>> memory;
  dsv4rt_tensor lossMask = {};
};

/// Values of an integer tensor; empty when there is none of that name.
Ints getInts(const CpBatch &batch, const char *name);
Ints getShape(const CpBatch &batch, const char *name);
/// A map of dsv4rt_cp_batch_map with that many elements.
Ints getMap(const CpBatch &batch, uint32_t which, int64_t count);

/// Prepare on rank `rank` of `size`, expecting success.
void shardRank(CpBatch &batch, BatchTester &tester, int32_t size, int32_t rank);

} // namespace dsv4::test

#endif // DSV4_TEST_BATCH_BATCHTESTER_H
