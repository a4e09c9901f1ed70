//===- OpSignature.h - shapes of structured operations ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each structured operation states once how its operands are shaped, with the
// names of dimensions that its documentation uses. Verifier and layout rule both
// follow from that signature.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_DIALECT_OPSIGNATURE_H
#define DSV4_DIALECT_OPSIGNATURE_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::dsv4 {

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
  /// Dimensions over which results that lack them are sums.
  StringRef reduced = "";
};

/// Checks shapes and element types (C1) and that results repeat the inits on
/// tensors and are absent on memrefs (C0).
LogicalResult verifyModelOp(Operation *op, const Signature &signature);

LogicalResult verifySameElement(Operation *op, StringRef name, Value value,
                                Value like);

LayoutRule getLayoutRule(Operation *op, const Signature &signature);

void getModelOpEffects(
    Operation *op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects);

/// The parts that every operation of the family shares; `getSignature` must be
/// declared before.
#define DSV4_MODEL_OP(OP)                                                      \
  LayoutRule OP::getLayoutRule() {                                             \
    return dsv4::getLayoutRule(*this, getSignature(*this));                    \
  }                                                                            \
  DSV4_MODEL_OP_EFFECTS(OP)

#define DSV4_MODEL_OP_EFFECTS(OP)                                              \
  Speculation::Speculatability OP::getSpeculatability() {                      \
    return hasPureTensorSemantics() ? Speculation::Speculatable                \
                                    : Speculation::NotSpeculatable;            \
  }                                                                            \
  void OP::getEffects(                                                         \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>      \
          &effects) {                                                          \
    getModelOpEffects(*this, effects);                                         \
  }

inline int64_t getDim(Value value, unsigned dim) {
  return cast<ShapedType>(value.getType()).getDimSize(dim);
}

inline Type getElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// The accumulator of values of this type: f64 for f64, else f32.
Type getAccumulator(Value value);

} // namespace mlir::dsv4

#endif // DSV4_DIALECT_OPSIGNATURE_H
