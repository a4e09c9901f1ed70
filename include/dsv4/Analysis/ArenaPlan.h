//===- ArenaPlan.h - place buffers with known lifetimes --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_ARENAPLAN_H
#define DSV4_ANALYSIS_ARENAPLAN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::dsv4 {

/// One buffer: its size in bytes and the program points, both inclusive, between
/// which its contents matter.
struct ArenaBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// Where each buffer lies.
struct ArenaPlan {
  /// Byte offset of each buffer, a multiple of the alignment.
  SmallVector<int64_t> offsets;
  /// Size of the arena: the end of the highest buffer.
  int64_t peak = 0;
  /// The most (aligned) bytes alive at one point: no plan can be smaller.
  int64_t lowerBound = 0;
};

/// Attribute of the public function, later of the module: where buffers lie in
/// the work arena, as pairs of offset and size in bytes.
inline constexpr llvm::StringLiteral kWorkBuffersAttr = "dsv4.work_buffers";

/// Alignment of every buffer in an arena, in bytes.
inline constexpr int64_t kArenaAlignment = 64;

/// Places the buffers greedily, each at the lowest offset that is free during
/// its lifetime, once by decreasing size and once by decreasing size class
/// (sizes within a few percent in the given order), and keeps the smaller plan.
/// Deterministic. Buffers of zero bytes get offset 0.
ArenaPlan planArena(ArrayRef<ArenaBuffer> buffers);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_ARENAPLAN_H
