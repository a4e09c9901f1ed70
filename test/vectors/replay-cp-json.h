//===- replay-cp-json.h - Values and tensors of vector files ----*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_VECTORS_REPLAY_CP_JSON_H
#define DSV4_TEST_VECTORS_REPLAY_CP_JSON_H

#include "dsv4/Runtime/Batch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsv4::replay {

/// A JSON value. NaN and the infinities are read too.
struct Json {
  enum Kind { Null, Bool, Integer, Real, String, Array, Object };

  Kind kind = Null;
  int64_t integer = 0; ///< of a Bool too
  double real = 0;     ///< of an Integer too
  std::string string;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  bool isNull() const { return kind == Null; }
  bool isNumber() const { return kind == Integer || kind == Real; }
  /// A null value when there is no such member.
  const Json &operator[](const std::string &name) const;
  bool has(const std::string &name) const;
  int64_t getInteger(int64_t otherwise) const {
    return kind == Integer || kind == Bool ? integer : otherwise;
  }
};

/// Returns an empty text, or what is wrong.
std::string parseJson(const std::string &text, Json &value);
/// One line; long values are cut.
std::string print(const Json &value);

/// All digits.
std::string printNumber(double value);

/// A tensor that owns its elements.
struct Tensor {
  dsv4rt_tensor view = {};
  std::vector<char> bytes;

  Tensor() = default;
  Tensor(uint32_t dtype, const std::vector<int64_t> &shape);
  Tensor(const Tensor &other) { *this = other; }
  Tensor &operator=(const Tensor &other);
  /// A copy of a view.
  static Tensor copy(const dsv4rt_tensor &view);

  int64_t count() const;
  std::vector<int64_t> shape() const {
    return {view.shape, view.shape + view.rank};
  }
  void set(int64_t index, const Json &value);
  double get(int64_t index) const;
};

/// Nested arrays as a tensor. Returns an empty text, or what is wrong.
std::string readTensor(const Json &data, uint32_t dtype, Tensor &tensor);
/// An object {dtype, data}.
std::string readTensor(const Json &object, Tensor &tensor);
/// Nested arrays without a type: i1, i64 or f64 by their first value.
std::string readUntyped(const Json &data, Tensor &tensor);

/// Empty when equal in type, shape and bits, else the first difference. With
/// `rtol` >= 0 elements may differ by that much.
std::string findDifference(const Tensor &expected, const Tensor &got,
                           double rtol = -1);

} // namespace dsv4::replay

#endif // DSV4_TEST_VECTORS_REPLAY_CP_JSON_H
