//===- Messages.h - Diagnostics of a tool -----------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_MESSAGES_H
#define DSV4_EXECUTION_MESSAGES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::dsv4 {

/// Prints "file:line:column: severity: message" and the notes, a line each. The
/// source is not quoted: the line of a function may have all its parameters.
void printDiagnostic(const Diagnostic &diagnostic, llvm::raw_ostream &os);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_MESSAGES_H
