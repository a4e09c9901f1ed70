//===- Passes.h - passes of the DSV4 pipeline ------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_PASSES_H
#define DSV4_PASSES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dsv4 {

#define GEN_PASS_DECL
#include "dsv4/Passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dsv4/Passes/Passes.h.inc"

} // namespace mlir::dsv4

#endif // DSV4_PASSES_PASSES_H
