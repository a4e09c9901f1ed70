//===- BuildModel.cpp - The graph of a V4 model ---------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/BuildModel.h"

#include "ModelBuilder.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dsv4;

static FloatType getWideType(OpBuilder &builder, ElementType type) {
  return type == ElementType::F64 ? FloatType(builder.getF64Type())
                                  : FloatType(builder.getF32Type());
}

static FloatType getActivationType(OpBuilder &builder, ElementType type) {
  return type == ElementType::Mixed ? FloatType(builder.getBF16Type())
                                    : getWideType(builder, type);
}

ModelBuilder::ModelBuilder(OpBuilder &builder, const ModelConfig &config,
                           const BuildOptions &options)
    : config(config), options(options), builder(builder),
      graph(builder, getActivationType(builder, options.elementType),
            getWideType(builder, options.elementType)),
      parameters(buildParameterInventory(config)) {}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Type ModelBuilder::getParameterType(const ParameterSpec &parameter) const {
  switch (parameter.type) {
  case ParameterType::I64:
    return builder.getI64Type();
  case ParameterType::F32:
    return graph.getWideType();
  case ParameterType::BF16:
    return graph.getActivationType();
  }
  llvm_unreachable("unknown parameter type");
}

RankedTensorType ModelBuilder::getTokenType(ArrayRef<int64_t> trailing) const {
  SmallVector<int64_t> shape = {options.batchSize, options.seqLen};
  llvm::append_range(shape, trailing);
  return RankedTensorType::get(shape, builder.getI64Type());
}

SmallVector<std::pair<std::string, int64_t>>
ModelBuilder::getChoices(int64_t layer) const {
  SmallVector<std::pair<std::string, int64_t>> choices;
  if (config.getAttentionKind(layer) == AttentionKind::CompressedSparse) {
    int64_t numWindows = options.seqLen / config.compressRatios[layer];
    choices.emplace_back(llvm::formatv("selected/{0}", layer).str(),
                         std::min(config.indexTopk, numWindows));
  }
  choices.emplace_back(llvm::formatv("experts/{0}", layer).str(),
                       config.expertsPerToken);
  return choices;
}

Value ModelBuilder::getImposed(StringRef kind, int64_t layer) const {
  return batch.lookup(llvm::formatv("{0}/{1}", kind, layer).str());
}

std::vector<ModelBuilder::Argument> ModelBuilder::getArguments() const {
  std::vector<Argument> arguments = {{"input_ids", kBatchAttr, getTokenType()},
                                     {"labels", kBatchAttr, getTokenType()}};
  for (const std::string &field : options.batchFields)
    arguments.push_back({field, kBatchAttr, getTokenType()});
  if (!isFree())
    for (int64_t layer = 0; layer < config.numLayers; ++layer)
      for (auto &[name, size] : getChoices(layer))
        arguments.push_back({name, kBatchAttr, getTokenType(size)});
  for (const ParameterSpec &parameter : parameters)
    arguments.push_back(
        {parameter.name, parameter.isBuffer ? kBufferAttr : kParamAttr,
         RankedTensorType::get(parameter.shape, getParameterType(parameter)),
         parameter.isFrozen});
  return arguments;
}

func::FuncOp ModelBuilder::createFunction() {
  std::vector<Argument> arguments = getArguments();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    SmallVector<NamedAttribute> named = {builder.getNamedAttr(
        argument.kind, builder.getStringAttr(argument.name))};
    if (argument.isFrozen)
      named.push_back(builder.getNamedAttr(kFrozenAttr, builder.getUnitAttr()));
    attributes.push_back(builder.getDictionaryAttr(named));
  }
  auto function = func::FuncOp::create(
      builder, graph.getLoc(), "forward",
      builder.getFunctionType(types, /*results=*/{}), /*attrs=*/{}, attributes);
  Block *entry = function.addEntryBlock();
  for (auto [argument, value] : llvm::zip(arguments, entry->getArguments())) {
    value.setLoc(NameLoc::get(builder.getStringAttr(argument.name)));
    if (argument.kind == kBatchAttr)
      batch[argument.name] = value;
    else
      graph.addParameter(argument.name, value);
  }
  return function;
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// The position of each token in its row, unless the batch says otherwise. The
/// ids are an operand, though not read, so that both are split alike.
Value ModelBuilder::buildPositions() {
  if (Value given = batch.lookup("position_ids"))
    return given;
  graph.setStep("positions");
  return graph.elementwiseAs(
      "bt->bt", batch["input_ids"], builder.getI64Type(),
      [](ScalarBuilder &b, ValueRange) -> Value {
        Value index = linalg::IndexOp::create(b.builder, b.loc, 1);
        return arith::IndexCastOp::create(b.builder, b.loc,
                                          b.builder.getI64Type(), index);
      });
}

/// One block of the model: the streams, then its choices if they are results.
SmallVector<Value> ModelBuilder::buildBlock(int64_t layer, Value streams) {
  return graph.inModule(
      "layers." + Twine(layer), "DeepseekV4Block", [&]() -> SmallVector<Value> {
        StreamMaps maps = buildStreamMaps("attn_hc", streams);
        Value x = buildNorm("input_layernorm", buildCollapse(streams, maps.pre),
                            "RMSNorm");
        SublayerResult attention = buildAttention(layer, x);
        Value middle = buildExpand(attention.output, streams, maps);

        maps = buildStreamMaps("ffn_hc", middle);
        x = buildNorm("post_attention_layernorm",
                      buildCollapse(middle, maps.pre), "RMSNorm");
        SublayerResult moe = buildMoe(layer, x);
        SmallVector<Value> results = {buildExpand(moe.output, middle, maps)};
        for (Value choice : {attention.choice, moe.choice})
          if (choice)
            results.push_back(choice);
        return results;
      });
}

/// The final hidden state, then the choices of all blocks.
SmallVector<Value> ModelBuilder::buildStreams() {
  Value embedded = graph.inModule1("embed_tokens", "Embedding", [&] {
    return graph.createInto<GatherRowsOp>(
        {options.batchSize, options.seqLen, config.hiddenSize},
        graph.getActivationType(), graph.getParameter("weight"),
        batch["input_ids"]);
  });
  graph.setStep("streams");
  Value streams = graph.broadcast("bti->btsi", embedded, config.hcMult);
  SmallVector<Value> results = {nullptr};
  for (int64_t layer = 0; layer < config.numLayers; ++layer) {
    SmallVector<Value> block = buildBlock(layer, streams);
    streams = block[0];
    llvm::append_range(results, llvm::drop_begin(block));
  }
  results[0] = buildNorm("norm", buildStreamHead(streams), "RMSNorm");
  return results;
}

void ModelBuilder::buildBody(func::FuncOp function) {
  builder.setInsertionPointToStart(&function.front());
  positions = buildPositions();
  SmallVector<Value> model = graph.inModule("model", "DeepseekV4Model",
                                            [&] { return buildStreams(); });
  Value logits = buildLogits(model[0]);
  SmallVector<Value> results = {buildLoss(logits), logits};
  SmallVector<std::string> names = {"loss", "logits"};
  if (options.choices == Choices::Emit) {
    llvm::append_range(results, llvm::drop_begin(model));
    for (int64_t layer = 0; layer < config.numLayers; ++layer)
      for (auto &[name, size] : getChoices(layer))
        names.push_back(name);
  }
  graph.setStep("");
  func::ReturnOp::create(builder, graph.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           TypeRange(ValueRange(results))));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, kResultAttr, builder.getStringAttr(name));
}

OwningOpRef<mlir::ModuleOp> ModelBuilder::build() {
  OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder, graph.getLoc());
  builder.setInsertionPointToStart(module->getBody());
  buildBody(createFunction());
  return module;
}

OwningOpRef<mlir::ModuleOp>
mlir::dsv4::buildModel(MLIRContext *context, const ModelConfig &config,
                       const BuildOptions &options) {
  if (llvm::Error error = checkBuildOptions(config, options)) {
    emitError(UnknownLoc::get(context)) << llvm::toString(std::move(error));
    return nullptr;
  }
  context->loadDialect<arith::ArithDialect, Dsv4Dialect, func::FuncDialect,
                       linalg::LinalgDialect, math::MathDialect,
                       tensor::TensorDialect>();
  OpBuilder builder(context);
  return ModelBuilder(builder, config, options).build();
}
