//===- ModelConfig.cpp - Hyper-parameters of a V4 model -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ModelConfig.h"

#include "ConfigKeys.h"
#include "dsv4/Frontend/ParameterInventory.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

using namespace mlir::dsv4;

using llvm::StringLiteral;
using llvm::StringRef;
using llvm::Twine;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

static AttentionKind getKindOfRatio(int64_t ratio) {
  if (ratio == 0)
    return AttentionKind::SlidingWindow;
  return ratio == kOverlapRatio ? AttentionKind::CompressedSparse
                                : AttentionKind::HeavilyCompressed;
}

AttentionKind ModelConfig::getAttentionKind(int64_t layer) const {
  return getKindOfRatio(compressRatios[layer]);
}

int64_t ModelConfig::getSequenceMultiple() const {
  int64_t multiple = 1;
  for (int64_t ratio : compressRatios)
    if (ratio != 0)
      multiple = std::lcm(multiple, ratio);
  return multiple;
}

//===----------------------------------------------------------------------===//
// Reading a model
//===----------------------------------------------------------------------===//

namespace {

struct SizeKey {
  StringLiteral key;
  int64_t ModelConfig::*member;
};

constexpr SizeKey kSizeKeys[] = {
    {"vocab_size", &ModelConfig::vocabSize},
    {"hidden_size", &ModelConfig::hiddenSize},
    {"max_position_embeddings", &ModelConfig::maxPositions},
    {"num_attention_heads", &ModelConfig::numHeads},
    {"head_dim", &ModelConfig::headDim},
    {"q_lora_rank", &ModelConfig::qLoraRank},
    {"o_lora_rank", &ModelConfig::oLoraRank},
    {"o_groups", &ModelConfig::oGroups},
    {"sliding_window", &ModelConfig::slidingWindow},
    {"n_routed_experts", &ModelConfig::numExperts},
    {"num_experts_per_tok", &ModelConfig::expertsPerToken},
    {"moe_intermediate_size", &ModelConfig::moeIntermediate},
    {"hc_mult", &ModelConfig::hcMult},
};

constexpr SizeKey kIndexerKeys[] = {
    {"index_n_heads", &ModelConfig::indexHeads},
    {"index_head_dim", &ModelConfig::indexHeadDim},
    {"index_topk", &ModelConfig::indexTopk},
};

struct NumberKey {
  StringLiteral key;
  double ModelConfig::*member;
  NumberRange range;
};

constexpr NumberKey kNumberKeys[] = {
    {"routed_scaling_factor", &ModelConfig::routedScaling, kPositive},
    {"swiglu_limit", &ModelConfig::swigluLimit, kPositive},
    {"hc_eps", &ModelConfig::hcEps, kUpToOne},
    {"rms_norm_eps", &ModelConfig::rmsNormEps, kPositiveUpToOne},
};

/// What the graph does in one way only.
constexpr FixedKey kFixedKeys[] = {
    {"num_key_value_heads", FixedKey::One},
    {"n_shared_experts", FixedKey::One},
    {"scoring_func", FixedKey::Text, "sqrtsoftplus"},
    {"topk_method", FixedKey::Text, "noaux_tc"},
    {"hidden_act", FixedKey::Text, "silu"},
    {"tie_word_embeddings", FixedKey::False},
    {"attention_bias", FixedKey::False},
    {"mlp_bias", FixedKey::False},
    {"attention_dropout", FixedKey::Zero},
    {"hidden_dropout", FixedKey::Zero},
    {"hidden_dropout_prob", FixedKey::Zero},
    {"embd_pdrop", FixedKey::Zero},
    {"resid_pdrop", FixedKey::Zero},
    {"dropout", FixedKey::Zero},
    {"router_jitter_noise", FixedKey::Zero},
    // Would add the load balancing loss.
    {"output_router_logits", FixedKey::False},
    {"use_sliding_window", FixedKey::True},
    {"rope_interleave", FixedKey::True},
    // Other DeepSeek generations: dense layers, grouped routing, separate keys
    // and values; V4.1: shared windows, candidate blocks, engram, draft stages.
    {"first_k_dense_replace", FixedKey::Zero},
    {"moe_layer_freq", FixedKey::One},
    {"n_group", FixedKey::One},
    {"topk_group", FixedKey::One},
    {"kv_lora_rank", FixedKey::Nothing},
    {"text_config", FixedKey::Nothing},
    {"vision_config", FixedKey::Nothing},
    {"kv_source_layer_ids", FixedKey::Nothing},
    {"index_source_layer_ids", FixedKey::Nothing},
    {"candidate_topk_blocks", FixedKey::Nothing},
    {"engram_layer_ids", FixedKey::Nothing},
    {"dspark_block_size", FixedKey::Nothing},
    {"attn_logit_softcapping", FixedKey::Nothing},
    {"final_logit_softcapping", FixedKey::Nothing},
};

/// The attention of a YaRN model is not rescaled.
constexpr FixedKey kFixedYarnKeys[] = {
    {"attention_factor", FixedKey::One},
    {"mscale", FixedKey::Nothing},
    {"mscale_all_dim", FixedKey::Nothing},
    {"truncate", FixedKey::True},
};

constexpr StringLiteral kKindNames[] = {"sliding_attention",
                                        "compressed_sparse_attention",
                                        "heavily_compressed_attention"};
constexpr StringLiteral kMlpNames[] = {"moe", "hash_moe"};

constexpr int64_t kMaxLayers = 1 << 16;
constexpr int64_t kMaxSinkhornIters = 1 << 10;

class ConfigReader {
public:
  ConfigReader(const Object &object, StringRef filename)
      : keys(filename), top{&object, ""} {}

  llvm::Expected<ModelConfig> run();

private:
  void checkModelType();
  void readSizes();
  void readAttentionKinds();
  std::optional<std::vector<int64_t>> findRatios();
  std::vector<int64_t>
  getRatiosOfTypes(const std::vector<unsigned> &types,
                   const std::optional<int64_t> (&rates)[3]);
  void checkRatiosAgainst(const std::vector<unsigned> &types);
  void checkRatiosAgainst(const std::optional<int64_t> (&rates)[3]);
  void readHashLayers();
  void readIndexer();
  void readRopeDim();
  void readRope();
  std::optional<YarnConfig> readYarn(const Section &section);
  std::optional<std::vector<unsigned>>
  findTypes(StringRef key, llvm::ArrayRef<StringLiteral> names);
  void addRemarks();
  void checkDivisibility();
  void checkTotalSize();

  KeyReader keys;
  Section top;
  ModelConfig config;
};

} // namespace

void ConfigReader::checkModelType() {
  constexpr StringLiteral supported = "deepseek_v4";
  std::optional<StringRef> type = keys.findText(top, "model_type");
  if (!type)
    keys.failMissing("model_type", "\"" + supported + "\"");
  else if (type->starts_with("deepseek_v41"))
    keys.fail("'model_type' \"" + *type +
              "\" is not supported yet, expected \"" + supported + "\"");
  else if (*type != supported)
    keys.failKey("model_type", "\"" + supported + "\"",
                 *keys.find(top, "model_type"));
}

void ConfigReader::readSizes() {
  for (const SizeKey &size : kSizeKeys)
    config.*size.member = keys.getInteger(top, size.key, 1);
  for (const NumberKey &number : kNumberKeys)
    config.*number.member = keys.getNumber(top, number.key, number.range);
  config.numLayers = keys.getInteger(top, "num_hidden_layers", 1, kMaxLayers);
  config.sinkhornIters =
      keys.getInteger(top, "hc_sinkhorn_iters", 1, kMaxSinkhornIters);
  config.normTopkProb = keys.getBoolean(top, "norm_topk_prob");
  config.numNextnPredictLayers =
      keys.findInteger(top, "num_nextn_predict_layers", 0).value_or(0);
  // An alias in files of other model classes.
  Agreement<int64_t> experts(keys);
  experts.add(config.numExperts, "n_routed_experts");
  experts.add(keys.findInteger(top, "num_local_experts", 1),
              "num_local_experts");
}

/// Entries beyond the layers belong to multi-token prediction.
std::optional<std::vector<int64_t>> ConfigReader::findRatios() {
  const Array *array = keys.findArray(top, "compress_ratios");
  if (!array)
    return std::nullopt;
  int64_t numEntries = array->size();
  if (numEntries < config.numLayers) {
    keys.fail(llvm::formatv("'compress_ratios' must have an entry for each of "
                            "the {0} layers of 'num_hidden_layers', got {1}",
                            config.numLayers, numEntries)
                  .str());
    return std::nullopt;
  }
  std::vector<int64_t> ratios;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<int64_t> ratio = value.getAsInteger();
    if (!ratio || *ratio < 0 || *ratio > kMaxSize) {
      keys.failKey(llvm::formatv("compress_ratios[{0}]", index).str(),
                   "an integer from 0 to " + Twine(kMaxSize), value);
      return std::nullopt;
    }
    ratios.push_back(*ratio);
  }
  ratios.resize(config.numLayers);
  return ratios;
}

/// The entries of array `key` as indices into `names`, one per layer.
std::optional<std::vector<unsigned>>
ConfigReader::findTypes(StringRef key, llvm::ArrayRef<StringLiteral> names) {
  const Array *array = keys.findArray(top, key);
  if (!array)
    return std::nullopt;
  if (static_cast<int64_t>(array->size()) != config.numLayers) {
    keys.fail(llvm::formatv("'{0}' must have one entry for each of the {1} "
                            "layers of 'num_hidden_layers', got {2}",
                            key, config.numLayers, array->size())
                  .str());
    return std::nullopt;
  }
  std::vector<unsigned> types;
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::optional<StringRef> text = value.getAsString();
    const StringLiteral *name = text ? llvm::find(names, *text) : names.end();
    if (name == names.end()) {
      keys.failKey(llvm::formatv("{0}[{1}]", key, index).str(),
                   "one of \"" + llvm::join(names, "\", \"") + "\"", value);
      return std::nullopt;
    }
    types.push_back(name - names.begin());
  }
  return types;
}

std::vector<int64_t>
ConfigReader::getRatiosOfTypes(const std::vector<unsigned> &types,
                               const std::optional<int64_t> (&rates)[3]) {
  std::vector<int64_t> ratios;
  for (auto [layer, type] : llvm::enumerate(types)) {
    if (!rates[type])
      keys.failMissing(("compress_rates." + kKindNames[type]).str(),
                       llvm::formatv("the ratio of layer {0}", layer).str());
    ratios.push_back(rates[type].value_or(0));
  }
  return ratios;
}

void ConfigReader::checkRatiosAgainst(const std::vector<unsigned> &types) {
  for (auto [layer, type] : llvm::enumerate(types)) {
    int64_t ratio = config.compressRatios[layer];
    if (static_cast<unsigned>(getKindOfRatio(ratio)) != type)
      keys.fail(llvm::formatv("'layer_types[{0}]' is \"{1}\", which "
                              "contradicts 'compress_ratios[{0}]' = {2}",
                              layer, kKindNames[type], ratio)
                    .str());
  }
}

void ConfigReader::checkRatiosAgainst(
    const std::optional<int64_t> (&rates)[3]) {
  for (auto [layer, ratio] : llvm::enumerate(config.compressRatios)) {
    auto kind = static_cast<unsigned>(getKindOfRatio(ratio));
    if (rates[kind] && *rates[kind] != ratio)
      keys.fail(llvm::formatv("'compress_rates.{0}' is {1}, which contradicts "
                              "'compress_ratios[{2}]' = {3}",
                              kKindNames[kind], *rates[kind], layer, ratio)
                    .str());
  }
}

void ConfigReader::readAttentionKinds() {
  std::optional<std::vector<int64_t>> ratios = findRatios();
  std::optional<std::vector<unsigned>> types =
      findTypes("layer_types", kKindNames);
  Section section = keys.findSection(top, "compress_rates");
  const auto sparse = static_cast<int>(AttentionKind::CompressedSparse);
  const auto heavy = static_cast<int>(AttentionKind::HeavilyCompressed);
  std::optional<int64_t> rates[3] = {
      0,
      keys.findInteger(section, kKindNames[sparse], kOverlapRatio,
                       kOverlapRatio),
      keys.findInteger(section, kKindNames[heavy], 1)};
  if (rates[heavy] == kOverlapRatio)
    keys.failKey("compress_rates.heavily_compressed_attention",
                 "an integer other than " + Twine(kOverlapRatio) +
                     ", the ratio of compressed_sparse_attention",
                 *keys.find(section, kKindNames[heavy]));
  if (!ratios && !types)
    keys.failMissing("compress_ratios",
                     "it, or 'layer_types' and 'compress_rates'");
  if (keys.hasFailed())
    return;
  config.compressRatios = ratios ? *ratios : getRatiosOfTypes(*types, rates);
  if (ratios && types)
    checkRatiosAgainst(*types);
  if (ratios)
    checkRatiosAgainst(rates);
}

void ConfigReader::readHashLayers() {
  std::optional<int64_t> count = keys.findInteger(top, "num_hash_layers", 0);
  std::optional<std::vector<unsigned>> types =
      findTypes("mlp_layer_types", kMlpNames);
  if (!count && !types)
    keys.failMissing("num_hash_layers", "it, or 'mlp_layer_types'");
  if (keys.hasFailed())
    return;
  for (int64_t layer = 0; layer < config.numLayers; ++layer) {
    bool isHash = types ? (*types)[layer] == 1 : layer < *count;
    if (count && isHash != (layer < *count))
      keys.fail(llvm::formatv("'mlp_layer_types[{0}]' is \"{1}\", which "
                              "contradicts 'num_hash_layers' = {2}",
                              layer, kMlpNames[isHash], *count)
                    .str());
    config.hashLayers.push_back(isHash);
  }
}

/// Needed where windows are selected, legal anywhere.
void ConfigReader::readIndexer() {
  bool isNeeded = llvm::is_contained(config.compressRatios, kOverlapRatio);
  for (const SizeKey &size : kIndexerKeys)
    config.*size.member = isNeeded
                              ? keys.getInteger(top, size.key, 1)
                              : keys.findInteger(top, size.key, 1).value_or(0);
}

void ConfigReader::readRopeDim() {
  Agreement<int64_t> dim(keys);
  dim.add(keys.findInteger(top, "qk_rope_head_dim", 1), "qk_rope_head_dim");
  auto addFactor = [&](const Section &section) {
    constexpr StringLiteral key = "partial_rotary_factor";
    std::optional<double> factor =
        keys.findNumber(section, key, kPositiveUpToOne);
    if (!factor)
      return;
    double product = *factor * static_cast<double>(config.headDim);
    if (std::abs(product - std::round(product)) > 1e-6)
      keys.failKey(section.getPath(key),
                   "a number whose product with 'head_dim' = " +
                       Twine(config.headDim) + " is an integer",
                   *keys.find(section, key));
    dim.add(std::llround(product), section.getPath(key) + " * head_dim");
  };
  Section parameters = keys.findSection(top, "rope_parameters");
  addFactor(top);
  addFactor(keys.findSection(parameters, "main"));
  addFactor(keys.findSection(parameters, "compress"));
  if (!dim.get())
    return keys.failMissing("qk_rope_head_dim",
                            "it, or 'partial_rotary_factor'");
  config.ropeDim = *dim.get();
  if (config.ropeDim % 2 != 0 || config.ropeDim < 2)
    keys.fail("'qk_rope_head_dim' must be even and positive, got " +
              Twine(config.ropeDim));
  if (config.ropeDim > config.headDim)
    keys.fail("'qk_rope_head_dim' must be at most 'head_dim' = " +
              Twine(config.headDim) + ", got " + Twine(config.ropeDim));
  // The split that other DeepSeek files state.
  Agreement<int64_t> rest(keys);
  rest.add(config.headDim - config.ropeDim, "head_dim - qk_rope_head_dim");
  rest.add(keys.findInteger(top, "qk_nope_head_dim", 0), "qk_nope_head_dim");
  Agreement<int64_t> valueDim(keys);
  valueDim.add(config.headDim, "head_dim");
  valueDim.add(keys.findInteger(top, "v_head_dim", 1), "v_head_dim");
}

/// The interpolation that `section` describes, none for the type "default".
std::optional<YarnConfig> ConfigReader::readYarn(const Section &section) {
  Agreement<std::string> type(keys);
  for (StringRef key : {"rope_type", "type"}) {
    std::optional<StringRef> text = keys.findText(section, key);
    type.add(text ? std::optional(text->str()) : std::nullopt,
             section.getPath(key));
  }
  if (!type.get()) {
    keys.failMissing(section.getPath("rope_type"), "\"yarn\" or \"default\"");
    return std::nullopt;
  }
  if (*type.get() == "default")
    return std::nullopt;
  if (*type.get() != "yarn") {
    keys.failKey(section.getPath("rope_type"), "\"yarn\" or \"default\"",
                 *type.get());
    return std::nullopt;
  }
  for (const FixedKey &fixed : kFixedYarnKeys)
    keys.checkFixed(section, fixed);
  YarnConfig yarn;
  yarn.factor = keys.getNumber(section, "factor", kAtLeastOne);
  yarn.originalMaxPositions =
      keys.getInteger(section, "original_max_position_embeddings", 1);
  yarn.betaFast =
      keys.findNumber(section, "beta_fast", kRotations).value_or(yarn.betaFast);
  yarn.betaSlow =
      keys.findNumber(section, "beta_slow", kRotations).value_or(yarn.betaSlow);
  if (yarn.betaFast < yarn.betaSlow)
    keys.fail(llvm::formatv("'{0}' must be at least '{1}' = {2}, got {3}",
                            section.getPath("beta_fast"),
                            section.getPath("beta_slow"), Value(yarn.betaSlow),
                            Value(yarn.betaFast))
                  .str());
  return yarn;
}

void ConfigReader::readRope() {
  Section parameters = keys.findSection(top, "rope_parameters");
  Section main = keys.findSection(parameters, "main");
  Section compress = keys.findSection(parameters, "compress");
  if (parameters.object && !main.object && !compress.object)
    return keys.failMissing("rope_parameters.main",
                            "an object for each of 'main' and 'compress'");

  Agreement<double> theta(keys);
  theta.add(keys.findNumber(top, "rope_theta", kAboveOne), "rope_theta");
  theta.add(keys.findNumber(main, "rope_theta", kAboveOne),
            "rope_parameters.main.rope_theta");
  if (!theta.get())
    return keys.failMissing("rope_theta", kAboveOne.describe());
  config.ropeTheta = *theta.get();
  keys.checkFixed(main, {"rope_type", FixedKey::Text, "default"});
  keys.checkFixed(main, {"type", FixedKey::Text, "default"});

  Agreement<double> compressTheta(keys);
  compressTheta.add(keys.findNumber(top, "compress_rope_theta", kAboveOne),
                    "compress_rope_theta");
  compressTheta.add(keys.findNumber(compress, "rope_theta", kAboveOne),
                    "rope_parameters.compress.rope_theta");
  bool isNeeded = llvm::any_of(config.compressRatios,
                               [](int64_t ratio) { return ratio != 0; });
  if (!compressTheta.get() && isNeeded)
    return keys.failMissing("compress_rope_theta", kAboveOne.describe());
  config.compressRopeTheta = compressTheta.get().value_or(config.ropeTheta);

  Section scaling = keys.findSection(top, "rope_scaling");
  if (compress.object)
    config.yarn = readYarn(compress);
  if (!scaling.object)
    return;
  std::optional<YarnConfig> other = readYarn(scaling);
  if (compress.object && other != config.yarn)
    keys.fail("'rope_scaling' contradicts 'rope_parameters.compress'");
  config.yarn = other;
}

void ConfigReader::checkDivisibility() {
  if (config.numHeads * config.headDim % config.oGroups != 0)
    keys.fail(llvm::formatv("'o_groups' must divide 'num_attention_heads' * "
                            "'head_dim' = {0}, got {1}",
                            config.numHeads * config.headDim, config.oGroups)
                  .str());
  if (config.expertsPerToken > config.numExperts)
    keys.fail(llvm::formatv("'num_experts_per_tok' must be at most "
                            "'n_routed_experts' = {0}, got {1}",
                            config.numExperts, config.expertsPerToken)
                  .str());
  if (llvm::is_contained(config.compressRatios, kOverlapRatio) &&
      config.indexHeadDim < config.ropeDim)
    keys.fail(llvm::formatv("'index_head_dim' must be at least "
                            "'qk_rope_head_dim' = {0}, got {1}",
                            config.ropeDim, config.indexHeadDim)
                  .str());
  int64_t multiple = 1;
  for (int64_t ratio : config.compressRatios) {
    if (ratio != 0)
      multiple = std::lcm(multiple, ratio); // both below 2^31
    if (multiple > kMaxSize)
      return keys.fail(llvm::formatv("'compress_ratios' must have a least "
                                     "common multiple of at most {0}, got {1}",
                                     kMaxSize, multiple)
                           .str());
  }
}

/// Every later product of sizes is safe if all tensors together have fewer
/// than 2^63 bytes in the widest element type.
void ConfigReader::checkTotalSize() {
  constexpr uint64_t limit = std::numeric_limits<int64_t>::max();
  uint64_t total = 0;
  for (const ParameterSpec &parameter : buildParameterInventory(config)) {
    bool hasOverflowed = false;
    uint64_t bytes = sizeof(double);
    for (int64_t dim : parameter.shape) {
      bool overflow = false;
      bytes = llvm::SaturatingMultiply<uint64_t>(bytes, dim, &overflow);
      hasOverflowed |= overflow;
    }
    if (!hasOverflowed && bytes <= limit - total) {
      total += bytes;
      continue;
    }
    const SizeKey *largest =
        std::max_element(std::begin(kSizeKeys), std::end(kSizeKeys),
                         [&](const SizeKey &a, const SizeKey &b) {
                           return config.*a.member < config.*b.member;
                         });
    return keys.fail(
        llvm::formatv("sizes must give a model of at most 2^63 - 1 bytes, got "
                      "more with '{0}' [{1}]; the largest size is '{2}' = {3}",
                      parameter.name, llvm::interleaved(parameter.shape),
                      largest->key, config.*largest->member)
            .str());
  }
}

void ConfigReader::addRemarks() {
  if (config.numNextnPredictLayers != 0)
    config.remarks.push_back(
        llvm::formatv("'num_nextn_predict_layers' is {0}: multi-token "
                      "prediction is left out of the graph",
                      config.numNextnPredictLayers)
            .str());
  const Array *ratios = keys.findArray(top, "compress_ratios");
  int64_t numExtra = ratios ? ratios->size() - config.numLayers : 0;
  if (numExtra != 0 && numExtra != config.numNextnPredictLayers)
    config.remarks.push_back(
        llvm::formatv("'compress_ratios' has {0} entries beyond the {1} layers "
                      "of 'num_hidden_layers', which are ignored",
                      numExtra, config.numLayers)
            .str());
  int64_t numHash = keys.findInteger(top, "num_hash_layers", 0).value_or(0);
  if (numHash > config.numLayers)
    config.remarks.push_back(
        llvm::formatv("'num_hash_layers' is {0}, more than the {1} layers of "
                      "'num_hidden_layers'",
                      numHash, config.numLayers)
            .str());
}

llvm::Expected<ModelConfig> ConfigReader::run() {
  // Each step may rely on the results of those before it.
  constexpr void (ConfigReader::*steps[])() = {
      &ConfigReader::checkModelType,     &ConfigReader::readSizes,
      &ConfigReader::readAttentionKinds, &ConfigReader::readHashLayers,
      &ConfigReader::readIndexer,        &ConfigReader::readRopeDim,
      &ConfigReader::readRope,           &ConfigReader::checkDivisibility,
      &ConfigReader::checkTotalSize,     &ConfigReader::addRemarks};
  for (auto step : steps) {
    (this->*step)();
    if (keys.hasFailed())
      return keys.takeError();
  }
  for (const FixedKey &fixed : kFixedKeys)
    keys.checkFixed(top, fixed);
  if (keys.hasFailed())
    return keys.takeError();
  return std::move(config);
}

llvm::Expected<ModelConfig> mlir::dsv4::readModelConfig(StringRef json,
                                                        StringRef filename) {
  llvm::Expected<Object> object = parseJsonObject(json, filename);
  if (!object)
    return object.takeError();
  return ConfigReader(*object, filename).run();
}

llvm::Expected<ModelConfig> mlir::dsv4::readModelConfigFile(StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path);
  if (std::error_code code = buffer.getError())
    return llvm::createStringError(path + ": " + code.message());
  return readModelConfig((*buffer)->getBuffer(), path);
}

//===----------------------------------------------------------------------===//
// Rotary frequencies
//===----------------------------------------------------------------------===//

/// The pair index at which a frequency turns `rotations` times within the
/// original length.
static double getYarnDimension(const YarnConfig &yarn, double ropeDim,
                               double theta, double rotations) {
  constexpr double pi = std::numbers::pi;
  return ropeDim * std::log(yarn.originalMaxPositions / (rotations * 2 * pi)) /
         (2 * std::log(theta));
}

std::vector<double> mlir::dsv4::getInverseFrequencies(const ModelConfig &config,
                                                      bool compressed) {
  double theta = compressed ? config.compressRopeTheta : config.ropeTheta;
  auto dim = static_cast<double>(config.ropeDim);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < config.ropeDim; i += 2)
    frequencies.push_back(1.0 / std::pow(theta, static_cast<double>(i) / dim));
  if (!compressed || !config.yarn)
    return frequencies;

  // Interpolate slow pairs, keep fast ones, blend linearly between.
  const YarnConfig &yarn = *config.yarn;
  double low = std::max(
      std::floor(getYarnDimension(yarn, dim, theta, yarn.betaFast)), 0.0);
  double high = std::min(
      std::ceil(getYarnDimension(yarn, dim, theta, yarn.betaSlow)), dim - 1);
  double width = high == low ? 0.001 : high - low;
  for (auto [i, frequency] : llvm::enumerate(frequencies)) {
    double ramp = std::clamp((static_cast<double>(i) - low) / width, 0.0, 1.0);
    frequency = frequency / yarn.factor * ramp + frequency * (1 - ramp);
  }
  return frequencies;
}
