//===- Replication.cpp - over which axes ranks hold equal values ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Replication.h"

using namespace mlir;
using namespace mlir::dsv4;

Replication::Axes Replication::getAxes(ArrayAttr names) const {
  Axes axes = 0;
  for (auto [i, axis] : llvm::enumerate(mesh))
    if (axis.second > 1 && llvm::is_contained(names, axis.first))
      axes |= Axes(1) << i;
  return axes;
}

ArrayAttr Replication::select(ArrayAttr names, Axes axes) const {
  SmallVector<Attribute> selected;
  for (Attribute name : names)
    for (auto [i, axis] : llvm::enumerate(mesh))
      if (axis.first == name && (axes >> i & 1))
        selected.push_back(name);
  return ArrayAttr::get(names.getContext(), selected);
}

std::string Replication::format(Axes axes) const {
  std::string text = "{";
  for (auto [i, axis] : llvm::enumerate(mesh))
    if (axes >> i & 1)
      text += (text.size() > 1 ? ", \"" : "\"") + axis.first.str() + "\"";
  return text + "}";
}

Replication::Axes Replication::getVarying(func::FuncOp function,
                                          unsigned argument) const {
  Axes axes = 0;
  if (auto layout = function.getArgAttrOfType<ArrayAttr>(argument, kLayoutAttr))
    for (auto dim : layout.getAsRange<ArrayAttr>())
      axes |= getAxes(dim);
  auto unit = function.getArgAttrOfType<FlatSymbolRefAttr>(argument, kShardAttr);
  if (auto op = unit ? SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(function,
                                                                        unit)
                     : FsdpUnitOp())
    axes |= getAxes(op.getAxesAttr());
  return axes;
}

Replication::Axes Replication::getVarying(Operation *op) const {
  Axes axes = 0;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      axes |= varying.lookup(operand);
  });
  return axes;
}

void Replication::visit(Operation *op) {
  Axes axes = getVarying(op);
  op->walk([&](Operation *nested) {
    if (auto index = dyn_cast<AxisIndexOp>(nested))
      axes |= getAxes(index.getAxesAttr());
    if (auto shard = dyn_cast<SeqShardOp>(nested))
      axes |= getAxes(shard.getAxesAttr());
    auto collective = dyn_cast<CollectiveOpInterface>(nested);
    if (!collective)
      return;
    Axes group = getAxes(collective.getAxesAttr());
    if (isa<SeqGatherOp, AllReduceOp, AgreeOp, UnshardOp>(nested))
      axes &= ~group;
    else
      axes |= group;
  });
  for (Value result : op->getResults())
    varying[result] = axes;
}

FailureOr<Replication> Replication::compute(func::FuncOp function) {
  Replication result;
  auto module = function->getParentOfType<mlir::ModuleOp>();
  for (auto mesh : module.getOps<MeshOp>()) {
    if (!result.mesh.empty())
      return mesh.emitOpError() << "is the second of its module, expected one";
    for (auto [name, size] : llvm::zip(mesh.getAxisNames().getAsRange<StringAttr>(),
                                       mesh.getAxisSizes()))
      result.mesh.push_back({name, size});
  }
  if (result.mesh.size() > 64)
    return function.emitOpError()
           << "is on a mesh of " << result.mesh.size()
           << " axes, expected at most 64";
  for (auto [i, axis] : llvm::enumerate(result.mesh))
    if (axis.second > 1)
      result.all |= Axes(1) << i;
  for (BlockArgument argument : function.getArguments())
    result.varying[argument] =
        result.getVarying(function, argument.getArgNumber());
  for (Operation &op : function.getBody().front())
    result.visit(&op);
  return result;
}
