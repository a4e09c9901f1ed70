//===- ModelConfigTest.cpp - Files that are read --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ModelConfig.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

using llvm::json::Array;
using llvm::json::Object;

static std::string getExamplePath(llvm::StringRef name) {
  return (DSV4_EXAMPLE_CONFIGS "/" + name + ".json").str();
}

static ModelConfig readExample(llvm::StringRef name) {
  llvm::Expected<ModelConfig> config =
      readModelConfigFile(getExamplePath(name));
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

/// The keys of an example, to be changed by a test.
static Object loadExample(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(getExamplePath(name));
  return *llvm::cantFail(llvm::json::parse((*buffer)->getBuffer()))
              .getAsObject();
}

static ModelConfig readObject(Object object) {
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(object)));
  llvm::Expected<ModelConfig> config = readModelConfig(text, "c.json");
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

/// All but what only a person reads.
static ModelConfig dropRemarks(ModelConfig config) {
  config.remarks.clear();
  return config;
}

TEST(ModelConfigTest, ReadsEveryFieldOfTiny) {
  ModelConfig config = readExample("tiny");
  EXPECT_EQ(config.vocabSize, 96);
  EXPECT_EQ(config.hiddenSize, 64);
  EXPECT_EQ(config.numLayers, 4);
  EXPECT_EQ(config.maxPositions, 64);
  EXPECT_EQ(config.numHeads, 4);
  EXPECT_EQ(config.headDim, 32);
  EXPECT_EQ(config.ropeDim, 8);
  EXPECT_EQ(config.qLoraRank, 32);
  EXPECT_EQ(config.oLoraRank, 16);
  EXPECT_EQ(config.oGroups, 2);
  EXPECT_EQ(config.slidingWindow, 8);
  EXPECT_EQ(config.compressRatios, (std::vector<int64_t>{0, 4, 16, 4}));
  EXPECT_EQ(config.indexHeads, 2);
  EXPECT_EQ(config.indexHeadDim, 16);
  EXPECT_EQ(config.indexTopk, 4);
  EXPECT_EQ(config.numExperts, 4);
  EXPECT_EQ(config.expertsPerToken, 2);
  EXPECT_EQ(config.sharedExperts, 1);
  EXPECT_EQ(config.moeIntermediate, 32);
  EXPECT_EQ(config.routedScaling, 1.5);
  EXPECT_TRUE(config.normTopkProb);
  EXPECT_EQ(config.swigluLimit, 1.0);
  EXPECT_EQ(config.hashLayers, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(config.hcMult, 4);
  EXPECT_EQ(config.sinkhornIters, 20);
  EXPECT_EQ(config.hcEps, 1e-6);
  EXPECT_EQ(config.rmsNormEps, 1e-6);
  EXPECT_EQ(config.ropeTheta, 1e4);
  EXPECT_EQ(config.compressRopeTheta, 1.6e5);
  EXPECT_EQ(config.yarn, (YarnConfig{4.0, 32.0, 32.0, 1.0}));
  EXPECT_EQ(config.numNextnPredictLayers, 0);
  EXPECT_TRUE(config.remarks.empty());

  EXPECT_EQ(config.getAttentionKind(0), AttentionKind::SlidingWindow);
  EXPECT_EQ(config.getAttentionKind(1), AttentionKind::CompressedSparse);
  EXPECT_EQ(config.getAttentionKind(2), AttentionKind::HeavilyCompressed);
  EXPECT_EQ(config.getCompressorFactor(1), 2);
  EXPECT_EQ(config.getCompressorFactor(2), 1);
  EXPECT_EQ(config.getOGroupWidth(), 64);
  EXPECT_EQ(config.getHcMixWidth(), 24);
  EXPECT_EQ(config.getSequenceMultiple(), 16);
}

TEST(ModelConfigTest, ReadsBothFormsAlike) {
  EXPECT_EQ(readExample("tiny"), readExample("tiny-transformers"));
  EXPECT_EQ(dropRemarks(readExample("v4-flash")),
            dropRemarks(readExample("v4-flash-transformers")));
}

TEST(ModelConfigTest, ReadsAFileWithBothForms) {
  Object object = loadExample("tiny");
  for (auto &field : loadExample("tiny-transformers"))
    object[field.first] = std::move(field.second);
  EXPECT_EQ(readObject(std::move(object)), readExample("tiny"));
}

TEST(ModelConfigTest, ReadsTransformersFormWithoutRepeatedKeys) {
  Object object = loadExample("tiny-transformers");
  for (llvm::StringRef key :
       {"qk_rope_head_dim", "rope_theta", "compress_rope_theta",
        "num_nextn_predict_layers", "scoring_func", "num_key_value_heads"})
    object.erase(key);
  EXPECT_EQ(readObject(Object(object)), readExample("tiny"));
  object.erase("partial_rotary_factor"); // stands in rope_parameters too
  EXPECT_EQ(readObject(std::move(object)), readExample("tiny"));
}

TEST(ModelConfigTest, RemarksMultiTokenPrediction) {
  ModelConfig flash = readExample("v4-flash");
  EXPECT_EQ(flash.numLayers, 43);
  EXPECT_EQ(flash.compressRatios.size(), 43u);
  EXPECT_EQ(flash.getSequenceMultiple(), 128);
  EXPECT_EQ(llvm::count(flash.compressRatios, 4), 21);
  EXPECT_EQ(llvm::count(flash.compressRatios, 128), 20);
  EXPECT_EQ(llvm::count(flash.hashLayers, true), 3);
  EXPECT_EQ(flash.remarks,
            (std::vector<std::string>{
                "'num_nextn_predict_layers' is 1: multi-token prediction is "
                "left out of the graph"}));
  ModelConfig pro = readExample("v4-pro");
  EXPECT_EQ(pro.compressRatios.size(), 61u);
  EXPECT_EQ(llvm::count(pro.compressRatios, 0), 0);
  EXPECT_EQ(pro.indexTopk, 1024);
}

TEST(ModelConfigTest, CutsToTheFirstLayer) {
  Object object = loadExample("tiny");
  object["num_hidden_layers"] = 1;
  ModelConfig config = readObject(std::move(object));
  EXPECT_EQ(config.compressRatios, std::vector<int64_t>{0});
  EXPECT_EQ(config.hashLayers, std::vector<bool>{true});
  EXPECT_EQ(config.getSequenceMultiple(), 1);
  EXPECT_EQ(config.remarks,
            (std::vector<std::string>{
                "'compress_ratios' has 3 entries beyond the 1 layers of "
                "'num_hidden_layers', which are ignored"}));
}

TEST(ModelConfigTest, AcceptsUnusualSizes) {
  Object object = loadExample("tiny");
  object["num_attention_heads"] = 3; // groups need not divide the heads
  object["hc_mult"] = 2;
  object["hc_sinkhorn_iters"] = 1;
  object["hc_eps"] = 0;
  object["rms_norm_eps"] = 1e-20;
  object["num_hash_layers"] = 3;
  object["sliding_window"] = 1;
  object["compress_ratios"] = Array{6, 4, 128, 1};
  object["qk_rope_head_dim"] = 16; // the width of an index head
  object["n_routed_experts"] = 2;  // every expert for every token
  object["vocab_size"] = 97.0;     // integral
  object["norm_topk_prob"] = false;
  object["rope_scaling"] = nullptr;
  object["quantization_config"] = Object{{"quant_method", "fp8"}};
  object["some_key_of_another_tool"] = Array{1, "x"};
  ModelConfig config = readObject(std::move(object));
  EXPECT_EQ(config.numHeads, 3);
  EXPECT_EQ(config.getOGroupWidth(), 48);
  EXPECT_EQ(config.getHcMixWidth(), 8);
  EXPECT_EQ(config.hashLayers, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(config.getSequenceMultiple(), 384);
  EXPECT_EQ(config.vocabSize, 97);
  EXPECT_FALSE(config.normTopkProb);
  EXPECT_FALSE(config.yarn.has_value());
  EXPECT_TRUE(config.remarks.empty());
}

TEST(ModelConfigTest, AcceptsHashLayersAnywhereByType) {
  Object object = loadExample("tiny-transformers");
  object["mlp_layer_types"] = Array{"moe", "hash_moe", "moe", "hash_moe"};
  EXPECT_EQ(readObject(std::move(object)).hashLayers,
            (std::vector<bool>{false, true, false, true}));
}

TEST(ModelConfigTest, NeedsOnlyWhatTheLayersUse) {
  Object object = loadExample("tiny");
  object["compress_ratios"] = Array{0, 0, 0, 0};
  for (llvm::StringRef key : {"index_n_heads", "index_head_dim", "index_topk",
                              "compress_rope_theta", "rope_scaling"})
    object.erase(key);
  ModelConfig config = readObject(std::move(object));
  EXPECT_EQ(config.indexHeads, 0);
  EXPECT_EQ(config.compressRopeTheta, config.ropeTheta);
}

//===----------------------------------------------------------------------===//
// Rotary frequencies
//===----------------------------------------------------------------------===//

/// Expected values come from a separate implementation in another language.
static void expectFrequencies(const std::vector<double> &actual,
                              std::vector<std::pair<size_t, double>> expected) {
  for (auto [index, value] : expected)
    EXPECT_NEAR(actual[index] / value, 1.0, 1e-15) << "pair " << index;
}

TEST(ModelConfigTest, ComputesFrequenciesOfTiny) {
  ModelConfig config = readExample("tiny");
  std::vector<double> plain = getInverseFrequencies(config, false);
  ASSERT_EQ(plain.size(), 4u);
  expectFrequencies(plain, {{0, 1.0}, {1, 0.1}, {2, 0.01}, {3, 0.001}});
  std::vector<double> compressed = getInverseFrequencies(config, true);
  ASSERT_EQ(compressed.size(), 4u);
  expectFrequencies(compressed,
                    {{0, 1.0}, {1, 0.0125}, {2, 0.000625}, {3, 3.125e-05}});
}

TEST(ModelConfigTest, ComputesFrequenciesOfFlash) {
  ModelConfig config = readExample("v4-flash");
  expectFrequencies(getInverseFrequencies(config, false),
                    {{0, 1.0},
                     {1, 0.7498942093324559},
                     {15, 0.01333521432163324},
                     {16, 0.01},
                     {20, 0.00316227766016838},
                     {31, 0.0001333521432163324}});
  // Kept up to pair 15, interpolated from pair 25.
  expectFrequencies(getInverseFrequencies(config, true),
                    {{0, 1.0},
                     {1, 0.6876560219336321},
                     {15, 0.003635538583622384},
                     {16, 0.0022656250000000003},
                     {20, 0.00029697777826169085},
                     {31, 5.680529036909976e-07}});
  config.yarn.reset();
  expectFrequencies(getInverseFrequencies(config, true),
                    {{0, 1.0}, {16, 0.0025}});
}
