//===- BenchStep.cpp - From config.json to a step, and the step -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small models that this machine can execute: how long it takes from the file
// to machine code, how long a step takes, and whether the step needs the memory
// that was planned. Every case runs in processes of its own.
//
//   bench-step examples/configs
//
//===----------------------------------------------------------------------===//

#include "support/Child.h"
#include "support/Measure.h"
#include "support/Table.h"

#include "dsv4/Execution/Executable.h"
#include "dsv4/InitAll.h"
#include "dsv4/Passes/Pipelines.h"

using namespace mlir;
using namespace mlir::dsv4;

static constexpr int kRuns = 3;
static constexpr int64_t kSteps = 20;

// Set for TINY.
static constexpr double kGoalSeconds = 3.0;

namespace {

struct StepCase {
  llvm::StringLiteral model;
  llvm::StringLiteral filename;
  llvm::StringLiteral mesh;
  int64_t batchSize;
  int64_t seqLen;
};

constexpr StepCase kCases[] = {{"TINY", "tiny.json", "", 2, 64},
                               {"TINY", "tiny.json", "cp:2", 2, 64},
                               {"mid", "mid.json", "", 2, 512},
                               {"mid", "mid.json", "cp:2", 2, 512}};

struct StepTimes {
  double importSeconds;
  double pipelineSeconds; // before code generation
  double codegenSeconds;
  double jitSeconds;
  double totalSeconds;
  ProgramCounts counts;

  // Only with steps.
  double stepSeconds;
  uint64_t stateBytes;
  uint64_t measuredWorkBytes;
  int64_t traffic[kNumTrafficKinds]; // launches of collectives in one step
  double loss;
};

using StepResult = ChildResult<StepTimes>;

} // namespace

static bool fail(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return false;
}

static bool runSteps(const Executable &executable, StepTimes &times) {
  const Program &program = executable.getProgram();
  auto parameters = ParameterSource::createFromNames(program);
  if (!parameters)
    return fail(parameters.takeError());
  auto batch = BatchSource::open(program, {}, /*fromNames=*/true);
  if (!batch)
    return fail(batch.takeError());
  RunOptions options;
  options.steps = kSteps;
  options.measureMemory = true;
  auto outcome = executable.run(*parameters, *batch, options);
  if (!outcome)
    return fail(outcome.takeError());
  times.stepSeconds = outcome->stepSeconds;
  times.stateBytes = program.stateBytes;
  times.measuredWorkBytes = outcome->measuredWorkBytes.value_or(0);
  for (size_t i = 0; i < kNumTrafficKinds; ++i)
    times.traffic[i] = outcome->traffic[i].launches;
  if (const ResultTensor *loss = findResult(outcome->results, "loss"))
    times.loss = loss->getValue(0);
  return true;
}

/// From the file to machine code, and then the steps if wanted.
static bool runCase(const StepCase &subject, llvm::StringRef folder,
                    bool withSteps, StepTimes &times) {
  double begin = getSeconds();
  std::optional<ModelConfig> config =
      readBenchConfig((folder + "/" + subject.filename).str());
  if (!config)
    return false;
  DialectRegistry registry;
  registerAllDialects(registry);
  registerExecutionTranslations(registry);
  MLIRContext context(registry);
  BuildOptions build;
  build.batchSize = subject.batchSize;
  build.seqLen = subject.seqLen;
  build.elementType = ElementType::F32;
  OwningOpRef<mlir::ModuleOp> module = importModel(&context, *config, build);
  if (!module)
    return false;
  double imported = getSeconds();
  double lowered = imported;
  double countSeconds = 0.0;
  CompileOptions compile;
  compile.mesh = subject.mesh.str();
  compile.afterPhase = [&](StringRef phase, mlir::ModuleOp module) {
    if (phase != "lower")
      return;
    lowered = getSeconds();
    times.counts = countProgram(module);
    countSeconds = getSeconds() - lowered;
  };
  auto executable = Executable::create(*module, compile);
  if (!executable)
    return fail(executable.takeError());
  double compiled = getSeconds();
  times.importSeconds = imported - begin;
  times.pipelineSeconds = lowered - imported;
  times.codegenSeconds =
      executable->getPipelineSeconds() - times.pipelineSeconds - countSeconds;
  times.jitSeconds = executable->getJitSeconds();
  times.totalSeconds = compiled - begin - countSeconds;
  return !withSteps || runSteps(*executable, times);
}

/// The times of the fastest compilation, and everything else of the first
/// process, which alone runs the steps.
static std::optional<StepResult> measure(const StepCase &subject,
                                         llvm::StringRef folder) {
  std::optional<StepResult> best;
  for (int i = 0; i < kRuns; ++i) {
    auto result = runInChild<StepTimes>([&](StepTimes &times) {
      return runCase(subject, folder, /*withSteps=*/i == 0, times);
    });
    if (!result)
      return std::nullopt;
    if (!best) {
      best = result;
    } else if (result->value.totalSeconds < best->value.totalSeconds) {
      best->value.importSeconds = result->value.importSeconds;
      best->value.pipelineSeconds = result->value.pipelineSeconds;
      best->value.codegenSeconds = result->value.codegenSeconds;
      best->value.jitSeconds = result->value.jitSeconds;
      best->value.totalSeconds = result->value.totalSeconds;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static std::string getName(const StepCase &subject) {
  StringRef mesh = subject.mesh.empty() ? "1 rank" : StringRef(subject.mesh);
  return (subject.model + ", " + mesh).str();
}

static void printCompilation(ArrayRef<StepResult> results) {
  Table table("From config.json to machine code in seconds: f32, TINY 2 x 64 "
              "tokens, mid 2 x 512; fastest of " +
                  std::to_string(kRuns) + " processes",
              {"model", "import", "phases", "codegen", "JIT", "total", "goal",
               "total/goal"});
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    const StepTimes &times = result.value;
    table.addRow({getName(subject), formatNumber(times.importSeconds, 3),
                  formatNumber(times.pipelineSeconds, 3),
                  formatNumber(times.codegenSeconds, 3),
                  formatNumber(times.jitSeconds, 3),
                  formatNumber(times.totalSeconds, 3),
                  formatNumber(kGoalSeconds, 0),
                  formatNumber(times.totalSeconds / kGoalSeconds)});
  }
  table.print(llvm::outs());
}

/// Each case next to the one-rank case before it, if it is one of several
/// ranks.
static void printSteps(ArrayRef<StepResult> results) {
  Table table("The step: fastest of " + std::to_string(kSteps) +
                  ", on its slowest rank",
              {"model", "ms", "to 1 rank", "tokens/s", "loss"});
  double oneRank = 0.0;
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    double seconds = result.value.stepSeconds;
    if (subject.mesh.empty())
      oneRank = seconds;
    table.addRow({getName(subject), formatNumber(seconds * 1e3, 3),
                  formatNumber(seconds / oneRank),
                  formatNumber(subject.batchSize * subject.seqLen / seconds, 0),
                  formatNumber(result.value.loss, 6)});
  }
  table.print(llvm::outs());
}

static void printMemory(ArrayRef<StepResult> results) {
  Table table("Work arena of one rank in bytes; the peak of the process, in "
              "MB, has compiler, both arenas of all ranks and results in it",
              {"model", "predicted", "measured", "measured/predicted",
               "lower bound", "predicted/bound", "state MB", "process MB"});
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    const StepTimes &times = result.value;
    double predicted = times.counts.workBytes;
    table.addRow({getName(subject), std::to_string(times.counts.workBytes),
                  std::to_string(times.measuredWorkBytes),
                  formatNumber(times.measuredWorkBytes / predicted, 4),
                  std::to_string(times.counts.workBytesLowerBound),
                  formatNumber(predicted / times.counts.workBytesLowerBound, 3),
                  formatMegabytes(times.stateBytes, 1),
                  formatMegabytes(result.usage.peakBytes)});
  }
  table.print(llvm::outs());
}

static void printCounts(ArrayRef<StepResult> results) {
  std::vector<std::string> header = {"model", "blocks", "kernels", "launches",
                                     "memref.copy"};
  for (size_t i = 0; i < kNumTrafficKinds; ++i)
    header.push_back(getTrafficName(i).str());
  Table table("Code, and what one step starts: kernels, and collectives by "
              "kind",
              header);
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    const StepTimes &times = result.value;
    std::vector<std::string> row = {getName(subject),
                                    std::to_string(times.counts.blocks),
                                    std::to_string(times.counts.kernels),
                                    std::to_string(times.counts.launches),
                                    std::to_string(times.counts.copies)};
    for (int64_t launches : times.traffic)
      row.push_back(std::to_string(launches));
    table.addRow(row);
  }
  table.print(llvm::outs());
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: bench-step <folder of the configurations>\n";
    return 2;
  }
  std::vector<StepResult> results;
  for (const StepCase &subject : kCases) {
    showProgress("bench-step: " + getName(subject));
    std::optional<StepResult> result = measure(subject, argv[1]);
    if (!result) {
      llvm::errs() << "error: " << getName(subject) << " does not run\n";
      return 1;
    }
    results.push_back(*result);
  }
  llvm::outs() << "bench-step: " << describeMachine() << "\n\n";
  printCompilation(results);
  printSteps(results);
  printMemory(results);
  printCounts(results);
  return 0;
}
