//===- Arguments.cpp - Fill and read a rank's state -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mlir::dsv4;

/// The label of rows that no rank was given.
static void fillPadding(const ProgramArgument &argument, char *data) {
  if (argument.name != "labels" || argument.dtype != DSV4RT_I64)
    return; // zero, as the arena is
  std::fill_n(reinterpret_cast<int64_t *>(data), argument.getNumElements(),
              kIgnoredLabel);
}

static void fillBatch(const Program &program, const ProgramArgument &argument,
                      int64_t rank, char *data, const BatchSource &batch) {
  fillPadding(argument, data);
  const char *source = batch.getData(argument.name).data();
  int64_t width = dsv4rt_dtype_size(argument.dtype);
  forEachRun(program.getSlices(argument, rank), [&](const SliceRun &run) {
    std::memcpy(data + run.local * width, source + run.global * width,
                run.count * width);
  });
}

static void fillTensor(const Program &program, const ProgramArgument &argument,
                       int64_t rank, char *data,
                       const ParameterSource &parameters) {
  int64_t width = dsv4rt_dtype_size(argument.dtype);
  forEachRun(program.getSlices(argument, rank), [&](const SliceRun &run) {
    parameters.read(argument.name, run.global, run.count,
                    data + run.local * width);
  });
}

static void fillShard(const Program &program, const ProgramArgument &argument,
                      int64_t rank, char *data,
                      const ParameterSource &parameters) {
  int64_t width = dsv4rt_dtype_size(argument.dtype);
  RankPlace place = getRankPlace(program.axisSizes, argument.axes, rank);
  for (const SegmentPart &part : getSegmentParts(
           argument.segments, argument.getNumElements(), place.index))
    parameters.read(argument.segments[part.segment].name, part.begin,
                    part.count, data + part.local * width);
}

void mlir::dsv4::fillArguments(const Program &program, int64_t rank,
                               char *state, const ParameterSource &parameters,
                               const BatchSource &batch) {
  for (const ProgramArgument &argument : program.arguments) {
    char *data = state + argument.offset;
    switch (argument.kind) {
    case ArgumentKind::Batch:
      fillBatch(program, argument, rank, data, batch);
      break;
    case ArgumentKind::Shard:
      fillShard(program, argument, rank, data, parameters);
      break;
    case ArgumentKind::Buffer:
    case ArgumentKind::Param:
      fillTensor(program, argument, rank, data, parameters);
      break;
    case ArgumentKind::Result:
    case ArgumentKind::Gradient:
      break;
    }
  }
}

bool mlir::dsv4::isOwner(const Program &program,
                         const ProgramArgument &argument, int64_t rank) {
  for (unsigned axis = 0; axis < program.axisSizes.size(); ++axis) {
    bool splits = llvm::is_contained(argument.axes, axis) ||
                  llvm::any_of(argument.dims, [&](const ProgramDim &dim) {
                    return llvm::is_contained(dim.axes, axis);
                  });
    if (!splits && getRankPlace(program.axisSizes, {axis}, rank).index != 0)
      return false;
  }
  return true;
}

static ResultTensor createResult(std::string name, uint32_t dtype,
                                 std::vector<int64_t> shape) {
  ResultTensor result;
  result.name = std::move(name);
  result.type = *findFileType(dtype);
  result.shape = std::move(shape);
  result.data.resize(*findTensorByteSize(result.type, result.shape));
  return result;
}

std::vector<ResultTensor> mlir::dsv4::createResults(const Program &program) {
  std::vector<ResultTensor> results;
  for (const ProgramArgument &argument : program.arguments) {
    if (argument.kind == ArgumentKind::Result)
      results.push_back(createResult(argument.name, argument.dtype,
                                     argument.getGlobalShape()));
    if (argument.kind == ArgumentKind::Gradient)
      for (const Segment &segment : argument.segments)
        results.push_back(createResult("grad/" + segment.name, argument.dtype,
                                       segment.shape));
  }
  return results;
}

namespace {
/// Elements of a result that one rank holds.
struct ResultRun {
  size_t result = 0;
  int64_t global = 0;
  int64_t local = 0;
  int64_t count = 0;
};
} // namespace

/// Visits what `rank` holds of each result.
static void forEachResultRun(
    const Program &program, int64_t rank,
    llvm::function_ref<void(const ProgramArgument &, const ResultRun &)> visit) {
  size_t next = 0;
  for (const ProgramArgument &argument : program.arguments) {
    if (argument.kind == ArgumentKind::Result) {
      forEachRun(program.getSlices(argument, rank), [&](const SliceRun &run) {
        visit(argument, {next, run.global, run.local, run.count});
      });
      ++next;
    }
    if (argument.kind == ArgumentKind::Gradient) {
      RankPlace place = getRankPlace(program.axisSizes, argument.axes, rank);
      for (const SegmentPart &part : getSegmentParts(
               argument.segments, argument.getNumElements(), place.index))
        visit(argument,
              {next + part.segment, part.begin, part.local, part.count});
      next += argument.segments.size();
    }
  }
}

void mlir::dsv4::collectResults(const Program &program, int64_t rank,
                                const char *state,
                                llvm::MutableArrayRef<ResultTensor> results) {
  forEachResultRun(
      program, rank, [&](const ProgramArgument &argument, const ResultRun &run) {
        if (!isOwner(program, argument, rank))
          return;
        int64_t width = dsv4rt_dtype_size(argument.dtype);
        std::memcpy(results[run.result].data.data() + run.global * width,
                    state + argument.offset + run.local * width,
                    run.count * width);
      });
}

std::string mlir::dsv4::findOtherResult(const Program &program, int64_t rank,
                                        const char *state,
                                        llvm::ArrayRef<ResultTensor> results) {
  std::string found;
  forEachResultRun(
      program, rank, [&](const ProgramArgument &argument, const ResultRun &run) {
        if (!found.empty() || isOwner(program, argument, rank))
          return;
        int64_t width = dsv4rt_dtype_size(argument.dtype);
        if (std::memcmp(results[run.result].data.data() + run.global * width,
                        state + argument.offset + run.local * width,
                        run.count * width) != 0)
          found = results[run.result].name;
      });
  return found;
}
