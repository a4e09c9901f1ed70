//===- EngineLibxsmm.cpp - Tiles by libxsmm -------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libxsmm is not always one chain per element: for some small shapes, and on
// processors without FMA, it adds several partial sums. So it is used
//
//   - only where the processor has FMA,
//   - only for the tile shapes below. libxsmm is column major: its m is our
//     panel width, its n our 32 rows, which is inside the range (m >= 32 or
//     n >= 12) where it was found to keep one chain,
//   - only after every kernel has reproduced the bits of our own tiles here.
//
// A tile is always computed whole, in a scratch copy of C. k is the sum of
// powers of two, each continuing the chains with beta = 1.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "Pack.h"

#if defined(DSV4_HAVE_LIBXSMM) && defined(__x86_64__)

#include <cstring>
#include <libxsmm.h>
#include <vector>

namespace dsv4rt::kernels {

namespace {

constexpr int64_t kRows = kMaxTileRows;
/// Powers of two up to kBlockK.
constexpr int kNumSteps = 9;
static_assert(int64_t(1) << (kNumSteps - 1) == kBlockK);

template <typename T>
struct Dispatch;

template <>
struct Dispatch<float> {
  using Kernel = libxsmm_smmfunction;
  static constexpr auto get = libxsmm_smmdispatch;
};
template <>
struct Dispatch<double> {
  using Kernel = libxsmm_dmmfunction;
  static constexpr auto get = libxsmm_dmmdispatch;
};

/// Kernels for C[32][Width] += A[32][2^step] * B[2^step][Width].
template <typename T, int64_t Width>
struct KernelSet {
  static inline typename Dispatch<T>::Kernel kernels[kNumSteps] = {};

  static bool dispatch() {
    const int ldB = Width, ldA = kLdA, ldC = Width, flags = 0, prefetch = 0;
    const T one = 1;
    for (int step = 0; step < kNumSteps; ++step) {
      kernels[step] = Dispatch<T>::get(Width, kRows, 1 << step, &ldB, &ldA,
                                       &ldC, &one, &one, &flags, &prefetch);
      if (!kernels[step])
        return false;
    }
    return true;
  }

  static void run(int64_t k, const T *a, const T *b, T *c) {
    for (int64_t done = 0; done < k;) {
      int step = kNumSteps - 1;
      while ((int64_t(1) << step) > k - done)
        --step;
      kernels[step](b + done * Width, a + done, c);
      done += int64_t(1) << step;
    }
  }
};

template <typename T, int64_t Width>
void libxsmmPanel(int64_t rows, int64_t cols, int64_t k, const T *a, const T *b,
                  T *c, int64_t ldc, bool fromZero) {
  alignas(64) T tile[kRows * Width] = {};
  const size_t bytes = static_cast<size_t>(cols) * sizeof(T);
  if (!fromZero)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(tile + i * Width, c + i * ldc, bytes);
  KernelSet<T, Width>::run(k, a, b, tile);
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(c + i * ldc, tile + i * Width, bytes);
}

template <typename T>
constexpr int64_t kPanelWidth = 256 / sizeof(T);

template <typename T>
void libxsmmTile(int64_t rows, int64_t cols, int64_t k, const T *a, const T *b,
                 T *c, int64_t ldc, bool fromZero) {
  constexpr int64_t kWide = kPanelWidth<T>, kSlim = kWide / 2;
  auto panel = cols > kSlim ? libxsmmPanel<T, kWide> : libxsmmPanel<T, kSlim>;
  panel(rows, cols, k, a, b, c, ldc, fromZero);
}

/// A number of either sign whose products round in f32 and f64.
double probeValue(uint64_t &state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (static_cast<double>(state >> 11) - 0x1p52) * 0x1p-52 / 3.0;
}

/// Whether the kernels of one width agree with chains of `fma` in every bit,
/// for each step alone and starting from values in C.
template <typename T, int64_t Width>
bool keepsChains() {
  if (!KernelSet<T, Width>::dispatch())
    return false;
  std::vector<T> a(kRows * kLdA), b(kBlockK * Width), start(kRows * Width);
  uint64_t state = 1;
  for (std::vector<T> *values : {&a, &b, &start})
    for (T &value : *values)
      value = static_cast<T>(probeValue(state));
  const Engine *reference = getPortableEngine();
  const TileEngine<T> &tiles = [&]() -> const TileEngine<T> & {
    if constexpr (sizeof(T) == sizeof(float))
      return reference->f32;
    else
      return reference->f64;
  }();
  std::vector<T> panel(kBlockK * tiles.width), expected, got;
  for (int64_t k = 1; k <= kBlockK; k *= 2) {
    expected = got = start;
    KernelSet<T, Width>::run(k, a.data(), b.data(), got.data());
    for (int64_t j = 0; j < Width; j += tiles.width) {
      const ElementType type =
          sizeof(T) == sizeof(float) ? ElementType::F32 : ElementType::F64;
      tiles.pack(panel.data(), tiles.width, {b.data() + j, type, Width, 1}, k,
                 tiles.width, tiles.width);
      for (int64_t i = 0; i < kRows; ++i)
        tiles.tile(1, tiles.width, k, a.data() + i * kLdA, panel.data(),
                   expected.data() + i * Width + j, Width, false);
    }
    if (std::memcmp(expected.data(), got.data(), got.size() * sizeof(T)) != 0)
      return false;
  }
  return true;
}

template <typename T>
bool bothWidthsKeepChains() {
  return keepsChains<T, kPanelWidth<T>>() &&
         keepsChains<T, kPanelWidth<T> / 2>();
}

const Engine *makeEngine() {
  if (!getAvx2Engine())
    return nullptr;
  libxsmm_init();
  if (!bothWidthsKeepChains<float>() || !bothWidthsKeepChains<double>())
    return nullptr;
  static constexpr Engine kEngine = {
      {kRows, kPanelWidth<float>, kPanelWidth<float> / 2, libxsmmTile<float>,
       packAvx2},
      {kRows, kPanelWidth<double>, kPanelWidth<double> / 2, libxsmmTile<double>,
       packAvx2},
      narrowAvx2};
  return &kEngine;
}

} // namespace

const Engine *getLibxsmmEngine() {
  static const Engine *const engine = makeEngine();
  return engine;
}

} // namespace dsv4rt::kernels

#else

namespace dsv4rt::kernels {
const Engine *getLibxsmmEngine() { return nullptr; }
} // namespace dsv4rt::kernels

#endif
