//===- ModelFunction.cpp - the function that holds the model --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/ModelFunction.h"

#include "dsv4/IR/Dsv4Ops.h"

using namespace mlir;
using namespace mlir::dsv4;

static bool hasParameters(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kParamAttr))
      return true;
  return false;
}

FailureOr<func::FuncOp> dsv4::findModelFunction(mlir::ModuleOp module) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!hasParameters(function))
      continue;
    if (found) {
      auto diagnostic = function.emitOpError()
                        << "has parameters, expected them in one function";
      diagnostic.attachNote(found.getLoc()) << "parameters are also here";
      return diagnostic;
    }
    found = function;
  }
  return found;
}

SmallVector<ModelParameter> dsv4::getParameters(func::FuncOp function) {
  SmallVector<ModelParameter> parameters;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (auto name = function.getArgAttrOfType<StringAttr>(i, kParamAttr))
      parameters.push_back({name, type, static_cast<unsigned>(i),
                            function.getArgAttr(i, kFrozenAttr) != nullptr});
  return parameters;
}

Location dsv4::getArgumentLoc(func::FuncOp function, unsigned argument) {
  return function.isExternal() ? function.getLoc()
                               : function.getArgument(argument).getLoc();
}

FailureOr<MeshOp> dsv4::findMesh(mlir::ModuleOp module) {
  Operation *symbol = SymbolTable::lookupSymbolIn(module, "mesh");
  if (auto mesh = dyn_cast_or_null<MeshOp>(symbol))
    return mesh;
  if (symbol)
    return symbol->emitError() << "symbol @mesh must be a dsv4.mesh, got '"
                               << symbol->getName() << "'";
  return module.emitError() << "expected a dsv4.mesh @mesh, got none";
}

//===----------------------------------------------------------------------===//
// ParameterOwners
//===----------------------------------------------------------------------===//

FailureOr<ParameterOwners> ParameterOwners::create(func::FuncOp function) {
  ParameterOwners result;
  result.function = function;
  result.parameters = dsv4::getParameters(function);
  result.owners.assign(result.parameters.size(), nullptr);
  for (auto [i, parameter] : llvm::enumerate(result.parameters))
    if (!result.indexByName.try_emplace(parameter.name, i).second)
      return emitError(getArgumentLoc(function, parameter.argument))
             << "parameter " << parameter.name << " is declared twice";
  return result;
}

FailureOr<const ModelParameter *> ParameterOwners::take(FsdpUnitOp unit,
                                                        StringAttr name) {
  auto it = indexByName.find(name);
  if (it == indexByName.end())
    return unit.emitOpError()
           << "lists parameter " << name << ", which is no function argument";
  Operation *&owner = owners[it->second];
  if (owner) {
    auto diagnostic = unit.emitOpError()
                      << "lists parameter " << name << " of another unit";
    diagnostic.attachNote(owner->getLoc()) << "listed here before";
    return diagnostic;
  }
  owner = unit;
  return &parameters[it->second];
}

LogicalResult ParameterOwners::verifyAllTaken() {
  for (auto [parameter, owner] : llvm::zip(parameters, owners))
    if (!owner)
      return emitError(getArgumentLoc(function, parameter.argument))
             << "parameter " << parameter.name
             << " is in no unit, expected one dsv4.fsdp_unit that lists it";
  return success();
}
