//===- RunTool.h - The work of dsv4-run -------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_RUNTOOL_H
#define DSV4_EXECUTION_RUNTOOL_H

#include "dsv4/Execution/Compile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dsv4 {

/// How dsv4-run ends.
enum ExitCode {
  kExitSuccess = 0,
  kExitInput = 1,      // a file or the IR is not valid
  kExitUsage = 2,      // the command line is not
  kExitRuntime = 3,    // the run failed
  kExitComparison = 4, // it ran, but numbers that must agree do not
};

struct RunToolOptions {
  std::string inputFilename = "-";
  bool initFromNames = false;
  std::vector<std::string> parameterFiles;
  std::vector<std::string> batchFiles;
  bool batchFromNames = false;
  std::string outputFilename;     // empty for none
  std::string reportFilename;     // empty for none
  std::string saveParamsFilename; // empty for none
  std::optional<std::string> mesh;
  std::optional<std::string> fsdpAxes;
  std::optional<int64_t> prefetchDepth;
  bool gradients = false;
  bool compareOneRank = false;
  bool checkNaN = false;
  bool measureMemory = false;
  int64_t steps = 1;
  int64_t timeoutMs = 0;
};

/// Parses, compiles, runs, writes the outputs. Messages go to stderr, results
/// without dimensions to stdout. Files are written after success only.
int runTool(const RunToolOptions &options);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_RUNTOOL_H
