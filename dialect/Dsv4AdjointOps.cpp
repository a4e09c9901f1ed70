//===- Dsv4AdjointOps.cpp - adjoints of structured operations ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension that the forward operation computes part by part is one over
// which gradients of what every part reads are sums.
//
//===----------------------------------------------------------------------===//

#include "OpSignature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Sums that meet in memory are as wide as the accumulator of `like`.
static LogicalResult verifyWide(Operation *op, StringRef name, Value value,
                                Value like) {
  if (getElement(value) == getAccumulator(like))
    return success();
  return op->emitOpError() << "operand '" << name << "' must have element type "
                           << getAccumulator(like) << ", got "
                           << getElement(value);
}

//===----------------------------------------------------------------------===//
// WindowAttentionGradOp
//===----------------------------------------------------------------------===//

static Signature getSignature(WindowAttentionGradOp op) {
  Signature signature{{{op.getQuery(), "query", "B T H D", Element::Float},
                       {op.getKeys(), "keys", "B S D", Element::Float},
                       {op.getSink(), "sink", "H", Element::Wide},
                       {op.getGradient(), "gradient", "B T H D", Element::Float}},
                      "S D N K",
                      {"T", "S"},
                      "T"};
  if (op.getPool())
    signature.operands.push_back({op.getPool(), "pool", "B N D", Element::Float});
  if (op.getSelected())
    signature.operands.push_back({op.getSelected(), "selected", "B T K", Element::I64});
  signature.operands.append(
      {{op.getQueryGrad(), "query_grad", "B T H D", Element::Float},
       {op.getKeysGrad(), "keys_grad", "B S D", Element::Wide},
       {op.getSinkGrad(), "sink_grad", "B T H", Element::Wide}});
  if (op.getPoolGrad())
    signature.operands.push_back({op.getPoolGrad(), "pool_grad", "B N D", Element::Wide});
  return signature;
}
DSV4_MODEL_OP(WindowAttentionGradOp)

LogicalResult WindowAttentionGradOp::verify() {
  if (getSelected() && !getPool()) // (C2)
    return emitOpError() << "'selected' needs 'pool'";
  if (!getPool() != !getPoolGrad()) // (C2)
    return emitOpError() << (getPool() ? "'pool' needs 'pool_grad'"
                                       : "'pool_grad' needs 'pool'");
  int64_t ratio = getRatio(), window = getWindow();
  if (window < 1 || (getPool() ? ratio < 1 : ratio != 0)) // (C3)
    return emitOpError() << "needs 'window' >= 1 and 'ratio' "
                         << (getPool() ? ">= 1" : "= 0") << ", got " << window
                         << " and " << ratio;
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
      failed(verifyWide(*this, "keys_grad", getKeysGrad(), getQuery())) || // (C4)
      failed(verifyWide(*this, "sink_grad", getSinkGrad(), getQuery())))
    return failure();
  return getPoolGrad() ? verifyWide(*this, "pool_grad", getPoolGrad(), getQuery())
                       : success();
}

//===----------------------------------------------------------------------===//
// PoolWindowsGradOp
//===----------------------------------------------------------------------===//

/// As for the forward operation: with overlap every row also reads its left
/// neighbour.
static Signature getSignature(PoolWindowsGradOp op) {
  bool overlap = op.getOverlap();
  StringRef window = overlap ? "B M r F" : "B N r F";
  return {{{op.getValues(), "values", window, Element::Wide},
           {op.getGate(), "gate", window, Element::Wide},
           {op.getApe(), "ape", "r F", Element::Wide},
           {op.getGradient(), "gradient", overlap ? "B N D" : "B N F", Element::Wide},
           {op.getValuesGrad(), "values_grad", window, Element::Wide},
           {op.getGateGrad(), "gate_grad", window, Element::Wide}},
          overlap ? "M r F D" : "r F",
          {overlap ? "N" : ""},
          overlap ? "N" : ""};
}
DSV4_MODEL_OP(PoolWindowsGradOp)

LogicalResult PoolWindowsGradOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))))
    return failure();
  for (auto [name, value] : {std::pair("gate", getGate()), std::pair("ape", getApe()),
                             std::pair("gradient", getGradient()),
                             std::pair("values_grad", getValuesGrad()),
                             std::pair("gate_grad", getGateGrad())})
    if (failed(verifySameElement(*this, name, value, getValues()))) // (C3)
      return failure();
  if (getDim(getValues(), 1) < getDim(getGradient(), 1))
    return emitOpError() << "pools " << getDim(getGradient(), 1)
                         << " windows of " << getDim(getValues(), 1);
  if (getOverlap() && getDim(getValues(), 3) != 2 * getDim(getGradient(), 2)) // (C2)
    return emitOpError() << "with 'overlap' needs rows of "
                         << 2 * getDim(getGradient(), 2) << " channels, got "
                         << getDim(getValues(), 3);
  return success();
}

//===----------------------------------------------------------------------===//
// SinkhornGradOp
//===----------------------------------------------------------------------===//

static Signature getSignature(SinkhornGradOp op) {
  return {{{op.getInput(), "input", "B T I J", Element::Wide},
           {op.getGradient(), "gradient", "B T I J", Element::Wide},
           {op.getInit(), "init", "B T I J", Element::Wide}},
          "I J"};
}
DSV4_MODEL_OP(SinkhornGradOp)

LogicalResult SinkhornGradOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
      failed(verifySameElement(*this, "gradient", getGradient(), getInput())) ||
      failed(verifySameElement(*this, "init", getInit(), getInput())))
    return failure();
  if (getDim(getInput(), 2) != getDim(getInput(), 3))
    return emitOpError() << "needs square matrices, got "
                         << getDim(getInput(), 2) << "x" << getDim(getInput(), 3);
  if (static_cast<int64_t>(getIterations()) < 1) // (C2)
    return emitOpError() << "'iterations' must be at least 1, got "
                         << static_cast<int64_t>(getIterations());
  return success();
}

//===----------------------------------------------------------------------===//
// ScatterAddOp, ScatterAlongOp
//===----------------------------------------------------------------------===//

static Signature getSignature(ScatterAddOp op) {
  return {{{op.getRows(), "rows", "B T C", Element::Float},
           {op.getIds(), "ids", "B T", Element::I64},
           {op.getInit(), "init", "V C", Element::Wide}},
          "V C",
          {},
          "B T"};
}
DSV4_MODEL_OP(ScatterAddOp)

LogicalResult ScatterAddOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifyWide(*this, "init", getInit(), getRows()))); // (C2)
}

static Signature getSignature(ScatterAlongOp op) {
  return {{{op.getInput(), "input", "B T K", Element::Float},
           {op.getIndices(), "indices", "B T K", Element::I64},
           {op.getInit(), "init", "B T E", Element::Float}},
          "E K"};
}
DSV4_MODEL_OP(ScatterAlongOp)

LogicalResult ScatterAlongOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getInput())));
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

static Signature getSignature(DispatchRowsGradOp op) {
  return {{{op.getRows(), "rows", "B*T*K C", Element::Float},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getInit(), "init", "B T C", Element::Wide}},
          "K C"};
}
DSV4_MODEL_OP(DispatchRowsGradOp)

LogicalResult DispatchRowsGradOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifyWide(*this, "init", getInit(), getRows()))); // (C2)
}

static Signature getSignature(DispatchWeightsGradOp op) {
  return {{{op.getGradient(), "gradient", "B*T*K", Element::Float},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getInit(), "init", "B T K", Element::Float}},
          "K"};
}
DSV4_MODEL_OP(DispatchWeightsGradOp)

LogicalResult DispatchWeightsGradOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getGradient())));
}

static Signature getSignature(CombineRowsGradOp op) {
  return {{{op.getTokens(), "tokens", "B T C", Element::Float},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getOffsets(), "offsets", "E1", Element::I64},
           {op.getInit(), "init", "B*T*K C", Element::Float}},
          "K C E1"};
}
DSV4_MODEL_OP(CombineRowsGradOp)

LogicalResult CombineRowsGradOp::verify() {
  return verifyModelOp(*this, getSignature(*this));
}

static Signature getSignature(GroupedOuterOp op) {
  return {{{op.getRows(), "rows", "R I", Element::Float},
           {op.getGradient(), "gradient", "R O", Element::Float},
           {op.getOffsets(), "offsets", "E1", Element::I64},
           {op.getInit(), "init", "E I O", Element::Float}},
          "E E1 I O",
          {},
          "R"};
}
DSV4_MODEL_OP(GroupedOuterOp)

LogicalResult GroupedOuterOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))))
    return failure();
  if (getDim(getOffsets(), 0) != getDim(getInit(), 0) + 1)
    return emitOpError() << "'offsets' must have " << getDim(getInit(), 0) + 1
                         << " entries, got " << getDim(getOffsets(), 0);
  return success();
}
