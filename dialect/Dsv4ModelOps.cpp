//===- Dsv4ModelOps.cpp - structured operations of the model ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation states once how its operands are shaped, with the names of
// dimensions that its documentation uses. Verifier and layout rule both follow
// from that signature.
//
//===----------------------------------------------------------------------===//

#include "OpSignature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

static Signature getSignature(RopeOp op) {
  bool heads = cast<ShapedType>(op.getInput().getType()).getRank() == 4;
  StringRef dims = heads ? "B T H D" : "B T D";
  return {{{op.getInput(), "input", dims, Element::Float},
           {op.getPositions(), "positions", "B T", Element::I64},
           {op.getInit(), "init", dims, Element::Float}},
          "D"};
}
DSV4_MODEL_OP(RopeOp)

LogicalResult RopeOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
      failed(verifySameElement(*this, "init", getInit(), getInput())))
    return failure();
  int64_t channels = cast<ShapedType>(getInput().getType()).getShape().back();
  int64_t rotated = 2 * getInvFreq().size();
  if (rotated < 1 || rotated > channels) // (C2)
    return emitOpError() << "rotates " << rotated << " channels of " << channels;
  if (getTrig() && !isa<FloatType>(*getTrig())) // (C3)
    return emitOpError() << "'trig' must be a float type, got " << *getTrig();
  return success();
}

//===----------------------------------------------------------------------===//
// PoolWindowsOp
//===----------------------------------------------------------------------===//

static Signature getSignature(PoolWindowsOp op) {
  // With overlap a window also reads its left neighbour, so the input must be
  // whole; else windows correspond one to one.
  StringRef window = op.getOverlap() ? "B M r F" : "B N r F";
  return {{{op.getValues(), "values", window, Element::Wide},
           {op.getGate(), "gate", window, Element::Wide},
           {op.getApe(), "ape", "r F", Element::Wide},
           {op.getInit(), "init", op.getOverlap() ? "B N D" : "B N F", Element::Wide}},
          op.getOverlap() ? "M r F D" : "r F",
          // Windows that correspond one to one are read from the local part.
          {op.getOverlap() ? "N" : ""}};
}
DSV4_MODEL_OP(PoolWindowsOp)

LogicalResult PoolWindowsOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
      failed(verifySameElement(*this, "gate", getGate(), getValues())) ||
      failed(verifySameElement(*this, "ape", getApe(), getValues())) ||
      failed(verifySameElement(*this, "init", getInit(), getValues())))
    return failure();
  if (getDim(getValues(), 1) < getDim(getInit(), 1))
    return emitOpError() << "pools " << getDim(getInit(), 1) << " windows of "
                         << getDim(getValues(), 1);
  if (getOverlap() && getDim(getValues(), 3) != 2 * getDim(getInit(), 2)) // (C2)
    return emitOpError() << "with 'overlap' needs rows of "
                         << 2 * getDim(getInit(), 2) << " channels, got "
                         << getDim(getValues(), 3);
  return success();
}

//===----------------------------------------------------------------------===//
// IndexTopkOp
//===----------------------------------------------------------------------===//

static Signature getSignature(IndexTopkOp op) {
  return {{{op.getQuery(), "query", "B T A D", Element::Float},
           {op.getKeys(), "keys", "B N D", Element::Float},
           {op.getWeights(), "weights", "B T A", Element::Wide},
           {op.getInit(), "init", "B T K", Element::I64}},
          "N A D K",
          {"T"}};
}
DSV4_MODEL_OP(IndexTopkOp)

LogicalResult IndexTopkOp::verify() {
  if (static_cast<int64_t>(getRatio()) < 1) // (C2)
    return emitOpError() << "'ratio' must be at least 1, got "
                         << static_cast<int64_t>(getRatio());
  return verifyModelOp(*this, getSignature(*this));
}

//===----------------------------------------------------------------------===//
// WindowAttentionOp
//===----------------------------------------------------------------------===//

static Signature getSignature(WindowAttentionOp op) {
  Signature signature{{{op.getQuery(), "query", "B T H D", Element::Float},
                       {op.getKeys(), "keys", "B S D", Element::Float},
                       {op.getSink(), "sink", "H", Element::Wide}},
                      "S D N K",
                      {"T", "S"}};
  if (op.getPool())
    signature.operands.push_back({op.getPool(), "pool", "B N D", Element::Float});
  if (op.getSelected())
    signature.operands.push_back({op.getSelected(), "selected", "B T K", Element::I64});
  signature.operands.push_back({op.getInit(), "init", "B T H D", Element::Float});
  return signature;
}
DSV4_MODEL_OP(WindowAttentionOp)

LogicalResult WindowAttentionOp::verify() {
  if (getSelected() && !getPool()) // (C2)
    return emitOpError() << "'selected' needs 'pool'";
  int64_t ratio = getRatio(), window = getWindow();
  if (window < 1 || (getPool() ? ratio < 1 : ratio != 0)) // (C3)
    return emitOpError() << "needs 'window' >= 1 and 'ratio' "
                         << (getPool() ? ">= 1" : "= 0") << ", got " << window
                         << " and " << ratio;
  return verifyModelOp(*this, getSignature(*this));
}

void WindowAttentionOp::build(OpBuilder &builder, OperationState &state,
                              Value query, Value keys, Value sink,
                              Value firstQuery, Value firstKey, Value pool,
                              Value selected, Value init, int64_t window,
                              double scale, int64_t ratio) {
  SmallVector<Type, 1> results;
  if (isa<TensorType>(init.getType()))
    results.push_back(init.getType());
  build(builder, state, results, query, keys, sink, firstQuery, firstKey, pool,
        selected, init, window, APFloat(scale), ratio);
}

//===----------------------------------------------------------------------===//
// SinkhornOp
//===----------------------------------------------------------------------===//

static Signature getSignature(SinkhornOp op) {
  return {{{op.getInput(), "input", "B T I J", Element::Wide},
           {op.getInit(), "init", "B T I J", Element::Wide}},
          "I J"};
}
DSV4_MODEL_OP(SinkhornOp)

LogicalResult SinkhornOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
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
// TopkOp, GatherRowsOp, TakeAlongOp
//===----------------------------------------------------------------------===//

static Signature getSignature(TopkOp op) {
  return {{{op.getScores(), "scores", "B T E", Element::Wide},
           {op.getInit(), "init", "B T K", Element::I64}},
          "E K"};
}
DSV4_MODEL_OP(TopkOp)

LogicalResult TopkOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))))
    return failure();
  int64_t count = getDim(getInit(), 2), size = getDim(getScores(), 2);
  if (count < 1 || count > size)
    return emitOpError() << "selects " << count << " of " << size << " entries";
  return success();
}

static Signature getSignature(GatherRowsOp op) {
  return {{{op.getTable(), "table", "V C"},
           {op.getIds(), "ids", "B T", Element::I64},
           {op.getInit(), "init", "B T C"}},
          "V C"};
}
DSV4_MODEL_OP(GatherRowsOp)

LogicalResult GatherRowsOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getTable())));
}

static Signature getSignature(TakeAlongOp op) {
  return {{{op.getInput(), "input", "B T E"},
           {op.getIndices(), "indices", "B T K", Element::I64},
           {op.getInit(), "init", "B T K"}},
          "E K"};
}
DSV4_MODEL_OP(TakeAlongOp)

LogicalResult TakeAlongOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getInput())));
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

static Signature getSignature(SortByExpertOp op) {
  return {{{op.getExperts(), "experts", "B T K", Element::I64},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getOffsets(), "offsets", "E1", Element::I64}},
          "K E1"};
}
DSV4_MODEL_OP(SortByExpertOp)

LogicalResult SortByExpertOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))))
    return failure();
  if (getDim(getOffsets(), 0) < 2)
    return emitOpError() << "'offsets' needs at least 2 entries, got "
                         << getDim(getOffsets(), 0);
  return success();
}

/// Rows come from tokens, so R is split over the axes of B and T.
static Signature getSignature(DispatchRowsOp op) {
  return {{{op.getTokens(), "tokens", "B T C"},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getInit(), "init", "B*T*K C"}},
          "K C"};
}
DSV4_MODEL_OP(DispatchRowsOp)

LogicalResult DispatchRowsOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getTokens())));
}

static Signature getSignature(DispatchWeightsOp op) {
  return {{{op.getWeights(), "weights", "B T K", Element::Float},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getInit(), "init", "B*T*K", Element::Float}},
          "K"};
}
DSV4_MODEL_OP(DispatchWeightsOp)

LogicalResult DispatchWeightsOp::verify() {
  return failure(failed(verifyModelOp(*this, getSignature(*this))) ||
                 failed(verifySameElement(*this, "init", getInit(), getWeights())));
}

static Signature getSignature(CombineRowsOp op) {
  return {{{op.getRows(), "rows", "B*T*K C", Element::Float},
           {op.getOrder(), "order", "B*T*K", Element::I64},
           {op.getOffsets(), "offsets", "E1", Element::I64},
           {op.getExperts(), "experts", "B T K", Element::I64},
           {op.getInit(), "init", "B T C", Element::Wide}},
          "K C E1"};
}
DSV4_MODEL_OP(CombineRowsOp)

LogicalResult CombineRowsOp::verify() {
  return verifyModelOp(*this, getSignature(*this));
}

static Signature getSignature(GroupedMatmulOp op) {
  StringRef weights = op.getTransposed() ? "E O I" : "E I O";
  return {{{op.getRows(), "rows", "R I", Element::Float},
           {op.getWeights(), "weights", weights, Element::Float},
           {op.getOffsets(), "offsets", "E1", Element::I64},
           {op.getInit(), "init", "R O", Element::Float}},
          "E E1 I O"};
}
DSV4_MODEL_OP(GroupedMatmulOp)

LogicalResult GroupedMatmulOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))))
    return failure();
  if (getDim(getOffsets(), 0) != getDim(getWeights(), 0) + 1)
    return emitOpError() << "'offsets' must have "
                         << getDim(getWeights(), 0) + 1 << " entries, got "
                         << getDim(getOffsets(), 0);
  if (getElement(getInit()) != getAccumulator(getRows())) // (C2)
    return emitOpError() << "operand 'init' must have element type "
                         << getAccumulator(getRows()) << ", got "
                         << getElement(getInit());
  return success();
}
