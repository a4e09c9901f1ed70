//===- Rules.cpp - all families of differentiation rules ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;

void dsv4::registerDifferentiationRules(DialectRegistry &registry) {
  registerArithRules(registry);
  registerAttentionRules(registry);
  registerCollectiveRules(registry);
  registerExpertRules(registry);
  registerLinalgRules(registry);
  registerMathRules(registry);
  registerRowRules(registry);
  registerTensorRules(registry);
}
