//===- OpSignature.cpp - shapes of structured operations ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSignature.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dsv4;

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

/// Checks dimension `i`, a product of named ones. A factor that no operand has
/// alone is what is left.
static LogicalResult verifyProduct(Operation *op, const OperandShape &operand,
                                   unsigned i, StringRef dim,
                                   llvm::MapVector<StringRef, int64_t> &sizes) {
  int64_t size = 1, got = getDim(operand.value, i);
  StringRef unknown;
  for (StringRef factor : splitNames(dim, '*')) {
    if (sizes.contains(factor))
      size *= sizes.lookup(factor);
    else
      unknown = factor;
  }
  bool isMultiple = size == 0 ? got == 0 : got % size == 0;
  if (unknown.empty() ? got == size : isMultiple) {
    if (!unknown.empty())
      sizes[unknown] = size == 0 ? 0 : got / size;
    return success();
  }
  return op->emitOpError() << "dimension " << i << " (" << dim
                           << ") of operand '" << operand.name << "' must be "
                           << (unknown.empty() ? "" : "a multiple of ") << size
                           << ", got " << got;
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
    for (auto [i, dim] : llvm::enumerate(splitNames(operand.dims, ' ')))
      if (dim.contains('*') && failed(verifyProduct(op, operand, i, dim, sizes)))
        return failure();
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

LayoutRule dsv4::getLayoutRule(Operation *op, const Signature &signature) {
  LayoutRule rule;
  llvm::StringMap<unsigned> factorOf;
  SmallVector<StringRef> whole = splitNames(signature.whole, ' ');
  SmallVector<StringRef> reduced = splitNames(signature.reduced, ' ');
  auto getFactor = [&](StringRef name) {
    auto it = factorOf.find(name);
    if (it != factorOf.end())
      return it->second;
    FactorKind kind = llvm::is_contained(whole, name)     ? FactorKind::Whole
                      : llvm::is_contained(reduced, name) ? FactorKind::Reduction
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

void dsv4::getModelOpEffects(
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

LogicalResult dsv4::verifyModelOp(Operation *op, const Signature &signature) {
  return failure(failed(verifySignature(op, signature)) ||
                 failed(verifyDestinationStyle(op)));
}

Type dsv4::getAccumulator(Value value) {
  Type type = getElement(value);
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

LogicalResult dsv4::verifySameElement(Operation *op, StringRef name, Value value,
                                      Value like) {
  if (getElement(value) == getElement(like))
    return success();
  return op->emitOpError() << "operand '" << name << "' must have element type "
                           << getElement(like) << ", got " << getElement(value);
}
