//===- ModelFunction.h - the function that holds the model -----*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_MODELFUNCTION_H
#define DSV4_ANALYSIS_MODELFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dsv4 {

class MeshOp;

/// One argument marked `dsv4.param`.
struct ModelParameter {
  StringAttr name;
  Type type;
  unsigned argument = 0;
  bool isFrozen = false;
};

/// The only function with parameters. Null when no function has any; several
/// are a located error.
FailureOr<func::FuncOp> findModelFunction(mlir::ModuleOp module);

/// The parameters of a function in the order of its arguments.
SmallVector<ModelParameter> getParameters(func::FuncOp function);

/// Where an argument is declared; the function itself when it has no body.
Location getArgumentLoc(func::FuncOp function, unsigned argument);

/// The mesh that the module is compiled for, or a located error.
FailureOr<MeshOp> findMesh(mlir::ModuleOp module);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_MODELFUNCTION_H
