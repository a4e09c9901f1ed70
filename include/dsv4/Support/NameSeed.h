//===- NameSeed.h - Numbers that depend on a name only ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Test parameters and batches are computed from names, so that any program in
// any language has the same numbers without a file: the seed of a tensor is the
// FNV-1a hash of its name, and element i is a function of the seed and i alone.
// A rank can therefore fill its shard without the rest of the tensor: every
// fill function takes the flat (row-major) index of the first element.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_SUPPORT_NAMESEED_H
#define DSV4_SUPPORT_NAMESEED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace mlir::dsv4 {

/// 64-bit FNV-1a of the bytes of `name`.
uint64_t hashFnv1a(llvm::StringRef name);

/// Value `index` (from 0) of the splitmix64 sequence that starts at `seed`.
uint64_t getSplitMix64(uint64_t seed, uint64_t index);

/// Element `index` of the tensor whose seed is `seed`:
/// scale * (2u - 1) + shift, where u in [0, 1) has the top 53 bits.
double getUniform(uint64_t seed, uint64_t index, double scale, double shift);

/// The bits of the bf16 nearest to `value`, ties to even. NaN stays NaN.
uint16_t roundToBF16(float value);

/// The value that the bf16 `bits` stand for.
float extendBF16(uint16_t bits);

/// Fills `out` with elements [begin, begin + out.size()) of tensor `name`.
/// f32 storage is the f64 value rounded once, bf16 the f32 value rounded again.
void fillUniform(llvm::StringRef name, double scale, double shift,
                 uint64_t begin, llvm::MutableArrayRef<double> out);
void fillUniform(llvm::StringRef name, double scale, double shift,
                 uint64_t begin, llvm::MutableArrayRef<float> out);
/// bf16 as bits.
void fillUniform(llvm::StringRef name, double scale, double shift,
                 uint64_t begin, llvm::MutableArrayRef<uint16_t> out);

/// Fills `out` with elements [begin, begin + out.size()) of the integer tensor
/// `name`, each in [0, bound). `bound` is at least 1.
void fillRandomIntegers(llvm::StringRef name, uint64_t bound, uint64_t begin,
                        llvm::MutableArrayRef<int64_t> out);

/// Fills `out` from the table [vocabulary, expertsPerToken] of hash routing:
/// entry (t, j) is (expertsPerToken * t + j) mod numExperts, which is the flat
/// index modulo `numExperts`.
void fillTokenToExpert(uint64_t numExperts, uint64_t begin,
                       llvm::MutableArrayRef<int64_t> out);

/// A label that carries no loss.
inline constexpr int64_t kIgnoredLabel = -100;

/// Token ids and labels, both row-major [batch, sequence].
struct TokenBatch {
  std::vector<int64_t> inputIds;
  std::vector<int64_t> labels;
};

/// The batch of the tests: the label of a token is the next token of its row;
/// the last token of a row, and about one in five others, have no label. All
/// three arguments are non-negative; `vocabSize` is at least 1.
TokenBatch computeTokenBatch(int64_t batchSize, int64_t sequenceLength,
                             int64_t vocabSize);

} // namespace mlir::dsv4

#endif // DSV4_SUPPORT_NAMESEED_H
