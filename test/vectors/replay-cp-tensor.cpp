//===- replay-cp-tensor.cpp - Tensors of vector files ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "replay-cp-json.h"

#include <cmath>
#include <cstring>

using namespace dsv4::replay;

namespace {

bool findType(const std::string &name, uint32_t &dtype) {
  for (uint32_t type :
       {DSV4RT_I8, DSV4RT_U8, DSV4RT_I32, DSV4RT_U32, DSV4RT_I64, DSV4RT_U64,
        DSV4RT_F32, DSV4RT_F64, DSV4RT_BF16, DSV4RT_I1})
    if (name == dsv4rt_dtype_name(type)) {
      dtype = type;
      return true;
    }
  return false;
}

/// Shape of nested arrays by their first items.
void findShape(const Json &data, std::vector<int64_t> &shape) {
  if (data.kind != Json::Array)
    return;
  shape.push_back(data.items.size());
  if (!data.items.empty())
    findShape(data.items.front(), shape);
}

/// False when the data is ragged or not of numbers.
bool fill(const Json &data, const std::vector<int64_t> &shape, size_t axis,
          Tensor &tensor, int64_t &index) {
  if (axis == shape.size()) {
    if (!data.isNumber() && data.kind != Json::Bool)
      return false;
    tensor.set(index++, data);
    return true;
  }
  if (data.kind != Json::Array || int64_t(data.items.size()) != shape[axis])
    return false;
  for (const Json &item : data.items)
    if (!fill(item, shape, axis + 1, tensor, index))
      return false;
  return true;
}

uint16_t roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return 0x7fc0;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

const Json &findFirst(const Json &data) {
  const Json *value = &data;
  while (value->kind == Json::Array && !value->items.empty())
    value = &value->items.front();
  return *value;
}

std::string describeShape(const Tensor &tensor) {
  std::string text = dsv4rt_dtype_name(tensor.view.dtype);
  for (int64_t size : tensor.shape())
    text += " " + std::to_string(size);
  return text;
}

std::string describeIndex(const Tensor &tensor, int64_t index) {
  std::string text;
  for (uint32_t axis = tensor.view.rank; axis-- > 0;) {
    text = "[" + std::to_string(index % tensor.view.shape[axis]) + "]" + text;
    index /= tensor.view.shape[axis];
  }
  return text;
}

template <typename T>
void store(char *at, T value) {
  std::memcpy(at, &value, sizeof(T));
}
template <typename T>
double load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

} // namespace

Tensor::Tensor(uint32_t dtype, const std::vector<int64_t> &shape) {
  view.dtype = dtype;
  view.rank = shape.size();
  int64_t size = dsv4rt_dtype_size(dtype);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    size *= view.shape[axis] = shape[axis];
  bytes.resize(size);
  view.data = bytes.data();
}

Tensor &Tensor::operator=(const Tensor &other) {
  view = other.view;
  bytes = other.bytes;
  view.data = bytes.data();
  return *this;
}

Tensor Tensor::copy(const dsv4rt_tensor &view) {
  Tensor tensor(view.dtype, {view.shape, view.shape + view.rank});
  if (!tensor.bytes.empty())
    std::memcpy(tensor.bytes.data(), view.data, tensor.bytes.size());
  return tensor;
}

int64_t Tensor::count() const {
  return bytes.size() / dsv4rt_dtype_size(view.dtype);
}

void Tensor::set(int64_t index, const Json &value) {
  char *at = bytes.data() + index * dsv4rt_dtype_size(view.dtype);
  int64_t integer =
      value.kind == Json::Real ? int64_t(value.real) : value.integer;
  switch (view.dtype) {
  case DSV4RT_F32:
    return store(at, float(value.real));
  case DSV4RT_F64:
    return store(at, value.real);
  case DSV4RT_BF16:
    return store(at, roundToBf16(float(value.real)));
  case DSV4RT_I1:
    return store(at, uint8_t(value.real != 0));
  default: // the low bytes of an integer
    std::memcpy(at, &integer, dsv4rt_dtype_size(view.dtype));
  }
}

double Tensor::get(int64_t index) const {
  const char *at = bytes.data() + index * dsv4rt_dtype_size(view.dtype);
  switch (view.dtype) {
  case DSV4RT_F32:
    return load<float>(at);
  case DSV4RT_F64:
    return load<double>(at);
  case DSV4RT_BF16: {
    char wide[4] = {0, 0, at[0], at[1]};
    return load<float>(wide);
  }
  case DSV4RT_I8:
    return load<int8_t>(at);
  case DSV4RT_I32:
    return load<int32_t>(at);
  case DSV4RT_U32:
    return load<uint32_t>(at);
  case DSV4RT_I64:
    return load<int64_t>(at);
  case DSV4RT_U64:
    return load<uint64_t>(at);
  default:
    return load<uint8_t>(at);
  }
}

std::string dsv4::replay::readTensor(const Json &data, uint32_t dtype,
                                     Tensor &tensor) {
  std::vector<int64_t> shape;
  findShape(data, shape);
  if (shape.size() > DSV4RT_TENSOR_MAX_RANK)
    return "more than 8 axes";
  tensor = Tensor(dtype, shape);
  int64_t index = 0;
  return fill(data, shape, 0, tensor, index) ? ""
                                             : "rows differ in length or kind";
}

std::string dsv4::replay::readTensor(const Json &object, Tensor &tensor) {
  uint32_t dtype = 0;
  if (!findType(object["dtype"].string, dtype))
    return "unknown type '" + object["dtype"].string + "'";
  return readTensor(object["data"], dtype, tensor);
}

std::string dsv4::replay::readUntyped(const Json &data, Tensor &tensor) {
  const Json &first = findFirst(data);
  uint32_t dtype = DSV4RT_F64;
  if (first.kind == Json::Bool)
    dtype = DSV4RT_I1;
  if (first.kind == Json::Integer)
    dtype = DSV4RT_I64;
  return readTensor(data, dtype, tensor);
}

std::string dsv4::replay::findDifference(const Tensor &expected,
                                         const Tensor &got, double rtol) {
  if (expected.view.dtype != got.view.dtype || expected.shape() != got.shape())
    return "expected " + describeShape(expected) + ", got " +
           describeShape(got);
  int64_t size = dsv4rt_dtype_size(got.view.dtype);
  for (int64_t i = 0; i < got.count(); ++i) {
    double want = expected.get(i), have = got.get(i);
    bool equal = rtol < 0
                     ? !std::memcmp(expected.bytes.data() + i * size,
                                    got.bytes.data() + i * size, size)
                     : std::abs(have - want) <= rtol * std::abs(want) + 1e-12;
    if (!equal)
      return describeIndex(got, i) + ": expected " + printNumber(want) +
             ", got " + printNumber(have);
  }
  return "";
}
