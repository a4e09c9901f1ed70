//===- BuildHyperConnections.cpp - Norms and residual streams -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The residual state is X [B,S,n,h]. Around each sublayer, maps computed from X
// collapse it to one stream and expand the sublayer's output back:
//
//   collapsed = sum_i pre[i] X[i]     X'[j] = post[j] y + sum_i comb[i,j] X[i]
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Value ModelBuilder::buildInverseRms(Value x) {
  bool hasHeads = getShape(x).size() == 4;
  double count = getShape(x).back();
  Value squares = graph.sum(
      hasHeads ? "btai->bta" : "bti->bt", x,
      [](ScalarBuilder &b, ValueRange v) { return b.mul(v[0], v[0]); });
  return graph.elementwise(hasHeads ? "bta->bta" : "bt->bt", squares,
                           [&](ScalarBuilder &b, ValueRange v) {
                             Value mean = b.mul(v[0], b.constant(1.0 / count));
                             Value shifted =
                                 b.add(mean, b.constant(config.rmsNormEps));
                             return b.div(b.constant(1.0), b.sqrt(shifted));
                           });
}

Value ModelBuilder::buildNormalized(Value x, Value weight, StringRef label) {
  Value inverse = buildInverseRms(x);
  if (weight)
    return graph.elementwiseRounded("bti,bt,i->bti", {x, inverse, weight},
                                    label, [](ScalarBuilder &b, ValueRange v) {
                                      return b.mul(b.mul(v[0], v[1]), v[2]);
                                    });
  return graph.elementwiseRounded(
      "btai,bta->btai", {x, inverse}, label,
      [](ScalarBuilder &b, ValueRange v) { return b.mul(v[0], v[1]); });
}

Value ModelBuilder::buildNorm(StringRef name, Value x, StringRef label) {
  return graph.inModule1(name, "RMSNorm", [&] {
    return buildNormalized(x, graph.getParameter("weight"), label);
  });
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

Value ModelBuilder::buildMix(Value streams, StringRef weight) {
  graph.setStep("H1");
  Value flat = graph.merge(streams, 2);
  graph.setStep("H2");
  Value inverse = buildInverseRms(flat);
  Value normalized = graph.elementwise(
      "bti,bt->bti", {flat, inverse},
      [](ScalarBuilder &b, ValueRange v) { return b.mul(v[0], v[1]); });
  graph.setStep("H3");
  return graph.contract("bti,oi->bto", normalized, graph.getParameter(weight));
}

Value ModelBuilder::buildGate(ValueRange parts, GraphBuilder::ScalarFn finish) {
  return graph.elementwise(
      "bto,,o->bto", parts, [&](ScalarBuilder &b, ValueRange v) {
        return finish(b, b.sigmoid(b.add(b.mul(v[0], v[1]), v[2])));
      });
}

ModelBuilder::StreamMaps ModelBuilder::buildStreamMaps(StringRef name,
                                                       Value streams) {
  int64_t n = config.hcMult;
  auto build = [&]() -> SmallVector<Value> {
    Value mix = buildMix(streams, "fn");
    Value base = graph.getParameter("base");
    Value scale = graph.getParameter("scale");
    // One part of the mix with its scale and base.
    auto cut = [&](unsigned part, int64_t size) {
      return SmallVector<Value>{graph.slice(mix, 2, part * n, size),
                                graph.pick(scale, 0, part),
                                graph.slice(base, 0, part * n, size)};
    };
    graph.setStep("H4");
    Value pre = buildGate(cut(0, n), [&](ScalarBuilder &b, ValueRange v) {
      return b.add(v[0], b.constant(config.hcEps));
    });
    graph.setStep("H5");
    Value post = buildGate(cut(1, n), [](ScalarBuilder &b, ValueRange v) {
      return b.mul(v[0], b.constant(2.0));
    });
    graph.setStep("H6");
    Value logits = graph.elementwise("bto,,o->bto", cut(2, n * n),
                                     [](ScalarBuilder &b, ValueRange v) {
                                       return b.add(b.mul(v[0], v[1]), v[2]);
                                     });
    Value square = graph.split(logits, 2, {n, n});
    graph.setStep("H7");
    Value init = graph.createEmpty(getShape(square), graph.getWideType());
    Value comb = SinkhornOp::create(
                     builder, graph.getLoc(), TypeRange(init.getType()), square,
                     init, builder.getI64IntegerAttr(config.sinkhornIters),
                     builder.getF64FloatAttr(config.hcEps))
                     ->getResult(0);
    return {pre, post, comb};
  };
  SmallVector<Value> maps =
      graph.inModule(name, "DeepseekV4HyperConnection", build);
  return {maps[0], maps[1], maps[2]};
}

//===----------------------------------------------------------------------===//
// Collapse and expand
//===----------------------------------------------------------------------===//

Value ModelBuilder::buildCollapse(Value streams, Value pre) {
  graph.setStep("collapse");
  return graph.round(graph.contract("bts,btsi->bti", pre, streams),
                     "H collapse");
}

Value ModelBuilder::buildExpand(Value y, Value streams,
                                const StreamMaps &maps) {
  graph.setStep("expand");
  if (isAutomodel())
    return buildRoundedExpand(y, streams, maps);
  Value mixed = graph.contract("btsj,btsi->btji", maps.comb, streams);
  return graph.elementwiseRounded("btj,bti,btji->btji", {maps.post, y, mixed},
                                  "H expand",
                                  [](ScalarBuilder &b, ValueRange v) {
                                    return b.add(b.mul(v[0], v[1]), v[2]);
                                  });
}

/// Maps, both products and the sum are rounded.
Value ModelBuilder::buildRoundedExpand(Value y, Value streams,
                                       const StreamMaps &maps) {
  Value post = graph.round(maps.post, "H expand post");
  Value comb = graph.round(maps.comb, "H expand comb");
  Value added = graph.elementwiseRounded(
      "btj,bti->btji", {post, y}, "H expand product",
      [](ScalarBuilder &b, ValueRange v) { return b.mul(v[0], v[1]); });
  Value mixed = graph.round(graph.contract("btsj,btsi->btji", comb, streams),
                            "H expand mix");
  return graph.elementwiseRounded(
      "btji,btji->btji", {added, mixed}, "H expand",
      [](ScalarBuilder &b, ValueRange v) { return b.add(v[0], v[1]); });
}
