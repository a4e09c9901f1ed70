//===- Compile.h - From IR of any phase to a program ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_COMPILE_H
#define DSV4_EXECUTION_COMPILE_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>

namespace mlir::dsv4 {

struct CompileOptions {
  /// "dp_shard:2,cp:2"; "" is one rank. None: the mesh of the module, or one
  /// rank.
  std::optional<std::string> mesh;
  std::optional<std::string> fsdpAxes;
  std::optional<int64_t> prefetchDepth;
  /// Also compute the gradients of the loss: the train pipeline.
  bool gradients = false;
  /// Called with the name of each phase that ran and the module after it.
  std::function<void(StringRef, mlir::ModuleOp)> afterPhase;
};

/// The last phase that the module went through; empty for model IR.
StringRef getFinishedPhase(mlir::ModuleOp module);

/// Runs the phases of the forward pipeline that are missing. Refuses options
/// that come too late: another mesh, or a choice that a finished phase has
/// made.
LogicalResult completePipeline(mlir::ModuleOp module,
                               const CompileOptions &options);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_COMPILE_H
