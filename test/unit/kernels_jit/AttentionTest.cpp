//===- AttentionTest.cpp - attention against plain loops ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "gtest/gtest.h"
#include <map>

namespace {

std::string str(int64_t value) { return std::to_string(value); }

/// Sizes of a whole sequence; a kernel sees a part of the queries and keys.
struct Problem {
  int64_t batch, length, heads, channels, window;
  int64_t ratio = 0, windows = 0, selection = 0;
};

enum class Pool { None, All, Selected };

template <typename T>
struct Data {
  explicit Data(const Problem &p)
      : query(makeRandom<T>(p.batch * p.length * p.heads * p.channels, 1, 3.0)),
        keys(makeRandom<T>(p.batch * p.length * p.channels, 2)),
        sink(makeRandom<Wide<T>>(p.heads, 3)),
        pool(makeRandom<T>(p.batch * p.windows * p.channels, 4)),
        selected(p.batch * p.length * p.selection, -1) {
    std::mt19937 generator(5);
    for (int64_t row = 0; row < p.batch * p.length; ++row) {
      int64_t visible = p.ratio ? (row % p.length + 1) / p.ratio : 0, k = 0;
      for (int64_t w = 0; w < visible && k < p.selection; ++w)
        if (generator() % 3 != 0)
          selected[row * p.selection + k++] = w;
      // Out of range, before the end of the list: none.
      if (k && generator() % 4 == 0)
        selected[row * p.selection + k - 1] = generator() % 2 ? p.windows : -7;
    }
  }
  std::vector<T> query, keys;
  std::vector<Wide<T>> sink;
  std::vector<T> pool;
  std::vector<int64_t> selected;
};

/// Copies rows [from, from + count) of each batch row; rows outside are NaN.
template <typename T>
std::vector<T> slice(const std::vector<T> &x, int64_t batch, int64_t length,
                     int64_t from, int64_t count) {
  int64_t width = x.size() / (batch * length);
  std::vector<T> part(batch * count * width, T(NAN));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = std::max<int64_t>(from, 0);
         i < std::min(from + count, length); ++i)
      std::copy_n(&x[(b * length + i) * width], width,
                  &part[(b * count + i - from) * width]);
  return part;
}
template <>
std::vector<int64_t> slice(const std::vector<int64_t> &x, int64_t batch,
                           int64_t length, int64_t from, int64_t count) {
  int64_t width = x.size() / (batch * length);
  std::vector<int64_t> part;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = from; i < from + count; ++i)
      part.insert(part.end(), &x[(b * length + i) * width],
                  &x[(b * length + i) * width] + width);
  return part;
}

template <typename T>
std::vector<T> run(const Problem &p, Pool form, const Data<T> &data,
                   int64_t firstQuery, int64_t queries, int64_t firstKey,
                   int64_t keyRows) {
  std::string text = R"(
    (%q: memref<$bx$tx$hx$dx$e>, %k: memref<$bx$sx$dx$e>, %sink: memref<$hx$w>,
     %c: memref<$bx$nx$dx$e>, %sel: memref<$bx$tx$jxi64>, %o: memref<$bx$tx$hx$dx$e>,
     %q0: index, %k0: index) {
      dsv4.window_attention {window = $window : i64, scale = 0.3 : f64, ratio = $ratio : i64}
        ins(%q, %k, %sink, %q0, %k0 : memref<$bx$tx$hx$dx$e>, memref<$bx$sx$dx$e>, memref<$hx$w>)
        $pool
        outs(%o : memref<$bx$tx$hx$dx$e>)
      return
    })";
  std::string pool = form == Pool::None ? "" : "pool(%c : memref<$bx$nx$dx$e>)";
  if (form == Pool::Selected)
    pool += " selected(%sel : memref<$bx$tx$jxi64>)";
  text = substitute(text, {{"pool", pool},
                           {"window", str(p.window)},
                           {"ratio", str(form == Pool::None ? 0 : p.ratio)},
                           {"bx", str(p.batch) + "x"},
                           {"tx", str(queries) + "x"},
                           {"hx", str(p.heads) + "x"},
                           {"dx", str(p.channels) + "x"},
                           {"sx", str(keyRows) + "x"},
                           {"nx", str(std::max<int64_t>(p.windows, 1)) + "x"},
                           {"jx", str(std::max<int64_t>(p.selection, 1)) + "x"},
                           {"e", TypeInfo<T>::name},
                           {"w", TypeInfo<Wide<T>>::name}});
  // One program serves every rank: parts differ in their offsets only.
  // Never destroyed: the engine outlives no static object of LLVM.
  static auto *kernels = new std::map<std::string, JitKernel *>;
  JitKernel *&kernel = (*kernels)[text];
  if (!kernel)
    kernel = new JitKernel(text);
  auto query = slice(data.query, p.batch, p.length, firstQuery, queries);
  auto keys = slice(data.keys, p.batch, p.length, firstKey, keyRows);
  std::vector<int64_t> selected(1);
  if (p.selection)
    selected = slice(data.selected, p.batch, p.length, firstQuery, queries);
  std::vector<T> out(query.size()), again(query.size());
  // Twice, so that reads before and behind every buffer are seen.
  for (bool atEnd : {false, true}) {
    Guarded q(query, atEnd), k(keys, atEnd), c(data.pool, atEnd), o(out, atEnd);
    Guarded s(data.sink, atEnd);
    Guarded j(selected, atEnd);
    (*kernel)(q.data(), k.data(), s.data(), c.data(), j.data(), o.data(),
              firstQuery, firstKey);
    std::copy_n(o.data(), out.size(), atEnd ? out.data() : again.data());
  }
  EXPECT_TRUE(hasEqualBits(out, again));
  return out;
}

/// Plain loops in f64.
template <typename T>
std::vector<double> getReference(const Problem &p, Pool form,
                                 const Data<T> &data) {
  std::vector<double> out(data.query.size());
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t t = 0; t < p.length; ++t) {
      std::vector<const T *> rows;
      for (int64_t s = std::max<int64_t>(0, t - p.window + 1); s <= t; ++s)
        rows.push_back(&data.keys[(b * p.length + s) * p.channels]);
      int64_t pooled = form == Pool::None ? 0
                       : form == Pool::All
                           ? std::min((t + 1) / p.ratio, p.windows)
                           : p.selection;
      for (int64_t k = 0; k < pooled; ++k) {
        int64_t w = form == Pool::All
                        ? k
                        : data.selected[(b * p.length + t) * p.selection + k];
        if (w >= 0 && w < p.windows)
          rows.push_back(&data.pool[(b * p.windows + w) * p.channels]);
      }
      for (int64_t h = 0; h < p.heads; ++h) {
        int64_t at = ((b * p.length + t) * p.heads + h) * p.channels;
        double den = std::exp(double(data.sink[h]));
        for (const T *row : rows) {
          double dot = 0;
          for (int64_t d = 0; d < p.channels; ++d)
            dot +=
                double(Wide<T>(data.query[at + d])) * double(Wide<T>(row[d]));
          double weight = std::exp(dot * 0.3);
          den += weight;
          for (int64_t d = 0; d < p.channels; ++d)
            out[at + d] += weight * double(Wide<T>(row[d]));
        }
        for (int64_t d = 0; d < p.channels; ++d)
          out[at + d] /= den;
      }
    }
  return out;
}

template <typename T>
void testAgainstLoops(const Problem &p, Pool form) {
  Data<T> data(p);
  auto got = run(p, form, data, 0, p.length, 0, p.length);
  auto want = getReference(p, form, data);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::fabs(double(Wide<T>(got[i])) - want[i]));
  EXPECT_LE(worst, getTolerance<T>()) << TypeInfo<T>::name << " W=" << p.window;
}

template <typename T>
void testForms(const Problem &p) {
  testAgainstLoops<T>(p, Pool::None);
  testAgainstLoops<T>(p, Pool::All);
  testAgainstLoops<T>(p, Pool::Selected);
}

TEST(Attention, EqualsPlainLoops) {
  Problem tiny{2, 24, 4, 32, 8, 4, 6, 4};
  testForms<float>(tiny);
  testForms<double>(tiny);
  testForms<BF16>(tiny);
}

TEST(Attention, OddSizes) {
  testForms<float>({1, 13, 5, 7, 5, 3, 4, 3});
  testForms<float>({2, 9, 1, 1, 1, 2, 4, 1});
  testForms<double>({1, 10, 3, 7, 40, 2, 5, 2});
  testForms<BF16>({1, 40, 6, 41, 33, 1, 40, 37});
  testForms<float>({1, 1, 1, 3, 1, 1, 1, 1});
}

TEST(Attention, SeveralBlocksOfQueries) {
  Problem p{1, 300, 2, 8, 130, 4, 75, 9};
  testForms<float>(p);
}

/// The same rows computed in parts, with whole, halo and tight key buffers.
template <typename T>
void testSplits(const Problem &p, Pool form) {
  Data<T> data(p);
  auto whole = run(p, form, data, 0, p.length, 0, p.length);
  int64_t rowSize = p.heads * p.channels;
  for (int64_t parts : {2, 3}) {
    int64_t size = p.length / parts;
    for (int64_t part = 0; part < parts; ++part) {
      int64_t first = part * size, halo = p.window - 1;
      auto want = slice(whole, p.batch, p.length, first, size);
      ASSERT_EQ(int64_t(want.size()), p.batch * size * rowSize);
      // Keys before the sequence do not exist: their rows are never used.
      for (auto [firstKey, rows] : {std::pair(int64_t(0), p.length),
                                    std::pair(first - halo, size + halo),
                                    std::pair(int64_t(0), first + size)}) {
        auto got = run(p, form, data, first, size, firstKey, rows);
        EXPECT_TRUE(hasEqualBits(got, want))
            << TypeInfo<T>::name << " part " << part << " of " << parts
            << ", keys from " << firstKey;
      }
    }
  }
}

TEST(Attention, BitsDoNotDependOnTheSplit) {
  Problem p{2, 24, 3, 16, 9, 4, 6, 4};
  for (Pool form : {Pool::None, Pool::All, Pool::Selected}) {
    testSplits<float>(p, form);
    testSplits<double>(p, form);
    testSplits<BF16>(p, form);
  }
  testSplits<float>({1, 288, 1, 8, 100, 16, 18, 4}, Pool::All);
}

/// An all-gathered pool has more rows than a query sees: they do not matter.
TEST(Attention, BitsDoNotDependOnInvisibleWindows) {
  Problem p{1, 24, 2, 8, 5, 4, 6, 4}, larger = p;
  larger.windows = 50;
  Data<float> data(p), more(larger);
  std::copy(data.pool.begin(), data.pool.end(), more.pool.begin());
  more.selected = data.selected;
  for (int64_t &w : more.selected)
    w = w == p.windows ? -1 : w;
  for (Pool form : {Pool::All, Pool::Selected})
    EXPECT_TRUE(hasEqualBits(run(p, form, data, 0, 24, 0, 24),
                             run(larger, form, more, 0, 24, 0, 24)));
}

} // namespace
