//===- JitKernel.h - compile and call one kernel ---------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_JITKERNEL_H
#define DSV4_TEST_JITKERNEL_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

/// bf16 as memory holds it.
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  BF16(float value) {
    uint32_t raw;
    std::memcpy(&raw, &value, 4);
    bits = static_cast<uint16_t>((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16);
  }
  operator float() const {
    uint32_t raw = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &raw, 4);
    return value;
  }
};

template <typename T>
struct TypeInfo;
template <>
struct TypeInfo<float> {
  static constexpr const char *name = "f32";
  using Wide = float;
};
template <>
struct TypeInfo<double> {
  static constexpr const char *name = "f64";
  using Wide = double;
};
template <>
struct TypeInfo<BF16> {
  static constexpr const char *name = "bf16";
  using Wide = float;
};
template <typename T>
using Wide = typename TypeInfo<T>::Wide;

/// Replaces each `$name` of a kernel's text.
using Substitutions = std::vector<std::pair<std::string, std::string>>;
std::string substitute(std::string text, const Substitutions &values);

/// A kernel @k compiled for this processor.
class JitKernel {
public:
  /// `text` is a module, or the signature and body of one kernel:
  /// "(%a: memref<4xf32>) { ... return }". A workspace is added if an
  /// operation needs one.
  explicit JitKernel(const std::string &text);

  /// Pointers and integers, in argument order; the workspace is supplied.
  template <typename... Args>
  void operator()(Args... args) {
    std::vector<int64_t> words = {toWord(args)...};
    call(words);
  }

  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  static int64_t toWord(const void *pointer) {
    return reinterpret_cast<int64_t>(pointer);
  }
  static int64_t toWord(int64_t value) { return value; }
  static int64_t toWord(int value) { return value; }
  void call(std::vector<int64_t> words);

  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void *function = nullptr;
  int64_t workspaceBytes = 0;
  std::vector<char> workspace;
};

/// A copy of values between two pages that may not be touched: their first byte
/// follows the one page, or their last precedes the other.
template <typename T>
class Guarded {
public:
  Guarded(const std::vector<T> &values, bool atEnd) {
    size_t page = 4096, bytes = values.size() * sizeof(T);
    size_t inner = (bytes + page - 1) / page * page;
    size = inner + 2 * page;
    base = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, page, PROT_NONE);
    mprotect(base + page + inner, page, PROT_NONE);
    char *at = base + page + (atEnd ? inner - bytes : 0);
    std::memcpy(at, values.data(), bytes);
    begin = reinterpret_cast<T *>(at);
  }
  Guarded(const Guarded &) = delete;
  ~Guarded() { munmap(base, size); }
  T *data() { return begin; }

private:
  char *base;
  size_t size;
  T *begin;
};

/// Uniform values in [-scale, scale).
template <typename T>
std::vector<T> makeRandom(size_t count, unsigned seed, double scale = 1.0) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(static_cast<Wide<T>>(uniform(generator)));
  return values;
}

/// The sum of the contract: 32 lanes, ascending inside a lane, halves tree.
template <typename W, typename Op>
W reduceInLanes(size_t count, W identity, Op op,
                const std::function<W(size_t)> &value) {
  std::vector<W> lanes(32, identity);
  for (size_t i = 0; i < count; ++i)
    lanes[i % 32] = op(lanes[i % 32], value(i));
  for (size_t half = 16; half; half /= 2)
    for (size_t i = 0; i < half; ++i)
      lanes[i] = op(lanes[i], lanes[i + half]);
  return lanes[0];
}

template <typename T>
bool hasEqualBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         !std::memcmp(a.data(), b.data(), a.size() * sizeof(T));
}

/// The largest difference, relative to the largest entry of `b`.
template <typename T>
double getError(const std::vector<T> &a, const std::vector<T> &b) {
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    double x = static_cast<Wide<T>>(a[i]), y = static_cast<Wide<T>>(b[i]);
    worst = std::isfinite(x) && std::isfinite(y)
                ? std::max(worst, std::fabs(x - y))
                : (x == y ? worst : INFINITY);
    largest = std::max(largest, std::fabs(y));
  }
  return worst / largest;
}

/// Tolerance for a result stored as T.
template <typename T>
constexpr double getTolerance() {
  return std::is_same_v<T, double>  ? 1e-13
         : std::is_same_v<T, float> ? 2e-6
                                    : 8e-3;
}

#endif // DSV4_TEST_JITKERNEL_H
