//===- Executable.h - A program ready to run --------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_EXECUTABLE_H
#define DSV4_EXECUTION_EXECUTABLE_H

#include "dsv4/Execution/Compile.h"
#include "dsv4/Execution/Engine.h"

namespace mlir::dsv4 {

/// Tables and machine code of one program.
class Executable {
public:
  /// Completes the pipeline on `module` and compiles it. Errors of the IR are
  /// diagnostics as well.
  static llvm::Expected<Executable> create(mlir::ModuleOp module,
                                           const CompileOptions &options);

  const Program &getProgram() const { return *program; }
  StepFunction getStep() const { return engine.getStep(); }
  double getPipelineSeconds() const { return pipelineSeconds; }
  double getJitSeconds() const { return jitSeconds; }

  llvm::Expected<RunOutcome> run(const ParameterSource &parameters,
                                 const BatchSource &batch,
                                 const RunOptions &options) const {
    return runProgram(*program, engine.getStep(), parameters, batch, options);
  }

private:
  Executable(Program program, Engine engine)
      : program(std::make_unique<Program>(std::move(program))),
        engine(std::move(engine)) {}

  std::unique_ptr<Program> program;
  Engine engine;
  double pipelineSeconds = 0.0;
  double jitSeconds = 0.0;
};

/// Seconds of a steady clock.
double getSeconds();

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_EXECUTABLE_H
