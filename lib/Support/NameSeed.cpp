//===- NameSeed.cpp - Numbers that depend on a name only ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built without contraction of a*b+c into a fused multiply-add: the values must
// be those of two rounded operations on every target.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/NameSeed.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir::dsv4;

uint64_t mlir::dsv4::hashFnv1a(llvm::StringRef name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001B3;
  return hash;
}

uint64_t mlir::dsv4::getSplitMix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double mlir::dsv4::getUniform(uint64_t seed, uint64_t index, double scale,
                              double shift) {
  double u = static_cast<double>(getSplitMix64(seed, index) >> 11) * 0x1p-53;
  double centered = 2.0 * u - 1.0;
  double scaled = scale * centered;
  return scaled + shift;
}

uint16_t mlir::dsv4::roundToBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40); // quiet, not infinity
  uint32_t half = 0x7FFF + ((bits >> 16) & 1);
  return static_cast<uint16_t>((bits + half) >> 16);
}

float mlir::dsv4::extendBF16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Sets out[i] to convert(value of element begin + i).
template <typename T, typename Convert>
static void fillConverted(llvm::StringRef name, double scale, double shift,
                          uint64_t begin, llvm::MutableArrayRef<T> out,
                          Convert convert) {
  uint64_t seed = hashFnv1a(name);
  for (auto [i, element] : llvm::enumerate(out))
    element = convert(getUniform(seed, begin + i, scale, shift));
}

void mlir::dsv4::fillUniform(llvm::StringRef name, double scale, double shift,
                             uint64_t begin,
                             llvm::MutableArrayRef<double> out) {
  fillConverted(name, scale, shift, begin, out, [](double v) { return v; });
}

void mlir::dsv4::fillUniform(llvm::StringRef name, double scale, double shift,
                             uint64_t begin, llvm::MutableArrayRef<float> out) {
  fillConverted(name, scale, shift, begin, out,
                [](double v) { return static_cast<float>(v); });
}

void mlir::dsv4::fillUniform(llvm::StringRef name, double scale, double shift,
                             uint64_t begin,
                             llvm::MutableArrayRef<uint16_t> out) {
  fillConverted(name, scale, shift, begin, out,
                [](double v) { return roundToBF16(static_cast<float>(v)); });
}

void mlir::dsv4::fillRandomIntegers(llvm::StringRef name, uint64_t bound,
                                    uint64_t begin,
                                    llvm::MutableArrayRef<int64_t> out) {
  uint64_t seed = hashFnv1a(name);
  for (auto [i, element] : llvm::enumerate(out))
    element = static_cast<int64_t>(getSplitMix64(seed, begin + i) % bound);
}

void mlir::dsv4::fillTokenToExpert(uint64_t numExperts, uint64_t begin,
                                   llvm::MutableArrayRef<int64_t> out) {
  // Entry (t, j) has the flat index expertsPerToken * t + j.
  for (auto [i, element] : llvm::enumerate(out))
    element = static_cast<int64_t>((begin + i) % numExperts);
}

TokenBatch mlir::dsv4::computeTokenBatch(int64_t batchSize,
                                         int64_t sequenceLength,
                                         int64_t vocabSize) {
  size_t numTokens = static_cast<size_t>(batchSize) * sequenceLength;
  TokenBatch batch;
  batch.inputIds.resize(numTokens);
  fillRandomIntegers("input_ids", vocabSize, 0, batch.inputIds);
  std::vector<int64_t> ignore(numTokens);
  fillRandomIntegers("ignore", 5, 0, ignore);
  batch.labels.assign(numTokens, kIgnoredLabel);
  for (size_t i = 0; i < numTokens; ++i) {
    bool isLast = (i + 1) % sequenceLength == 0;
    if (!isLast && ignore[i] != 0)
      batch.labels[i] = batch.inputIds[i + 1];
  }
  return batch;
}
