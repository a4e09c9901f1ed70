//===- BatchTester.cpp - Batches for tests --------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchTester.h"

#include <gtest/gtest.h>

namespace dsv4::test {

BatchTester &BatchTester::addTokens(int64_t length, bool withLabels) {
  Ints ids, labels;
  for (int64_t i = 0; i < length; ++i) {
    ids.push_back(10 + i);
    labels.push_back(110 + i);
  }
  add("input_ids", {1, length}, ids);
  if (withLabels)
    add("labels", {1, length}, labels);
  return *this;
}

Ints getShape(const CpBatch &batch, const char *name) {
  const dsv4rt_tensor *tensor = batch.find(name);
  if (!tensor)
    return {};
  return Ints(tensor->shape, tensor->shape + tensor->rank);
}

Ints getInts(const CpBatch &batch, const char *name) {
  const dsv4rt_tensor *tensor = batch.find(name);
  if (!tensor)
    return {};
  int64_t count = 1;
  for (uint32_t axis = 0; axis < tensor->rank; ++axis)
    count *= tensor->shape[axis];
  Ints values;
  for (int64_t i = 0; i < count; ++i)
    switch (tensor->dtype) {
    case DSV4RT_I8:
      values.push_back(static_cast<const int8_t *>(tensor->data)[i]);
      break;
    case DSV4RT_U8:
    case DSV4RT_I1:
      values.push_back(static_cast<const uint8_t *>(tensor->data)[i]);
      break;
    case DSV4RT_BF16:
      values.push_back(static_cast<const uint16_t *>(tensor->data)[i]);
      break;
    case DSV4RT_I32:
      values.push_back(static_cast<const int32_t *>(tensor->data)[i]);
      break;
    case DSV4RT_F32:
      values.push_back(int64_t(static_cast<const float *>(tensor->data)[i]));
      break;
    default:
      values.push_back(static_cast<const int64_t *>(tensor->data)[i]);
    }
  return values;
}

Ints getMap(const CpBatch &batch, uint32_t which, int64_t count) {
  Ints values(count);
  EXPECT_EQ(dsv4rt_cp_batch_map(batch.get(), which, values.data(), count),
            DSV4RT_OK);
  return values;
}

void shardRank(CpBatch &batch, BatchTester &tester, int32_t size,
               int32_t rank) {
  tester.setGroup(size, rank);
  ASSERT_EQ(batch.shard(tester.desc), DSV4RT_OK) << batch.getError();
}

} // namespace dsv4::test
