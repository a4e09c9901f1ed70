//===- ArenaPlan.cpp - place buffers with known lifetimes -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/ArenaPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

static int64_t getAlignedSize(const ArenaBuffer &buffer) {
  return llvm::alignTo(buffer.bytes, kArenaAlignment);
}

/// The most bytes alive at one program point.
static int64_t getLowerBound(ArrayRef<ArenaBuffer> buffers) {
  // (point, bytes gained): a buffer dies after its last point.
  SmallVector<std::pair<int64_t, int64_t>> events;
  for (const ArenaBuffer &buffer : buffers) {
    events.push_back({buffer.first, getAlignedSize(buffer)});
    events.push_back({buffer.last + 1, -getAlignedSize(buffer)});
  }
  llvm::sort(events); // deaths come before births at the same point
  int64_t alive = 0, most = 0;
  for (auto [point, bytes] : events)
    most = std::max(most, alive += bytes);
  return most;
}

/// The lowest offset where `buffer` overlaps none of the placed buffers that
/// live at the same time; `placed` is sorted by offset.
static int64_t findOffset(const ArenaBuffer &buffer,
                          ArrayRef<ArenaBuffer> buffers,
                          ArrayRef<std::pair<int64_t, size_t>> placed) {
  int64_t offset = 0;
  for (auto [start, index] : placed) {
    const ArenaBuffer &other = buffers[index];
    if (other.last < buffer.first || buffer.last < other.first)
      continue;
    if (offset + getAlignedSize(buffer) <= start)
      return offset;
    offset = std::max(offset, start + getAlignedSize(other));
  }
  return offset;
}

/// Places the buffers one by one in the given order.
static ArenaPlan placeInOrder(ArrayRef<ArenaBuffer> buffers,
                              ArrayRef<size_t> order) {
  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  SmallVector<std::pair<int64_t, size_t>> placed;
  for (size_t index : order) {
    if (buffers[index].bytes == 0)
      continue;
    int64_t offset = findOffset(buffers[index], buffers, placed);
    plan.offsets[index] = offset;
    plan.peak = std::max(plan.peak, offset + getAlignedSize(buffers[index]));
    std::pair<int64_t, size_t> entry(offset, index);
    placed.insert(llvm::upper_bound(placed, entry), entry);
  }
  return plan;
}

/// Sizes within a few percent are one class: a chain of nearly equal buffers is
/// then placed in program order and needs two places, not three.
static int64_t getSizeClass(const ArenaBuffer &buffer) {
  int64_t bytes = std::max<int64_t>(buffer.bytes, 1);
  int64_t step = std::max<int64_t>(int64_t(1) << llvm::Log2_64(bytes), 32) / 32;
  return llvm::divideCeil(bytes, step) * step;
}

ArenaPlan dsv4::planArena(ArrayRef<ArenaBuffer> buffers) {
  auto bySize = llvm::to_vector(llvm::seq<size_t>(0, buffers.size()));
  auto byClass = bySize;
  llvm::stable_sort(bySize, [&](size_t a, size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  llvm::stable_sort(byClass, [&](size_t a, size_t b) {
    return getSizeClass(buffers[a]) > getSizeClass(buffers[b]);
  });
  ArenaPlan plan = placeInOrder(buffers, bySize);
  ArenaPlan other = placeInOrder(buffers, byClass);
  if (other.peak < plan.peak)
    plan = std::move(other);
  plan.lowerBound = getLowerBound(buffers);
  return plan;
}
