//===- Slicing.h - Which part of a tensor a rank holds ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are numbered row-major over the axes of the mesh. A dimension split
// over a list of axes is cut into equal parts, one per place in the group of
// these axes, again row-major over the list. If the size does not divide, the
// last parts are partly or wholly padding:
//
//   5 rows over 4 ranks, 2 on each:   [0 1] [2 3] [4 .] [. .]
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_SLICING_H
#define DSV4_EXECUTION_SLICING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dsv4 {

/// Where a rank stands among the ranks that split something.
struct RankPlace {
  int64_t index = 0;
  int64_t count = 1;

  bool operator==(const RankPlace &) const = default;
};

/// The place of `rank` in its group over `axes`, which are positions in
/// `axisSizes`. Without axes, the first of one.
RankPlace getRankPlace(llvm::ArrayRef<int64_t> axisSizes,
                       llvm::ArrayRef<unsigned> axes, int64_t rank);

/// One dimension of a rank's part: elements [begin, begin + valid) of `global`,
/// stored first in `local` elements.
struct DimSlice {
  int64_t global = 0;
  int64_t local = 0;
  int64_t begin = 0;
  int64_t valid = 0;

  bool operator==(const DimSlice &) const = default;
};

DimSlice getDimSlice(int64_t global, int64_t local, RankPlace place);

/// Elements [global, global + count) of a row-major tensor lie at
/// [local, local + count) of a rank's part.
struct SliceRun {
  int64_t global = 0;
  int64_t local = 0;
  int64_t count = 0;

  bool operator==(const SliceRun &) const = default;
};

/// Visits the elements of a part that are no padding, in as few runs as the
/// shapes allow, in ascending order. Without dimensions, one run of one
/// element.
void forEachRun(llvm::ArrayRef<DimSlice> dims,
                llvm::function_ref<void(const SliceRun &)> visit);

/// One parameter inside a flat buffer; `offset` in elements.
struct Segment {
  std::string name;
  int64_t offset = 0;
  std::vector<int64_t> shape;

  int64_t getNumElements() const;
};

/// Elements [begin, begin + count) of a segment's tensor lie at `local` of a
/// rank's shard.
struct SegmentPart {
  unsigned segment = 0;
  int64_t begin = 0;
  int64_t local = 0;
  int64_t count = 0;

  bool operator==(const SegmentPart &) const = default;
};

/// What slice `index` of `shard` elements holds of a flat buffer's parameters.
/// The rest of it is padding.
std::vector<SegmentPart> getSegmentParts(llvm::ArrayRef<Segment> segments,
                                         int64_t shard, int64_t index);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_SLICING_H
