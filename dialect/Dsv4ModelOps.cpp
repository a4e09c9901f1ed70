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

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Element types that an operand may have.
enum class Element { Any, I64, Float, Wide /* f32 or f64 */ };

/// One operand: its name in messages and its dimensions, separated by blanks;
/// "B*T*K" is a compound dimension. A null value (absent optional) is skipped.
struct OperandShape {
  Value value;
  StringRef name;
  StringRef dims;
  Element element = Element::Any;
};

/// All operands of an operation in order, inits last; `whole` lists the
/// dimensions that every rank needs whole, separated by blanks.
struct Signature {
  SmallVector<OperandShape> operands;
  StringRef whole;
  /// Per index operand, in order: the dimension whose first element's global
  /// index it holds; empty if it counts local elements.
  SmallVector<StringRef> offsets = {};
};

} // namespace

static SmallVector<StringRef> splitNames(StringRef text, char separator) {
  SmallVector<StringRef> names;
  text.split(names, separator, -1, /*KeepEmpty=*/false);
  return names;
}

static bool hasElement(Type type, Element element) {
  switch (element) {
  case Element::Any:
    return true;
  case Element::I64:
    return type.isInteger(64);
  case Element::Float:
    return isa<FloatType>(type);
  case Element::Wide:
    return type.isF32() || type.isF64();
  }
  llvm_unreachable("unknown element kind");
}

static StringRef describe(Element element) {
  switch (element) {
  case Element::Any:
    return "anything";
  case Element::I64:
    return "i64";
  case Element::Float:
    return "a float";
  case Element::Wide:
    return "f32 or f64";
  }
  llvm_unreachable("unknown element kind");
}

/// Checks ranks, element types and that equal names have equal sizes; compound
/// dimensions are products of named ones. Label C1 of every operation.
static LogicalResult verifySignature(Operation *op, const Signature &signature) {
  llvm::MapVector<StringRef, int64_t> sizes;
  for (const OperandShape &operand : signature.operands) {
    auto type = cast<ShapedType>(operand.value.getType());
    SmallVector<StringRef> dims = splitNames(operand.dims, ' ');
    if (type.getRank() != static_cast<int64_t>(dims.size()))
      return op->emitOpError() << "operand '" << operand.name << "' must be ["
                               << operand.dims << "], got rank "
                               << type.getRank();
    if (!hasElement(type.getElementType(), operand.element))
      return op->emitOpError()
             << "operand '" << operand.name << "' must have element type "
             << describe(operand.element) << ", got " << type.getElementType();
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (dim.contains('*'))
        continue;
      auto [it, isNew] = sizes.try_emplace(dim, type.getDimSize(i));
      if (!isNew && it->second != type.getDimSize(i))
        return op->emitOpError()
               << "dimension " << i << " (" << dim << ") of operand '"
               << operand.name << "' must be " << it->second << ", got "
               << type.getDimSize(i);
    }
  }
  for (const OperandShape &operand : signature.operands)
    for (auto [i, dim] : llvm::enumerate(splitNames(operand.dims, ' '))) {
      if (!dim.contains('*'))
        continue;
      int64_t size = 1;
      for (StringRef factor : splitNames(dim, '*'))
        size *= sizes.lookup(factor);
      int64_t got = cast<ShapedType>(operand.value.getType()).getDimSize(i);
      if (got != size)
        return op->emitOpError()
               << "dimension " << i << " (" << dim << ") of operand '"
               << operand.name << "' must be " << size << ", got " << got;
    }
  return success();
}

/// The results repeat the inits on tensors and are absent on memrefs (C0).
static LogicalResult verifyDestinationStyle(Operation *op) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  bool tensors = dps.hasPureTensorSemantics();
  if (!tensors && !dps.hasPureBufferSemantics())
    return op->emitOpError() << "mixes tensors and memrefs";
  unsigned expected = tensors ? dps.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError() << "must have " << expected << " results, got "
                             << op->getNumResults();
  return success();
}

static LayoutRule getRule(Operation *op, const Signature &signature) {
  LayoutRule rule;
  llvm::StringMap<unsigned> factorOf;
  SmallVector<StringRef> whole = splitNames(signature.whole, ' ');
  auto getFactor = [&](StringRef name) {
    auto it = factorOf.find(name);
    if (it != factorOf.end())
      return it->second;
    FactorKind kind = llvm::is_contained(whole, name) ? FactorKind::Whole
                                                      : FactorKind::Parallel;
    return factorOf[name] = rule.addFactor(kind);
  };
  // Operands in order: shaped ones from the signature, scalars without
  // dimensions.
  SmallVector<SmallVector<LayoutRule::Dim>> shaped;
  for (const OperandShape &operand : signature.operands) {
    SmallVector<LayoutRule::Dim> dims;
    for (StringRef dim : splitNames(operand.dims, ' ')) {
      LayoutRule::Dim factors;
      for (StringRef factor : splitNames(dim, '*'))
        factors.push_back(getFactor(factor));
      dims.push_back(factors);
    }
    shaped.push_back(dims);
  }
  unsigned nextShaped = 0, nextOffset = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!operand.get().getType().isIndex()) {
      rule.operands.push_back(shaped[nextShaped++]);
      continue;
    }
    rule.operands.push_back({});
    StringRef dim = signature.offsets[nextOffset++];
    if (!dim.empty())
      rule.offsets.push_back({operand.getOperandNumber(), getFactor(dim)});
  }
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpResult result : op->getResults())
    rule.results.push_back(
        rule.operands[dps.getTiedOpOperand(result)->getOperandNumber()]);
  return rule;
}

static void getModelOpEffects(
    Operation *op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (!dps.isDpsInit(&operand) || isa<CombineRowsOp>(op))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (dps.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// The parts that every operation of the family shares.
#define DSV4_MODEL_OP(OP)                                                      \
  LayoutRule OP::getLayoutRule() { return getRule(*this, getSignature(*this)); } \
  Speculation::Speculatability OP::getSpeculatability() {                      \
    return hasPureTensorSemantics() ? Speculation::Speculatable                \
                                    : Speculation::NotSpeculatable;            \
  }                                                                            \
  void OP::getEffects(                                                         \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>      \
          &effects) {                                                          \
    getModelOpEffects(*this, effects);                                         \
  }

static LogicalResult verifyModelOp(Operation *op, const Signature &signature) {
  return failure(failed(verifySignature(op, signature)) ||
                 failed(verifyDestinationStyle(op)));
}

static int64_t getDim(Value value, unsigned dim) {
  return cast<ShapedType>(value.getType()).getDimSize(dim);
}

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

/// The accumulator of values of this type: f64 for f64, else f32.
static Type getAccumulator(Value value) {
  Type type = getElement(value);
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

static LogicalResult verifySameElement(Operation *op, StringRef name, Value value,
                                       Value like) {
  if (getElement(value) == getElement(like))
    return success();
  return op->emitOpError() << "operand '" << name << "' must have element type "
                           << getElement(like) << ", got " << getElement(value);
}

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

static Signature getSignature(DispatchRowsOp op) {
  return {{{op.getTokens(), "tokens", "B T C"},
           {op.getOrder(), "order", "R", Element::I64},
           {op.getInit(), "init", "R C"}},
          "C"};
}

/// Rows come from tokens, so R is split over the axes of B and T.
LayoutRule DispatchRowsOp::getLayoutRule() {
  LayoutRule rule;
  unsigned b = rule.addFactor(FactorKind::Parallel);
  unsigned t = rule.addFactor(FactorKind::Parallel);
  unsigned k = rule.addFactor(FactorKind::Whole);
  unsigned c = rule.addFactor(FactorKind::Whole);
  LayoutRule::Dim rows = {b, t, k};
  rule.operands = {{{b}, {t}, {c}}, {rows}, {rows, {c}}};
  if (getNumResults())
    rule.results = {{rows, {c}}};
  return rule;
}
Speculation::Speculatability DispatchRowsOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}
void DispatchRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getModelOpEffects(*this, effects);
}

LogicalResult DispatchRowsOp::verify() {
  if (failed(verifyModelOp(*this, getSignature(*this))) ||
      failed(verifySameElement(*this, "init", getInit(), getTokens())))
    return failure();
  int64_t tokens = getDim(getTokens(), 0) * getDim(getTokens(), 1);
  int64_t rows = getDim(getOrder(), 0);
  if (tokens == 0 || rows % tokens != 0)
    return emitOpError() << "has " << rows << " rows, expected a multiple of "
                         << tokens << " tokens";
  return success();
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
  return {{{op.getRows(), "rows", "R I", Element::Float},
           {op.getWeights(), "weights", "E I O", Element::Float},
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
