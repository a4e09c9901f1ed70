//===- BuildCompressor.cpp - Compressed keys and their selection ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every window of `ratio` tokens becomes one key: per channel, a weighted sum
// with softmax weights over the window. Where windows overlap, an indexer with
// a smaller compressor of its own selects for each query the windows it sees.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dsv4;

/// Steps C1 to C6 with the parameters of the current module.
Value ModelBuilder::buildCompressed(Value x, int64_t ratio, int64_t headDim,
                                    StringRef label) {
  int64_t numWindows = options.seqLen / ratio;
  auto project = [&](StringRef weight) {
    Value rows = graph.contract("bti,oi->bto", x, graph.getParameter(weight));
    return graph.split(rows, 1, {numWindows, ratio});
  };
  graph.setStep("C1");
  Value values = project("wkv.weight");
  Value gate = project("wgate.weight");
  graph.setStep("C4");
  bool overlap = ratio == kOverlapRatio;
  Value firstWindow = graph.createIndex(0);
  Value init = graph.createEmpty({options.batchSize, numWindows, headDim},
                                 graph.getWideType());
  Value pooled = PoolWindowsOp::create(
                     builder, graph.getLoc(), TypeRange(init.getType()), values,
                     gate, graph.getParameter("ape_param.weight"), firstWindow,
                     init, overlap ? builder.getUnitAttr() : UnitAttr())
                     ->getResult(0);
  graph.setStep("C6");
  Value rows = graph.round(pooled, label);
  rows = buildNormalized(rows, graph.getParameter("kv_norm.weight"),
                         (label + " norm").str());
  // A window stands at the position of its first token.
  Value windows = graph.split(positions, 1, {numWindows, ratio});
  return buildRope(rows, graph.pick(windows, 2, 0), /*compressed=*/true);
}

Value ModelBuilder::buildIndexer(int64_t layer, Value x, Value queryLatent) {
  int64_t ratio = config.compressRatios[layer];
  return graph.inModule1("indexer", "DeepseekV4Indexer", [&]() -> Value {
    Value keys = buildCompressed(x, ratio, config.indexHeadDim, "I1");
    graph.setStep("I2");
    Value query = buildLinear(queryLatent, "wq_b.weight", "I2");
    query = graph.split(query, 2, {config.indexHeads, config.indexHeadDim});
    query = buildRope(query, positions, /*compressed=*/true);
    graph.setStep("I3");
    Value weights = graph.elementwise(
        "bta->bta", buildLinear(x, "weights_proj.weight", "I3"),
        [&](ScalarBuilder &b, ValueRange v) {
          return b.mul(v[0], b.constant(std::pow(config.indexHeads, -0.5)));
        });
    graph.setStep("I6");
    int64_t numSelected = getChoices(layer)[0].second;
    Value first = graph.createIndex(0);
    Value init = graph.createEmpty(
        {options.batchSize, options.seqLen, numSelected}, builder.getI64Type());
    return IndexTopkOp::create(
               builder, graph.getLoc(), TypeRange(init.getType()), query, keys,
               weights, first, init, builder.getI64IntegerAttr(ratio),
               builder.getF64FloatAttr(std::pow(config.indexHeadDim, -0.5)))
        ->getResult(0);
  });
}

ModelBuilder::Pool ModelBuilder::buildPool(int64_t layer, Value x,
                                           Value queryLatent) {
  int64_t ratio = config.compressRatios[layer];
  bool selects =
      config.getAttentionKind(layer) == AttentionKind::CompressedSparse;
  auto build = [&]() -> SmallVector<Value> {
    SmallVector<Value> results = {
        buildCompressed(x, ratio, config.headDim, "C6")};
    if (selects && isFree())
      results.push_back(buildIndexer(layer, x, queryLatent));
    return results;
  };
  SmallVector<Value> results =
      graph.inModule("compressor", "DeepseekV4Compressor", build);
  Pool pool{results[0], nullptr};
  if (selects)
    pool.selected = isFree() ? results[1] : getImposed("selected", layer);
  return pool;
}
