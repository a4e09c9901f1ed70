//===- Report.cpp - A run as JSON -----------------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"

#include <cmath>
#include <sys/resource.h>

using namespace mlir;
using namespace mlir::dsv4;
namespace json = llvm::json;

std::vector<ResultComparison>
dsv4::compareRuns(llvm::ArrayRef<ResultTensor> results,
                  llvm::ArrayRef<ResultTensor> oneRank) {
  std::vector<ResultComparison> comparisons;
  for (const ResultTensor &result : results) {
    ResultComparison &comparison = comparisons.emplace_back();
    comparison.name = result.name;
    const ResultTensor *other = findResult(oneRank, result.name);
    std::optional<Difference> difference;
    if (other)
      difference = compareTensors(result.getRef(), other->getRef());
    comparison.difference =
        difference.value_or(Difference{std::nan(""), /*isBitwise=*/false});
    comparison.agrees = difference && isRankCountInvariant(*other, *difference);
  }
  return comparisons;
}

std::vector<NaNPlace> dsv4::findNaNs(const Program &program,
                                     const ParameterSource &parameters,
                                     llvm::ArrayRef<ResultTensor> results) {
  std::vector<NaNPlace> places;
  auto check = [&](StringRef kind, const TensorRef &tensor) {
    if (std::optional<uint64_t> index = findNaN(tensor))
      places.push_back(
          {kind.str(), tensor.name, formatPosition(tensor.shape, *index)});
  };
  for (StringRef name : llvm::make_first_range(program.parameters))
    if (const TensorRef *tensor = parameters.findTensor(name))
      check("parameter", *tensor);
  for (const ResultTensor &result : results)
    check("result", result.getRef());
  return places;
}

/// JSON has no NaN and no infinity.
static json::Value getNumber(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static json::Object describeResults(llvm::ArrayRef<ResultTensor> results) {
  json::Object object;
  for (const ResultTensor &result : results)
    object[result.name] =
        json::Object{{"dtype", getTensorTypeName(result.type)},
                     {"shape", json::Array(result.shape)}};
  return object;
}

static json::Object describeTraffic(const RunOutcome &outcome) {
  json::Object object;
  for (auto [kind, totals] : llvm::enumerate(outcome.traffic)) {
    if (kind == DSV4RT_TRAFFIC_OTHER && totals.launches == 0)
      continue;
    object[getTrafficName(kind)] =
        json::Object{{"launches", totals.launches},
                     {"buffers", totals.buffers},
                     {"received_bytes", json::Array(totals.receivedBytes)},
                     {"received_bytes_last_rank", totals.receivedBytes.back()}};
  }
  return object;
}

static json::Object describeMemory(const ReportInput &input) {
  const Program &program = input.executable.getProgram();
  json::Object object{{"state_bytes", program.stateBytes},
                      {"work_bytes", program.workBytes},
                      {"work_bytes_lower_bound", program.workBytesLowerBound},
                      {"peak_resident_bytes", getPeakResidentBytes()}};
  if (input.outcome.measuredWorkBytes)
    object["measured_work_bytes"] = *input.outcome.measuredWorkBytes;
  return object;
}

static json::Object
describeComparison(llvm::ArrayRef<ResultComparison> comparisons) {
  json::Object results;
  for (const ResultComparison &comparison : comparisons)
    results[comparison.name] = json::Object{
        {"max_abs_difference", getNumber(comparison.difference.maxAbs)},
        {"bitwise_equal", comparison.difference.isBitwise},
        {"agrees", comparison.agrees}};
  return json::Object{
      {"agrees",
       llvm::all_of(comparisons, [](const auto &c) { return c.agrees; })},
      {"results", std::move(results)}};
}

static json::Array describeNaNs(llvm::ArrayRef<NaNPlace> places) {
  json::Array array;
  for (const NaNPlace &place : places)
    array.push_back(json::Object{{"kind", place.kind},
                                 {"name", place.name},
                                 {"position", place.position}});
  return array;
}

json::Object dsv4::buildReport(const ReportInput &input) {
  const Program &program = input.executable.getProgram();
  const RunOutcome &outcome = input.outcome;
  json::Object report{
      {"mesh", program.getMeshText()},
      {"ranks", program.getNumRanks()},
      {"steps", input.steps},
      {"results", describeResults(outcome.results)},
      {"collectives", describeTraffic(outcome)},
      {"memory", describeMemory(input)},
      {"seconds",
       json::Object{{"parse", input.parseSeconds},
                    {"pipeline", input.executable.getPipelineSeconds()},
                    {"jit", input.executable.getJitSeconds()},
                    {"init", outcome.initSeconds},
                    {"step", outcome.stepSeconds}}},
      {"versions", json::Object{{"dsv4", DSV4_VERSION},
                                {"llvm", LLVM_VERSION_STRING},
                                {"runtime", dsv4rt_abi_version()}}}};
  const ResultTensor *loss = findResult(outcome.results, "loss");
  if (loss && loss->shape.empty())
    report["loss"] = getNumber(loss->getValue(0));
  if (input.oneRank)
    report["one_rank"] = describeComparison(*input.oneRank);
  if (input.nans)
    report["nan"] = describeNaNs(*input.nans);
  return report;
}

uint64_t dsv4::getPeakResidentBytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}
