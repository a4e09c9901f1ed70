//===- Documents.cpp - Packed documents of a batch ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A document of n tokens takes a span of s >= n columns in the input, and the
// next multiple of the alignment A in the aligned row:
//
//   lengths 3, 2   spans 3, 5   A = 4
//   input    a a a b b . . .
//   aligned  a a a . b b . .
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

using namespace dsv4::rt;

namespace {

/// Integers [B, D], or [D] for one row.
class Metadata {
public:
  Metadata(const dsv4rt_tensor &tensor)
      : tensor(&tensor),
        count(tensor.rank ? tensor.shape[tensor.rank - 1] : 0) {}

  bool hasRows(int64_t batch) const {
    if (countElements(*tensor) < 0)
      return false;
    return (tensor->rank == 2 && tensor->shape[0] == batch) ||
           (tensor->rank == 1 && batch == 1);
  }
  bool isTyped() const {
    return tensor->dtype == DSV4RT_I32 || tensor->dtype == DSV4RT_I64;
  }
  int64_t size() const { return count; }
  int64_t get(int64_t row, int64_t index) const {
    int64_t at = row * count + index;
    return tensor->dtype == DSV4RT_I64
               ? static_cast<const int64_t *>(tensor->data)[at]
               : static_cast<const int32_t *>(tensor->data)[at];
  }

private:
  const dsv4rt_tensor *tensor;
  int64_t count;
};

bool isAbsent(int64_t length) { return length == 0 || length == -1000; }

std::string at(const char *name, int64_t row, int64_t index) {
  return std::string(name) + "[" + std::to_string(row) + "][" +
         std::to_string(index) + "]";
}

Problem checkType(const dsv4rt_tensor *tensor, const char *name, int32_t code) {
  if (tensor && Metadata(*tensor).isTyped())
    return {};
  return refuse(code, std::string("'") + name + "' is " +
                          (tensor ? dsv4rt_dtype_name(tensor->dtype) : "text") +
                          ", expected i32 or i64: convert it");
}

Problem checkShapes(const dsv4rt_tensor &lengths, const dsv4rt_tensor &spans,
                    bool haveSpans, int64_t batch) {
  Metadata a(lengths), b(spans);
  if (a.hasRows(batch) && b.hasRows(batch) && a.size() == b.size())
    return {};
  std::string got = "'seq_lens' is " + describe(lengths);
  if (haveSpans)
    got += " and 'seq_lens_padded' " + describe(spans);
  std::string want = "[" + std::to_string(batch) + ", documents]";
  return refuse(DSV4RT_CP_E_LENGTH_SHAPE, got + ", expected " + want +
                                              (haveSpans ? " for both" : "") +
                                              ": fill missing places with 0");
}

Problem refuseSpan(bool absent, int64_t row, int64_t index, int64_t length,
                   int64_t span) {
  std::string text = describeDocument(row, index) + " has length " +
                     std::to_string(length) + " and a span of " +
                     std::to_string(span) + " columns; ";
  if (absent)
    return refuse(DSV4RT_CP_E_ABSENT_SPAN,
                  text +
                      "expected a span of 0 or -1000, as it is absent: set " +
                      at("seq_lens_padded", row, index) + " to 0");
  if (length < 0)
    return refuse(DSV4RT_CP_E_DOCUMENT,
                  text +
                      "expected a positive length, or 0 or -1000 for no "
                      "document: set " +
                      at("seq_lens", row, index) + " to 0");
  return refuse(DSV4RT_CP_E_DOCUMENT,
                text + "expected a span of at least its length: set " +
                    at("seq_lens_padded", row, index) + " to " +
                    std::to_string(length));
}

Problem refuseOverrun(int64_t row, int64_t index, int64_t begin, int64_t span,
                      int64_t columns) {
  return refuse(DSV4RT_CP_E_DOCUMENT,
                describeDocument(row, index) + " spans " +
                    std::to_string(span) + " columns from column " +
                    std::to_string(begin) + ", expected at most " +
                    std::to_string(columns - begin) + " in a row of " +
                    std::to_string(columns) +
                    ": shorten it, or move it to another row");
}

/// Append the documents of a row; `width` becomes the columns they need.
Problem readRow(const Metadata &lengths, const Metadata &spans, int64_t row,
                int64_t alignment, Rows &rows, int64_t &width) {
  int64_t from = 0, to = 0;
  for (int64_t index = 0; index < lengths.size(); ++index) {
    int64_t length = lengths.get(row, index), span = spans.get(row, index);
    bool absent = isAbsent(length);
    if (absent ? !isAbsent(span) : length < 0 || span < length)
      return refuseSpan(absent, row, index, length, span);
    if (absent)
      continue;
    if (span > rows.inputLength - from)
      return refuseOverrun(row, index, from, span, rows.inputLength);
    rows.documents.push_back({from, to, length, index + 1});
    from += span;
    to += roundUp(length, alignment);
    if (to > kMaxColumns)
      return refuse(DSV4RT_CP_E_SETTING,
                    "row " + std::to_string(row) + " needs more than " +
                        std::to_string(kMaxColumns) +
                        " columns: use a smaller packed_alignment than " +
                        std::to_string(alignment));
  }
  width = to;
  return {};
}

Problem readPacked(const dsv4rt_cp_desc &desc, Input &input) {
  int64_t alignment = desc.packed_alignment;
  // An alignment of 0 is found first, by the division.
  if (alignment == 0 || (alignment < 0 && input.inputIds))
    return refuse(DSV4RT_CP_E_ALIGNMENT,
                  "packed_alignment is " + std::to_string(alignment) +
                      ", expected at least 1: set it to 1");
  if (!input.inputIds)
    return {};
  const dsv4rt_tensor *lengths = findTensor(desc, "seq_lens");
  const dsv4rt_tensor *spans = findTensor(desc, "seq_lens_padded");
  bool haveSpans = findEntry(desc, "seq_lens_padded");
  if (Problem problem = checkType(lengths, "seq_lens", DSV4RT_CP_E_LENGTH_TYPE))
    return problem;
  if (haveSpans && !spans)
    return checkType(spans, "seq_lens_padded", DSV4RT_CP_E_SPAN_TYPE);
  if (!haveSpans)
    spans = lengths;
  if (Problem problem =
          checkShapes(*lengths, *spans, haveSpans, input.rows.batch))
    return problem;
  if (Problem problem =
          checkType(spans, "seq_lens_padded", DSV4RT_CP_E_SPAN_TYPE))
    return problem;
  input.length = input.rows.inputLength;
  for (int64_t row = 0; row < input.rows.batch; ++row) {
    int64_t width = 0;
    if (Problem problem = readRow(Metadata(*lengths), Metadata(*spans), row,
                                  alignment, input.rows, width))
      return problem;
    input.rows.begins.push_back(input.rows.documents.size());
    input.length = std::max(input.length, width);
  }
  return {};
}

} // namespace

Problem dsv4::rt::readDocuments(const dsv4rt_cp_desc &desc, Input &input) {
  Rows &rows = input.rows;
  rows.documents.clear();
  rows.begins.assign(1, 0);
  if (input.packed)
    return readPacked(desc, input);
  for (int64_t row = 0; row < rows.batch; ++row) {
    rows.documents.push_back({0, 0, rows.inputLength, 1});
    rows.begins.push_back(rows.documents.size());
  }
  input.length = rows.inputLength;
  return {};
}
