//===- ModelConfigErrorTest.cpp - Files that are refused ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ModelConfig.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

/// The message of the error, empty if there is none.
static std::string getError(llvm::StringRef text) {
  llvm::Expected<ModelConfig> config = readModelConfig(text, "c.json");
  return config ? "" : llvm::toString(config.takeError());
}

/// The message for an example after a merge with the object in `patch`.
static std::string getPatchedError(llvm::StringRef example,
                                   llvm::StringRef patch) {
  auto buffer =
      llvm::MemoryBuffer::getFile(DSV4_EXAMPLE_CONFIGS "/" + example + ".json");
  llvm::json::Value base =
      llvm::cantFail(llvm::json::parse((*buffer)->getBuffer()));
  llvm::json::Value changes = llvm::cantFail(llvm::json::parse(patch));
  for (auto &field : *changes.getAsObject())
    (*base.getAsObject())[field.first] = std::move(field.second);
  return getError(llvm::formatv("{0}", base).str());
}

namespace {

struct Refusal {
  const char *patch; // null removes a key
  const char *error; // after the file name
};

constexpr Refusal kRefusals[] = {
    // Model type.
    {R"({"model_type": null})",
     R"('model_type' is missing, expected "deepseek_v4")"},
    {R"({"model_type": 4})", R"('model_type' must be a string, got 4)"},
    {R"({"model_type": "llama"})",
     R"('model_type' must be "deepseek_v4", got "llama")"},
    {R"({"model_type": "deepseek_v41"})",
     "'model_type' \"deepseek_v41\" is not supported yet, expected "
     "\"deepseek_v4\""},
    // Missing, of another type, out of range.
    {R"({"hidden_size": null})", "'hidden_size' is missing, expected an "
                                 "integer from 1 to 2147483647"},
    {R"({"hidden_size": "64"})", "'hidden_size' must be an integer from 1 to "
                                 "2147483647, got \"64\""},
    {R"({"hidden_size": 64.5})",
     "'hidden_size' must be an integer from 1 to 2147483647, got 64.5"},
    {R"({"hidden_size": true})",
     "'hidden_size' must be an integer from 1 to 2147483647, got true"},
    {R"({"vocab_size": 0})",
     "'vocab_size' must be an integer from 1 to 2147483647, got 0"},
    {R"({"head_dim": -32})",
     "'head_dim' must be an integer from 1 to 2147483647, got -32"},
    {R"({"sliding_window": 2147483648})",
     "'sliding_window' must be an integer from 1 to 2147483647, got "
     "2147483648"},
    {R"({"n_routed_experts": 1e300})",
     "'n_routed_experts' must be an integer from 1 to 2147483647, got "
     "1e+300"},
    {R"({"num_hidden_layers": 65537})",
     "'num_hidden_layers' must be an integer from 1 to 65536, got 65537"},
    {R"({"hc_sinkhorn_iters": 1025})",
     "'hc_sinkhorn_iters' must be an integer from 1 to 1024, got 1025"},
    {R"({"num_nextn_predict_layers": -1})",
     "'num_nextn_predict_layers' must be an integer from 0 to 2147483647, got "
     "-1"},
    {R"({"rms_norm_eps": 0})",
     "'rms_norm_eps' must be a number above 0, at most 1, got 0"},
    {R"({"hc_eps": -1e-6})",
     "'hc_eps' must be a number from 0 to 1, got -1e-06"},
    {R"({"swiglu_limit": null})",
     "'swiglu_limit' is missing, expected a number above 0, at most "
     "1e+30"},
    {R"({"routed_scaling_factor": [1]})",
     "'routed_scaling_factor' must be a number above 0, at most "
     "1e+30, got an array of 1 element"},
    {R"({"rope_theta": 1})", "'rope_theta' must be a number above 1, at most "
                             "1e+30, got 1"},
    {R"({"rope_theta": null})", "'rope_theta' is missing, expected a number "
                                "above 1, at most 1e+30"},
    {R"({"compress_rope_theta": null})",
     "'compress_rope_theta' is missing, expected a number above 1, at most "
     "1e+30"},
    {R"({"norm_topk_prob": 1})",
     "'norm_topk_prob' must be true or false, got 1"},
    {R"({"norm_topk_prob": null})",
     "'norm_topk_prob' is missing, expected true or false"},
    {R"({"index_topk": null})",
     "'index_topk' is missing, expected an integer from 1 to 2147483647"},
    // Layers.
    {R"({"compress_ratios": null})",
     "'compress_ratios' is missing, expected it, or 'layer_types' and "
     "'compress_rates'"},
    {R"({"compress_ratios": {"0": 4}})",
     "'compress_ratios' must be an array, got an object"},
    {R"({"compress_ratios": [0, 4, 16]})",
     "'compress_ratios' must have an entry for each of the 4 layers of "
     "'num_hidden_layers', got 3"},
    {R"({"compress_ratios": [0, 4, -16, 4]})",
     "'compress_ratios[2]' must be an integer from 0 to 2147483647, got -16"},
    {R"({"compress_ratios": [0, 4, 16, 4, "x"]})",
     "'compress_ratios[4]' must be an integer from 0 to 2147483647, got \"x\""},
    {R"({"compress_ratios": [65537, 65539, 0, 0]})",
     "'compress_ratios' must have a least common multiple of at most "
     "2147483647, got 4295229443"},
    {R"({"num_hash_layers": null})",
     "'num_hash_layers' is missing, expected it, or 'mlp_layer_types'"},
    // Relations.
    {R"({"qk_rope_head_dim": null})",
     "'qk_rope_head_dim' is missing, expected it, or 'partial_rotary_factor'"},
    {R"({"qk_rope_head_dim": 7})",
     "'qk_rope_head_dim' must be even and positive, got 7"},
    {R"({"qk_rope_head_dim": 34})",
     "'qk_rope_head_dim' must be at most 'head_dim' = 32, got 34"},
    {R"({"qk_rope_head_dim": 18})",
     "'index_head_dim' must be at least 'qk_rope_head_dim' = 18, got 16"},
    {R"({"partial_rotary_factor": 0.3})",
     "'partial_rotary_factor' must be a number whose product with 'head_dim' = "
     "32 is an integer, got 0.3"},
    {R"({"qk_nope_head_dim": 128})",
     "'qk_nope_head_dim' is 128, which contradicts 'head_dim - "
     "qk_rope_head_dim' = 24"},
    {R"({"v_head_dim": 16})",
     "'v_head_dim' is 16, which contradicts 'head_dim' = 32"},
    {R"({"num_local_experts": 8})",
     "'num_local_experts' is 8, which contradicts 'n_routed_experts' = 4"},
    {R"({"o_groups": 3})", "'o_groups' must divide 'num_attention_heads' * "
                           "'head_dim' = 128, got 3"},
    {R"({"num_experts_per_tok": 5})",
     "'num_experts_per_tok' must be at most 'n_routed_experts' = 4, got 5"},
    // Unsupported.
    {R"({"scoring_func": "sigmoid"})",
     "'scoring_func' must be \"sqrtsoftplus\", got \"sigmoid\""},
    {R"({"topk_method": "greedy"})",
     "'topk_method' must be \"noaux_tc\", got \"greedy\""},
    {R"({"hidden_act": "gelu"})", "'hidden_act' must be \"silu\", got "
                                  "\"gelu\""},
    {R"({"attention_bias": true})", "'attention_bias' must be false, got true"},
    {R"({"mlp_bias": true})", "'mlp_bias' must be false, got true"},
    {R"({"attention_dropout": 0.1})", "'attention_dropout' must be 0, got 0.1"},
    {R"({"router_jitter_noise": 0.5})",
     "'router_jitter_noise' must be 0, got 0.5"},
    {R"({"tie_word_embeddings": true})",
     "'tie_word_embeddings' must be false, got true"},
    {R"({"num_key_value_heads": 2})", "'num_key_value_heads' must be 1, got 2"},
    {R"({"n_shared_experts": 2})", "'n_shared_experts' must be 1, got 2"},
    {R"({"n_group": 8})", "'n_group' must be 1, got 8"},
    {R"({"first_k_dense_replace": 3})",
     "'first_k_dense_replace' must be 0, got 3"},
    {R"({"output_router_logits": true})",
     "'output_router_logits' must be false, got true"},
    {R"({"engram_layer_ids": [1, 14]})",
     "'engram_layer_ids' belongs to a model that is not supported; expected no "
     "such key, got an array of 2 elements"},
    // YaRN.
    {R"({"rope_scaling": "yarn"})",
     "'rope_scaling' must be an object, got \"yarn\""},
    {R"({"rope_scaling": {}})", "'rope_scaling.rope_type' is missing, expected "
                                "\"yarn\" or \"default\""},
    {R"({"rope_scaling": {"type": "linear", "factor": 2}})",
     "'rope_scaling.rope_type' must be \"yarn\" or \"default\", got "
     "\"linear\""},
    {R"({"rope_scaling": {"type": "yarn", "rope_type": "default"}})",
     "'rope_scaling.type' is \"yarn\", which contradicts "
     "'rope_scaling.rope_type' = \"default\""},
    {R"({"rope_scaling": {"type": "yarn"}})",
     "'rope_scaling.factor' is missing, expected a number from 1 to "
     "1e+30"},
    {R"({"rope_scaling": {"type": "yarn", "factor": 4}})",
     "'rope_scaling.original_max_position_embeddings' is missing, expected an "
     "integer from 1 to 2147483647"},
    {R"({"rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 1,
         "beta_slow": 2, "original_max_position_embeddings": 32}})",
     "'rope_scaling.beta_fast' must be at least 'rope_scaling.beta_slow' = 2, "
     "got 1"},
    {R"({"rope_scaling": {"type": "yarn", "factor": 4, "mscale": 1.0,
         "original_max_position_embeddings": 32}})",
     "'rope_scaling.mscale' belongs to a model that is not supported; expected "
     "no such key, got 1"},
};

/// Against the form that transformers saves.
constexpr Refusal kTransformersRefusals[] = {
    {R"({"layer_types": ["sliding_attention"]})",
     "'layer_types' must have one entry for each of the 4 layers of "
     "'num_hidden_layers', got 1"},
    {R"({"layer_types": ["full_attention", 1, 1, 1]})",
     "'layer_types[0]' must be one of \"sliding_attention\", "
     "\"compressed_sparse_attention\", \"heavily_compressed_attention\", got "
     "\"full_attention\""},
    {R"({"mlp_layer_types": ["moe", "moe", "moe", "dense"]})",
     "'mlp_layer_types[3]' must be one of \"moe\", \"hash_moe\", got "
     "\"dense\""},
    {R"({"compress_rates": null})",
     "'compress_rates.compressed_sparse_attention' is missing, expected the "
     "ratio of layer 1"},
    {R"({"compress_rates": {"compressed_sparse_attention": 8}})",
     "'compress_rates.compressed_sparse_attention' must be an integer from 4 "
     "to 4, got 8"},
    {R"({"compress_rates": {"compressed_sparse_attention": 4,
                            "heavily_compressed_attention": 4}})",
     "'compress_rates.heavily_compressed_attention' must be an integer other "
     "than 4, the ratio of compressed_sparse_attention, got 4"},
    {R"({"compress_ratios": [0, 4, 16, 0]})",
     "'layer_types[3]' is \"compressed_sparse_attention\", which contradicts "
     "'compress_ratios[3]' = 0"},
    {R"({"compress_ratios": [0, 4, 128, 4]})",
     "'compress_rates.heavily_compressed_attention' is 16, which contradicts "
     "'compress_ratios[2]' = 128"},
    {R"({"num_hash_layers": 2})",
     "'mlp_layer_types[1]' is \"moe\", which contradicts 'num_hash_layers' = "
     "2"},
    {R"({"partial_rotary_factor": 0.5})",
     "'partial_rotary_factor * head_dim' is 16, which contradicts "
     "'qk_rope_head_dim' = 8"},
    {R"({"rope_theta": 5e5})",
     "'rope_parameters.main.rope_theta' is 10000, which contradicts "
     "'rope_theta' = 500000"},
    {R"({"compress_rope_theta": 4e4})",
     "'rope_parameters.compress.rope_theta' is 160000, which contradicts "
     "'compress_rope_theta' = 40000"},
    {R"({"rope_scaling": {"type": "yarn", "factor": 8,
         "original_max_position_embeddings": 32}})",
     "'rope_scaling' contradicts 'rope_parameters.compress'"},
    {R"({"rope_parameters": {"rope_type": "yarn", "factor": 4}})",
     "'rope_parameters.main' is missing, expected an object for each of 'main' "
     "and 'compress'"},
    {R"({"rope_parameters": {"main": {"rope_type": "yarn"}}})",
     "'rope_parameters.main.rope_type' must be \"default\", got \"yarn\""},
    {R"({"rope_parameters": {"compress": {"rope_type": "yarn",
         "attention_factor": 1.2}}})",
     "'rope_parameters.compress.attention_factor' must be 1, got 1.2"},
};

} // namespace

TEST(ModelConfigErrorTest, RefusesByKey) {
  for (const Refusal &refusal : kRefusals)
    EXPECT_EQ(getPatchedError("tiny", refusal.patch),
              std::string("c.json: ") + refusal.error);
}

TEST(ModelConfigErrorTest, RefusesByKeyInTransformersForm) {
  for (const Refusal &refusal : kTransformersRefusals)
    EXPECT_EQ(getPatchedError("tiny-transformers", refusal.patch),
              std::string("c.json: ") + refusal.error);
}

TEST(ModelConfigErrorTest, RefusesModelsThatOverflow) {
  EXPECT_EQ(
      getPatchedError("tiny", R"({"vocab_size": 2147483647,
                                  "hidden_size": 2147483647})"),
      "c.json: sizes must give a model of at most 2^63 - 1 bytes, got more "
      "with 'model.embed_tokens.weight' [2147483647, 2147483647]; the largest "
      "size is 'vocab_size' = 2147483647");
  EXPECT_EQ(
      getPatchedError("tiny", R"({"n_routed_experts": 2147483647,
          "moe_intermediate_size": 2147483646})"),
      "c.json: sizes must give a model of at most 2^63 - 1 bytes, got more "
      "with 'model.layers.0.mlp.experts.gate_and_up_projs' [2147483647, 64, "
      "4294967292]; the largest size is 'n_routed_experts' = 2147483647");
}

TEST(ModelConfigErrorTest, RefusesWhatIsNoConfig) {
  EXPECT_EQ(getError(""), "c.json: expected a JSON object, got an empty text");
  EXPECT_EQ(getError("[]"),
            "c.json: expected a JSON object, got an array of 0 elements");
  EXPECT_EQ(getError("{}"), "c.json: 'model_type' is missing, expected "
                            "\"deepseek_v4\"");
  EXPECT_EQ(getError(R"({"model_type": "a", "model_type": "deepseek_v4"})"),
            "c.json: key 'model_type' appears twice in one object");
  EXPECT_EQ(getError(R"({"hc_eps": NaN})"),
            "c.json: invalid JSON: [1:12, byte=12]: Invalid JSON value");
  llvm::Expected<ModelConfig> missing = readModelConfigFile("no/such.json");
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "no/such.json: No such file or directory");
}

TEST(ModelConfigErrorTest, RefusesInfinity) {
  auto buffer = llvm::MemoryBuffer::getFile(DSV4_EXAMPLE_CONFIGS "/tiny.json");
  std::string text = (*buffer)->getBuffer().str();
  constexpr llvm::StringLiteral number = "\"swiglu_limit\": 1.0";
  text.replace(text.find(number.str()), number.size(),
               "\"swiglu_limit\": 1e999");
  EXPECT_EQ(getError(text), "c.json: 'swiglu_limit' must be a number above 0, "
                            "at most 1e+30, got inf");
}
