//===- InitAll.h - register everything -------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_INITALL_H
#define DSV4_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::dsv4 {

/// The dsv4 dialect, the upstream dialects that its programs use, and the
/// external models (bufferization, translation) that the pipelines need.
void registerAllDialects(DialectRegistry &registry);

/// All dsv4 passes and pipelines, for textual pipelines.
void registerAllPasses();

} // namespace mlir::dsv4

#endif // DSV4_INITALL_H
