//===- BuildOptions.cpp - Which graphs can be built -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/BuildModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::dsv4;

/// Sizes of dimensions are at most this, as in a configuration.
static constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

template <typename... Args>
static llvm::Error makeError(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

static llvm::Error checkSize(StringRef name, int64_t size) {
  if (size >= 1 && size <= kMaxSize)
    return llvm::Error::success();
  return makeError("the {0} must be between 1 and {1}, got {2}", name, kMaxSize,
                   size);
}

/// Every window lies in one shard, so also in the one of a single rank.
static llvm::Error checkWindows(const ModelConfig &config, int64_t seqLen) {
  for (auto [layer, ratio] : llvm::enumerate(config.compressRatios)) {
    if (ratio == 0 || seqLen % ratio == 0)
      continue;
    return makeError("layer {0} compresses windows of {1} tokens, which do not "
                     "divide the sequence length {2}; the smallest legal "
                     "padded length is {3}",
                     layer, ratio, seqLen,
                     llvm::alignTo(seqLen, config.getSequenceMultiple()));
  }
  return llvm::Error::success();
}

/// Values per token of the widest intermediate.
static uint64_t getMaxWidth(const ModelConfig &config) {
  int64_t maxFactor = 1;
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    maxFactor = std::max(maxFactor, config.getCompressorFactor(layer));
  return std::max<uint64_t>(
      {static_cast<uint64_t>(config.vocabSize),
       static_cast<uint64_t>(config.hcMult * config.hiddenSize),
       static_cast<uint64_t>(config.getHcMixWidth()),
       static_cast<uint64_t>(config.qLoraRank),
       static_cast<uint64_t>(config.numHeads * config.headDim),
       static_cast<uint64_t>(maxFactor * config.headDim),
       static_cast<uint64_t>(maxFactor * config.indexHeadDim),
       static_cast<uint64_t>(config.indexHeads * config.indexHeadDim),
       static_cast<uint64_t>(config.indexTopk),
       static_cast<uint64_t>(config.oGroups * config.oLoraRank),
       static_cast<uint64_t>(config.numExperts),
       static_cast<uint64_t>(config.expertsPerToken * config.hiddenSize),
       static_cast<uint64_t>(config.expertsPerToken * 2 *
                             config.moeIntermediate)});
}

static llvm::Error checkTensorSizes(const ModelConfig &config,
                                    const BuildOptions &options) {
  constexpr uint64_t limit = std::numeric_limits<int64_t>::max();
  uint64_t tokens = options.batchSize * options.seqLen; // both below 2^31
  uint64_t bytes = llvm::SaturatingMultiply<uint64_t>(tokens * sizeof(double),
                                                      getMaxWidth(config));
  if (tokens <= limit / sizeof(double) && bytes <= limit)
    return llvm::Error::success();
  return makeError("{0} rows of {1} tokens need a tensor of more than 2^63 - 1 "
                   "bytes",
                   options.batchSize, options.seqLen);
}

static llvm::Error checkBatchFields(ArrayRef<std::string> fields) {
  for (auto [i, field] : llvm::enumerate(fields)) {
    if (llvm::is_contained(fields.take_front(i), field))
      return makeError("the batch field '{0}' is named twice", field);
    if (field == "position_ids")
      continue;
    if (field == "input_ids" || field == "labels")
      return makeError("the batch always has the field '{0}'", field);
    if (field == "attention_mask" || field == "packed_seq_ids")
      return makeError(
          "the batch field '{0}' is not supported yet; 'position_ids' "
          "is",
          field);
    return makeError("'{0}' is no batch field; 'position_ids' is one", field);
  }
  return llvm::Error::success();
}

llvm::Error mlir::dsv4::checkBuildOptions(const ModelConfig &config,
                                          const BuildOptions &options) {
  if (llvm::Error error = checkSize("batch size", options.batchSize))
    return error;
  if (llvm::Error error = checkSize("sequence length", options.seqLen))
    return error;
  if (llvm::Error error = checkBatchFields(options.batchFields))
    return error;
  if (llvm::Error error = checkWindows(config, options.seqLen))
    return error;
  return checkTensorSizes(config, options);
}

std::vector<std::string>
mlir::dsv4::getBuildRemarks(const ModelConfig &config,
                            const BuildOptions &options) {
  if (options.seqLen <= config.maxPositions)
    return {};
  return {llvm::formatv("the sequence length {0} is above "
                        "'max_position_embeddings' = {1}",
                        options.seqLen, config.maxPositions)
              .str()};
}
