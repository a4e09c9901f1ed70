//===- LinalgTest.cpp - loops of linalg operations ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <functional>

#include "JitKernel.h"
#include "gtest/gtest.h"

static std::string str(int64_t value) { return std::to_string(value); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Elementwise, BroadcastsConstantsAndIndices) {
  JitKernel kernel(R"(
    (%a: memref<3x1x5xf32>, %b: memref<5xf32>, %r: memref<3x4x5xf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j, k) -> (i, 0, k)>, affine_map<(i, j, k) -> (k)>,
                         affine_map<(i, j, k) -> (i, j, k)>],
        iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %b : memref<3x1x5xf32>, memref<5xf32>) outs(%r : memref<3x4x5xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %j = linalg.index 1 : index
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %s = arith.mulf %x, %y : f32
        %t = arith.addf %s, %jf : f32
        linalg.yield %t : f32
      }
      return
    })");
  auto a = makeRandom<float>(15, 1), b = makeRandom<float>(5, 2);
  std::vector<float> got(60), want(60);
  kernel(a.data(), b.data(), got.data());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 5; ++k)
        want[(i * 4 + j) * 5 + k] = a[i * 5 + k] * b[k] + float(j);
  EXPECT_TRUE(hasEqualBits(got, want));
}

TEST(Elementwise, FillCopyTransposeAndStridedLayout) {
  JitKernel kernel(R"(
    (%a: memref<3x7xf32, strided<[16, 2]>>, %r: memref<7x3xf32>, %c: memref<3x7xf32>, %f: memref<4xf32>) {
      %v = arith.constant 2.5 : f32
      linalg.fill ins(%v : f32) outs(%f : memref<4xf32>)
      linalg.transpose ins(%a : memref<3x7xf32, strided<[16, 2]>>) outs(%r : memref<7x3xf32>) permutation = [1, 0]
      memref.copy %a, %c : memref<3x7xf32, strided<[16, 2]>> to memref<3x7xf32>
      return
    })");
  auto a = makeRandom<float>(48, 1);
  std::vector<float> transposed(21), copied(21), filled(4);
  kernel(a.data(), transposed.data(), copied.data(), filled.data());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7; ++j) {
      EXPECT_EQ(transposed[j * 3 + i], a[i * 16 + j * 2]);
      EXPECT_EQ(copied[i * 7 + j], a[i * 16 + j * 2]);
    }
  EXPECT_EQ(filled, std::vector<float>(4, 2.5f));
}

TEST(Elementwise, RoundsToBf16NearestEven) {
  JitKernel kernel(R"(
    (%a: memref<70000xf32>, %r: memref<70000xbf16>, %w: memref<70000xf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]}
        ins(%a : memref<70000xf32>) outs(%r, %w : memref<70000xbf16>, memref<70000xf32>) {
      ^bb0(%x: f32, %o: bf16, %p: f32):
        %t = arith.truncf %x : f32 to bf16
        %u = arith.extf %t : bf16 to f32
        linalg.yield %t, %u : bf16, f32
      }
      return
    })");
  std::vector<float> a = makeRandom<float>(70000, 3, 1e3), wide(70000);
  for (uint32_t i = 0; i < 65536; ++i) {
    uint32_t bits = 0x3F800000u + (i << 12);
    std::memcpy(&a[i], &bits, 4);
    if (std::isnan(a[i]))
      a[i] = 1.0f;
  }
  a[69999] = INFINITY;
  a[69998] = NAN;
  std::vector<BF16> got(70000);
  kernel(a.data(), got.data(), wide.data());
  for (int i = 0; i < 69998; ++i) {
    ASSERT_EQ(got[i].bits, BF16(a[i]).bits) << i;
    ASSERT_EQ(wide[i], float(BF16(a[i])));
  }
  EXPECT_TRUE(std::isnan(float(got[69998])));
  EXPECT_EQ(float(got[69999]), INFINITY);
}

TEST(InOrder, AccumulatesThroughShiftedOutput) {
  JitKernel kernel(R"(
    (%a: memref<3x4xf32>, %r: memref<6xf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + j)>],
        iterator_types = ["reduction", "reduction"]}
        ins(%a : memref<3x4xf32>) outs(%r : memref<6xf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.addf %x, %o : f32
        linalg.yield %t : f32
      }
      return
    })");
  auto a = makeRandom<float>(12, 3);
  std::vector<float> got(6), want(6);
  kernel(a.data(), got.data());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      want[i + j] = a[i * 4 + j] + want[i + j];
  EXPECT_TRUE(hasEqualBits(got, want));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// sum over j of x * x of [rows, size], from the init.
template <typename T>
static void testRowSum(int rows, int size) {
  using W = Wide<T>;
  bool isWide = std::is_same_v<T, W>;
  JitKernel kernel(substitute(
      R"(
    (%a: memref<$mx$nx$t>, %r: memref<$mx$w>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<$mx$nx$t>) outs(%r : memref<$mx$w>) {
      ^bb0(%x: $t, %o: $w):
        $cast
        %s = arith.mulf %v, %v : $w
        %t = arith.addf %o, %s : $w
        linalg.yield %t : $w
      }
      return
    })",
      {{"cast",
        isWide ? "%z = arith.constant 0.0 : $w\n%v = arith.subf %x, %z : $w"
               : "%v = arith.extf %x : $t to $w"},
       {"m", str(rows)},
       {"n", str(size)},
       {"t", TypeInfo<T>::name},
       {"w", TypeInfo<W>::name}}));
  auto a = makeRandom<T>(rows * size, 7);
  std::vector<W> got = makeRandom<W>(rows, 8), want = got;
  Guarded guarded(a, /*atEnd=*/true);
  kernel(guarded.data(), got.data());
  for (int i = 0; i < rows; ++i)
    want[i] += reduceInLanes<W>(size, W(0), std::plus<W>(), [&](size_t j) {
      W x = a[i * size + j];
      return x * x;
    });
  EXPECT_TRUE(hasEqualBits(got, want)) << TypeInfo<T>::name << " " << size;
}

TEST(Reduction, RowSumsAre32Lanes) {
  for (int size : {1, 2, 3, 4, 7, 24, 31, 32, 33, 63, 64, 100, 257}) {
    testRowSum<float>(3, size);
    testRowSum<BF16>(3, size);
  }
  testRowSum<double>(3, 100);
  testRowSum<double>(3, 5);
}

TEST(Reduction, OuterReducedDimensionsAscendInsideLanes) {
  JitKernel kernel(R"(
    (%a: memref<5x3x70xf32>, %r: memref<3xf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(j, i, k) -> (j, i, k)>, affine_map<(j, i, k) -> (i)>],
        iterator_types = ["reduction", "parallel", "reduction"]}
        ins(%a : memref<5x3x70xf32>) outs(%r : memref<3xf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.addf %x, %o : f32
        linalg.yield %t : f32
      }
      return
    })");
  auto a = makeRandom<float>(5 * 3 * 70, 9);
  std::vector<float> got(3), want(3);
  kernel(a.data(), got.data());
  for (int i = 0; i < 3; ++i) {
    float lanes[32] = {};
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 70; ++k)
        lanes[k % 32] += a[(j * 3 + i) * 70 + k];
    for (int half = 16; half; half /= 2)
      for (int l = 0; l < half; ++l)
        lanes[l] += lanes[l + half];
    want[i] = 0.0f + lanes[0];
  }
  EXPECT_TRUE(hasEqualBits(got, want));
}

/// Sum over the leading dimension: not contiguous, same order.
static void testColumnSum(int rows, int columns, bool isTransposed) {
  JitKernel kernel(substitute(
      R"(
    (%a: memref<$mx$nxf32, strided<[$s0, $s1]>>, %r: memref<$nxf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
        iterator_types = ["reduction", "parallel"]}
        ins(%a : memref<$mx$nxf32, strided<[$s0, $s1]>>) outs(%r : memref<$nxf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.addf %o, %x : f32
        linalg.yield %t : f32
      }
      return
    })",
      {{"m", str(rows)},
       {"n", str(columns)},
       {"s0", isTransposed ? "2" : str(columns)},
       {"s1", isTransposed ? str(2 * rows) : "1"}}));
  auto a = makeRandom<float>(2 * rows * columns, 10);
  std::vector<float> got(columns), want(columns);
  kernel(a.data(), got.data());
  for (int j = 0; j < columns; ++j)
    want[j] =
        0.0f + reduceInLanes<float>(rows, 0, std::plus<float>(), [&](size_t i) {
          return isTransposed ? a[2 * i + 2 * rows * j] : a[i * columns + j];
        });
  EXPECT_TRUE(hasEqualBits(got, want)) << rows << " " << columns;
}

TEST(Reduction, ColumnSumsHaveTheOrderOfRowSums) {
  for (int rows : {1, 3, 32, 45, 130})
    for (int columns : {1, 5, 16, 40}) {
      testColumnSum(rows, columns, false);
      testColumnSum(rows, columns, true);
    }
}

TEST(Reduction, MaximumKeepsNaNAndIntegersAdd) {
  JitKernel kernel(R"(
    (%a: memref<3x40xf32>, %m: memref<3xf32>, %b: memref<3x40xi64>, %s: memref<i64>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<3x40xf32>) outs(%m : memref<3xf32>) {
      ^bb0(%x: f32, %o: f32):
        %t = arith.maximumf %x, %o : f32
        linalg.yield %t : f32
      }
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
        iterator_types = ["reduction", "reduction"]}
        ins(%b : memref<3x40xi64>) outs(%s : memref<i64>) {
      ^bb0(%x: i64, %o: i64):
        %c = arith.constant 3 : i64
        %g = arith.cmpi sgt, %x, %c : i64
        %e = arith.extui %g : i1 to i64
        %t = arith.addi %e, %o : i64
        linalg.yield %t : i64
      }
      return
    })");
  auto a = makeRandom<float>(120, 11);
  a[47] = NAN;
  std::vector<float> highest(3, -INFINITY);
  std::vector<int64_t> b(120);
  for (int i = 0; i < 120; ++i)
    b[i] = i % 7;
  int64_t count = 5;
  kernel(a.data(), highest.data(), b.data(), &count);
  EXPECT_EQ(highest[0], *std::max_element(a.begin(), a.begin() + 40));
  EXPECT_TRUE(std::isnan(highest[1]));
  EXPECT_EQ(count, 5 + std::count_if(b.begin(), b.end(),
                                     [](int64_t x) { return x > 3; }));
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

static std::string getCast(const char *from, const char *to, const char *x,
                           const char *y) {
  std::string text = std::string("%") + y + " = ";
  if (std::string(from) == to)
    return text + "arith.addf %" + x + ", %zero : " + to;
  return text + "arith.extf %" + x + " : " + from + " to " + to;
}

/// r[b,m,n] += x[b,m,k] * y, with y [b,n,k] or [b,k,n].
template <typename A, typename B, typename C>
static void testContraction(int batch, int m, int n, int k, bool isTransposed) {
  using W = Wide<A>;
  const char *w = TypeInfo<W>::name;
  bool sameA = std::is_same_v<A, W>, sameB = std::is_same_v<B, W>;
  JitKernel kernel(substitute(
      R"(
    (%a: memref<$bx$mx$kx$ta>, %y: memref<$bx$ysx$tb>, %r: memref<$bx$mx$nx$tc>) {
      linalg.generic {
        indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, $ymap)>,
                         affine_map<(b, m, n, k) -> (b, m, n)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %y : memref<$bx$mx$kx$ta>, memref<$bx$ysx$tb>) outs(%r : memref<$bx$mx$nx$tc>) {
      ^bb0(%p: $ta, %q: $tb, %o: $tc):
        $casta
        $castb
        %s = arith.mulf $u, $v : $w
        $body
        linalg.yield %t : $tc
      }
      return
    })",
      {{"casta", sameA ? "" : getCast(TypeInfo<A>::name, w, "p", "pw")},
       {"castb", sameB ? "" : getCast(TypeInfo<B>::name, w, "q", "qw")},
       {"u", sameA ? "%p" : "%pw"},
       {"v", sameB ? "%q" : "%qw"},
       {"body", std::is_same_v<C, W>
                    ? "%t = arith.addf %o, %s : $w"
                    : "%e = arith.extf %o : $tc to $w\n%f = arith.addf "
                      "%e, %s : $w\n%t = arith.truncf %f : $w to $tc"},
       {"ta", TypeInfo<A>::name},
       {"tb", TypeInfo<B>::name},
       {"tc", TypeInfo<C>::name},
       {"w", w},
       {"ysx", isTransposed ? str(n) + "x" + str(k) + "x"
                            : str(k) + "x" + str(n) + "x"},
       {"ymap", isTransposed ? "n, k" : "k, n"},
       {"bx", str(batch) + "x"},
       {"mx", str(m) + "x"},
       {"nx", str(n) + "x"},
       {"kx", str(k) + "x"}}));
  auto a = makeRandom<A>(batch * m * k, 1);
  auto y = makeRandom<B>(batch * n * k, 2);
  std::vector<C> got = makeRandom<C>(batch * m * n, 3), want = got;
  kernel(a.data(), y.data(), got.data());
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        W sum = want[(b * m + i) * n + j];
        for (int l = 0; l < k; ++l) {
          W p = a[(b * m + i) * k + l];
          W q = isTransposed ? y[(b * n + j) * k + l] : y[(b * k + l) * n + j];
          sum = std::fma(p, q, sum);
        }
        want[(b * m + i) * n + j] = C(sum);
      }
  EXPECT_TRUE(hasEqualBits(got, want)) << m << "x" << n << "x" << k << " " << w;
}

TEST(Contraction, SmallIsOneChain) {
  for (bool isTransposed : {false, true}) {
    testContraction<float, float, float>(2, 3, 45, 7, isTransposed);
    testContraction<BF16, BF16, float>(2, 5, 24, 16, isTransposed);
    testContraction<BF16, BF16, BF16>(1, 4, 9, 30, isTransposed);
    testContraction<BF16, float, float>(2, 1, 8, 1, isTransposed);
    testContraction<double, double, double>(2, 3, 33, 17, isTransposed);
  }
}

TEST(Contraction, LargeIsTheSameChain) {
  for (bool isTransposed : {false, true}) {
    testContraction<float, float, float>(2, 33, 50, 40, isTransposed);
    testContraction<BF16, BF16, float>(2, 64, 24, 64, isTransposed);
    testContraction<BF16, BF16, BF16>(1, 64, 40, 64, isTransposed);
    testContraction<double, double, double>(1, 40, 40, 40, isTransposed);
  }
}

/// u[b,t,g,o] = sum over c of x[b,t,g,c] w[g,o,c]; reduced (t, c) in the
/// second.
TEST(Contraction, ManyLoopsBecomeBatches) {
  JitKernel kernel(R"(
    (%x: memref<2x32x2x40xf32>, %w: memref<2x40x40xf32>, %r: memref<2x32x2x40xf32>, %g: memref<2x40x40xf32>) {
      linalg.generic {
        indexing_maps = [affine_map<(b, t, g, o, c) -> (b, t, g, c)>, affine_map<(b, t, g, o, c) -> (g, o, c)>,
                         affine_map<(b, t, g, o, c) -> (b, t, g, o)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<2x32x2x40xf32>, memref<2x40x40xf32>) outs(%r : memref<2x32x2x40xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.mulf %p, %q : f32
        %t = arith.addf %o, %s : f32
        linalg.yield %t : f32
      }
      linalg.generic {
        indexing_maps = [affine_map<(b, t, g, o, c) -> (b, t, g, o)>, affine_map<(b, t, g, o, c) -> (b, t, g, c)>,
                         affine_map<(b, t, g, o, c) -> (g, o, c)>],
        iterator_types = ["reduction", "reduction", "parallel", "parallel", "parallel"]}
        ins(%r, %x : memref<2x32x2x40xf32>, memref<2x32x2x40xf32>) outs(%g : memref<2x40x40xf32>) {
      ^bb0(%p: f32, %q: f32, %o: f32):
        %s = arith.mulf %p, %q : f32
        %t = arith.addf %o, %s : f32
        linalg.yield %t : f32
      }
      return
    })");
  auto x = makeRandom<float>(2 * 32 * 2 * 40, 1),
       w = makeRandom<float>(2 * 40 * 40, 2);
  std::vector<float> r(x.size()), r2(x.size()), g(w.size()), g2(w.size());
  kernel(x.data(), w.data(), r.data(), g.data());
  for (int bt = 0; bt < 64; ++bt)
    for (int i = 0; i < 2; ++i)
      for (int o = 0; o < 40; ++o)
        for (int c = 0; c < 40; ++c) {
          float &sum = r2[(bt * 2 + i) * 40 + o];
          sum =
              std::fma(x[(bt * 2 + i) * 40 + c], w[(i * 40 + o) * 40 + c], sum);
        }
  EXPECT_TRUE(hasEqualBits(r, r2));
  for (int bt = 0; bt < 64; ++bt)
    for (int i = 0; i < 2; ++i)
      for (int o = 0; o < 40; ++o)
        for (int c = 0; c < 40; ++c) {
          float &sum = g2[(i * 40 + o) * 40 + c];
          sum =
              std::fma(r[(bt * 2 + i) * 40 + o], x[(bt * 2 + i) * 40 + c], sum);
        }
  EXPECT_TRUE(hasEqualBits(g, g2));
}
