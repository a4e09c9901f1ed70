//===- dsv4-opt.cpp - the optimizer driver --------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/InitAll.h"
#include "dsv4/Support/Version.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::dsv4::registerAllDialects(registry);
  mlir::dsv4::registerAllPasses();
  mlir::dsv4::addVersionPrinter();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "DSV4 optimizer driver\n", registry));
}
