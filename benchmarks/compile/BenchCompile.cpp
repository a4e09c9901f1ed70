//===- BenchCompile.cpp - Time and memory of compilation ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The published models at full length: import and all phases before code
// generation. Every case runs in processes of its own, so that peaks of memory
// are its own, and of kRuns processes the fastest counts.
//
//   bench-compile examples/configs
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
static constexpr int64_t kTokens = 65536;
static constexpr llvm::StringLiteral kMesh = "cp:8";
/// The phases in front of code generation.
static constexpr size_t kNumPhases = 6;

// Set for V4-Flash with its 43 layers.
static constexpr double kGoalSeconds = 10.0;
static constexpr double kGoalBytes = 1e9;

namespace {

struct CompileCase {
  llvm::StringLiteral model;
  llvm::StringLiteral filename;
  int64_t layers; // 0 for those of the file
};

constexpr CompileCase kCases[] = {{"V4-Flash", "v4-flash.json", 0},
                                  {"V4-Flash", "v4-flash.json", 86},
                                  {"V4-Flash", "v4-flash.json", 172},
                                  {"V4-Pro", "v4-pro.json", 0}};

struct CompileTimes {
  int64_t layers;
  double importSeconds;
  double phaseSeconds[kNumPhases];
  double totalSeconds;
  ProgramCounts counts;
};

using CompileResult = ChildResult<CompileTimes>;

} // namespace

/// Runs the phase after `finished`, which is empty at first.
static LogicalResult runPhase(mlir::ModuleOp module, StringRef finished,
                              StringRef next) {
  ForwardPipelineOptions options;
  options.mesh = kMesh.str();
  options.stopBefore = next.str();
  PassManager pm(module.getContext());
  auto emitError = [&](const Twine &message) -> LogicalResult {
    return module.emitError() << message;
  };
  if (failed(buildForwardPipeline(pm, options, finished, emitError)))
    return failure();
  return pm.run(module);
}

/// From the file to the module before code generation.
static bool compile(const CompileCase &subject, llvm::StringRef folder,
                    CompileTimes &times) {
  double begin = getSeconds();
  std::optional<ModelConfig> config =
      readBenchConfig((folder + "/" + subject.filename).str(), subject.layers);
  if (!config)
    return false;
  times.layers = config->numLayers;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  BuildOptions build;
  build.seqLen = kTokens;
  build.elementType = ElementType::Mixed;
  OwningOpRef<mlir::ModuleOp> module = importModel(&context, *config, build);
  if (!module)
    return false;
  double last = getSeconds();
  times.importSeconds = last - begin;
  ArrayRef<StringLiteral> phases = getForwardPhases();
  for (size_t i = 0; i < kNumPhases; ++i) {
    StringRef finished = i == 0 ? StringRef() : StringRef(phases[i - 1]);
    if (failed(runPhase(*module, finished, phases[i + 1])))
      return false;
    double now = getSeconds();
    times.phaseSeconds[i] = now - last;
    last = now;
  }
  times.totalSeconds = last - begin;
  times.counts = countProgram(*module);
  return true;
}

/// The fastest of several processes; memory is the largest of them.
static std::optional<CompileResult> measure(const CompileCase &subject,
                                            llvm::StringRef folder) {
  std::optional<CompileResult> best;
  uint64_t peakBytes = 0;
  for (int i = 0; i < kRuns; ++i) {
    auto result = runInChild<CompileTimes>(
        [&](CompileTimes &times) { return compile(subject, folder, times); });
    if (!result)
      return std::nullopt;
    peakBytes = std::max(peakBytes, result->usage.peakBytes);
    if (!best || result->value.totalSeconds < best->value.totalSeconds)
      best = result;
  }
  best->usage.peakBytes = peakBytes;
  return best;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static std::string getName(const CompileCase &subject,
                           const CompileResult &result) {
  return (subject.model + ", " + Twine(result.value.layers) + " layers").str();
}

static void printTimes(ArrayRef<CompileResult> results) {
  std::vector<std::string> header = {"seconds", "import"};
  for (StringRef phase : getForwardPhases().take_front(kNumPhases))
    header.push_back(phase.str());
  for (const char *name : {"total", "goal", "total/goal", "CPU"})
    header.push_back(name);
  Table table("Import and all phases before code generation: batch 1, " +
                  std::to_string(kTokens) + " tokens, mixed, mesh " +
                  kMesh.str() + "; fastest of " + std::to_string(kRuns) +
                  " processes",
              header);
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    const CompileTimes &times = result.value;
    std::vector<std::string> row = {getName(subject, result),
                                    formatNumber(times.importSeconds, 3)};
    for (double seconds : times.phaseSeconds)
      row.push_back(formatNumber(seconds, 3));
    row.push_back(formatNumber(times.totalSeconds, 3));
    row.push_back(formatNumber(kGoalSeconds, 0));
    row.push_back(formatNumber(times.totalSeconds / kGoalSeconds));
    row.push_back(formatNumber(result.usage.cpuSeconds, 3));
    table.addRow(row);
  }
  table.print(llvm::outs());
}

static void printMemory(ArrayRef<CompileResult> results) {
  Table table("Peak resident memory of the process in MB (10^6 bytes)",
              {"model", "peak", "goal", "peak/goal"});
  for (auto [subject, result] : llvm::zip_equal(kCases, results))
    table.addRow({getName(subject, result),
                  formatMegabytes(result.usage.peakBytes),
                  formatMegabytes(kGoalBytes),
                  formatNumber(result.usage.peakBytes / kGoalBytes)});
  table.print(llvm::outs());
}

static void printPrograms(ArrayRef<CompileResult> results) {
  Table table("What the lowered module consists of; the work arena is that of "
              "one rank, in MB",
              {"model", "blocks", "kernels", "block calls", "launches",
               "memref.copy", "arena", "lower bound", "arena/bound"});
  for (auto [subject, result] : llvm::zip_equal(kCases, results)) {
    const ProgramCounts &counts = result.value.counts;
    table.addRow({getName(subject, result), std::to_string(counts.blocks),
                  std::to_string(counts.kernels), std::to_string(counts.calls),
                  std::to_string(counts.launches),
                  std::to_string(counts.copies),
                  formatMegabytes(counts.workBytes),
                  formatMegabytes(counts.workBytesLowerBound),
                  formatNumber(static_cast<double>(counts.workBytes) /
                                   counts.workBytesLowerBound,
                               3)});
  }
  table.print(llvm::outs());
}

/// Linear growth is a ratio of 1 or less: some of the time does not depend on
/// the number of layers.
static void printGrowth(ArrayRef<CompileResult> results) {
  Table table("Growth with depth: the kinds of V4-Flash's layers repeated; "
              "linear is a ratio of at most 1",
              {"model", "ms per layer", "ratio to first", "KB per layer",
               "ratio to first"});
  auto getMilliseconds = [](const CompileResult &result) {
    return result.value.totalSeconds * 1e3 / result.value.layers;
  };
  auto getKilobytes = [](const CompileResult &result) {
    return result.usage.peakBytes / 1e3 / result.value.layers;
  };
  for (auto [subject, result] : llvm::zip_equal(kCases, results))
    if (subject.model == kCases[0].model)
      table.addRow(
          {getName(subject, result), formatNumber(getMilliseconds(result)),
           formatNumber(getMilliseconds(result) / getMilliseconds(results[0])),
           formatNumber(getKilobytes(result), 0),
           formatNumber(getKilobytes(result) / getKilobytes(results[0]))});
  table.print(llvm::outs());
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: bench-compile <folder of the configurations>\n";
    return 2;
  }
  std::vector<CompileResult> results;
  for (const CompileCase &subject : kCases) {
    showProgress("bench-compile: " + subject.model +
                 (subject.layers
                      ? ", " + std::to_string(subject.layers) + " layers"
                      : std::string()));
    std::optional<CompileResult> result = measure(subject, argv[1]);
    if (!result) {
      llvm::errs() << "error: " << subject.model << " does not compile\n";
      return 1;
    }
    results.push_back(*result);
  }
  llvm::outs() << "bench-compile: " << describeMachine() << "\n\n";
  printTimes(results);
  printMemory(results);
  printPrograms(results);
  printGrowth(results);
  return 0;
}
