//===- ProgramTables.h - what the runtime must know ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_RUNTIME_PROGRAMTABLES_H
#define DSV4_PASSES_RUNTIME_PROGRAMTABLES_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsv4 {

/// Axes, groups, collective sites and arguments of a program, numbered as the
/// runtime numbers them. Read from the program before it is lowered, written to
/// the module afterwards.
class ProgramTables {
public:
  /// Reads the mesh and the arguments of the public function and places the
  /// arguments in the state arena. Located errors.
  static FailureOr<ProgramTables> create(func::FuncOp entry);

  /// Number of the group that `axes` span; new groups are added.
  unsigned getGroup(ArrayAttr axes);

  /// Adds a site and returns its number. `count` in elements per rank.
  unsigned addSite(Operation *op, StringRef kind, StringRef collectiveClass,
                   StringRef reduction, Type element, int64_t count,
                   ArrayAttr axes);

  /// Lane of the group that a site belongs to.
  int64_t getLane(unsigned site) const;

  MeshOp getMesh() { return mesh; }
  /// Byte offset of each argument of the public function; the last, the work
  /// arena, has none.
  ArrayRef<int64_t> getArgumentOffsets() const { return offsets; }

  /// Writes everything as attributes.
  void writeTo(mlir::ModuleOp module) const;

private:
  LogicalResult addArguments(func::FuncOp entry);

  MeshOp mesh;
  ArrayAttr axisNames;
  DenseI64ArrayAttr axisSizes;
  SmallVector<Attribute> groups, sites, arguments;
  SmallVector<unsigned> groupOfSite;
  DenseMap<Attribute, unsigned> groupOfAxes;
  SmallVector<int64_t> offsets;
  int64_t stateBytes = 0;
  IntegerAttr workBytes, workBound;
  DenseI64ArrayAttr workBuffers;
};

} // namespace mlir::dsv4

#endif // DSV4_PASSES_RUNTIME_PROGRAMTABLES_H
