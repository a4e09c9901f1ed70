//===- Engines.cpp - Choice of the tile implementation --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include <cstdlib>
#include <cstring>

namespace dsv4rt::kernels {

const Engine *getPortableEngine() {
  static const Engine *const engine = [] {
    if (const Engine *avx512 = getAvx512Engine())
      return avx512;
    if (const Engine *avx2 = getAvx2Engine())
      return avx2;
    return getScalarEngine();
  }();
  return engine;
}

namespace {

struct NamedEngine {
  const char *name;
  const Engine *(*get)();
};

constexpr NamedEngine kEngines[] = {{"scalar", getScalarEngine},
                                    {"avx2", getAvx2Engine},
                                    {"avx512", getAvx512Engine},
                                    {"libxsmm", getLibxsmmEngine}};

const Engine *findRequestedEngine() {
  const char *request = std::getenv("DSV4RT_CONTRACT_ENGINE");
  if (!request)
    return nullptr;
  for (const NamedEngine &candidate : kEngines)
    if (std::strcmp(request, candidate.name) == 0)
      return candidate.get();
  return nullptr;
}

} // namespace

// Not libxsmm: our own tiles run at its speed and, unlike its kernels, write C
// in place and need no padding of rows.
const Engine *getDefaultEngine() {
  static const Engine *const engine = [] {
    const Engine *requested = findRequestedEngine();
    return requested ? requested : getPortableEngine();
  }();
  return engine;
}

} // namespace dsv4rt::kernels
