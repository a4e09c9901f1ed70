//===- FunctionCatalog.h - equal functions are one -------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FUNCTIONCATALOG_H
#define DSV4_ANALYSIS_FUNCTIONCATALOG_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dsv4 {

/// Functions outlined so far. Two are equal when they have the same type and the
/// same operations with the same attributes, locations apart.
class FunctionCatalog {
public:
  explicit FunctionCatalog(SymbolTable &symbols) : symbols(symbols) {}

  /// The function that does the same as `function`, which is erased; or
  /// `function` itself, which then becomes part of the module under a new name.
  func::FuncOp findOrInsert(func::FuncOp function);

private:
  SymbolTable &symbols;
  DenseMap<uint64_t, SmallVector<func::FuncOp>> byHash;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FUNCTIONCATALOG_H
