//===- BuildMoe.cpp - The mixture of experts ------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each token goes to k experts. Its rows are sorted by expert, multiplied by
// the expert's matrices, and added back in ascending order of the experts.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"

using namespace mlir;
using namespace mlir::dsv4;

/// silu(min(gate, limit)) * clamp(up, -limit, limit).
Value ModelBuilder::buildGlu(ScalarBuilder &b, Value gate, Value up) {
  Value limit = b.constant(config.swigluLimit);
  Value clampedGate = b.min(gate, limit);
  Value clampedUp = b.max(b.min(up, limit), b.constant(-config.swigluLimit));
  return b.mul(b.mul(clampedGate, b.sigmoid(clampedGate)), clampedUp);
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// The experts of each token: by its id in hash layers, else those with the
/// best biased scores.
Value ModelBuilder::buildChoice(int64_t layer, Value scores) {
  graph.setStep("M2");
  if (!isFree())
    return getImposed("experts", layer);
  int64_t shape[] = {options.batchSize, options.seqLen, config.expertsPerToken};
  if (config.isHashLayer(layer))
    return graph.createInto<GatherRowsOp>(shape, builder.getI64Type(),
                                          graph.getParameter("tid2eid"),
                                          batch["input_ids"]);
  Value biased = graph.elementwise(
      "bte,e->bte", {scores, graph.getParameter("e_score_correction_bias")},
      [](ScalarBuilder &b, ValueRange v) { return b.add(v[0], v[1]); });
  return graph.createInto<TopkOp>(shape, builder.getI64Type(), biased);
}

/// Experts and weights of each token.
SmallVector<Value> ModelBuilder::buildRouter(int64_t layer, Value x) {
  auto build = [&]() -> SmallVector<Value> {
    graph.setStep("M1");
    Value logits =
        graph.contract("bti,ei->bte", x, graph.getParameter("weight"));
    Value scores = graph.elementwise(
        "bte->bte", logits, [](ScalarBuilder &b, ValueRange v) {
          Value small = b.log1p(b.exp(b.neg(b.abs(v[0]))));
          return b.sqrt(b.add(b.max(v[0], b.constant(0.0)), small));
        });
    Value experts = buildChoice(layer, scores);
    graph.setStep("M3");
    Value taken = graph.createInto<TakeAlongOp>(
        getShape(experts), graph.getWideType(), scores, experts);
    SmallVector<Value> operands = {taken};
    bool normalizes = config.normTopkProb || config.isHashLayer(layer);
    if (normalizes)
      operands.push_back(
          graph.sum("btk->bt", taken,
                    [](ScalarBuilder &, ValueRange v) { return v[0]; }));
    Value weights = graph.elementwise(
        normalizes ? "btk,bt->btk" : "btk->btk", operands,
        [&](ScalarBuilder &b, ValueRange v) {
          Value weight = v[0];
          if (normalizes)
            weight = b.div(weight, b.add(v[1], b.constant(1e-20)));
          return b.mul(weight, b.constant(config.routedScaling));
        });
    if (isAutomodel())
      weights = graph.round(weights, "M3");
    return {experts, weights};
  };
  return graph.inModule("gate", "Gate", build);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// The sum over the experts of each token, wide.
Value ModelBuilder::buildExperts(Value x, Value experts, Value weights) {
  int64_t numRows = options.batchSize * options.seqLen * config.expertsPerToken;
  int64_t inner = config.moeIntermediate;
  FloatType wide = graph.getWideType();
  return graph.inModule1("experts", "GroupedExperts", [&]() -> Value {
    graph.setStep("M4");
    Value orderInit = graph.createEmpty({numRows}, builder.getI64Type());
    Value offsetInit =
        graph.createEmpty({config.numExperts + 1}, builder.getI64Type());
    auto sorted = SortByExpertOp::create(
        builder, graph.getLoc(),
        TypeRange{orderInit.getType(), offsetInit.getType()}, experts,
        orderInit, offsetInit);
    Value order = sorted->getResult(0), offsets = sorted->getResult(1);
    Value rows = graph.createInto<DispatchRowsOp>({numRows, config.hiddenSize},
                                                  getElement(x), x, order);
    Value both = graph.createInto<GroupedMatmulOp>(
        {numRows, 2 * inner}, wide, rows,
        graph.getParameter("gate_and_up_projs"), offsets);
    both = graph.round(both, "M4");
    Value rowWeights = graph.createInto<DispatchWeightsOp>(
        {numRows}, getElement(weights), weights, order);
    Value act = graph.elementwiseRounded(
        "ri,ri,r->ri",
        {graph.slice(both, 1, 0, inner), graph.slice(both, 1, inner, inner),
         rowWeights},
        "M4 act", [&](ScalarBuilder &b, ValueRange v) {
          return b.mul(buildGlu(b, v[0], v[1]), v[2]);
        });
    Value down = graph.createInto<GroupedMatmulOp>(
        {numRows, config.hiddenSize}, wide, act,
        graph.getParameter("down_projs"), offsets);
    down = graph.round(down, "M4 down");
    graph.setStep("M5");
    Value sum = graph.createFilled(getShape(x), wide, 0.0);
    return CombineRowsOp::create(builder, graph.getLoc(),
                                 TypeRange(sum.getType()), down, order, offsets,
                                 experts, sum)
        ->getResult(0);
  });
}

Value ModelBuilder::buildSharedExperts(Value x) {
  return graph.inModule1("shared_experts", "MLP", [&]() -> Value {
    graph.setStep("M6");
    Value gate = buildLinear(x, "gate_proj.weight", "M6 gate");
    Value up = buildLinear(x, "up_proj.weight", "M6 up");
    Value act = graph.elementwiseRounded("bti,bti->bti", {gate, up}, "M6 act",
                                         [&](ScalarBuilder &b, ValueRange v) {
                                           return buildGlu(b, v[0], v[1]);
                                         });
    return buildLinear(act, "down_proj.weight", "M6 down");
  });
}

ModelBuilder::SublayerResult ModelBuilder::buildMoe(int64_t layer, Value x) {
  auto build = [&]() -> SmallVector<Value> {
    SmallVector<Value> routing = buildRouter(layer, x);
    Value routed = buildExperts(x, routing[0], routing[1]);
    Value shared = buildSharedExperts(x);
    if (isAutomodel()) {
      graph.setStep("M5");
      routed = graph.round(routed, "M5");
    }
    graph.setStep("M7");
    SmallVector<Value> results = {graph.elementwiseRounded(
        "bti,bti->bti", {routed, shared}, "M7",
        [](ScalarBuilder &b, ValueRange v) { return b.add(v[0], v[1]); })};
    if (options.choices == Choices::Emit)
      results.push_back(routing[0]);
    return results;
  };
  SmallVector<Value> results = graph.inModule("mlp", "MoE", build);
  return {results[0], results.size() > 1 ? results[1] : nullptr};
}
