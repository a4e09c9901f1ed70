//===- AttentionGradTest.cpp - adjoint of attention -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CentralDifferences.h"
#include <map>

namespace {

std::string str(int64_t value) { return std::to_string(value); }

enum class Pool { None, All, Selected };

/// A part of a sequence: queries from `firstQuery`, keys from `firstKey`.
struct Problem {
  int64_t batch, queries, keys, heads, channels, window;
  Pool form = Pool::None;
  int64_t ratio = 0, windows = 0, selection = 0;
  int64_t firstQuery = 0, firstKey = 0;
};

template <typename T>
struct Data {
  explicit Data(const Problem &p)
      : query(makeRandom<T>(p.batch * p.queries * p.heads * p.channels, 1, 2.0)),
        keys(makeRandom<T>(p.batch * p.keys * p.channels, 2)),
        sink(makeRandom<Wide<T>>(p.heads, 3)),
        gradient(makeRandom<T>(query.size(), 6)),
        pool(makeRandom<T>(p.batch * std::max<int64_t>(p.windows, 1) * p.channels,
                           4)),
        selected(p.batch * p.queries * std::max<int64_t>(p.selection, 1), -1) {
    std::mt19937 generator(5);
    for (int64_t row = 0; row < p.batch * p.queries * (p.selection > 0); ++row) {
      int64_t position = p.firstQuery + row % p.queries, k = 0;
      for (int64_t w = 0; w < (position + 1) / p.ratio && k < p.selection; ++w)
        if (generator() % 3 != 0)
          selected[row * p.selection + k++] = w;
      // Out of range, or a window for the second time.
      if (k && generator() % 4 == 0)
        selected[row * p.selection + k - 1] = generator() % 2 ? p.windows : 0;
    }
  }
  std::vector<T> query, keys;
  std::vector<Wide<T>> sink;
  std::vector<T> gradient, pool;
  std::vector<int64_t> selected;
};

template <typename T>
struct Gradients {
  std::vector<T> query;
  std::vector<Wide<T>> keys, sink, pool;
};

template <typename T>
JitKernel &getKernel(const Problem &p, bool isGradient) {
  std::string text = isGradient ? R"(
    (%q: memref<$bx$tx$hx$dx$e>, %k: memref<$bx$sx$dx$e>, %sink: memref<$hx$w>, %c: memref<$bx$nx$dx$e>,
     %sel: memref<$bx$tx$jxi64>, %q0: index, %k0: index, %g: memref<$bx$tx$hx$dx$e>,
     %dq: memref<$bx$tx$hx$dx$e>, %dk: memref<$bx$sx$dx$w>, %ds: memref<$bx$tx$hx$w>, %dc: memref<$bx$nx$dx$w>) {
      dsv4.window_attention_grad {window = $window : i64, scale = 0.3 : f64, ratio = $ratio : i64}
        ins(%q, %k, %sink, %g, %q0, %k0 : memref<$bx$tx$hx$dx$e>, memref<$bx$sx$dx$e>, memref<$hx$w>, memref<$bx$tx$hx$dx$e>)
        $pool
        outs(%dq, %dk, %ds : memref<$bx$tx$hx$dx$e>, memref<$bx$sx$dx$w>, memref<$bx$tx$hx$w>)
        $grad
      return
    })"
                                : R"(
    (%q: memref<$bx$tx$hx$dx$e>, %k: memref<$bx$sx$dx$e>, %sink: memref<$hx$w>, %c: memref<$bx$nx$dx$e>,
     %sel: memref<$bx$tx$jxi64>, %q0: index, %k0: index, %o: memref<$bx$tx$hx$dx$e>) {
      dsv4.window_attention {window = $window : i64, scale = 0.3 : f64, ratio = $ratio : i64}
        ins(%q, %k, %sink, %q0, %k0 : memref<$bx$tx$hx$dx$e>, memref<$bx$sx$dx$e>, memref<$hx$w>)
        $pool
        outs(%o : memref<$bx$tx$hx$dx$e>)
      return
    })";
  bool hasPool = p.form != Pool::None;
  std::string pool = hasPool ? "pool(%c : memref<$bx$nx$dx$e>)" : "";
  if (p.form == Pool::Selected)
    pool += " selected(%sel : memref<$bx$tx$jxi64>)";
  text = substitute(
      text, {{"pool", pool},
             {"grad", hasPool ? "pool_grad(%dc : memref<$bx$nx$dx$w>)" : ""},
             {"window", str(p.window)},
             {"ratio", str(hasPool ? p.ratio : 0)},
             {"bx", str(p.batch) + "x"},
             {"tx", str(p.queries) + "x"},
             {"hx", str(p.heads) + "x"},
             {"dx", str(p.channels) + "x"},
             {"sx", str(p.keys) + "x"},
             {"nx", str(std::max<int64_t>(p.windows, 1)) + "x"},
             {"jx", str(std::max<int64_t>(p.selection, 1)) + "x"},
             {"e", TypeInfo<T>::name},
             {"w", TypeInfo<Wide<T>>::name}});
  // Never destroyed: the engine outlives no static object of LLVM.
  static auto *kernels = new std::map<std::string, JitKernel *>;
  JitKernel *&kernel = (*kernels)[text];
  if (!kernel)
    kernel = new JitKernel(text);
  return *kernel;
}

template <typename T>
std::vector<T> runForward(const Problem &p, Data<T> &d) {
  std::vector<T> out(d.query.size());
  getKernel<T>(p, false)(d.query.data(), d.keys.data(), d.sink.data(),
                         d.pool.data(), d.selected.data(), p.firstQuery,
                         p.firstKey, out.data());
  return out;
}

/// Twice between guard pages, so that reads and writes outside are seen.
template <typename T>
Gradients<T> runBackward(const Problem &p, const Data<T> &d) {
  using W = Wide<T>;
  std::vector<T> query(d.query.size(), T(NAN));
  std::vector<W> keys(d.keys.size(), W(NAN)), pool(d.pool.size(), W(NAN));
  std::vector<W> sink(p.batch * p.queries * p.heads, W(NAN));
  Gradients<T> results[2];
  for (bool atEnd : {false, true}) {
    Guarded q(d.query, atEnd), k(d.keys, atEnd), c(d.pool, atEnd);
    Guarded s(d.sink, atEnd);
    Guarded j(d.selected, atEnd);
    Guarded g(d.gradient, atEnd), dq(query, atEnd);
    Guarded dk(keys, atEnd), ds(sink, atEnd), dc(pool, atEnd);
    getKernel<T>(p, true)(q.data(), k.data(), s.data(), c.data(), j.data(),
                          p.firstQuery, p.firstKey, g.data(), dq.data(),
                          dk.data(), ds.data(), dc.data());
    Gradients<T> &r = results[atEnd];
    r.query.assign(dq.data(), dq.data() + query.size());
    r.keys.assign(dk.data(), dk.data() + keys.size());
    r.sink.assign(ds.data(), ds.data() + sink.size());
    if (p.form != Pool::None)
      r.pool.assign(dc.data(), dc.data() + pool.size());
  }
  EXPECT_TRUE(hasEqualBits(results[0].query, results[1].query));
  EXPECT_TRUE(hasEqualBits(results[0].keys, results[1].keys));
  EXPECT_TRUE(hasEqualBits(results[0].sink, results[1].sink));
  EXPECT_TRUE(hasEqualBits(results[0].pool, results[1].pool));
  return results[0];
}

template <typename W>
std::vector<W> sumTokens(const std::vector<W> &x, int64_t heads) {
  std::vector<W> sum(heads);
  for (size_t i = 0; i < x.size(); ++i)
    sum[i % heads] += x[i];
  return sum;
}

void testSlopes(const Problem &p) {
  Data<double> d(p);
  auto loss = [&] { return getDot(runForward(p, d), d.gradient); };
  Gradients<double> g = runBackward(p, d);
  expectSlopes("query", d.query, g.query, loss);
  expectSlopes("keys", d.keys, g.keys, loss);
  expectSlopes("sink", d.sink, sumTokens(g.sink, p.heads), loss);
  if (p.form != Pool::None)
    expectSlopes("pool", d.pool, g.pool, loss);
}

void testForms(Problem p) {
  for (Pool form : {Pool::None, Pool::All, Pool::Selected}) {
    p.form = form;
    testSlopes(p);
  }
}

TEST(AttentionGrad, EqualsSlopes) {
  testForms({2, 12, 12, 4, 8, 5, Pool::None, 4, 3, 2});
}

TEST(AttentionGrad, OddSizes) {
  testForms({1, 13, 13, 5, 7, 5, Pool::None, 3, 4, 3});
  testForms({2, 9, 9, 1, 1, 1, Pool::None, 2, 4, 1});
  testForms({1, 1, 1, 3, 1, 1, Pool::None, 1, 1, 1});
}

TEST(AttentionGrad, WindowBeyondSequence) {
  testForms({1, 10, 10, 3, 7, 40, Pool::None, 2, 5, 2});
  testForms({1, 6, 6, 2, 33, 33, Pool::None, 1, 40, 37});
}

/// Keys before the sequence, keys behind the queries, and a halo.
TEST(AttentionGrad, PartsOfASequence) {
  testForms({1, 6, 18, 3, 5, 7, Pool::None, 3, 6, 3, 6, 0});
  testForms({1, 6, 12, 3, 5, 7, Pool::None, 3, 6, 3, 6, 0});
  testForms({1, 6, 12, 2, 5, 7, Pool::None, 3, 6, 3, 6, 0});
  testForms({1, 6, 12, 2, 5, 7, Pool::None, 3, 6, 3, 0, -6});
}

TEST(AttentionGrad, SelectionOfNothing) {
  Problem p{1, 5, 5, 2, 6, 3, Pool::Selected, 2, 3, 4};
  Data<double> d(p);
  std::fill(d.selected.begin(), d.selected.end(), -1);
  Gradients<double> g = runBackward(p, d);
  EXPECT_EQ(g.pool, std::vector<double>(g.pool.size(), 0.0));
  Problem none = p;
  none.form = Pool::None;
  EXPECT_TRUE(hasEqualBits(g.query, runBackward(none, d).query));
  EXPECT_TRUE(hasEqualBits(g.keys, runBackward(none, d).keys));
}

TEST(AttentionGrad, SeveralBlocksOfQueries) {
  Problem p{1, 140, 140, 1, 3, 131, Pool::All, 4, 35, 0};
  testSlopes(p);
  p.form = Pool::Selected;
  p.selection = 9;
  testSlopes(p);
}

/// Narrower types against f64 on the same values.
template <typename T>
void testNarrow(const Problem &p, double tolerance) {
  Data<T> narrow(p);
  Data<double> wide(p);
  auto widen = [](const auto &from) {
    std::vector<double> to;
    for (auto value : from)
      to.push_back(static_cast<float>(value));
    return to;
  };
  wide.query = widen(narrow.query);
  wide.keys = widen(narrow.keys);
  wide.sink = widen(narrow.sink);
  wide.pool = widen(narrow.pool);
  wide.gradient = widen(narrow.gradient);
  Gradients<T> got = runBackward(p, narrow);
  Gradients<double> want = runBackward(p, wide);
  EXPECT_LE(getError(widen(got.query), want.query), tolerance);
  EXPECT_LE(getError(widen(got.keys), want.keys), 1e-5);
  EXPECT_LE(getError(widen(got.sink), want.sink), 1e-5);
  if (p.form != Pool::None)
    EXPECT_LE(getError(widen(got.pool), want.pool), 1e-5);
}

TEST(AttentionGrad, NarrowTypes) {
  Problem p{2, 24, 24, 6, 41, 8, Pool::Selected, 4, 6, 4};
  testNarrow<float>(p, 1e-5);
  testNarrow<BF16>(p, 8e-3);
  p.form = Pool::All;
  testNarrow<float>(p, 1e-5);
  testNarrow<BF16>(p, 8e-3);
}

/// Rows [from, from + count) of each batch row.
template <typename T>
std::vector<T> slice(const std::vector<T> &x, int64_t batch, int64_t length,
                     int64_t from, int64_t count) {
  int64_t width = x.size() / (batch * length);
  std::vector<T> part;
  for (int64_t b = 0; b < batch; ++b)
    part.insert(part.end(), &x[(b * length + from) * width],
                &x[(b * length + from) * width] + count * width);
  return part;
}

/// Ranks that hold parts of the queries: gradients of queries keep their bits,
/// those of keys are partial sums, and their bits do not depend on the buffer.
TEST(AttentionGrad, PartsAddUp) {
  Problem whole{2, 24, 24, 3, 16, 9, Pool::Selected, 4, 6, 4};
  Data<double> d(whole);
  Gradients<double> want = runBackward(whole, d);
  for (int64_t parts : {2, 3}) {
    std::vector<double> keys(want.keys.size()), pool(want.pool.size());
    for (int64_t part = 0; part < parts; ++part) {
      Problem p = whole;
      p.queries = 24 / parts;
      p.firstQuery = part * p.queries;
      Data<double> local = d;
      local.query = slice(d.query, 2, 24, p.firstQuery, p.queries);
      local.gradient = slice(d.gradient, 2, 24, p.firstQuery, p.queries);
      local.selected = slice(d.selected, 2, 24, p.firstQuery, p.queries);
      Gradients<double> got = runBackward(p, local);
      EXPECT_TRUE(hasEqualBits(
          got.query, slice(want.query, 2, 24, p.firstQuery, p.queries)));
      EXPECT_TRUE(hasEqualBits(
          got.sink, slice(want.sink, 2, 24, p.firstQuery, p.queries)));
      for (size_t i = 0; i < keys.size(); ++i)
        keys[i] += got.keys[i];
      for (size_t i = 0; i < pool.size(); ++i)
        pool[i] += got.pool[i];
      // The halo form.
      p.firstKey = std::max<int64_t>(p.firstQuery - 8, 0);
      p.keys = p.firstQuery + p.queries - p.firstKey;
      local.keys = slice(d.keys, 2, 24, p.firstKey, p.keys);
      EXPECT_TRUE(hasEqualBits(runBackward(p, local).keys,
                               slice(got.keys, 2, 24, p.firstKey, p.keys)));
    }
    EXPECT_LE(getError(keys, want.keys), 1e-14);
    EXPECT_LE(getError(pool, want.pool), 1e-14);
  }
}

} // namespace
