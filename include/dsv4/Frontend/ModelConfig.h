//===- ModelConfig.h - Hyper-parameters of a V4 model -----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A config.json exists in two forms: that of the released checkpoints
// (`compress_ratios`, `num_hash_layers`, `qk_rope_head_dim`, `rope_scaling`)
// and the one that transformers saves (`layer_types` with `compress_rates`,
// `mlp_layer_types`, `partial_rotary_factor`, `rope_parameters`). Both are
// read, and a file that mixes them as long as they agree. What would change the
// model in a way that the graph does not support is refused, never ignored.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_FRONTEND_MODELCONFIG_H
#define DSV4_FRONTEND_MODELCONFIG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dsv4 {

/// What the queries of a layer attend to besides the sliding window.
enum class AttentionKind {
  SlidingWindow,     // nothing
  CompressedSparse,  // the pooled windows that an indexer selects (ratio 4)
  HeavilyCompressed, // all pooled windows that are complete
};

/// The one ratio whose windows overlap and are selected by an indexer.
inline constexpr int64_t kOverlapRatio = 4;

/// Frequency interpolation of the compressed RoPE table.
struct YarnConfig {
  double factor = 1.0;
  double originalMaxPositions = 0.0;
  double betaFast = 32.0;
  double betaSlow = 1.0;

  bool operator==(const YarnConfig &) const = default;
};

/// Every size is positive, below 2^31 and consistent with the others, and so is
/// every product that is a tensor's size, below 2^63 bytes in total.
struct ModelConfig {
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t maxPositions = 0;

  // Attention. One latent per token is key and value of all heads.
  int64_t numHeads = 0;
  int64_t headDim = 0;
  int64_t ropeDim = 0; // the last dimensions of a head, even
  int64_t qLoraRank = 0;
  int64_t oLoraRank = 0;
  int64_t oGroups = 0; // divides numHeads * headDim
  int64_t slidingWindow = 0;
  std::vector<int64_t> compressRatios; // per layer, 0 for none

  // Indexer; all zero if no layer has the overlap ratio and the file is silent.
  int64_t indexHeads = 0;
  int64_t indexHeadDim = 0;
  int64_t indexTopk = 0;

  // Mixture of experts.
  int64_t numExperts = 0;
  int64_t expertsPerToken = 0;
  int64_t sharedExperts = 1;
  int64_t moeIntermediate = 0;
  double routedScaling = 1.0;
  bool normTopkProb = true;
  double swigluLimit = 0.0;
  std::vector<bool> hashLayers; // per layer: routed by the token id table

  // Residual streams.
  int64_t hcMult = 0;
  int64_t sinkhornIters = 0;
  double hcEps = 0.0;

  double rmsNormEps = 0.0;
  double ropeTheta = 0.0;
  double compressRopeTheta = 0.0; // ropeTheta if no layer uses it
  std::optional<YarnConfig> yarn; // compressed table only

  /// Blocks of multi-token prediction in the file; not part of the graph.
  int64_t numNextnPredictLayers = 0;

  /// Sentences about what the file says and the graph leaves out.
  std::vector<std::string> remarks;

  AttentionKind getAttentionKind(int64_t layer) const;
  bool isHashLayer(int64_t layer) const { return hashLayers[layer]; }

  /// Number of interleaved halves of a compressor: 2 with overlap, else 1.
  int64_t getCompressorFactor(int64_t layer) const {
    return compressRatios[layer] == kOverlapRatio ? 2 : 1;
  }
  /// Width of a group of attention outputs: numHeads * headDim / oGroups.
  int64_t getOGroupWidth() const { return numHeads * headDim / oGroups; }
  /// Rows of a stream mixing matrix: pre, post and the square of `hcMult`.
  int64_t getHcMixWidth() const { return (2 + hcMult) * hcMult; }

  /// Every shard of the sequence is a multiple of this: the least common
  /// multiple of the nonzero ratios, 1 without any. Below 2^31.
  int64_t getSequenceMultiple() const;

  bool operator==(const ModelConfig &) const = default;
};

/// Reads the text of a config.json. The one error names the file, the key, what
/// was found and what is legal.
llvm::Expected<ModelConfig> readModelConfig(llvm::StringRef json,
                                            llvm::StringRef filename);

/// As above, from a file.
llvm::Expected<ModelConfig> readModelConfigFile(llvm::StringRef path);

/// The inverse frequencies of the ropeDim / 2 rotated pairs. `compressed`: the
/// table of the layers with a nonzero ratio, YaRN included.
std::vector<double> getInverseFrequencies(const ModelConfig &config,
                                          bool compressed);

} // namespace mlir::dsv4

#endif // DSV4_FRONTEND_MODELCONFIG_H
