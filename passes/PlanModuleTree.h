//===- PlanModuleTree.h - FSDP units of a module tree ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_PLANMODULETREE_H
#define DSV4_PASSES_PLANMODULETREE_H

#include "dsv4/IR/Dsv4Ops.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dsv4 {

/// Options of -dsv4-plan-fsdp-units as they were given.
struct TreePlanOptions {
  StringRef paramDtype, reduceDtype, outputDtype, reshard, calls, ignored;
  bool castInputs = true;
  bool rawPaths = false, firstPath = false, wrappedClass = false;
  bool noVerify = false;
};

/// Whether `path` has a component run that `patterns`, comma separated, lists.
bool matchesIgnored(StringRef path, StringRef patterns);

/// Declares the units of the tree in `module` behind `mesh`.
LogicalResult planModuleTree(mlir::ModuleOp module, MeshOp mesh, ArrayAttr axes,
                             const TreePlanOptions &options);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_PLANMODULETREE_H
