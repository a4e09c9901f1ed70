//===- LayOut.cpp - Which columns and outputs a batch has -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

#include <cstring>

using namespace dsv4::rt;

namespace {

Problem refuseLongRow(const dsv4rt_cp_desc &desc, int64_t width) {
  return refuse(DSV4RT_CP_E_SETTING,
                "rows of " + std::to_string(width) + " columns over " +
                    std::to_string(desc.cp_size) + " ranks with pad_multiple " +
                    std::to_string(desc.pad_multiple) + " need more than " +
                    std::to_string(kMaxColumns) +
                    " columns: use a smaller pad_multiple");
}

/// The layout of the rows, whose width is known.
Problem computeLayout(const dsv4rt_cp_desc &desc, const Input &input,
                      dsv4rt_cp_layout &layout) {
  const Rows &rows = input.rows;
  layout = {};
  layout.struct_size = sizeof(layout);
  layout.cp_size = desc.cp_size;
  layout.cp_rank = input.mesh ? desc.cp_rank : 0;
  layout.packed = input.packed;
  layout.batch_size = rows.batch;
  layout.input_seq_len = rows.inputLength;
  layout.original_seq_len = input.mesh && !input.packed ? rows.inputLength : -1;
  layout.packed_seq_len = input.packed ? rows.width : -1;
  layout.dropped_tokens = rows.batch * rows.inputLength;
  for (const Document &document : rows.documents)
    layout.dropped_tokens -= document.length;

  int64_t total = rows.width;
  if (input.mesh) {
    int64_t divisor = std::max<int64_t>(desc.pad_multiple, 2);
    if (__builtin_mul_overflow(divisor, int64_t(desc.cp_size), &divisor) ||
        (total && divisor > kMaxColumns))
      return refuseLongRow(desc, total);
    total = roundUp(total, divisor);
  }
  if (total > kMaxColumns)
    return refuseLongRow(desc, rows.width);
  int64_t ranks = std::max(desc.cp_size, 1);
  if (total % ranks)
    return refuse(DSV4RT_CP_E_INDIVISIBLE,
                  "padded rows have " + std::to_string(total) +
                      " columns, expected a multiple of the " +
                      std::to_string(ranks) + " ranks of the group");
  layout.padded_seq_len = total;
  layout.local_seq_len = total / ranks;
  layout.local_begin = layout.cp_rank * layout.local_seq_len;
  return {};
}

/// Collects the outputs of a batch.
class OutputList {
public:
  OutputList(const Input &input, dsv4rt_cp_batch &batch)
      : input(input), batch(batch), isCut(input.mesh || input.packed) {}

  void addAlias(const dsv4rt_batch_entry &entry) {
    batch.entries.push_back(entry);
    batch.outputs.emplace_back();
  }

  /// A tensor of the input, moved where columns move at all.
  void addTokens(const char *name, const dsv4rt_tensor *source, int64_t gapFill,
                 int64_t tailFill, bool isWhole = false) {
    if (!source)
      return;
    if (!isCut || (isWhole && !input.packed))
      return addAlias({name, nullptr, *source});
    Output &output = add(name, Rule::Tokens, *source);
    output.source = source;
    output.gapFill = gapFill;
    output.tailFill = tailFill;
    if (isWhole) {
      output.begin = 0;
      output.end = input.rows.width;
    }
    batch.entries.back().tensor.shape[1] = output.end - output.begin;
  }

  /// One that has a value for each column of this rank.
  Output &addComputed(const char *name, Rule rule, uint32_t dtype) {
    dsv4rt_tensor tensor = {};
    tensor.dtype = dtype;
    tensor.rank = 2;
    tensor.shape[0] = input.rows.batch;
    Output &output = add(name, rule, tensor);
    batch.entries.back().tensor.shape[1] = output.end - output.begin;
    return output;
  }

  void addPositions() {
    if (input.packed || (input.mesh && !input.positions)) {
      addComputed("position_ids", Rule::Positions, DSV4RT_I64);
      return;
    }
    if (!input.mesh) // as given, an entry like others
      return;
    dsv4rt_tensor tensor = *input.positions;
    Output &output = add("position_ids", Rule::GivenPositions, tensor);
    output.source = input.positions;
    dsv4rt_tensor &result = batch.entries.back().tensor;
    if (result.rank == 2)
      result.shape[0] = input.rows.batch;
    result.shape[result.rank - 1] = output.end - output.begin;
  }

  void addMask(uint32_t flags) {
    const dsv4rt_tensor *padding = input.paddingMask;
    const dsv4rt_tensor *attention = input.attentionMask;
    if (padding && (flags & DSV4RT_CP_REF_INTEGER_MASK) &&
        isInteger(padding->dtype)) {
      Output &output =
          addComputed("attention_mask", Rule::InvertMask, padding->dtype);
      output.source = padding;
      output.tailFill = 1;
      return;
    }
    Output &output = addComputed("attention_mask", Rule::Mask, DSV4RT_I1);
    output.source = padding ? padding : attention;
    // Whether a nonzero element of the source marks a token.
    if (attention)
      output.gapFill = attention->rank == 2 || attention->dtype == DSV4RT_I1;
  }

private:
  Output &add(const char *name, Rule rule, const dsv4rt_tensor &like) {
    batch.entries.push_back({name, nullptr, like});
    Output &output = batch.outputs.emplace_back();
    output.rule = rule;
    output.begin = batch.layout.local_begin;
    output.end = output.begin + batch.layout.local_seq_len;
    return output;
  }

  const Input &input;
  dsv4rt_cp_batch &batch;
  bool isCut;
};

/// Whether the entry is consumed, replaced or computed.
bool isHandled(const Input &input, const char *name) {
  auto isOneOf = [&](std::initializer_list<const char *> names) {
    for (const char *other : names)
      if (!std::strcmp(name, other))
        return true;
    return false;
  };
  if (isOneOf({"input_ids", "labels", "loss_mask", "attention_mask",
               "padding_mask"}))
    return true;
  if (input.packed &&
      isOneOf({"seq_lens", "seq_lens_padded", "qkv_format", "packed_seq_ids"}))
    return true;
  return (input.mesh || input.packed) && isOneOf({"position_ids"});
}

void collectOutputs(const dsv4rt_cp_desc &desc, const Input &input,
                    dsv4rt_cp_batch &batch) {
  OutputList list(input, batch);
  list.addTokens("input_ids", input.inputIds, desc.padding_token_id,
                 desc.padding_token_id);
  // A mask that stands in for labels was packed as a mask.
  list.addTokens("labels", input.labels,
                 input.labelsAreMask ? 0 : kIgnoredLabel, kIgnoredLabel);
  list.addPositions();
  list.addMask(desc.flags);
  if (input.packed)
    list.addComputed("packed_seq_ids", Rule::Documents, DSV4RT_I64);
  list.addTokens("loss_mask", input.lossMask, 0, 0, input.lossMaskIsWhole);
  for (uint32_t i = 0; i < desc.n_entries; ++i)
    if (!isHandled(input, desc.entries[i].name) &&
        findEntry(desc, desc.entries[i].name))
      list.addAlias(desc.entries[i]);
}

Problem allocate(dsv4rt_cp_batch &batch) {
  constexpr int64_t kAlignment = 64;
  std::vector<int64_t> offsets;
  int64_t total = 0;
  bool tooLarge = false;
  for (size_t i = 0; i < batch.outputs.size(); ++i) {
    Output &output = batch.outputs[i];
    offsets.push_back(total);
    if (output.rule == Rule::Alias)
      continue;
    const dsv4rt_tensor &tensor = batch.entries[i].tensor;
    int64_t count = countElements(tensor);
    tooLarge |= count < 0;
    output.bytes = count * dsv4rt_dtype_size(tensor.dtype);
    tooLarge |= __builtin_add_overflow(total, output.bytes, &total) ||
                total > INT64_MAX - kAlignment;
    if (tooLarge)
      break;
    total = roundUp(total, kAlignment);
  }
  char *memory = tooLarge ? nullptr : batch.storage.reserve(total);
  if (!memory)
    return {DSV4RT_E_OOM, DSV4RT_CP_NO_CODE,
            "no memory for a local batch of " +
                std::to_string(batch.layout.batch_size) + " rows of " +
                std::to_string(batch.layout.local_seq_len) + " columns" +
                (tooLarge ? "" : ", " + std::to_string(total) + " bytes")};
  for (size_t i = 0; i < batch.outputs.size(); ++i)
    if (batch.outputs[i].rule != Rule::Alias)
      batch.entries[i].tensor.data = memory + offsets[i];
  return {};
}

} // namespace

Problem dsv4::rt::layOut(const dsv4rt_cp_desc &desc, Input &input,
                         int64_t length, dsv4rt_cp_batch &batch) {
  input.rows.width = input.packed ? roundUp(std::max<int64_t>(length, 1),
                                            desc.packed_alignment)
                                  : input.rows.inputLength;
  if (Problem problem = computeLayout(desc, input, batch.layout))
    return problem;
  collectOutputs(desc, input, batch);
  return allocate(batch);
}
