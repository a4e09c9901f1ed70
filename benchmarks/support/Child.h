//===- Child.h - Measure in a process of its own ----------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_BENCHMARKS_CHILD_H
#define DSV4_BENCHMARKS_CHILD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace mlir::dsv4 {

/// What a process used until its end.
struct ChildUsage {
  uint64_t peakBytes = 0; // the largest resident size
  double cpuSeconds = 0.0;
};

/// Forks, calls `body` in the child, which fills `result` there and says
/// whether it worked, and copies the result back. None if it failed or died. To
/// be called before this process starts a thread.
std::optional<ChildUsage> runInChildBytes(llvm::MutableArrayRef<char> result,
                                          llvm::function_ref<bool()> body);

/// What a child measured, and what it used.
template <typename T>
struct ChildResult {
  T value;
  ChildUsage usage;
};

/// The same with a result of a plain type.
template <typename T>
std::optional<ChildResult<T>> runInChild(llvm::function_ref<bool(T &)> body) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value = {};
  std::optional<ChildUsage> usage =
      runInChildBytes({reinterpret_cast<char *>(&value), sizeof(value)},
                      [&] { return body(value); });
  if (!usage)
    return std::nullopt;
  return ChildResult<T>{value, *usage};
}

} // namespace mlir::dsv4

#endif // DSV4_BENCHMARKS_CHILD_H
