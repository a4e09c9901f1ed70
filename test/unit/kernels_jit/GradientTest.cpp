//===- GradientTest.cpp - adjoints of structured operations ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CentralDifferences.h"

namespace {

std::string str(int64_t value) { return std::to_string(value); }

using Doubles = std::vector<double>;

//===----------------------------------------------------------------------===//
// pool_windows
//===----------------------------------------------------------------------===//

struct PoolProblem {
  int64_t batch, windows, rows, tokens, channels;
  bool overlap;
  int64_t firstWindow = 0;
};

void testPool(const PoolProblem &p) {
  int64_t width = p.overlap ? 2 * p.channels : p.channels;
  Substitutions names = {{"overlap", p.overlap ? "{overlap}" : ""},
                         {"V", "memref<" + str(p.batch) + "x" + str(p.windows) +
                                   "x" + str(p.tokens) + "x" + str(width) +
                                   "xf64>"},
                         {"A", "memref<" + str(p.tokens) + "x" + str(width) +
                                   "xf64>"},
                         {"R", "memref<" + str(p.batch) + "x" + str(p.rows) +
                                   "x" + str(p.channels) + "xf64>"}};
  JitKernel forward(substitute(R"(
    (%v: $V, %g: $V, %a: $A, %w: index, %o: $R) {
      dsv4.pool_windows $overlap ins(%v, %g, %a, %w : $V, $V, $A) outs(%o : $R)
      return
    })",
                               names));
  JitKernel backward(substitute(R"(
    (%v: $V, %g: $V, %a: $A, %w: index, %d: $R, %dv: $V, %dg: $V) {
      dsv4.pool_windows_grad $overlap ins(%v, %g, %a, %d, %w : $V, $V, $A, $R)
        outs(%dv, %dg : $V, $V)
      return
    })",
                                names));
  size_t size = p.batch * p.windows * p.tokens * width;
  Doubles values = makeRandom<double>(size, 1), gate = makeRandom<double>(size, 2, 3);
  Doubles ape = makeRandom<double>(p.tokens * width, 3);
  Doubles gradient = makeRandom<double>(p.batch * p.rows * p.channels, 4);
  Doubles valuesGrad(size, NAN), gateGrad(size, NAN), apeGrad(ape.size());
  backward(values.data(), gate.data(), ape.data(), p.firstWindow,
           gradient.data(), valuesGrad.data(), gateGrad.data());
  for (size_t i = 0; i < size; ++i)
    apeGrad[i % ape.size()] += gateGrad[i];
  auto loss = [&] {
    Doubles out(gradient.size());
    forward(values.data(), gate.data(), ape.data(), p.firstWindow, out.data());
    return getDot(out, gradient);
  };
  expectSlopes("values", values, valuesGrad, loss);
  expectSlopes("gate", gate, gateGrad, loss);
  expectSlopes("ape", ape, apeGrad, loss);
}

TEST(PoolWindowsGrad, Overlap) {
  testPool({2, 4, 4, 4, 5, true});
  testPool({1, 1, 1, 1, 1, true});
  testPool({1, 3, 3, 2, 19, true});
}
TEST(PoolWindowsGrad, Plain) {
  testPool({2, 3, 3, 5, 7, false});
  testPool({1, 2, 2, 1, 17, false});
}
/// A part of the rows of gathered windows; other windows get zeros.
TEST(PoolWindowsGrad, PartOfTheRows) {
  testPool({2, 6, 2, 3, 5, true, 2});
  testPool({2, 6, 2, 3, 5, true, 4});
}

//===----------------------------------------------------------------------===//
// sinkhorn
//===----------------------------------------------------------------------===//

void testSinkhorn(int64_t batch, int64_t tokens, int64_t n, int64_t iterations) {
  Substitutions names = {
      {"attrs", "{iterations = " + str(iterations) + " : i64, eps = 1.0e-3 : f64}"},
      {"T", "memref<" + str(batch) + "x" + str(tokens) + "x" + str(n) + "x" +
                str(n) + "xf64>"}};
  JitKernel forward(substitute(
      "(%x: $T, %o: $T) { dsv4.sinkhorn $attrs ins(%x : $T) outs(%o : $T)\n"
      " return }",
      names));
  JitKernel backward(substitute("(%x: $T, %g: $T, %o: $T) { dsv4.sinkhorn_grad "
                                "$attrs ins(%x, %g : $T, $T) outs(%o : $T)\n"
                                " return }",
                                names));
  size_t size = batch * tokens * n * n;
  Doubles input = makeRandom<double>(size, 1, 2), gradient = makeRandom<double>(size, 2);
  Doubles got(size, NAN);
  backward(input.data(), gradient.data(), got.data());
  auto loss = [&] {
    Doubles out(size);
    forward(input.data(), out.data());
    return getDot(out, gradient);
  };
  expectSlopes("input", input, got, loss);
}

TEST(SinkhornGrad, EqualsSlopes) {
  testSinkhorn(2, 19, 4, 20);
  testSinkhorn(1, 16, 4, 2);
}
TEST(SinkhornGrad, OddSizes) {
  testSinkhorn(1, 1, 1, 1);
  testSinkhorn(1, 3, 5, 1);
  testSinkhorn(2, 5, 3, 7);
}

/// A token's bits do not depend on its neighbours.
TEST(SinkhornGrad, TokensAreIndependent) {
  auto run = [](int64_t tokens, const std::vector<float> &x,
                const std::vector<float> &g) {
    std::string type = "memref<1x" + str(tokens) + "x4x4xf32>";
    JitKernel kernel(substitute(
        "(%x: $T, %g: $T, %o: $T) { dsv4.sinkhorn_grad {iterations = 20 : i64, "
        "eps = 1.0e-6 : f64} ins(%x, %g : $T, $T) outs(%o : $T)\n return }",
        {{"T", type}}));
    std::vector<float> out(x.size());
    std::vector<float> input = x, gradient = g;
    kernel(input.data(), gradient.data(), out.data());
    return out;
  };
  auto x = makeRandom<float>(18 * 16, 1), g = makeRandom<float>(18 * 16, 2);
  auto all = run(18, x, g);
  auto part = [](const std::vector<float> &v) {
    return std::vector<float>(v.begin() + 13 * 16, v.begin() + 18 * 16);
  };
  EXPECT_TRUE(hasEqualBits(part(all), run(5, part(x), part(g))));
}

//===----------------------------------------------------------------------===//
// Reads by index
//===----------------------------------------------------------------------===//

TEST(ScatterAdd, AddsInOrder) {
  JitKernel kernel(R"(
    (%r: memref<2x9x35xbf16>, %i: memref<2x9xi64>, %o: memref<5x35xf32>) {
      dsv4.scatter_add ins(%r, %i : memref<2x9x35xbf16>, memref<2x9xi64>) outs(%o : memref<5x35xf32>)
      return
    })");
  auto rows = makeRandom<BF16>(18 * 35, 1);
  std::vector<int64_t> ids = {0, 4, 4, -1, 2, 5, 4, 0, 0, 2, 2, 4, 0, 99, 4, 3, 3, 0};
  std::vector<float> got(5 * 35, NAN), want(5 * 35);
  for (int64_t t = 0; t < 18; ++t)
    for (int64_t c = 0; c < 35; ++c)
      if (ids[t] >= 0 && ids[t] < 5)
        want[ids[t] * 35 + c] += float(rows[t * 35 + c]);
  for (bool atEnd : {false, true}) {
    Guarded r(rows, atEnd);
    Guarded i(ids, atEnd);
    Guarded o(got, atEnd);
    kernel(r.data(), i.data(), o.data());
    EXPECT_EQ(std::vector<float>(o.data(), o.data() + got.size()), want);
  }
}

TEST(ScatterAlong, AddsRepetitions) {
  JitKernel kernel(R"(
    (%g: memref<1x3x4xf32>, %i: memref<1x3x4xi64>, %o: memref<1x3x6xf32>) {
      dsv4.scatter_along ins(%g, %i : memref<1x3x4xf32>, memref<1x3x4xi64>) outs(%o : memref<1x3x6xf32>)
      return
    })");
  auto g = makeRandom<float>(12, 1);
  std::vector<int64_t> indices = {5, 0, 5, 5, -1, 6, 2, 1, 3, 3, 4, -7};
  std::vector<float> got(18, NAN), want(18);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t j = 0; j < 4; ++j)
      if (int64_t i = indices[t * 4 + j]; i >= 0 && i < 6)
        want[t * 6 + i] += g[t * 4 + j];
  kernel(g.data(), indices.data(), got.data());
  EXPECT_EQ(got, want);
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

/// Two rows of eleven tokens with three slots each; some have no expert.
struct Routing {
  static constexpr int64_t kRows = 66, kExperts = 5;
  std::vector<int64_t> experts, order, offsets;
  Routing() : offsets(kExperts + 1) {
    std::mt19937 generator(3);
    for (int64_t i = 0; i < kRows; ++i)
      // No token chooses expert 2.
      experts.push_back(std::array{-1, 0, 1, 3, 4}[generator() % 5]);
    for (int64_t e = 0; e <= kExperts; ++e) {
      offsets[e] = order.size();
      for (int64_t i = 0; i < kRows; ++i)
        if (experts[i] == (e < kExperts ? e : -1))
          order.push_back(i);
    }
  }
};

TEST(DispatchGrad, AddsRowsToTokens) {
  Routing r;
  JitKernel kernel(R"(
    (%g: memref<66x37xf32>, %o: memref<66xi64>, %d: memref<2x11x37xf32>) {
      dsv4.dispatch_rows_grad ins(%g, %o : memref<66x37xf32>, memref<66xi64>) outs(%d : memref<2x11x37xf32>)
      return
    })");
  auto rows = makeRandom<float>(66 * 37, 1);
  std::vector<float> got(22 * 37, NAN), want(22 * 37);
  kernel(rows.data(), r.order.data(), got.data());
  for (int64_t row = 0; row < 66; ++row)
    for (int64_t c = 0; c < 37; ++c)
      want[r.order[row] / 3 * 37 + c] += rows[row * 37 + c];
  EXPECT_EQ(got, want);
}

TEST(DispatchGrad, PutsWeightsBack) {
  Routing r;
  JitKernel kernel(R"(
    (%g: memref<66xf32>, %o: memref<66xi64>, %d: memref<2x11x3xf32>) {
      dsv4.dispatch_weights_grad ins(%g, %o : memref<66xf32>, memref<66xi64>) outs(%d : memref<2x11x3xf32>)
      return
    })");
  auto gradient = makeRandom<float>(66, 1);
  std::vector<float> got(66, NAN), want(66);
  kernel(gradient.data(), r.order.data(), got.data());
  for (int64_t row = 0; row < 66; ++row)
    want[r.order[row]] = gradient[row];
  EXPECT_EQ(got, want);
}

TEST(CombineGrad, RowsWithoutExpertGetZero) {
  Routing r;
  JitKernel kernel(R"(
    (%g: memref<2x11x9xf32>, %o: memref<66xi64>, %n: memref<6xi64>, %d: memref<66x9xbf16>) {
      dsv4.combine_rows_grad ins(%g, %o, %n : memref<2x11x9xf32>, memref<66xi64>, memref<6xi64>) outs(%d : memref<66x9xbf16>)
      return
    })");
  ASSERT_LT(r.offsets[5], 66);
  auto tokens = makeRandom<float>(22 * 9, 1);
  std::vector<BF16> got(66 * 9, BF16(NAN)), want(66 * 9);
  kernel(tokens.data(), r.order.data(), r.offsets.data(), got.data());
  for (int64_t row = 0; row < r.offsets[5]; ++row)
    for (int64_t c = 0; c < 9; ++c)
      want[row * 9 + c] = BF16(tokens[r.order[row] / 3 * 9 + c]);
  EXPECT_TRUE(hasEqualBits(got, want));
}

/// The two adjoints of a grouped product are one chain each.
template <typename A, typename B>
void testGrouped(int64_t in, int64_t out) {
  using W = Wide<A>;
  constexpr int64_t kRows = Routing::kRows, kExperts = Routing::kExperts;
  Substitutions names = {{"X", "memref<66x" + str(in) + "x" + TypeInfo<A>::name + ">"},
                         {"G", "memref<66x" + str(out) + "x" + TypeInfo<W>::name + ">"},
                         {"M", "memref<5x" + str(in) + "x" + str(out) + "x" + TypeInfo<B>::name + ">"},
                         {"D", "memref<5x" + str(in) + "x" + str(out) + "x" + TypeInfo<W>::name + ">"},
                         {"Y", "memref<66x" + str(in) + "x" + TypeInfo<W>::name + ">"}};
  JitKernel outer(substitute(R"(
    (%x: $X, %g: $G, %n: memref<6xi64>, %d: $D) {
      dsv4.grouped_outer ins(%x, %g, %n : $X, $G, memref<6xi64>) outs(%d : $D)
      return
    })",
                             names));
  JitKernel transposed(substitute(R"(
    (%g: $G, %m: $M, %n: memref<6xi64>, %d: $Y) {
      dsv4.grouped_matmul {transposed} ins(%g, %m, %n : $G, $M, memref<6xi64>) outs(%d : $Y)
      return
    })",
                                  names));
  Routing r;
  auto x = makeRandom<A>(kRows * in, 1);
  auto g = makeRandom<W>(kRows * out, 2);
  auto m = makeRandom<B>(kExperts * in * out, 3);
  std::vector<W> dm(kExperts * in * out, W(NAN)), wantM(dm.size());
  std::vector<W> dx(kRows * in, W(NAN)), wantX(dx.size());
  outer(x.data(), g.data(), r.offsets.data(), dm.data());
  transposed(g.data(), m.data(), r.offsets.data(), dx.data());
  for (int64_t e = 0; e < kExperts; ++e)
    for (int64_t row = r.offsets[e]; row < r.offsets[e + 1]; ++row)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t o = 0; o < out; ++o) {
          W &cell = wantM[(e * in + i) * out + o];
          cell = std::fma(W(x[row * in + i]), g[row * out + o], cell);
          W &entry = wantX[row * in + i];
          entry = std::fma(g[row * out + o], W(m[(e * in + i) * out + o]), entry);
        }
  EXPECT_TRUE(hasEqualBits(dm, wantM));
  EXPECT_TRUE(hasEqualBits(dx, wantX));
}

TEST(GroupedGrad, IsOneChain) {
  testGrouped<float, float>(16, 24);
  testGrouped<double, double>(9, 5);
  testGrouped<BF16, BF16>(13, 33);
}

} // namespace
