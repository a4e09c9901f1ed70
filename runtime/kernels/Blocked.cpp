//===- Blocked.cpp - One matrix product, blocked and packed ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// for column blocks J              B block stays in the second cache
//   for row chunks I               all rows, if C itself can hold the chains
//     for k blocks, ascending      pack B[k block, J]
//       for tiles of rows in I     pack A[tile, k block], first cache
//         for panels of J          engine: chains of C[tile, panel] advance
//
// Between two k blocks the chains rest in C if it has the accumulator's type
// and contiguous columns, else in scratch, from where they are rounded once.
//
//===----------------------------------------------------------------------===//

#include "Blocked.h"
#include "Pack.h"

#include <algorithm>

namespace dsv4rt::kernels {

namespace {

template <typename T>
struct Scratch {
  static constexpr int64_t kCols = 1024 / sizeof(T);
  static constexpr int64_t kRestingChains = 128 * 1024 / sizeof(T);
  T a[kMaxTileRows * kLdA];
  T b[kBlockK * kCols];
  T c[kRestingChains];
};

union ThreadScratch {
  alignas(64) Scratch<float> f32;
  alignas(64) Scratch<double> f64;
};
static_assert(sizeof(ThreadScratch) <= 464 * 1024);

thread_local ThreadScratch threadScratch;

template <typename T>
Scratch<T> &getScratch();
template <>
Scratch<float> &getScratch<float>() {
  return threadScratch.f32;
}
template <>
Scratch<double> &getScratch<double>() {
  return threadScratch.f64;
}

template <typename T>
const TileEngine<T> &getTiles(const Engine &engine);
template <>
const TileEngine<float> &getTiles<float>(const Engine &engine) {
  return engine.f32;
}
template <>
const TileEngine<double> &getTiles<double>(const Engine &engine) {
  return engine.f64;
}

/// Rows and columns of C whose chains are advanced together.
template <typename T>
struct Chains {
  int64_t row, rows, col, cols;
  T *data;
  int64_t ld;
};

template <typename T>
class BlockedProduct {
public:
  BlockedProduct(const Engine &engine, const Product &product)
      : tiles(getTiles<T>(engine)), narrowRow(engine.narrow), product(product),
        scratch(getScratch<T>()) {}

  void run() {
    for (int64_t col = 0; col < product.n; col += Scratch<T>::kCols) {
      const int64_t cols = std::min(Scratch<T>::kCols, product.n - col);
      if (chainsRestInC())
        runInPlace(col, cols);
      else
        runInScratch(col, cols);
    }
  }

private:
  const TileEngine<T> &tiles;
  const NarrowFn narrowRow;
  const Product &product;
  Scratch<T> &scratch;
  int64_t packedCol = -1, packedK = -1;

  bool chainsRestInC() const {
    constexpr ElementType kType =
        sizeof(T) == sizeof(float) ? ElementType::F32 : ElementType::F64;
    return product.c.type == kType &&
           (product.c.colStride == 1 || product.n == 1);
  }

  T *getC(int64_t row, int64_t col) const {
    return static_cast<T *>(product.c.getBlock(row, col).getWritable());
  }

  void runInPlace(int64_t col, int64_t cols) {
    advance({0, product.m, col, cols, getC(0, col), product.c.rowStride});
  }

  void runInScratch(int64_t col, int64_t cols) {
    const int64_t ld = (cols + tiles.width - 1) / tiles.width * tiles.width;
    const int64_t step = Scratch<T>::kRestingChains / ld;
    for (int64_t row = 0; row < product.m; row += step) {
      const int64_t rows = std::min(step, product.m - row);
      if (product.accumulate)
        tiles.pack(scratch.c, ld, product.c.getBlock(row, col), rows, cols,
                   cols);
      const Chains<T> chains = {row, rows, col, cols, scratch.c, ld};
      advance(chains);
      writeBack(chains);
    }
  }

  void advance(const Chains<T> &chains) {
    for (int64_t k = 0; k < product.k; k += kBlockK) {
      const int64_t links = std::min(kBlockK, product.k - k);
      packB(chains.col, chains.cols, k, links);
      const int64_t numTiles =
          (chains.rows + tiles.tileRows - 1) / tiles.tileRows;
      int64_t row = 0;
      for (int64_t i = 0; i < numTiles; ++i) {
        // Tiles of nearly equal height: a low last one would be slow.
        const int64_t end = chains.rows * (i + 1) / numTiles;
        advanceTile(chains, row, end - row, k, links);
        row = end;
      }
    }
  }

  int64_t getPanelWidth(int64_t cols) const {
    return cols <= tiles.narrowWidth ? tiles.narrowWidth : tiles.width;
  }

  void packB(int64_t col, int64_t cols, int64_t k, int64_t links) {
    if (packedCol == col && packedK == k)
      return;
    packedCol = col;
    packedK = k;
    for (int64_t j = 0; j < cols; j += tiles.width) {
      const int64_t width = getPanelWidth(cols - j);
      tiles.pack(scratch.b + j * kBlockK, width, product.b.getBlock(k, col + j),
                 links, std::min(width, cols - j), width);
    }
  }

  void advanceTile(const Chains<T> &chains, int64_t row, int64_t rows,
                   int64_t k, int64_t links) {
    tiles.pack(scratch.a, kLdA, product.a.getBlock(chains.row + row, k), rows,
               links, links);
    const bool fromZero = k == 0 && !product.accumulate;
    T *c = chains.data + row * chains.ld;
    for (int64_t j = 0; j < chains.cols; j += tiles.width)
      tiles.tile(rows, std::min(tiles.width, chains.cols - j), links, scratch.a,
                 scratch.b + j * kBlockK, c + j, chains.ld, fromZero);
  }

  void writeBack(const Chains<T> &chains) {
    for (int64_t i = 0; i < chains.rows; ++i) {
      writeRow(product.c.getBlock(chains.row + i, chains.col),
               chains.data + i * chains.ld, chains.cols);
    }
  }

  void writeRow(const MatrixRef &to, const T *src, int64_t cols) const {
    const int64_t stride = to.colStride;
    if constexpr (sizeof(T) == sizeof(float)) {
      if (to.type == ElementType::BF16) {
        auto *dst = static_cast<uint16_t *>(to.getWritable());
        if (stride == 1)
          return narrowRow(dst, src, cols);
        for (int64_t j = 0; j < cols; ++j)
          dst[j * stride] = narrow(src[j]);
        return;
      }
    }
    auto *dst = static_cast<T *>(to.getWritable());
    for (int64_t j = 0; j < cols; ++j)
      dst[j * stride] = src[j];
  }
};

} // namespace

template <typename T>
void runBlocked(const Engine &engine, const Product &product) {
  BlockedProduct<T>(engine, product).run();
}

template void runBlocked<float>(const Engine &, const Product &);
template void runBlocked<double>(const Engine &, const Product &);

} // namespace dsv4rt::kernels
