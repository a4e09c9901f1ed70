//===- ParameterInventoryTest.cpp - Counts and seeds ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ParameterInventory.h"

#include "dsv4/Support/NameSeed.h"
#include "dsv4/Support/SafeTensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

static ModelConfig readExample(llvm::StringRef name) {
  return llvm::cantFail(
      readModelConfigFile((DSV4_EXAMPLE_CONFIGS "/" + name + ".json").str()));
}

namespace {

struct BlockCount {
  const char *config;
  int64_t layer;
  int64_t total;
  int64_t routedExperts;
  int64_t denseBF16;
  int64_t f32;
  int64_t frozenBF16;
  int64_t frozenF32;
  int64_t bytes;
  int64_t buffers;
};

// One layer of each kind. Flash: window + hash, sparse + hash, heavy, sparse.
// Pro: heavy + hash, sparse + hash, heavy, sparse.
constexpr BlockCount kBlocks[] = {
    {"v4-flash", 0, 6576416374, 6442450944, 133178880, 786550, 0, 0,
     13154405848, 775680},
    {"v4-flash", 2, 6595558646, 6442450944, 141830272, 11277430, 8650880,
     2098176, 13213672152, 775680},
    {"v4-flash", 3, 6580676726, 6442450944, 133179392, 5046390, 0, 0,
     13171446232, 256},
    {"v4-flash", 42, 6595558646, 6442450944, 141830272, 11277430, 8650880,
     2098176, 13213672152, 256},
    {"v4-pro", 0, 25744655030, 25367150592, 368722432, 8782006, 0, 0,
     51506874072, 775680},
    {"v4-pro", 2, 25768646454, 25367150592, 381764224, 19731638, 13041792,
     3671040, 51576756184, 775680},
    {"v4-pro", 59, 25744655030, 25367150592, 368722432, 8782006, 0, 0,
     51506874072, 384},
    {"v4-pro", 60, 25768646454, 25367150592, 381764224, 19731638, 13041792,
     3671040, 51576756184, 384},
};

struct ModelCount {
  const char *config;
  int64_t total;
  int64_t f32;
  int64_t mtp;
  int64_t bytesIn10MB;
};

constexpr ModelCount kModels[] = {
    {"v4-flash", 284332230231, 868923351, 6610048635, 57040},
    {"v4-pro", 1572997179491, 1790985059, 25840145595, 314958},
};

} // namespace

TEST(ParameterInventoryTest, CountsEveryKindOfBlock) {
  for (const BlockCount &block : kBlocks) {
    SCOPED_TRACE(std::string(block.config) + " layer " +
                 std::to_string(block.layer));
    ParameterTotals totals = computeLayerTotals(
        buildParameterInventory(readExample(block.config)), block.layer);
    EXPECT_EQ(totals.numElements, block.total);
    EXPECT_EQ(totals.numRoutedExpertElements, block.routedExperts);
    EXPECT_EQ(totals.numBF16Elements - totals.numRoutedExpertElements,
              block.denseBF16);
    EXPECT_EQ(totals.numF32Elements, block.f32);
    EXPECT_EQ(totals.numFrozenElements - totals.numFrozenF32Elements,
              block.frozenBF16);
    EXPECT_EQ(totals.numFrozenF32Elements, block.frozenF32);
    EXPECT_EQ(totals.numBytes, block.bytes);
    EXPECT_EQ(totals.numBufferElements, block.buffers);
  }
}

TEST(ParameterInventoryTest, CountsWholeModels) {
  for (const ModelCount &model : kModels) {
    SCOPED_TRACE(model.config);
    ModelConfig config = readExample(model.config);
    ParameterTotals totals = computeTotals(buildParameterInventory(config));
    EXPECT_EQ(totals.numElements, model.total);
    EXPECT_EQ(totals.numF32Elements, model.f32);
    EXPECT_EQ((totals.numBytes + 5000000) / 10000000, model.bytesIn10MB);
    ParameterTotals mtp = computeTotals(buildMtpParameterInventory(config));
    EXPECT_EQ(mtp.numElements, model.mtp);
    EXPECT_EQ(mtp.numFrozenElements, 0);
  }
}

TEST(ParameterInventoryTest, CountsTiny) {
  std::vector<ParameterSpec> parameters =
      buildParameterInventory(readExample("tiny"));
  ParameterTotals totals = computeTotals(parameters);
  EXPECT_EQ(totals.numElements, 268973);
  EXPECT_EQ(totals.numF32Elements, 86509);
  EXPECT_EQ(computeLayerTotals(parameters, 0).numElements, 55802);
  EXPECT_EQ(computeLayerTotals(parameters, 1).numElements, 69674);
  EXPECT_EQ(computeLayerTotals(parameters, 2).numElements, 60442);
  EXPECT_EQ(computeLayerTotals(parameters, 3).numElements, 69674);
  EXPECT_EQ(computeLayerTotals(parameters, -1).numElements, 13381);
  // Twelve indexer tensors and three routing biases have no gradient, and
  // neither has the routing table.
  EXPECT_EQ(llvm::count_if(parameters,
                           [](const ParameterSpec &parameter) {
                             return parameter.isFrozen &&
                                    parameter.type != ParameterType::I64;
                           }),
            15);
}

TEST(ParameterInventoryTest, CountsMid) {
  ParameterTotals totals =
      computeTotals(buildParameterInventory(readExample("mid")));
  EXPECT_EQ((totals.numElements + 50000) / 100000, 177); // 17.7 million
}

TEST(ParameterInventoryTest, OrdersByModuleTree) {
  std::vector<ParameterSpec> parameters =
      buildParameterInventory(readExample("tiny"));
  std::vector<std::string> names;
  for (const ParameterSpec &parameter : parameters)
    if (parameter.layer == -1 || parameter.layer == 1)
      names.push_back(parameter.name);
  std::vector<std::string> expected = {"model.embed_tokens.weight"};
  for (llvm::StringRef name :
       {"self_attn.wq_a.weight",
        "self_attn.q_norm.weight",
        "self_attn.wq_b.weight",
        "self_attn.wkv.weight",
        "self_attn.kv_norm.weight",
        "self_attn.wo_a.weight",
        "self_attn.wo_b.weight",
        "self_attn.sinks_param.weight",
        "self_attn.compressor.wkv.weight",
        "self_attn.compressor.wgate.weight",
        "self_attn.compressor.ape_param.weight",
        "self_attn.compressor.kv_norm.weight",
        "self_attn.compressor.indexer.wkv.weight",
        "self_attn.compressor.indexer.wgate.weight",
        "self_attn.compressor.indexer.ape_param.weight",
        "self_attn.compressor.indexer.kv_norm.weight",
        "self_attn.compressor.indexer.wq_b.weight",
        "self_attn.compressor.indexer.weights_proj.weight",
        "input_layernorm.weight",
        "post_attention_layernorm.weight",
        "attn_hc.fn",
        "attn_hc.base",
        "attn_hc.scale",
        "ffn_hc.fn",
        "ffn_hc.base",
        "ffn_hc.scale",
        "mlp.gate.weight",
        "mlp.gate.e_score_correction_bias",
        "mlp.experts.gate_and_up_projs",
        "mlp.experts.down_projs",
        "mlp.shared_experts.gate_proj.weight",
        "mlp.shared_experts.up_proj.weight",
        "mlp.shared_experts.down_proj.weight"})
    expected.push_back(("model.layers.1." + name).str());
  for (const char *name :
       {"model.hc_head.hc_fn", "model.hc_head.hc_base",
        "model.hc_head.hc_scale", "model.norm.weight", "lm_head.weight"})
    expected.push_back(name);
  EXPECT_EQ(names, expected);
}

TEST(ParameterInventoryTest, MatchesNamesAndShapesOfReferenceGradients) {
  llvm::Expected<SafeTensorsFile> file =
      SafeTensorsFile::open(DSV4_TEST_DATA "/tiny-reference-grads.safetensors");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  size_t numTrained = 0;
  for (const ParameterSpec &parameter :
       buildParameterInventory(readExample("tiny"))) {
    const TensorRef *gradient = file->find("grad/" + parameter.name);
    EXPECT_EQ(gradient == nullptr, parameter.isFrozen) << parameter.name;
    if (!gradient)
      continue;
    ++numTrained;
    EXPECT_EQ(llvm::ArrayRef<int64_t>(gradient->shape),
              llvm::ArrayRef<int64_t>(parameter.shape))
        << parameter.name;
  }
  EXPECT_EQ(numTrained, file->getTensors().size());
}

TEST(ParameterInventoryTest, NamesMultiTokenPrediction) {
  std::vector<ParameterSpec> parameters =
      buildMtpParameterInventory(readExample("tiny"), 2);
  EXPECT_EQ(parameters.front().name, "mtp.layers.2.self_attn.wq_a.weight");
  EXPECT_EQ(parameters.back().name, "mtp.layers.2.hc_head.hc_scale");
  llvm::StringSet<> names;
  for (const ParameterSpec &parameter : parameters)
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

/// FNV-1a over the elements of all floating-point tensors of TINY in order.
template <typename T>
static uint64_t hashAllElements() {
  std::string bytes;
  for (const ParameterSpec &parameter :
       buildParameterInventory(readExample("tiny"))) {
    if (parameter.seedKind != SeedKind::Uniform)
      continue;
    std::vector<T> values(parameter.getNumElements());
    fillParameter(parameter, 0, llvm::MutableArrayRef(values));
    bytes.append(asBytes(llvm::ArrayRef(values)).data(),
                 values.size() * sizeof(T));
  }
  return hashFnv1a(bytes);
}

// The hashes were computed by a separate implementation in another language.
TEST(ParameterInventoryTest, SeedsEveryElementOfTiny) {
  EXPECT_EQ(hashAllElements<double>(), 0x47a6f831e48541f6u);
  EXPECT_EQ(hashAllElements<float>(), 0x167188495172887au);
  EXPECT_EQ(hashAllElements<uint16_t>(), 0xc9ec41ce5ed355b5u);
}

TEST(ParameterInventoryTest, SeedsTablesAndShards) {
  std::vector<ParameterSpec> parameters =
      buildParameterInventory(readExample("tiny"));
  for (const ParameterSpec &parameter : parameters) {
    if (parameter.name == "model.layers.0.mlp.gate.tid2eid") {
      EXPECT_TRUE(parameter.isBuffer && parameter.isFrozen);
      EXPECT_EQ(parameter.shape, (llvm::SmallVector<int64_t, 3>{96, 2}));
      std::vector<int64_t> rows(4);
      fillParameter(parameter, 95 * 2 - 2, llvm::MutableArrayRef(rows));
      EXPECT_EQ(rows, (std::vector<int64_t>{0, 1, 2, 3}));
    }
    if (parameter.name == "lm_head.weight") {
      EXPECT_EQ(parameter.type, ParameterType::F32);
      std::vector<double> last(1);
      fillParameter(parameter, 6143, llvm::MutableArrayRef(last));
      EXPECT_EQ(last[0], -0x1.7fcd22458ffe1p-3);
    }
  }
}
