//===- ModelBuilder.h - The parts of a model's graph ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, whose methods are defined by theme: BuildModel.cpp (function and
// blocks), BuildHyperConnections.cpp, BuildAttention.cpp, BuildCompressor.cpp,
// BuildMoe.cpp, BuildHead.cpp. Step names such as A3 are those of the model's
// definition; they name locations and label roundings.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_FRONTEND_MODELBUILDER_H
#define DSV4_LIB_FRONTEND_MODELBUILDER_H

#include "GraphBuilder.h"
#include "dsv4/Frontend/BuildModel.h"
#include "dsv4/Frontend/ParameterInventory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsv4 {

class ModelBuilder {
public:
  ModelBuilder(OpBuilder &builder, const ModelConfig &config,
               const BuildOptions &options);

  OwningOpRef<mlir::ModuleOp> build();

private:
  /// The arguments of the function, in order.
  struct Argument {
    std::string name;
    StringRef kind; // name of the attribute that holds `name`
    RankedTensorType type;
    bool isFrozen = false;
  };

  /// What mixes the residual streams around one sublayer, all wide.
  struct StreamMaps {
    Value pre;  // [B,S,n]
    Value post; // [B,S,n]
    Value comb; // [B,S,n,n], from stream -2 to stream -1
  };

  /// Compressed keys, and which of them each query sees (null: all complete
  /// ones).
  struct Pool {
    Value rows;
    Value selected;
  };

  struct SublayerResult {
    Value output;
    Value choice; // null if it makes none
  };

  // BuildModel.cpp
  std::vector<Argument> getArguments() const;
  Type getParameterType(const ParameterSpec &parameter) const;
  RankedTensorType getTokenType(ArrayRef<int64_t> trailing = {}) const;
  func::FuncOp createFunction();
  void buildBody(func::FuncOp function);
  Value buildPositions();
  SmallVector<Value> buildStreams();
  SmallVector<Value> buildBlock(int64_t layer, Value streams);
  bool isFree() const { return options.choices != Choices::Impose; }
  /// Names of the choices of a layer, with the number of entries per token.
  SmallVector<std::pair<std::string, int64_t>> getChoices(int64_t layer) const;
  Value getImposed(StringRef kind, int64_t layer) const;

  // BuildHyperConnections.cpp
  /// x / sqrt(mean(x^2) + eps) * weight over the last dimension; the weight may
  /// be null.
  Value buildNormalized(Value x, Value weight, StringRef label);
  Value buildNorm(StringRef name, Value x, StringRef label);
  Value buildInverseRms(Value x);
  /// The normalised streams times a mixing matrix.
  Value buildMix(Value streams, StringRef weight);
  /// A function of sigmoid(mix * scale + base), of these three parts.
  Value buildGate(ValueRange parts, GraphBuilder::ScalarFn finish);
  StreamMaps buildStreamMaps(StringRef name, Value streams);
  Value buildCollapse(Value streams, Value pre);
  Value buildExpand(Value y, Value streams, const StreamMaps &maps);
  Value buildRoundedExpand(Value y, Value streams, const StreamMaps &maps);

  // BuildAttention.cpp
  /// x . weight^T, rounded.
  Value buildLinear(Value x, StringRef weight, StringRef label);
  Value buildRope(Value x, Value positions, bool compressed,
                  bool inverse = false);
  SublayerResult buildAttention(int64_t layer, Value x);
  Value buildAttentionCore(int64_t layer, Value query, Value keys,
                           const Pool &pool);
  Value buildAttentionOutput(Value x);

  // BuildCompressor.cpp
  Value buildCompressed(Value x, int64_t ratio, int64_t headDim,
                        StringRef label);
  Pool buildPool(int64_t layer, Value x, Value queryLatent);
  Value buildIndexer(int64_t layer, Value x, Value queryLatent);

  // BuildMoe.cpp
  SublayerResult buildMoe(int64_t layer, Value x);
  SmallVector<Value> buildRouter(int64_t layer, Value x);
  Value buildChoice(int64_t layer, Value scores);
  Value buildExperts(Value x, Value experts, Value weights);
  Value buildSharedExperts(Value x);
  Value buildGlu(ScalarBuilder &b, Value gate, Value up);

  // BuildHead.cpp
  Value buildStreamHead(Value streams);
  Value buildLogits(Value x);
  Value buildLoss(Value logits);

  bool isAutomodel() const {
    return graph.isMixed() && options.numerics == Numerics::Automodel;
  }

  const ModelConfig &config;
  const BuildOptions &options;
  OpBuilder &builder;
  GraphBuilder graph;
  std::vector<ParameterSpec> parameters;
  llvm::StringMap<Value> batch; // batch arguments by field
  Value positions;              // [B,S]
};

} // namespace mlir::dsv4

#endif // DSV4_LIB_FRONTEND_MODELBUILDER_H
