//===- Arguments.h - Fill and read a rank's state ---------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_EXECUTION_ARGUMENTS_H
#define DSV4_LIB_EXECUTION_ARGUMENTS_H

#include "dsv4/Execution/Results.h"
#include "dsv4/Execution/Sources.h"

namespace mlir::dsv4 {

/// Writes the batch, parameters and buffers of `rank` into its arena, which is
/// zero.
void fillArguments(const Program &program, int64_t rank, char *state,
                   const ParameterSource &parameters, const BatchSource &batch);

/// Whether `rank` is the first of those that hold the same part.
bool isOwner(const Program &program, const ProgramArgument &argument,
             int64_t rank);

/// Room for all results.
std::vector<ResultTensor> createResults(const Program &program);

/// Copies the parts that `rank` owns to `results`.
void collectResults(const Program &program, int64_t rank, const char *state,
                    llvm::MutableArrayRef<ResultTensor> results);

/// The name of the first result of which `rank` holds other bits than the
/// collected ones; empty if there is none.
std::string findOtherResult(const Program &program, int64_t rank,
                            const char *state,
                            llvm::ArrayRef<ResultTensor> results);

} // namespace mlir::dsv4

#endif // DSV4_LIB_EXECUTION_ARGUMENTS_H
