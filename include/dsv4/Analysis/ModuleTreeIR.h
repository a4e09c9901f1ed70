//===- ModuleTreeIR.h - module trees as operations -------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   module attributes {dsv4.root_class = "DeepseekV4ForCausalLM"} {
//     dsv4.module "model" class "DeepseekV4Model" attributes
//         {dsv4.tensors = [{name = "scale", type = tensor<4xf32>}]} {
//       dsv4.module "model.norm" ...
//
// An entry of dsv4.tensors has `name` and `type` (an element type where the
// shape is not known), `frozen` and `buffer` where they hold, and `same_as`,
// the path of the first occurrence, where the object is shared. A module with
// `dsv4.same_as` is the one at that path.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_MODULETREEIR_H
#define DSV4_ANALYSIS_MODULETREEIR_H

#include "dsv4/Analysis/FsdpPartition.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dsv4 {

inline constexpr StringLiteral kRootClassAttr = "dsv4.root_class";
inline constexpr StringLiteral kTensorsAttr = "dsv4.tensors";
inline constexpr StringLiteral kSameAsAttr = "dsv4.same_as";
inline constexpr StringLiteral kConfigTypeAttr = "dsv4.config_model_type";

/// The float or integer type of a dtype's name, null for other names.
Type getDtypeType(MLIRContext *context, StringRef dtype);

/// The tree as nested dsv4.module operations without computation.
OwningOpRef<mlir::ModuleOp> buildModuleTree(MLIRContext *context,
                                            const FsdpModuleTree &tree);

/// Whether the module holds a tree.
inline bool isModuleTree(mlir::ModuleOp module) {
  return module->hasAttr(kRootClassAttr);
}

/// Reads a tree back. Ids are paths. Errors are located.
FailureOr<FsdpModuleTree> readModuleTree(mlir::ModuleOp module);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_MODULETREEIR_H
