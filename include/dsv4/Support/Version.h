//===- Version.h - what --version prints -----------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_SUPPORT_VERSION_H
#define DSV4_SUPPORT_VERSION_H

namespace mlir::dsv4 {

/// Makes `--version` of a tool print the project's version before LLVM's.
void addVersionPrinter();

} // namespace mlir::dsv4

#endif // DSV4_SUPPORT_VERSION_H
