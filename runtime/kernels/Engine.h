//===- Engine.h - What a tile implementation provides -----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is cut into blocks of at most kBlockK links of the chains.
// Operands of a block are packed, widened to the accumulator type:
//
//   A block   rows of `kLdA` elements, k contiguous
//   B panel   k rows of `width` elements, missing columns filled with zeros
//
// and an engine advances the chains of a tile of C by one block. Which engine
// runs changes speed only: every one performs the same fma per (m, n, k).
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_KERNELS_ENGINE_H
#define DSV4_RUNTIME_KERNELS_ENGINE_H

#include <cstdint>

namespace dsv4rt::kernels {

/// Links of the chains in one packed block.
inline constexpr int64_t kBlockK = 256;
/// Row length of a packed A block. Not a power of two, so that the rows of a
/// tile do not fall into the same cache sets; a constant, so that the offset
/// of each row is part of the instruction.
inline constexpr int64_t kLdA = kBlockK + 16;
/// Most rows a tile of any engine has.
inline constexpr int64_t kMaxTileRows = 32;

enum class ElementType { F32, BF16, F64 };

inline int64_t getElementSize(ElementType type) {
  return type == ElementType::BF16 ? 2 : type == ElementType::F32 ? 4 : 8;
}

/// A strided matrix in memory, of any supported element type.
struct MatrixRef {
  const void *data;
  ElementType type;
  int64_t rowStride;
  int64_t colStride;

  /// The matrix that begins `elements` later in memory.
  MatrixRef offsetBy(int64_t elements) const {
    // In integers: without links the data of A and B may be null.
    const int64_t bytes = elements * getElementSize(type);
    MatrixRef moved = *this;
    moved.data = reinterpret_cast<const void *>(
        reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes));
    return moved;
  }

  /// The matrix whose origin is element (row, col).
  MatrixRef getBlock(int64_t row, int64_t col) const {
    return offsetBy(row * rowStride + col * colStride);
  }

  /// The matrix is an output: its memory was handed over as writable.
  void *getWritable() const { return const_cast<void *>(data); }
};

/// Writes `rows` x `cols` elements of `src` to `dst`, widened, with rows of
/// `ld` elements; columns from `cols` to `paddedCols` become zero.
template <typename T>
using PackFn = void (*)(T *dst, int64_t ld, const MatrixRef &src, int64_t rows,
                        int64_t cols, int64_t paddedCols);

/// Advances the chains of `rows` x `cols` elements of C by `k` links. Starts
/// at +0 if `fromZero`, else at C. Elements outside are neither read nor
/// written. A has rows of kLdA elements, B of `width`.
template <typename T>
using TileFn = void (*)(int64_t rows, int64_t cols, int64_t k, const T *a,
                        const T *b, T *c, int64_t ldc, bool fromZero);

/// Rounds `count` values to bf16, nearest even.
using NarrowFn = void (*)(uint16_t *dst, const float *src, int64_t count);

template <typename T>
struct TileEngine {
  int64_t tileRows;    ///< most rows of a tile
  int64_t width;       ///< columns of a B panel
  int64_t narrowWidth; ///< columns of a last panel that has no more than these
  TileFn<T> tile;
  PackFn<T> pack;
};

struct Engine {
  TileEngine<float> f32;
  TileEngine<double> f64;
  NarrowFn narrow;
};

/// Each returns null where the processor or the build lacks it.
const Engine *getScalarEngine();
const Engine *getAvx2Engine();
const Engine *getAvx512Engine();
const Engine *getLibxsmmEngine();

/// The fastest engine of this project for this processor. Never null.
const Engine *getPortableEngine();

/// The engine behind dsv4rt_contract. Never null.
const Engine *getDefaultEngine();

} // namespace dsv4rt::kernels

#endif // DSV4_RUNTIME_KERNELS_ENGINE_H
