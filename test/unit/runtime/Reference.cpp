//===- Reference.cpp - Expected values, computed another way --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "dsv4/Runtime/Runtime.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dsv4::test {

int64_t getWidth(uint32_t dtype) {
  switch (dtype) {
  case DSV4RT_I64:
  case DSV4RT_U64:
  case DSV4RT_F64:
    return 8;
  case DSV4RT_I32:
  case DSV4RT_U32:
  case DSV4RT_F32:
    return 4;
  case DSV4RT_F16:
  case DSV4RT_BF16:
    return 2;
  default:
    return 1;
  }
}

bool isFloat(uint32_t dtype) {
  return dtype == DSV4RT_F16 || dtype == DSV4RT_BF16 || dtype == DSV4RT_F32 ||
         dtype == DSV4RT_F64;
}

double decode16(uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa + (1 << mantissaBits),
                           exponent - bias - mantissaBits);
}

uint16_t encode16(double value, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = ((1 << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value))
    return sign | infinity | (1 << (mantissaBits - 1));
  if (std::isinf(value))
    return sign | infinity;
  if (value == 0)
    return sign;
  int exponent = 0;
  std::frexp(value, &exponent); // |value| in [2^(exponent-1), 2^exponent)
  int unit = std::max(exponent - 1, 1 - bias) - mantissaBits;
  double steps = std::nearbyint(std::ldexp(std::fabs(value), -unit));
  // Steps of the format are consecutive codes, carries included.
  double code =
      std::max(exponent - 1 + bias - 1, 0) * std::ldexp(1.0, mantissaBits) +
      steps;
  return code >= infinity ? sign | infinity
                          : sign | static_cast<uint16_t>(code);
}

namespace {

uint64_t hash(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// A value of either sign whose magnitude spans nine powers of two, so that
/// partial sums round differently in another order.
double makeFloat(uint64_t bits, bool special) {
  if (special)
    switch (bits % 13) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return -std::numeric_limits<double>::infinity();
    case 3:
    case 4:
      return 0.0;
    case 5:
    case 6:
      return -0.0;
    default:
      break;
    }
  double mantissa =
      1.0 + double((bits >> 8) & 0xFFFFFFFFFull) / 0x1000000000ull;
  double value = std::ldexp(mantissa, int(bits >> 44 & 15) - 9);
  return bits >> 63 ? -value : value;
}

/// Calls `body` with the C++ type that holds one element.
template <class Body>
auto dispatch(uint32_t dtype, Body body) {
  switch (dtype) {
  case DSV4RT_I8:
    return body(int8_t());
  case DSV4RT_I32:
    return body(int32_t());
  case DSV4RT_U32:
    return body(uint32_t());
  case DSV4RT_I64:
    return body(int64_t());
  case DSV4RT_U64:
    return body(uint64_t());
  case DSV4RT_F32:
    return body(float());
  case DSV4RT_F64:
    return body(double());
  case DSV4RT_F16:
  case DSV4RT_BF16:
    return body(uint16_t());
  default:
    return body(uint8_t());
  }
}

template <class T>
T getElement(const Bytes &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void setElement(Bytes &bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// Integer sum without overflow of the signed type.
template <class T>
T addWrapping(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(
        static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <class T>
T combine(uint32_t redop, T a, T b) {
  if (redop == DSV4RT_SUM)
    return addWrapping(a, b);
  bool wantMax = redop == DSV4RT_MAX;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<T>::quiet_NaN();
    if (a == b) // zeros: -0 is below +0
      return (std::signbit(a) ? wantMax : !wantMax) ? b : a;
  }
  return (a < b) == wantMax ? b : a;
}

} // namespace

Bytes makeData(uint32_t dtype, int rank, int64_t count, bool special) {
  Bytes bytes(count * getWidth(dtype));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = hash(uint64_t(rank) << 40 | uint64_t(i) << 8 | dtype);
    double value = makeFloat(bits, special);
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      T element = static_cast<T>(bits);
      if (dtype == DSV4RT_F32 || dtype == DSV4RT_F64)
        element = static_cast<T>(value);
      else if (dtype == DSV4RT_F16)
        element = static_cast<T>(encode16(value, 5));
      else if (dtype == DSV4RT_BF16)
        element = static_cast<T>(encode16(value, 8));
      else if (dtype == DSV4RT_I1)
        element = static_cast<T>(bits & 1);
      setElement(bytes, i, element);
    });
  }
  return bytes;
}

Bytes reduceInOrder(uint32_t dtype, uint32_t redop,
                    const std::vector<Bytes> &operands, int64_t begin,
                    int64_t count) {
  Bytes result(count * getWidth(dtype));
  bool half = dtype == DSV4RT_F16 || dtype == DSV4RT_BF16;
  int exponentBits = dtype == DSV4RT_F16 ? 5 : 8;
  for (int64_t i = 0; i < count; ++i)
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      if (half) {
        auto load = [&](const Bytes &operand) {
          return float(
              decode16(getElement<uint16_t>(operand, begin + i), exponentBits));
        };
        float sum = load(operands[0]);
        for (size_t k = 1; k < operands.size(); ++k)
          sum = combine(redop, sum, load(operands[k]));
        setElement<uint16_t>(result, i, encode16(sum, exponentBits));
        return;
      }
      T sum = getElement<T>(operands[0], begin + i);
      for (size_t k = 1; k < operands.size(); ++k)
        sum = combine(redop, sum, getElement<T>(operands[k], begin + i));
      setElement(result, i, sum);
    });
  return result;
}

bool haveEqualElements(uint32_t dtype, const unsigned char *a,
                       const unsigned char *b, int64_t count) {
  int64_t width = getWidth(dtype);
  auto isNan = [&](const unsigned char *at) {
    Bytes element(at, at + width);
    if (dtype == DSV4RT_F32)
      return std::isnan(getElement<float>(element, 0));
    if (dtype == DSV4RT_F64)
      return std::isnan(getElement<double>(element, 0));
    return isFloat(dtype) &&
           std::isnan(decode16(getElement<uint16_t>(element, 0),
                               dtype == DSV4RT_F16 ? 5 : 8));
  };
  for (int64_t i = 0; i < count; ++i)
    if (std::memcmp(a + i * width, b + i * width, width) != 0 &&
        !(isNan(a + i * width) && isNan(b + i * width)))
      return false;
  return true;
}

} // namespace dsv4::test
