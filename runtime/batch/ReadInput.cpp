//===- ReadInput.cpp - What one rank can check of a batch -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the checks decides which error is reported when several apply,
// and is part of the interface.
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

#include <cstring>
#include <limits>

using namespace dsv4::rt;

namespace {

bool hasValue(const dsv4rt_batch_entry &entry) {
  return entry.text || entry.tensor.data || countElements(entry.tensor) == 0;
}

Problem checkEntries(const dsv4rt_cp_desc &desc) {
  if (desc.n_entries && !desc.entries)
    return refuse(DSV4RT_CP_E_SETTING,
                  "entries is NULL, expected " +
                      std::to_string(desc.n_entries) +
                      " entries: set it, or set n_entries to 0");
  for (uint32_t i = 0; i < desc.n_entries; ++i) {
    if (!desc.entries[i].name)
      return refuse(DSV4RT_CP_E_SETTING,
                    "entry " + std::to_string(i) + " has no name: give it one");
    for (uint32_t j = 0; j < i; ++j)
      if (!std::strcmp(desc.entries[i].name, desc.entries[j].name))
        return refuse(DSV4RT_CP_E_SETTING,
                      "entry '" + std::string(desc.entries[i].name) +
                          "' is given twice: remove one");
  }
  return {};
}

Problem checkSettings(const dsv4rt_cp_desc &desc) {
  if (desc.entry_size != sizeof(dsv4rt_batch_entry))
    return refuse(DSV4RT_CP_E_SETTING,
                  "entry_size is " + std::to_string(desc.entry_size) +
                      ", expected " +
                      std::to_string(sizeof(dsv4rt_batch_entry)) +
                      ": set it by dsv4rt_cp_desc_init");
  uint32_t known = DSV4RT_CP_SYNC_PACKED_LENGTH | DSV4RT_CP_REFERENCE;
  if (desc.flags & ~known)
    return refuse(DSV4RT_CP_E_SETTING,
                  "flags " + std::to_string(desc.flags & ~known) +
                      " are unknown to this version: remove them");
  if (desc.cp_size < 0)
    return refuse(DSV4RT_CP_E_SETTING, "cp_size is " +
                                           std::to_string(desc.cp_size) +
                                           ", expected 0 (no group) or more");
  if (desc.cp_size && (desc.cp_rank < 0 || desc.cp_rank >= desc.cp_size))
    return refuse(DSV4RT_CP_E_SETTING,
                  "cp_rank must be in [0, " + std::to_string(desc.cp_size) +
                      "), got " + std::to_string(desc.cp_rank) +
                      ": give the rank inside the group, not in the job");
  if (desc.pad_multiple > kMaxColumns || desc.packed_alignment > kMaxColumns)
    return refuse(DSV4RT_CP_E_SETTING,
                  "pad_multiple is " + std::to_string(desc.pad_multiple) +
                      " and packed_alignment " +
                      std::to_string(desc.packed_alignment) +
                      ", expected at most " + std::to_string(kMaxColumns));
  return checkEntries(desc);
}

/// That the tensor is [B, S, ...]; with `exact`, [B, S].
Problem checkColumns(const Input &input, const dsv4rt_tensor &tensor,
                     const char *name, bool exact) {
  bool legal = countElements(tensor) >= 0 && tensor.rank >= 2 &&
               (!exact || tensor.rank == 2) &&
               tensor.shape[0] == input.rows.batch &&
               tensor.shape[1] == input.rows.inputLength;
  if (legal)
    return {};
  return refuse(DSV4RT_CP_E_TENSOR,
                "'" + std::string(name) + "' is " + describe(tensor) +
                    ", expected [" + std::to_string(input.rows.batch) + ", " +
                    std::to_string(input.rows.inputLength) +
                    (exact ? "]" : ", ...]") + " as 'input_ids' has");
}

Problem checkNotText(const dsv4rt_cp_desc &desc) {
  for (const char *name : {"pixel_values", "inputs_embeds"})
    if (findEntry(desc, name))
      return refuse(DSV4RT_CP_E_NOT_TEXT,
                    "got '" + std::string(name) +
                        "', expected token ids only: remove the entry");
  return {};
}

Problem checkPackedMarks(const dsv4rt_cp_desc &desc) {
  const dsv4rt_batch_entry *format = findEntry(desc, "qkv_format");
  bool isThd = format && format->text && !std::strcmp(format->text, "thd");
  if (!isThd && !findEntry(desc, "cu_seqlens"))
    return {};
  return refuse(DSV4RT_CP_E_NO_LENGTHS,
                std::string("got ") +
                    (isThd ? "'qkv_format' thd" : "'cu_seqlens'") +
                    " without 'seq_lens'; expected 'seq_lens' [B, D] for "
                    "packed rows: add it, or remove the entry");
}

Problem checkInputIds(const dsv4rt_cp_desc &desc, Input &input) {
  const dsv4rt_tensor *ids = input.inputIds;
  if (!ids)
    return {};
  if (countElements(*ids) < 0 || ids->rank != 2 || !isInteger(ids->dtype) ||
      ids->shape[1] > kMaxColumns)
    return refuse(DSV4RT_CP_E_TENSOR, "'input_ids' is " + describe(*ids) +
                                          ", expected integers [B, S]");
  input.rows.batch = ids->shape[0];
  input.rows.inputLength = ids->shape[1];
  if (!input.mesh && !input.packed)
    return {};
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  int64_t bits = 8 * dsv4rt_dtype_size(ids->dtype);
  if (!isSignedInteger(ids->dtype))
    low = 0;
  else if (bits < 64)
    low = -(int64_t(1) << (bits - 1));
  if (bits < 64)
    high = (int64_t(1) << (bits - (low < 0))) - 1;
  if (desc.padding_token_id < low || desc.padding_token_id > high)
    return refuse(
        DSV4RT_CP_E_TOKEN_RANGE,
        "padding_token_id is " + std::to_string(desc.padding_token_id) +
            ", expected a value of 'input_ids', which are " +
            dsv4rt_dtype_name(ids->dtype) + ": use another id or a wider type");
  return {};
}

Problem refuseMissingInputIds() {
  return refuse(DSV4RT_CP_E_NO_INPUT_IDS,
                "'input_ids' is missing, expected integers [B, S]: add it");
}

/// The masks of an unpacked batch. Unpacked batches without any mask are all
/// tokens.
Problem readMask(const dsv4rt_cp_desc &desc, Input &input) {
  input.paddingMask = findTensor(desc, "padding_mask");
  if (input.paddingMask)
    return checkColumns(input, *input.paddingMask, "padding_mask", true);
  const dsv4rt_tensor *mask = findTensor(desc, "attention_mask");
  if (!mask)
    return {};
  if (!input.mesh && (desc.flags & DSV4RT_CP_REF_MASK_ONLY))
    return refuse(DSV4RT_CP_E_MASK_ONLY,
                  "got 'attention_mask' without a group and without "
                  "'padding_mask'; expected 'padding_mask': add it, or do not "
                  "set DSV4RT_CP_REF_MASK_ONLY");
  input.attentionMask = mask;
  if (mask->rank != 4)
    return checkColumns(input, *mask, "attention_mask", true);
  int64_t length = input.rows.inputLength;
  if (countElements(*mask) >= 0 && mask->shape[0] == input.rows.batch &&
      mask->shape[1] >= 1 && mask->shape[2] == length &&
      mask->shape[3] == length)
    return {};
  std::string side = std::to_string(length);
  return refuse(DSV4RT_CP_E_TENSOR,
                "'attention_mask' is " + describe(*mask) + ", expected [" +
                    std::to_string(input.rows.batch) + ", 1, " + side + ", " +
                    side + "] as 'input_ids' has");
}

bool canContinue(uint32_t dtype) {
  return isInteger(dtype) || dtype == DSV4RT_F32 || dtype == DSV4RT_F64;
}

Problem readPositions(const dsv4rt_cp_desc &desc, Input &input) {
  input.positions = findTensor(desc, "position_ids");
  if (!input.positions)
    return {};
  const dsv4rt_tensor &tensor = *input.positions;
  int64_t batch = input.rows.batch;
  bool legal = countElements(tensor) >= 0 && canContinue(tensor.dtype);
  if (tensor.rank == 2)
    legal &= tensor.shape[0] == batch || tensor.shape[0] == 1;
  else
    legal &= tensor.rank == 3 && tensor.shape[1] == batch;
  legal &= tensor.shape[tensor.rank == 3 ? 2 : 1] == input.rows.inputLength;
  if (legal)
    return {};
  std::string rows = std::to_string(batch);
  std::string columns = std::to_string(input.rows.inputLength);
  return refuse(DSV4RT_CP_E_TENSOR, "'position_ids' is " + describe(tensor) +
                                        ", expected integers, f32 or f64 [" +
                                        rows + ", " + columns + "], [1, " +
                                        columns + "] or [3, " + rows + ", " +
                                        columns + "]");
}

Problem checkLabelType(const dsv4rt_cp_desc &desc, const Input &input) {
  uint32_t dtype = input.labels->dtype;
  bool anyType = desc.flags & DSV4RT_CP_REF_LABEL_TYPES;
  bool canHold = dtype != DSV4RT_F8E4M3 && dtype != DSV4RT_F8E5M2;
  if (isSignedInteger(dtype) || (anyType && canHold))
    return {};
  return refuse(
      DSV4RT_CP_E_LABEL_TYPE,
      std::string(input.labelsAreMask
                      ? "there are no labels, and 'loss_mask', which stands "
                        "in for them,"
                      : "'labels'") +
          " is " + dsv4rt_dtype_name(dtype) +
          "; expected i8, i32 or i64, which can hold -100: " +
          (input.labelsAreMask ? "add labels or convert it" : "convert it"));
}

/// Labels and loss mask, each from the batch or the argument.
Problem readTargets(const dsv4rt_cp_desc &desc, Input &input) {
  const dsv4rt_tensor *argument = desc.loss_mask;
  const dsv4rt_tensor *entry = findTensor(desc, "loss_mask");
  bool keepEntry = desc.flags & DSV4RT_CP_REF_BATCH_LOSS_MASK;
  if (input.mesh && !keepEntry && !argument) {
    argument = entry;
    entry = nullptr;
  }
  input.labels = findTensor(desc, "labels");
  if (input.mesh && !input.labels) {
    input.labels = argument;
    input.labelsAreMask = true;
    argument = nullptr;
  }
  if (input.mesh && !input.labels)
    return refuse(DSV4RT_CP_E_NO_LABELS,
                  "'labels' is missing over a group of " +
                      std::to_string(desc.cp_size) +
                      " ranks; expected labels or a loss_mask: add one");
  input.lossMask = argument ? argument : entry;
  input.lossMaskIsWhole = input.mesh && !argument && keepEntry;
  if (!input.mesh && !input.packed)
    return {};
  if (input.labels) {
    if (Problem problem =
            checkColumns(input, *input.labels,
                         input.labelsAreMask ? "loss_mask" : "labels", false))
      return problem;
    if (Problem problem = checkLabelType(desc, input))
      return problem;
  }
  bool isAlias = input.lossMaskIsWhole && !input.packed;
  if (input.lossMask && !isAlias)
    return checkColumns(input, *input.lossMask, "loss_mask", false);
  return {};
}

/// That no array with elements is missing its memory.
Problem checkLossMaskData(const dsv4rt_cp_desc &desc) {
  if (!desc.loss_mask || desc.loss_mask->data ||
      countElements(*desc.loss_mask) == 0)
    return {};
  return refuse(DSV4RT_CP_E_SETTING,
                "loss_mask has no data: set it, or pass NULL for none");
}

} // namespace

const dsv4rt_batch_entry *dsv4::rt::findEntry(const dsv4rt_cp_desc &desc,
                                              const char *name) {
  for (uint32_t i = 0; i < desc.n_entries; ++i)
    if (!std::strcmp(desc.entries[i].name, name) && hasValue(desc.entries[i]))
      return &desc.entries[i];
  return nullptr;
}

const dsv4rt_tensor *dsv4::rt::findTensor(const dsv4rt_cp_desc &desc,
                                          const char *name) {
  const dsv4rt_batch_entry *entry = findEntry(desc, name);
  return entry && !entry->text ? &entry->tensor : nullptr;
}

Problem dsv4::rt::readInput(const dsv4rt_cp_desc &desc, Input &input) {
  if (Problem problem = checkSettings(desc))
    return problem;
  if (Problem problem = checkLossMaskData(desc))
    return problem;
  if (Problem problem = checkNotText(desc))
    return problem;
  input.mesh = desc.cp_size > 0;
  input.packed = findEntry(desc, "seq_lens");
  input.inputIds = findTensor(desc, "input_ids");
  if (!input.packed)
    if (Problem problem = checkPackedMarks(desc))
      return problem;
  if (Problem problem = checkInputIds(desc, input))
    return problem;
  if (input.packed)
    if (Problem problem = readDocuments(desc, input))
      return problem;
  if (!input.inputIds)
    return refuseMissingInputIds();
  if (!input.packed) {
    if (Problem problem = readDocuments(desc, input))
      return problem;
    if (Problem problem = readMask(desc, input))
      return problem;
    if (input.mesh)
      if (Problem problem = readPositions(desc, input))
        return problem;
  }
  return readTargets(desc, input);
}
