//===- BuildAttention.cpp - The attention sublayer ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Low-rank queries, one latent per token that is key and value of all heads,
// compressed latents of older tokens, and a grouped low-rank output. Keys are
// rotated by position and are also the values, so the output is rotated back.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dsv4;

Value ModelBuilder::buildLinear(Value x, StringRef weight, StringRef label) {
  return graph.round(
      graph.contract("bti,oi->bto", x, graph.getParameter(weight)), label);
}

Value ModelBuilder::buildRope(Value x, Value positions, bool compressed,
                              bool inverse) {
  TypeAttr trig;
  if (isAutomodel())
    trig = TypeAttr::get(graph.getActivationType());
  Value init = graph.createEmpty(getShape(x), getElement(x));
  return RopeOp::create(builder, graph.getLoc(), TypeRange(init.getType()), x,
                        positions, init,
                        builder.getDenseF64ArrayAttr(
                            getInverseFrequencies(config, compressed)),
                        inverse ? builder.getUnitAttr() : UnitAttr(), trig)
      ->getResult(0);
}

Value ModelBuilder::buildAttentionCore(int64_t layer, Value query, Value keys,
                                       const Pool &pool) {
  Value sink = graph.getParameter("sinks_param.weight");
  Value first = graph.createIndex(0);
  Value init = graph.createEmpty(getShape(query), getElement(query));
  return WindowAttentionOp::create(
             builder, graph.getLoc(), query, keys, sink, first, first,
             pool.rows, pool.selected, init, config.slidingWindow,
             std::pow(config.headDim, -0.5), config.compressRatios[layer])
      ->getResult(0);
}

/// Each group of channels has its own projection to a low rank.
Value ModelBuilder::buildAttentionOutput(Value x) {
  graph.setStep("A10");
  int64_t groups = config.oGroups;
  int64_t width = config.getOGroupWidth();
  Value grouped = graph.split(graph.merge(x, 2), 2, {groups, width});
  Value weight = graph.split(graph.getParameter("wo_a.weight"), 0,
                             {groups, config.oLoraRank});
  Value low =
      graph.round(graph.contract("btgi,goi->btgo", grouped, weight), "A10");
  graph.setStep("A11");
  return buildLinear(graph.merge(low, 2), "wo_b.weight", "A11");
}

ModelBuilder::SublayerResult ModelBuilder::buildAttention(int64_t layer,
                                                          Value x) {
  bool compressed = config.compressRatios[layer] != 0;
  auto build = [&]() -> SmallVector<Value> {
    graph.setStep("A1");
    Value latent = buildLinear(x, "wq_a.weight", "A1");
    graph.setStep("A2");
    latent = buildNormalized(latent, graph.getParameter("q_norm.weight"), "A2");
    graph.setStep("A3");
    Value query = buildLinear(latent, "wq_b.weight", "A3");
    query = graph.split(query, 2, {config.numHeads, config.headDim});
    graph.setStep("A4");
    query = buildNormalized(query, /*weight=*/nullptr, "A4");
    graph.setStep("A5");
    query = buildRope(query, positions, compressed);
    graph.setStep("A6");
    Value keys = buildLinear(x, "wkv.weight", "A6");
    keys =
        buildNormalized(keys, graph.getParameter("kv_norm.weight"), "A6 norm");
    keys = buildRope(keys, positions, compressed);
    Pool pool;
    if (compressed)
      pool = buildPool(layer, x, latent);
    graph.setStep("A8");
    Value output = buildAttentionCore(layer, query, keys, pool);
    graph.setStep("A9");
    output = buildRope(output, positions, compressed, /*inverse=*/true);
    SmallVector<Value> results = {buildAttentionOutput(output)};
    if (pool.selected && options.choices == Choices::Emit)
      results.push_back(pool.selected);
    return results;
  };
  SmallVector<Value> results =
      graph.inModule("self_attn", "DeepseekV4Attention", build);
  return {results[0], results.size() > 1 ? results[1] : nullptr};
}
