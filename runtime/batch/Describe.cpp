//===- Describe.cpp - Texts and small facts of tensors --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

using namespace dsv4::rt;

std::string dsv4::rt::formatCode(int32_t code) {
  return (code < 10 ? "CP-E0" : "CP-E") + std::to_string(code);
}

Problem dsv4::rt::refuse(int32_t code, const std::string &text) {
  return {DSV4RT_E_INVALID, code, formatCode(code) + ": " + text};
}

std::string dsv4::rt::describe(const dsv4rt_tensor &tensor) {
  std::string text = dsv4rt_dtype_name(tensor.dtype);
  if (tensor.rank > DSV4RT_TENSOR_MAX_RANK)
    return text + " of rank " + std::to_string(tensor.rank);
  text += " [";
  for (uint32_t axis = 0; axis < tensor.rank; ++axis)
    text += (axis ? ", " : "") + std::to_string(tensor.shape[axis]);
  return text + "]";
}

std::string dsv4::rt::describeDocument(int64_t row, int64_t index) {
  return "document " + std::to_string(index) + " of row " + std::to_string(row);
}

int64_t dsv4::rt::countElements(const dsv4rt_tensor &tensor) {
  int64_t size = dsv4rt_dtype_size(tensor.dtype);
  if (!size || tensor.rank > DSV4RT_TENSOR_MAX_RANK)
    return -1;
  int64_t bytes = size;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis)
    if (tensor.shape[axis] < 0 ||
        __builtin_mul_overflow(bytes, tensor.shape[axis], &bytes))
      return -1;
  return bytes / size;
}

int64_t dsv4::rt::countTrailing(const dsv4rt_tensor &tensor, uint32_t axis) {
  int64_t count = 1;
  for (; axis < tensor.rank; ++axis)
    count *= tensor.shape[axis];
  return count;
}

bool dsv4::rt::isSignedInteger(uint32_t dtype) {
  return dtype == DSV4RT_I8 || dtype == DSV4RT_I32 || dtype == DSV4RT_I64;
}

bool dsv4::rt::isInteger(uint32_t dtype) { return dtype <= DSV4RT_U64; }

char *Storage::reserve(int64_t bytes) {
  if (bytes <= capacity && memory)
    return memory;
  std::free(memory);
  capacity = 0;
  // A multiple of the alignment, and never empty.
  int64_t rounded = roundUp(std::max<int64_t>(bytes, 1), 64);
  memory =
      static_cast<char *>(std::aligned_alloc(64, static_cast<size_t>(rounded)));
  if (memory)
    capacity = rounded;
  return memory;
}
