//===- Executable.cpp - A program ready to run ----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Executable.h"

#include <chrono>

using namespace mlir;
using namespace mlir::dsv4;

double dsv4::getSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

llvm::Expected<Executable> Executable::create(mlir::ModuleOp module,
                                              const CompileOptions &options) {
  double begin = getSeconds();
  if (failed(completePipeline(module, options)))
    return llvm::createStringError("the module cannot be lowered");
  double lowered = getSeconds();
  FailureOr<Program> program = readProgram(module);
  if (failed(program))
    return llvm::createStringError("the tables of the program are not valid");
  llvm::Expected<Engine> engine = Engine::compile(module);
  if (!engine)
    return engine.takeError();
  Executable executable(std::move(*program), std::move(*engine));
  executable.pipelineSeconds = lowered - begin;
  executable.jitSeconds = getSeconds() - lowered;
  return std::move(executable);
}
