//===- Activity.h - what lies between the loss and parameters --*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An edge leads from a value that an operation reads to its float results. It
// carries a gradient unless the value is no float, the operation is marked
// `dsv4.no_grad`, or its rule says so. A value is active when edges with
// gradient lead to it from a parameter, and from it to the loss.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DIFFERENTIATE_ACTIVITY_H
#define DSV4_PASSES_DIFFERENTIATE_ACTIVITY_H

#include "dsv4/Passes/Differentiation.h"

namespace mlir::dsv4 {

/// A parameter that is not frozen.
struct DifferentiatedParameter {
  StringAttr name;
  Location loc;
  /// The argument, or the result of the unit's `dsv4.unshard`; null when
  /// nothing reads the unit.
  Value value;
};

/// The parameters of a function that are not frozen, in the order of arguments
/// and units.
SmallVector<DifferentiatedParameter>
getDifferentiatedParameters(func::FuncOp function);

class Activity {
public:
  Activity(func::FuncOp function, Value loss,
           ArrayRef<DifferentiatedParameter> parameters);

  /// Every parameter reaches the loss, every operation on the way has a rule
  /// and reads its floats as operands.
  LogicalResult verify();

  const llvm::DenseSet<Value> &getActive() const { return active; }

private:
  LogicalResult verifyParameter(const DifferentiatedParameter &parameter);
  LogicalResult verifyOperation(Operation &op);
  std::string formatPath(Operation *op) const;

  Block &body;
  Value loss;
  ArrayRef<DifferentiatedParameter> parameters;
  llvm::DenseSet<Value> varied, useful, active;
};

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DIFFERENTIATE_ACTIVITY_H
