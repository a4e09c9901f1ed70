//===- Slicing.cpp - Which part of a tensor a rank holds ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Slicing.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::dsv4;

RankPlace mlir::dsv4::getRankPlace(llvm::ArrayRef<int64_t> axisSizes,
                                   llvm::ArrayRef<unsigned> axes,
                                   int64_t rank) {
  std::vector<int64_t> coordinates(axisSizes.size());
  for (size_t i = axisSizes.size(); i-- > 0; rank /= axisSizes[i])
    coordinates[i] = rank % axisSizes[i];
  RankPlace place;
  for (unsigned axis : axes) {
    place.index = place.index * axisSizes[axis] + coordinates[axis];
    place.count *= axisSizes[axis];
  }
  return place;
}

DimSlice mlir::dsv4::getDimSlice(int64_t global, int64_t local,
                                 RankPlace place) {
  int64_t begin = std::min(place.index * local, global);
  return {global, local, begin, std::min(local, global - begin)};
}

void mlir::dsv4::forEachRun(llvm::ArrayRef<DimSlice> dims,
                            llvm::function_ref<void(const SliceRun &)> visit) {
  // The last dimensions that are held whole, and one more, form a run.
  int64_t globalStride = 1, localStride = 1;
  while (!dims.empty() && dims.back().valid == dims.back().global &&
         dims.back().valid == dims.back().local) {
    globalStride *= dims.back().global;
    localStride *= dims.back().local;
    dims = dims.drop_back();
  }
  SliceRun run{0, 0, globalStride};
  if (!dims.empty()) {
    run = {dims.back().begin * globalStride, 0,
           dims.back().valid * globalStride};
    globalStride *= dims.back().global;
    localStride *= dims.back().local;
    dims = dims.drop_back();
  }
  if (run.count == 0 ||
      llvm::any_of(dims, [](const DimSlice &dim) { return dim.valid == 0; }))
    return;

  // Count through the other dimensions, the last one fastest.
  std::vector<int64_t> index(dims.size());
  while (true) {
    SliceRun moved = run;
    int64_t global = globalStride, local = localStride;
    for (size_t i = dims.size(); i-- > 0;) {
      moved.global += (dims[i].begin + index[i]) * global;
      moved.local += index[i] * local;
      global *= dims[i].global;
      local *= dims[i].local;
    }
    visit(moved);
    size_t i = dims.size();
    while (i > 0 && ++index[i - 1] == dims[i - 1].valid)
      index[--i] = 0;
    if (i == 0)
      return;
  }
}

int64_t Segment::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::vector<SegmentPart>
mlir::dsv4::getSegmentParts(llvm::ArrayRef<Segment> segments, int64_t shard,
                            int64_t index) {
  int64_t begin = shard * index, end = begin + shard;
  std::vector<SegmentPart> parts;
  for (auto [i, segment] : llvm::enumerate(segments)) {
    int64_t first = std::max(segment.offset, begin);
    int64_t last = std::min(segment.offset + segment.getNumElements(), end);
    if (first < last)
      parts.push_back({static_cast<unsigned>(i), first - segment.offset,
                       first - begin, last - first});
  }
  return parts;
}
