//===- ModelFunction.h - the function that holds the model -----*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_MODELFUNCTION_H
#define DSV4_ANALYSIS_MODELFUNCTION_H

#include "dsv4/IR/Dsv4Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dsv4 {

class FsdpUnitOp;
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

/// The parameters of a function by name, each to be taken by exactly one unit.
/// All errors are located.
class ParameterOwners {
public:
  /// Fails when a name is declared twice.
  static FailureOr<ParameterOwners> create(func::FuncOp function);

  /// A parameter that no unit took before.
  FailureOr<const ModelParameter *> take(FsdpUnitOp unit, StringAttr name);
  /// Fails when no unit took a parameter.
  LogicalResult verifyAllTaken();

  ArrayRef<ModelParameter> getParameters() const { return parameters; }

private:
  func::FuncOp function;
  SmallVector<ModelParameter> parameters;
  llvm::DenseMap<StringAttr, unsigned> indexByName;
  SmallVector<Operation *> owners; // null until taken
};

/// Where an argument is declared; the function itself when it has no body.
Location getArgumentLoc(func::FuncOp function, unsigned argument);

/// The mesh that the module is compiled for, or a located error.
FailureOr<MeshOp> findMesh(mlir::ModuleOp module);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_MODELFUNCTION_H
