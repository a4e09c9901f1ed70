//===- Replication.h - over which axes ranks hold equal values -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a partitioned program: a value is replicated over a mesh axis when ranks
// that differ only there are known to hold the same value. Batch arguments
// differ over the axes of their layout, axis indices over their own; a gather or
// a reduction makes its result equal again; everything else differs where an
// operand does.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_REPLICATION_H
#define DSV4_ANALYSIS_REPLICATION_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dsv4 {

class Replication {
public:
  /// A set of mesh axes, one bit each; axes of size 1 are in no set.
  using Axes = uint64_t;

  /// For a function of one block in a module with at most one mesh.
  static FailureOr<Replication> compute(func::FuncOp function);

  /// Axes over which ranks may hold different values.
  Axes getVarying(Value value) const { return varying.lookup(value); }
  /// The same for everything that an operation reads, also in its regions.
  Axes getVarying(Operation *op) const;

  Axes getAll() const { return all; }
  Axes getAxes(ArrayAttr names) const;
  /// Of `names`, those in `axes`.
  ArrayAttr select(ArrayAttr names, Axes axes) const;
  /// As in `{"dp_shard", "cp"}`.
  std::string format(Axes axes) const;

private:
  Axes getVarying(func::FuncOp function, unsigned argument) const;
  void visit(Operation *op);

  SmallVector<std::pair<StringAttr, int64_t>> mesh;
  Axes all = 0;
  llvm::DenseMap<Value, Axes> varying;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_REPLICATION_H
