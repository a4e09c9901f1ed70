//===- ParameterInventory.cpp - All parameters of a model -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ParameterInventory.h"

#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace mlir::dsv4;

llvm::StringRef mlir::dsv4::getParameterTypeName(ParameterType type) {
  switch (type) {
  case ParameterType::BF16:
    return "bf16";
  case ParameterType::F32:
    return "f32";
  case ParameterType::I64:
    return "i64";
  }
  llvm_unreachable("unknown parameter type");
}

int64_t mlir::dsv4::getParameterTypeSize(ParameterType type) {
  switch (type) {
  case ParameterType::BF16:
    return 2;
  case ParameterType::F32:
    return 4;
  case ParameterType::I64:
    return 8;
  }
  llvm_unreachable("unknown parameter type");
}

int64_t ParameterSpec::getNumElements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

namespace {

/// Appends parameters below a module path that grows and shrinks with the walk
/// over the module tree.
class InventoryBuilder {
public:
  explicit InventoryBuilder(const ModelConfig &config) : config(config) {}

  void addModel();
  void addMtpBlock(int64_t index);

  std::vector<ParameterSpec> take() { return std::move(parameters); }

private:
  using Shape = llvm::SmallVector<int64_t, 3>;

  ParameterSpec &add(const llvm::Twine &name, Shape shape, double scale,
                     double shift = 0.0);
  /// A matrix [out, in] with outputs of unit variance.
  ParameterSpec &addMatrix(const llvm::Twine &name, int64_t out, int64_t in);
  ParameterSpec &addNorm(const llvm::Twine &name, int64_t width);

  void addBlock(int64_t ratio, bool isHash);
  void addAttention(int64_t ratio);
  void addCompressor(int64_t ratio, int64_t headDim);
  void addIndexer(int64_t ratio);
  void addStreamMaps(llvm::StringRef name);
  void addMoe(bool isHash);
  void addStreamHead();

  const ModelConfig &config;
  std::vector<ParameterSpec> parameters;
  std::string path; // with a final dot
  int64_t layer = -1;

  /// Extends the path for the life of the object.
  class Scope {
  public:
    Scope(InventoryBuilder &builder, const llvm::Twine &name)
        : builder(builder), length(builder.path.size()) {
      builder.path += (name + ".").str();
    }
    ~Scope() { builder.path.resize(length); }

  private:
    InventoryBuilder &builder;
    size_t length;
  };
};

} // namespace

ParameterSpec &InventoryBuilder::add(const llvm::Twine &name, Shape shape,
                                     double scale, double shift) {
  ParameterSpec &parameter = parameters.emplace_back();
  parameter.name = (path + name).str();
  parameter.shape = std::move(shape);
  parameter.layer = layer;
  parameter.seedScale = scale;
  parameter.seedShift = shift;
  return parameter;
}

ParameterSpec &InventoryBuilder::addMatrix(const llvm::Twine &name, int64_t out,
                                           int64_t in) {
  return add(name, {out, in}, std::sqrt(3.0 / static_cast<double>(in)));
}

ParameterSpec &InventoryBuilder::addNorm(const llvm::Twine &name,
                                         int64_t width) {
  return add(name, {width}, 0.2, 1.0);
}

/// Parameters that train and compute in f32.
static void keepF32(ParameterSpec &parameter) {
  parameter.type = ParameterType::F32;
}

void InventoryBuilder::addCompressor(int64_t ratio, int64_t headDim) {
  int64_t width = (ratio == kOverlapRatio ? 2 : 1) * headDim;
  keepF32(addMatrix("wkv.weight", width, config.hiddenSize));
  keepF32(addMatrix("wgate.weight", width, config.hiddenSize));
  keepF32(add("ape_param.weight", {ratio, width}, 0.5));
  addNorm("kv_norm.weight", headDim);
}

/// Only indices leave the indexer, so nothing in it has a gradient.
void InventoryBuilder::addIndexer(int64_t ratio) {
  Scope scope(*this, "indexer");
  size_t first = parameters.size();
  addCompressor(ratio, config.indexHeadDim);
  addMatrix("wq_b.weight", config.indexHeads * config.indexHeadDim,
            config.qLoraRank);
  addMatrix("weights_proj.weight", config.indexHeads, config.hiddenSize);
  for (ParameterSpec &parameter :
       llvm::MutableArrayRef(parameters).drop_front(first))
    parameter.isFrozen = true;
}

void InventoryBuilder::addAttention(int64_t ratio) {
  Scope scope(*this, "self_attn");
  int64_t width = config.numHeads * config.headDim;
  int64_t outputRank = config.oGroups * config.oLoraRank;
  addMatrix("wq_a.weight", config.qLoraRank, config.hiddenSize);
  addNorm("q_norm.weight", config.qLoraRank);
  addMatrix("wq_b.weight", width, config.qLoraRank);
  addMatrix("wkv.weight", config.headDim, config.hiddenSize);
  addNorm("kv_norm.weight", config.headDim);
  addMatrix("wo_a.weight", outputRank, config.getOGroupWidth());
  addMatrix("wo_b.weight", config.hiddenSize, outputRank);
  keepF32(add("sinks_param.weight", {config.numHeads}, 1.0));
  if (ratio == 0)
    return;
  Scope compressor(*this, "compressor");
  addCompressor(ratio, config.headDim);
  if (ratio == kOverlapRatio)
    addIndexer(ratio);
}

void InventoryBuilder::addStreamMaps(llvm::StringRef name) {
  Scope scope(*this, name);
  int64_t width = config.getHcMixWidth();
  keepF32(addMatrix("fn", width, config.hcMult * config.hiddenSize));
  keepF32(add("base", {width}, 0.5));
  keepF32(add("scale", {3}, 0.2, 1.0));
}

void InventoryBuilder::addStreamHead() {
  Scope scope(*this, "hc_head");
  keepF32(addMatrix("hc_fn", config.hcMult, config.hcMult * config.hiddenSize));
  keepF32(add("hc_base", {config.hcMult}, 0.5));
  keepF32(add("hc_scale", {1}, 0.2, 1.0));
}

void InventoryBuilder::addMoe(bool isHash) {
  Scope scope(*this, "mlp");
  int64_t hidden = config.hiddenSize;
  int64_t inner = config.moeIntermediate;
  addMatrix("gate.weight", config.numExperts, hidden);
  ParameterSpec &routing =
      isHash
          ? add("gate.tid2eid", {config.vocabSize, config.expertsPerToken}, 0.0)
          : add("gate.e_score_correction_bias", {config.numExperts}, 0.1);
  routing.isBuffer = routing.isFrozen = true;
  routing.type = isHash ? ParameterType::I64 : ParameterType::F32;
  if (isHash) {
    routing.seedKind = SeedKind::TokenToExpert;
    routing.seedNumExperts = config.numExperts;
  }
  // Expert stacks are [expert, in, out].
  auto addExperts = [&](llvm::StringRef name, int64_t in, int64_t out) {
    add("experts." + name, {config.numExperts, in, out},
        std::sqrt(3.0 / static_cast<double>(in)))
        .isRoutedExpert = true;
  };
  addExperts("gate_and_up_projs", hidden, 2 * inner);
  addExperts("down_projs", inner, hidden);
  addMatrix("shared_experts.gate_proj.weight", inner, hidden);
  addMatrix("shared_experts.up_proj.weight", inner, hidden);
  addMatrix("shared_experts.down_proj.weight", hidden, inner);
}

void InventoryBuilder::addBlock(int64_t ratio, bool isHash) {
  addAttention(ratio);
  addNorm("input_layernorm.weight", config.hiddenSize);
  addNorm("post_attention_layernorm.weight", config.hiddenSize);
  addStreamMaps("attn_hc");
  addStreamMaps("ffn_hc");
  addMoe(isHash);
}

void InventoryBuilder::addModel() {
  add("model.embed_tokens.weight", {config.vocabSize, config.hiddenSize}, 1.0);
  for (layer = 0; layer < config.numLayers; ++layer) {
    Scope scope(*this, "model.layers." + llvm::Twine(layer));
    addBlock(config.compressRatios[layer], config.isHashLayer(layer));
  }
  layer = -1;
  {
    Scope scope(*this, "model");
    addStreamHead();
    addNorm("norm.weight", config.hiddenSize);
  }
  keepF32(addMatrix("lm_head.weight", config.vocabSize, config.hiddenSize));
}

void InventoryBuilder::addMtpBlock(int64_t index) {
  Scope scope(*this, "mtp.layers." + llvm::Twine(index));
  addBlock(/*ratio=*/0, /*isHash=*/false);
  addMatrix("e_proj.weight", config.hiddenSize, config.hiddenSize);
  addMatrix("h_proj.weight", config.hiddenSize, config.hiddenSize);
  addNorm("enorm.weight", config.hiddenSize);
  addNorm("hnorm.weight", config.hiddenSize);
  addNorm("norm.weight", config.hiddenSize);
  addStreamHead();
}

std::vector<ParameterSpec>
mlir::dsv4::buildParameterInventory(const ModelConfig &config) {
  InventoryBuilder builder(config);
  builder.addModel();
  return builder.take();
}

std::vector<ParameterSpec>
mlir::dsv4::buildMtpParameterInventory(const ModelConfig &config,
                                       int64_t index) {
  InventoryBuilder builder(config);
  builder.addMtpBlock(index);
  return builder.take();
}

static void addToTotals(const ParameterSpec &parameter,
                        ParameterTotals &totals) {
  int64_t count = parameter.getNumElements();
  if (parameter.isBuffer) {
    totals.numBufferElements += count;
    return;
  }
  bool isF32 = parameter.type == ParameterType::F32;
  totals.numElements += count;
  totals.numBytes += parameter.getNumBytes();
  totals.numF32Elements += isF32 ? count : 0;
  totals.numBF16Elements += isF32 ? 0 : count;
  totals.numRoutedExpertElements += parameter.isRoutedExpert ? count : 0;
  totals.numFrozenElements += parameter.isFrozen ? count : 0;
  totals.numFrozenF32Elements += parameter.isFrozen && isF32 ? count : 0;
}

ParameterTotals
mlir::dsv4::computeTotals(llvm::ArrayRef<ParameterSpec> parameters) {
  ParameterTotals totals;
  for (const ParameterSpec &parameter : parameters)
    addToTotals(parameter, totals);
  return totals;
}

ParameterTotals
mlir::dsv4::computeLayerTotals(llvm::ArrayRef<ParameterSpec> parameters,
                               int64_t layer) {
  ParameterTotals totals;
  for (const ParameterSpec &parameter : parameters)
    if (parameter.layer == layer)
      addToTotals(parameter, totals);
  return totals;
}

template <typename T>
static void fillFloats(const ParameterSpec &parameter, uint64_t begin,
                       llvm::MutableArrayRef<T> out) {
  assert(parameter.seedKind == SeedKind::Uniform && "not a table");
  fillUniform(parameter.name, parameter.seedScale, parameter.seedShift, begin,
              out);
}

void mlir::dsv4::fillParameter(const ParameterSpec &parameter, uint64_t begin,
                               llvm::MutableArrayRef<double> out) {
  fillFloats(parameter, begin, out);
}

void mlir::dsv4::fillParameter(const ParameterSpec &parameter, uint64_t begin,
                               llvm::MutableArrayRef<float> out) {
  fillFloats(parameter, begin, out);
}

void mlir::dsv4::fillParameter(const ParameterSpec &parameter, uint64_t begin,
                               llvm::MutableArrayRef<uint16_t> out) {
  fillFloats(parameter, begin, out);
}

void mlir::dsv4::fillParameter(const ParameterSpec &parameter, uint64_t begin,
                               llvm::MutableArrayRef<int64_t> out) {
  assert(parameter.seedKind == SeedKind::TokenToExpert && "not a table");
  fillTokenToExpert(parameter.seedNumExperts, begin, out);
}
