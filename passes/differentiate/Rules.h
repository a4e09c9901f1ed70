//===- Rules.h - the families of differentiation rules ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DIFFERENTIATE_RULES_H
#define DSV4_PASSES_DIFFERENTIATE_RULES_H

#include "dsv4/Passes/Differentiation.h"

namespace mlir::dsv4 {

/// The type in which elements are added: f32 for narrower floats.
Type getAccumulatorType(Type element);

/// Rounds a tensor to the element type of `type`; `label` says why.
Value narrow(AdjointBuilder &b, Value value, RankedTensorType type,
             Attribute label);

void registerArithRules(DialectRegistry &registry);
void registerAttentionRules(DialectRegistry &registry);
void registerCollectiveRules(DialectRegistry &registry);
void registerExpertRules(DialectRegistry &registry);
void registerLinalgRules(DialectRegistry &registry);
void registerMathRules(DialectRegistry &registry);
void registerRowRules(DialectRegistry &registry);
void registerTensorRules(DialectRegistry &registry);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DIFFERENTIATE_RULES_H
