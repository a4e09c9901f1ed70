//===- Engine.h - Compile a program for this machine ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_ENGINE_H
#define DSV4_EXECUTION_ENGINE_H

#include "dsv4/Execution/Runner.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mlir::dsv4 {

/// The translations to LLVM IR that `Engine::compile` needs; call before the
/// context is made.
void registerExecutionTranslations(DialectRegistry &registry);

/// Machine code of one module, the same for all ranks.
class Engine {
public:
  /// Compiles a module of the LLVM dialect with `dsv4_step` for this machine.
  /// Refuses variables, which ranks would share, and calls of functions that
  /// neither the runtime nor this process has.
  static llvm::Expected<Engine> compile(mlir::ModuleOp module);

  Engine(Engine &&);
  Engine &operator=(Engine &&);
  ~Engine();

  StepFunction getStep() const { return step; }

private:
  Engine();

  std::unique_ptr<ExecutionEngine> engine;
  StepFunction step = nullptr;
};

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_ENGINE_H
