//===- ExampleJob.h - One model on several meshes ---------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TOOLS_EXAMPLEJOB_H
#define DSV4_TOOLS_EXAMPLEJOB_H

#include "dsv4/Execution/Report.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::dsv4 {

struct ExampleOptions {
  std::string configFilename;
  /// Safetensors file with `logits`; beside it, with the ending .json, a file
  /// with `loss_f64`. Empty for none.
  std::string referenceFilename;
  /// Gets the IR after every phase, outputs and reports.
  std::string folder;
  std::vector<std::string> meshes;
  int64_t batchSize = 2;
  int64_t seqLen = 64;
  int64_t steps = 3;
};

/// Largest differences of the two results to those of another run.
struct ExampleDifference {
  double loss = 0.0;
  double logits = 0.0;
};

/// A row of the table.
struct ExampleRow {
  std::string mesh;    // "" for one rank
  std::string failure; // empty if it ran
  int64_t numRanks = 1;
  double loss = 0.0;
  ExampleDifference toOneRank;
  std::optional<ExampleDifference> toReference;
  std::array<TrafficTotals, kNumTrafficKinds> traffic;
  double compileSeconds = 0.0;
  double stepSeconds = 0.0;
  /// Both arenas of one rank.
  uint64_t predictedBytes = 0;
  uint64_t measuredBytes = 0;
  /// All numbers agree: loss within 1e-12 and logits bit for bit with one rank,
  /// 1e-9 and 1e-11 with the reference.
  bool agrees = false;
};

/// Imports the model once, in f64, and runs it on every mesh with name-seeded
/// parameters and batch. The first row is one rank. Errors of one mesh are in
/// its row.
llvm::Expected<std::vector<ExampleRow>>
runExample(const ExampleOptions &options);

/// "cp:2,dp_shard:2" as "cp2-dp_shard2", "" as "one-rank".
std::string getMeshFolder(llvm::StringRef mesh);

void printExampleTable(llvm::ArrayRef<ExampleRow> rows, llvm::raw_ostream &os);

} // namespace mlir::dsv4

#endif // DSV4_TOOLS_EXAMPLEJOB_H
