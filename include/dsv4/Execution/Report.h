//===- Report.h - A run as JSON ---------------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_REPORT_H
#define DSV4_EXECUTION_REPORT_H

#include "dsv4/Execution/Executable.h"
#include "llvm/Support/JSON.h"

namespace mlir::dsv4 {

/// How one result of several ranks differs from that of one rank.
struct ResultComparison {
  std::string name;
  Difference difference;
  bool agrees = true;
};

/// Compares all results; names and shapes are those of one program.
std::vector<ResultComparison> compareRuns(llvm::ArrayRef<ResultTensor> results,
                                          llvm::ArrayRef<ResultTensor> oneRank);

/// The first NaN of a tensor.
struct NaNPlace {
  std::string kind; // "parameter" or "result"
  std::string name;
  std::string position;
};

/// Parameters from files first, in the order of the program, then results.
std::vector<NaNPlace> findNaNs(const Program &program,
                               const ParameterSource &parameters,
                               llvm::ArrayRef<ResultTensor> results);

/// What a report tells.
struct ReportInput {
  const Executable &executable;
  const RunOutcome &outcome;
  int64_t steps = 1;
  double parseSeconds = 0.0;
  std::optional<std::vector<ResultComparison>> oneRank;
  std::optional<std::vector<NaNPlace>> nans;
};

llvm::json::Object buildReport(const ReportInput &input);

/// The largest resident size that this process ever had, in bytes.
uint64_t getPeakResidentBytes();

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_REPORT_H
