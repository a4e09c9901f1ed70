//===- FunctionCatalog.cpp - equal functions are one ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FunctionCatalog.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::dsv4;

static uint64_t hashFunction(func::FuncOp function) {
  llvm::hash_code hash = hash_value(function.getFunctionType());
  function.getBody().front().walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

func::FuncOp FunctionCatalog::findOrInsert(func::FuncOp function) {
  SmallVector<func::FuncOp> &candidates = byHash[hashFunction(function)];
  for (func::FuncOp candidate : candidates)
    if (candidate.getFunctionType() == function.getFunctionType() &&
        OperationEquivalence::isRegionEquivalentTo(
            &candidate.getBody(), &function.getBody(),
            OperationEquivalence::IgnoreLocations)) {
      function.erase();
      return candidate;
    }
  symbols.insert(function);
  candidates.push_back(function);
  return function;
}
