//===- BenchContract.cpp - Speed of contractions --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line per shape, types and layout: GFLOP/s of dsv4rt_contract, packing
// and rounding included, and its ratio to libxsmm called directly in f32 (f64)
// on blocks of at most 64 x 64 x 256 that are packed already, with one block of
// C for all. The two take turns, so that a busy machine slows both.
//
//   bench-contract [engine]     auto (default), scalar, avx2, avx512, libxsmm
//
//===----------------------------------------------------------------------===//

#include "dsv4/Runtime/Kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#ifdef DSV4_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

namespace {

struct Shape {
  int64_t batch, m, n, k;
};

constexpr Shape kShapes[] = {
    {1, 64, 24, 32},      {1, 64, 64, 64},      {1, 128, 24, 64},
    {1, 128, 96, 32},     {1, 128, 64, 256},    {32, 128, 128, 64},
    {1, 1024, 256, 64},   {1, 1024, 512, 128},  {1, 512, 1024, 256},
    {1, 1024, 2048, 256}, {1, 1024, 1024, 1024}};

struct Variant {
  const char *name;
  uint32_t in, out;
  bool transposedB;
};

constexpr Variant kVariants[] = {
    {"f32 NN", DSV4RT_F32, DSV4RT_F32, false},
    {"f32 NT", DSV4RT_F32, DSV4RT_F32, true},
    {"bf16>f32 NT", DSV4RT_BF16, DSV4RT_F32, true},
    {"bf16>bf16 NT", DSV4RT_BF16, DSV4RT_BF16, true},
    {"f64 NT", DSV4RT_F64, DSV4RT_F64, true}};

double getSeconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Something to be timed, and its operations.
struct Subject {
  std::function<void()> call;
  double flops = 0;
  double best = 1e30;
  int calls = 1;
};

/// About 4 ms of calls.
void repeat(Subject &subject) {
  const double start = getSeconds();
  for (int i = 0; i < subject.calls; ++i)
    subject.call();
  const double each = (getSeconds() - start) / subject.calls;
  subject.best = std::min(subject.best, each);
  subject.calls = std::max(1, static_cast<int>(4e-3 / subject.best));
}

double getRate(const Subject &subject) {
  return subject.flops / subject.best * 1e-9;
}

size_t getSize(uint32_t dtype) {
  return dtype == DSV4RT_BF16 ? 2 : dtype == DSV4RT_F32 ? 4 : 8;
}

/// Values between 1 and 2.
std::vector<unsigned char> makeOperand(uint32_t dtype, int64_t count) {
  std::vector<unsigned char> bytes(static_cast<size_t>(count) * getSize(dtype));
  for (int64_t i = 0; i < count; ++i) {
    const double value = 1.0 + static_cast<double>(i % 97) / 128.0;
    const float single = static_cast<float>(value);
    const void *source = &value;
    if (dtype == DSV4RT_F32)
      source = &single;
    else if (dtype == DSV4RT_BF16)
      source = reinterpret_cast<const unsigned char *>(&single) + 2;
    std::memcpy(&bytes[static_cast<size_t>(i) * getSize(dtype)], source,
                getSize(dtype));
  }
  return bytes;
}

dsv4rt_contract_desc makeDesc(const Shape &s, const Variant &v) {
  dsv4rt_contract_desc d = {};
  d.struct_size = sizeof(d);
  d.a_dtype = d.b_dtype = v.in;
  d.c_dtype = v.out;
  d.batch[0] = d.batch[1] = 1;
  d.batch[2] = s.batch;
  d.m = s.m;
  d.n = s.n;
  d.k = s.k;
  d.a_batch[2] = s.m * s.k;
  d.a_m = s.k;
  d.a_k = 1;
  d.b_batch[2] = s.n * s.k;
  d.b_k = v.transposedB ? 1 : s.n;
  d.b_n = v.transposedB ? s.k : 1;
  d.c_batch[2] = s.m * s.n;
  d.c_m = s.n;
  d.c_n = 1;
  return d;
}

Subject makeContract(uint32_t engine, const Shape &s, const Variant &v) {
  const dsv4rt_contract_desc desc = makeDesc(s, v);
  auto a = makeOperand(v.in, s.batch * s.m * s.k);
  auto b = makeOperand(v.in, s.batch * s.n * s.k);
  auto c = makeOperand(v.out, s.batch * s.m * s.n);
  if (dsv4rt_contract_with_engine(engine, &desc, a.data(), b.data(),
                                  c.data()) != DSV4RT_OK)
    return {};
  Subject subject;
  subject.flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
  subject.call = [=]() mutable {
    dsv4rt_contract_with_engine(engine, &desc, a.data(), b.data(), c.data());
  };
  return subject;
}

#ifdef DSV4_HAVE_LIBXSMM
auto dispatch(float, int m, int n, int k, const int *lda, const int *ldb,
              const int *ldc) {
  const float one = 1;
  return libxsmm_smmdispatch(m, n, k, lda, ldb, ldc, &one, &one, nullptr,
                             nullptr);
}
auto dispatch(double, int m, int n, int k, const int *lda, const int *ldb,
              const int *ldc) {
  const double one = 1;
  return libxsmm_dmmdispatch(m, n, k, lda, ldb, ldc, &one, &one, nullptr,
                             nullptr);
}

/// Whole blocks only: what is left over at the edges is not counted either.
template <typename T>
Subject makeDirect(const Shape &s) {
  const int m = static_cast<int>(std::min<int64_t>(s.m, 64));
  const int n = static_cast<int>(std::min<int64_t>(s.n, 64));
  const int k = static_cast<int>(std::min<int64_t>(s.k, 256));
  const int ldA = k + 16;
  const auto kernel = dispatch(T(), n, m, k, &n, &ldA, &n);
  if (!kernel)
    return {};
  const int64_t columns = s.n / n, rows = s.m / m, depth = s.k / k;
  std::vector<T> a(static_cast<size_t>(rows * m * ldA), T(1)),
      b(static_cast<size_t>(columns * n * depth * k), T(1)),
      c(static_cast<size_t>(m * n), T(0));
  Subject subject;
  subject.flops = 2.0 * static_cast<double>(columns * n) *
                  static_cast<double>(rows * m * depth * k);
  subject.call = [=]() mutable {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < rows; ++i)
          kernel(b.data() + (j * depth + p) * n * k, a.data() + i * m * ldA,
                 c.data());
  };
  return subject;
}
#else
template <typename T>
Subject makeDirect(const Shape &) {
  return {};
}
#endif

void printLine(uint32_t engine, const Shape &s, const Variant &v) {
  Subject own = makeContract(engine, s, v);
  Subject direct =
      v.in == DSV4RT_F64 ? makeDirect<double>(s) : makeDirect<float>(s);
  for (int turn = 0; turn < 12; ++turn)
    for (Subject *subject : {&own, &direct})
      if (subject->call)
        repeat(*subject);
  char shape[64];
  std::snprintf(shape, sizeof(shape), "%dx%dx%dx%d", static_cast<int>(s.batch),
                static_cast<int>(s.m), static_cast<int>(s.n),
                static_cast<int>(s.k));
  std::printf("%-22s %-14s %10.1f %10.1f %7.2f\n", shape, v.name, getRate(own),
              getRate(direct),
              direct.call ? getRate(own) / getRate(direct) : 0.0);
}

int findEngine(const char *name) {
  const char *const names[] = {"auto", "scalar", "avx2", "avx512", "libxsmm"};
  for (int i = 0; i < 5; ++i)
    if (std::strcmp(names[i], name) == 0)
      return i;
  return -1;
}

} // namespace

int main(int argc, char **argv) {
  const int engine = findEngine(argc > 1 ? argv[1] : "auto");
  if (engine < 0) {
    std::fprintf(stderr, "usage: %s [auto|scalar|avx2|avx512|libxsmm]\n",
                 argv[0]);
    return 2;
  }
  std::printf("%-22s %-14s %10s %10s %7s\n", "batch x m x n x k", "types",
              "GFLOP/s", "libxsmm", "ratio");
  for (const Shape &s : kShapes)
    for (const Variant &v : kVariants)
      printLine(static_cast<uint32_t>(engine), s, v);
  return 0;
}
