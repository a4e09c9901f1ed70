//===- BuildHead.cpp - Logits and loss ------------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loss is the mean, over the positions with a label, of
// log(sum exp(logits)) - logits[label]. Labels are already shifted by one.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The label of a position that has none.
static constexpr int64_t kIgnoredLabel = -100;

Value ModelBuilder::buildStreamHead(Value streams) {
  Value pre = graph.inModule1("hc_head", "DeepseekV4HyperHead", [&] {
    Value mix = buildMix(streams, "hc_fn");
    graph.setStep("H4");
    Value scale = graph.pick(graph.getParameter("hc_scale"), 0, 0);
    return buildGate({mix, scale, graph.getParameter("hc_base")},
                     [&](ScalarBuilder &b, ValueRange v) {
                       return b.add(v[0], b.constant(config.hcEps));
                     });
  });
  return buildCollapse(streams, pre);
}

Value ModelBuilder::buildLogits(Value x) {
  return graph.inModule1("lm_head", "Linear", [&] {
    graph.setStep("logits");
    Value logits =
        graph.contract("bti,vi->btv", x, graph.getParameter("weight"));
    return isAutomodel() ? graph.round(logits, "logits") : logits;
  });
}

/// The mean of `total` over the labels; 0 without any.
static Value divideByCount(GraphBuilder &graph, Value total, Value count) {
  return graph.elementwise(
      ",->", {total, count}, [](ScalarBuilder &b, ValueRange v) -> Value {
        // Never 0 / 0, which would also be the gradient.
        Value atLeastOne =
            arith::MaxSIOp::create(b.builder, b.loc, v[1], b.constantInt(1));
        Value divisor =
            arith::SIToFPOp::create(b.builder, b.loc, b.wideType, atLeastOne);
        return b.div(v[0], divisor);
      });
}

Value ModelBuilder::buildLoss(Value logits) {
  graph.setStep("loss");
  Value labels = batch["labels"];
  // The loss does not depend on the shift.
  Value max = graph.max("btv->bt", logits);
  max.getDefiningOp()->setAttr(kNoGradAttr, builder.getUnitAttr());
  Value sumExp = graph.sum(
      "btv,bt->bt", {logits, max},
      [](ScalarBuilder &b, ValueRange v) { return b.exp(b.sub(v[0], v[1])); });
  Value index = graph.elementwiseAs(
      "bt->bt", labels, builder.getI64Type(),
      [](ScalarBuilder &b, ValueRange v) {
        return b.select(b.differs(v[0], kIgnoredLabel), v[0], b.constantInt(0));
      });
  index = graph.split(index, 1, {options.seqLen, 1});
  Value picked = graph.createInto<TakeAlongOp>(
      getShape(index), getElement(logits), logits, index);
  Value losses = graph.elementwise(
      "bt,bt,bt,bt->bt", {sumExp, graph.merge(picked, 1), max, labels},
      [](ScalarBuilder &b, ValueRange v) {
        Value loss = b.sub(b.log(v[0]), b.sub(v[1], v[2]));
        return b.select(b.differs(v[3], kIgnoredLabel), loss, b.constant(0.0));
      });
  Value total = graph.sum("bt->", losses,
                          [](ScalarBuilder &, ValueRange v) { return v[0]; });
  Value count = graph.count("bt->", labels, [](ScalarBuilder &b, ValueRange v) {
    return b.differs(v[0], kIgnoredLabel);
  });
  return divideByCount(graph, total, count);
}
