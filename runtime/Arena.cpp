//===- Arena.cpp - Planned memory of a module -----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include <cstring>
#include <sys/mman.h>

namespace dsv4::rt {

/// Eight pattern bytes for the word at index `word`: a multiplicative hash, so
/// that neither zeros nor a copy of another place look untouched.
static uint64_t getPatternWord(uint64_t word) {
  uint64_t mixed = (word + 1) * 0x9E3779B97F4A7C15ull;
  return mixed ^ (mixed >> 29);
}

static unsigned char getPatternByte(uint64_t offset) {
  uint64_t word = getPatternWord(offset / 8);
  unsigned char bytes[8];
  std::memcpy(bytes, &word, 8);
  return bytes[offset % 8];
}

bool Arena::allocate(uint64_t size) {
  release();
  if (size == 0)
    return true;
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return false;
  data = static_cast<unsigned char *>(mapped);
  bytes = size;
  return true;
}

void Arena::release() {
  if (data)
    munmap(data, bytes);
  data = nullptr;
  bytes = 0;
}

void Arena::fillPattern() {
  uint64_t words = bytes / 8;
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t word = getPatternWord(i);
    std::memcpy(data + i * 8, &word, 8);
  }
  for (uint64_t i = words * 8; i < bytes; ++i)
    data[i] = getPatternByte(i);
}

uint64_t Arena::findTouchedEnd(uint64_t begin, uint64_t end) const {
  // Bytes down to a word boundary, then words, then the bytes of the word that
  // differs (or of the ragged start of the range).
  while (end > begin && end % 8 != 0) {
    if (data[end - 1] != getPatternByte(end - 1))
      return end;
    --end;
  }
  while (end >= begin + 8) {
    uint64_t word;
    std::memcpy(&word, data + end - 8, 8);
    if (word != getPatternWord(end / 8 - 1))
      break;
    end -= 8;
  }
  while (end > begin && data[end - 1] == getPatternByte(end - 1))
    --end;
  return end;
}

} // namespace dsv4::rt
