//===- Measure.h - A model on its way to a program --------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_BENCHMARKS_MEASURE_H
#define DSV4_BENCHMARKS_MEASURE_H

#include "dsv4/Frontend/BuildModel.h"

#include <cstdint>

namespace mlir::dsv4 {

/// What a module after phase "lower" consists of.
struct ProgramCounts {
  int64_t blocks = 0;   // functions that are called, one per kind of block
  int64_t kernels = 0;  // functions that are launched
  int64_t calls = 0;    // of blocks, in one step
  int64_t launches = 0; // of kernels, in one step, those inside blocks included
  int64_t copies = 0;   // memref.copy, anywhere
  int64_t workBytes = 0;
  int64_t workBytesLowerBound = 0;
};

ProgramCounts countProgram(mlir::ModuleOp module);

/// Reads a config.json; with `layers` other than 0, repeats the kinds of its
/// layers up to that number. Prints the error.
std::optional<ModelConfig> readBenchConfig(llvm::StringRef path,
                                           int64_t layers = 0);

/// Builds and verifies the graph, as dsv4-translate does. Prints the error.
OwningOpRef<mlir::ModuleOp> importModel(MLIRContext *context,
                                        const ModelConfig &config,
                                        const BuildOptions &options);

/// "2 cores, AMD EPYC, load 0.50": what the figures depend on. The load is the
/// number of processes that wanted a core in the last minute.
std::string describeMachine();

/// Prints to the standard error output, so that it does not mix with tables.
void showProgress(const llvm::Twine &what);

} // namespace mlir::dsv4

#endif // DSV4_BENCHMARKS_MEASURE_H
