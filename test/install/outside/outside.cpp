//===- outside.cpp - a project that uses an installed DSV4 ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers everything, parses a module, runs one pass, prints the result.
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/InitAll.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

int main() {
  mlir::DialectRegistry registry;
  mlir::dsv4::registerAllDialects(registry);
  mlir::dsv4::registerAllPasses();
  mlir::MLIRContext context(registry);

  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(
          "func.func @identity(%x: tensor<2x64xi64> {dsv4.batch = "
          "\"input_ids\"}) -> tensor<2x64xi64> { return %x : tensor<2x64xi64> }",
          &context);
  if (!module)
    return 1;

  mlir::PassManager pm(&context);
  mlir::dsv4::DeclareMeshPassOptions options;
  options.mesh = "dp_shard:2,cp:2";
  pm.addPass(mlir::dsv4::createDeclareMeshPass(options));
  if (mlir::failed(pm.run(*module)))
    return 2;

  auto mesh = module->lookupSymbol<mlir::dsv4::MeshOp>("mesh");
  if (!mesh || mesh.getNumRanks() != 4)
    return 3;
  module->print(llvm::outs());
  return 0;
}
