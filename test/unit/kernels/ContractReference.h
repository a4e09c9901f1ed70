//===- ContractReference.h - The definition, one fma at a time --*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_UNIT_KERNELS_CONTRACTREFERENCE_H
#define DSV4_TEST_UNIT_KERNELS_CONTRACTREFERENCE_H

#include "dsv4/Runtime/Kernels.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace dsv4rt::test {

using Desc = dsv4rt_contract_desc;

struct Types {
  uint32_t a, b, c;
  bool isWide() const { return c == DSV4RT_F64; }
};

inline constexpr uint32_t kF32 = DSV4RT_F32, kBF16 = DSV4RT_BF16,
                          kF64 = DSV4RT_F64;

/// Every combination that has a rule.
inline constexpr Types kAllTypes[] = {
    {kF32, kF32, kF32},   {kF32, kF32, kBF16},   {kF32, kBF16, kF32},
    {kF32, kBF16, kBF16}, {kBF16, kF32, kF32},   {kBF16, kF32, kBF16},
    {kBF16, kBF16, kF32}, {kBF16, kBF16, kBF16}, {kF64, kF64, kF64}};

inline std::string getName(const Types &t) {
  auto name = [](uint32_t dtype) {
    return dtype == kF32 ? "f32" : dtype == kBF16 ? "bf16" : "f64";
  };
  return std::string(name(t.a)) + "_" + name(t.b) + "_" + name(t.c);
}

inline constexpr const char *kEngineNames[] = {"auto", "scalar", "avx2",
                                               "avx512", "libxsmm"};

/// The nearer of the two bf16 neighbours, by distances in f64.
inline uint16_t roundToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const auto low = static_cast<uint16_t>(bits >> 16);
  const auto next = static_cast<uint16_t>(low + 1);
  if (std::isnan(value))
    return low | 0x40;
  if (std::isinf(value))
    return low;
  auto magnitude = [](uint16_t half) {
    // The neighbour above the largest finite number counts as 2^128.
    if ((half & 0x7fff) == 0x7f80)
      return 0x1p128;
    const uint32_t wide = static_cast<uint32_t>(half & 0x7fff) << 16;
    float result;
    std::memcpy(&result, &wide, 4);
    return static_cast<double>(result);
  };
  const double below = std::fabs(value) - magnitude(low);
  const double above = magnitude(next) - std::fabs(value);
  if (below == above)
    return (low & 1) ? next : low;
  return below < above ? low : next;
}

/// Elements of one type, in memory as the kernels see them.
class Buffer {
public:
  Buffer(uint32_t dtype, int64_t count)
      : dtype(dtype), bytes(static_cast<size_t>(count) * getSize()) {}

  size_t getSize() const { return dtype == kBF16 ? 2 : dtype == kF32 ? 4 : 8; }
  int64_t getCount() const {
    return static_cast<int64_t>(bytes.size() / getSize());
  }
  void *at(int64_t i) { return bytes.data() + i * stride(); }
  const void *at(int64_t i) const { return bytes.data() + i * stride(); }

  double get(int64_t i) const {
    if (dtype == kF64) {
      double value;
      std::memcpy(&value, at(i), 8);
      return value;
    }
    uint32_t bits = 0;
    if (dtype == kF32) {
      std::memcpy(&bits, at(i), 4);
    } else {
      uint16_t half;
      std::memcpy(&half, at(i), 2);
      bits = static_cast<uint32_t>(half) << 16;
    }
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }

  void set(int64_t i, double value) {
    const auto single = static_cast<float>(value);
    const uint16_t half = roundToBF16(single);
    if (dtype == kF64)
      std::memcpy(at(i), &value, 8);
    else if (dtype == kF32)
      std::memcpy(at(i), &single, 4);
    else
      std::memcpy(at(i), &half, 2);
  }

  /// Values of both signs over several binades.
  void fill(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < getCount(); ++i) {
      const uint64_t bits = random();
      const double mantissa = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
      set(i, std::ldexp(mantissa, static_cast<int>(bits % 6)));
    }
  }

  /// Same bits, or both NaN.
  bool equals(int64_t i, const Buffer &other, int64_t j) const {
    if (std::memcmp(at(i), other.at(j), getSize()) == 0)
      return true;
    return std::isnan(get(i)) && std::isnan(other.get(j));
  }

  const uint32_t dtype;

private:
  int64_t stride() const { return static_cast<int64_t>(getSize()); }
  std::vector<unsigned char> bytes;
};

inline Desc makeDesc(const Types &types, int64_t m, int64_t n, int64_t k) {
  Desc desc = {};
  desc.struct_size = sizeof(Desc);
  desc.a_dtype = types.a;
  desc.b_dtype = types.b;
  desc.c_dtype = types.c;
  desc.batch[0] = desc.batch[1] = desc.batch[2] = 1;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.a_m = k;
  desc.a_k = 1;
  desc.b_k = n;
  desc.b_n = 1;
  desc.c_m = n;
  desc.c_n = 1;
  return desc;
}

template <typename T>
T runChain(const Desc &d, const Buffer &a, int64_t ia, const Buffer &b,
           int64_t ib, T start) {
  for (int64_t k = 0; k < d.k; ++k)
    start = std::fma(static_cast<T>(a.get(ia + k * d.a_k)),
                     static_cast<T>(b.get(ib + k * d.b_k)), start);
  return start;
}

inline void computeElement(const Desc &d, const Buffer &a, int64_t ia,
                           const Buffer &b, int64_t ib, Buffer &c, int64_t ic) {
  const double start = d.accumulate ? c.get(ic) : 0.0;
  c.set(ic, c.dtype == kF64
                ? runChain<double>(d, a, ia, b, ib, start)
                : runChain<float>(d, a, ia, b, ib, static_cast<float>(start)));
}

/// The contraction by its definition; the origin of `c` is element `origin`.
inline void computeReference(const Desc &d, const Buffer &a, const Buffer &b,
                             Buffer &c, int64_t origin = 0) {
  const int64_t batches = d.batch[0] * d.batch[1] * d.batch[2];
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t at[3] = {batch / (d.batch[1] * d.batch[2]),
                           batch / d.batch[2] % d.batch[1], batch % d.batch[2]};
    auto base = [&](const int64_t(&strides)[3]) {
      return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
    };
    for (int64_t m = 0; m < d.m; ++m)
      for (int64_t n = 0; n < d.n; ++n)
        computeElement(d, a, base(d.a_batch) + m * d.a_m, b,
                       base(d.b_batch) + n * d.b_n, c,
                       origin + base(d.c_batch) + m * d.c_m + n * d.c_n);
  }
}

/// Number of elements that differ, memory around the result included.
inline int64_t countDifferences(const Buffer &x, const Buffer &y) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.getCount(); ++i)
    count += x.equals(i, y, i) ? 0 : 1;
  return count;
}

} // namespace dsv4rt::test

#endif // DSV4_TEST_UNIT_KERNELS_CONTRACTREFERENCE_H
