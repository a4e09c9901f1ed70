//===- Arena.h - Planned memory of a module ---------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_ARENA_H
#define DSV4_RUNTIME_ARENA_H

#include <cstddef>
#include <cstdint>

namespace dsv4::rt {

/// A zero-filled range of memory, mapped but not touched until it is used.
class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { release(); }

  /// Maps `size` bytes; false when the system refuses. Zero bytes map nothing.
  bool allocate(uint64_t size);
  void release();

  void *getData() const { return data; }
  uint64_t getSize() const { return bytes; }

  /// Fill with a pattern that differs from byte to byte.
  void fillPattern();
  /// End of the highest byte in [begin, end) that differs from the pattern,
  /// `begin` when none does.
  uint64_t findTouchedEnd(uint64_t begin, uint64_t end) const;

private:
  unsigned char *data = nullptr;
  uint64_t bytes = 0;
};

} // namespace dsv4::rt

#endif // DSV4_RUNTIME_ARENA_H
