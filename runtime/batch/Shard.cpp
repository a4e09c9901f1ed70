//===- Shard.cpp - The calls of Batch.h that prepare a batch --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

#include <cstring>
#include <new>

using namespace dsv4::rt;

namespace {

void clear(dsv4rt_cp_batch &batch) {
  batch.valid = false;
  batch.layout = {};
  batch.rows = {};
  batch.entries.clear();
  batch.outputs.clear();
}

Problem shard(const dsv4rt_cp_desc &desc, dsv4rt_cp_batch &batch) {
  Input input;
  // The former result's arrays: no allocation from step to step.
  std::swap(input.rows, batch.rows);
  input.rows.batch = input.rows.inputLength = 0;
  int64_t length = 0;
  Problem mine = readInput(desc, input);
  if (Problem problem = agreeOnInput(desc, input, mine, length))
    return problem;
  mine = layOut(desc, input, length, batch);
  if (Problem problem = agreeOnMemory(desc, mine))
    return problem;
  for (size_t i = 0; i < batch.outputs.size(); ++i)
    fillOutput(input.rows, batch.outputs[i], batch.entries[i].tensor);
  std::swap(input.rows, batch.rows);
  return {};
}

Problem checkDescriptor(const dsv4rt_cp_desc *desc) {
  if (!desc)
    return refuse(DSV4RT_CP_E_SETTING, "the descriptor is NULL");
  if (desc->struct_size == sizeof(dsv4rt_cp_desc))
    return {};
  return refuse(DSV4RT_CP_E_SETTING,
                "struct_size of the descriptor is " +
                    std::to_string(desc->struct_size) + ", expected " +
                    std::to_string(sizeof(dsv4rt_cp_desc)) +
                    ": set it by dsv4rt_cp_desc_init");
}

/// No handle means no memory for one: other ranks are told so.
int32_t refuseWithoutHandle(const dsv4rt_cp_desc *desc) {
  if (!checkDescriptor(desc)) {
    int64_t length = 0;
    agreeOnInput(*desc, {}, {DSV4RT_E_OOM, DSV4RT_CP_NO_CODE, ""}, length);
  }
  return DSV4RT_E_INVALID;
}

} // namespace

void dsv4rt_cp_desc_init(dsv4rt_cp_desc *desc) {
  if (!desc)
    return;
  *desc = {};
  desc->struct_size = sizeof(*desc);
  desc->entry_size = sizeof(dsv4rt_batch_entry);
  desc->pad_multiple = 1;
  desc->packed_alignment = 1;
}

int32_t dsv4rt_cp_batch_create(dsv4rt_cp_batch **out) {
  if (!out)
    return DSV4RT_E_INVALID;
  *out = new (std::nothrow) dsv4rt_cp_batch();
  return *out ? DSV4RT_OK : DSV4RT_E_OOM;
}

void dsv4rt_cp_batch_destroy(dsv4rt_cp_batch *batch) { delete batch; }

int32_t dsv4rt_shard_cp_batch(dsv4rt_cp_batch *batch,
                              const dsv4rt_cp_desc *desc) {
  if (!batch)
    return refuseWithoutHandle(desc);
  batch->valid = false;
  batch->entries.clear();
  batch->outputs.clear();
  batch->problem = checkDescriptor(desc);
  if (!batch->problem)
    batch->problem = shard(*desc, *batch);
  if (batch->problem)
    clear(*batch);
  else
    batch->valid = true;
  return batch->problem.status;
}

const char *dsv4rt_cp_batch_error(const dsv4rt_cp_batch *batch) {
  return batch ? batch->problem.text.c_str() : "no memory for the handle";
}

int32_t dsv4rt_cp_batch_error_code(const dsv4rt_cp_batch *batch) {
  return batch ? batch->problem.code : int32_t(DSV4RT_CP_NO_CODE);
}

int32_t dsv4rt_cp_batch_size(const dsv4rt_cp_batch *batch) {
  return batch ? static_cast<int32_t>(batch->entries.size()) : 0;
}

const dsv4rt_batch_entry *dsv4rt_cp_batch_entry(const dsv4rt_cp_batch *batch,
                                                int32_t index) {
  if (index < 0 || index >= dsv4rt_cp_batch_size(batch))
    return nullptr;
  return &batch->entries[index];
}

const dsv4rt_batch_entry *dsv4rt_cp_batch_find(const dsv4rt_cp_batch *batch,
                                               const char *name) {
  if (!batch || !name)
    return nullptr;
  for (const dsv4rt_batch_entry &entry : batch->entries)
    if (!std::strcmp(entry.name, name))
      return &entry;
  return nullptr;
}

int32_t dsv4rt_cp_batch_layout(const dsv4rt_cp_batch *batch,
                               dsv4rt_cp_layout *out) {
  if (!batch || !batch->valid || !out || out->struct_size != sizeof(*out))
    return DSV4RT_E_INVALID;
  *out = batch->layout;
  return DSV4RT_OK;
}
