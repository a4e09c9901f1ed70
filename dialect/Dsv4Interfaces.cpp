//===- Dsv4Interfaces.cpp - interfaces of dsv4 operations ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Interfaces.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dsv4;

#include "dsv4/IR/Dsv4Interfaces.cpp.inc"

FailureOr<int64_t> dsv4::computeGroupSize(Operation *op, FlatSymbolRefAttr mesh,
                                          ArrayAttr axes,
                                          SymbolTableCollection &symbols) {
  auto meshOp = symbols.lookupNearestSymbolFrom<MeshOp>(op, mesh);
  if (!meshOp) // (G1)
    return op->emitOpError()
           << "'mesh' must name a dsv4.mesh, got " << mesh;
  llvm::StringSet<> seen;
  int64_t size = 1;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    std::optional<int64_t> axisSize = meshOp.getAxisSize(axis);
    if (!axisSize) { // (G2)
      InFlightDiagnostic diag = op->emitOpError()
                                << "axis " << axis << " is not declared by "
                                << mesh;
      diag.attachNote(meshOp.getLoc()) << "mesh declared here";
      return diag;
    }
    if (!seen.insert(axis.getValue()).second)
      return op->emitOpError() << "axis " << axis << " is named twice";
    size *= *axisSize;
  }
  return size;
}

FailureOr<int64_t> dsv4::computeGroupSize(Operation *op, FlatSymbolRefAttr mesh,
                                          ArrayAttr axes) {
  SymbolTableCollection symbols;
  return computeGroupSize(op, mesh, axes, symbols);
}
