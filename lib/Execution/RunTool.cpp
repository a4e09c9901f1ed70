//===- RunTool.cpp - The work of dsv4-run ---------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/RunTool.h"

#include "Progress.h"

#include "dsv4/Execution/Messages.h"
#include "dsv4/Execution/Report.h"
#include "dsv4/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// One call of the tool. Steps return an exit code, zero to go on.
class RunTool {
public:
  explicit RunTool(const RunToolOptions &options)
      : options(options), progress("dsv4-run") {}
  int run();

private:
  int fail(int code, const llvm::Twine &message);
  int fail(int code, llvm::Error error) {
    return fail(code, llvm::toString(std::move(error)));
  }
  CompileOptions getCompileOptions();
  int parse();
  int checkComparison();
  std::optional<Executable> compile(mlir::ModuleOp module,
                                    const CompileOptions &compileOptions);
  int openSources(const Program &program);
  int execute(const Executable &executable, std::optional<RunOutcome> &outcome);
  int compareWithOneRank();
  void reportNaNs();
  int writeFiles();
  void printScalars();

  const RunToolOptions &options;
  Progress progress;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<mlir::ModuleOp> module;
  OwningOpRef<mlir::ModuleOp> oneRankModule;
  std::optional<ParameterSource> parameters;
  std::optional<BatchSource> batch;
  std::optional<Executable> executable;
  std::optional<RunOutcome> outcome;
  std::optional<std::vector<ResultComparison>> comparisons;
  std::optional<std::vector<NaNPlace>> nans;
  double parseSeconds = 0.0;
};

} // namespace

/// A message of several lines is several errors.
int RunTool::fail(int code, const llvm::Twine &message) {
  progress.clear();
  std::string text = message.str();
  llvm::SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    llvm::WithColor::error(llvm::errs(), "dsv4-run") << line << "\n";
  return code;
}

CompileOptions RunTool::getCompileOptions() {
  CompileOptions result;
  result.mesh = options.mesh;
  result.fsdpAxes = options.fsdpAxes;
  result.prefetchDepth = options.prefetchDepth;
  result.gradients = options.gradients;
  result.afterPhase = [this](StringRef phase, mlir::ModuleOp) {
    progress.show(phase == "codegen" ? "jit" : "compile, " + phase + " done");
  };
  return result;
}

int RunTool::parse() {
  progress.show("parse");
  double begin = getSeconds();
  module = parseSourceFile<mlir::ModuleOp>(options.inputFilename,
                                           ParserConfig(context.get()));
  parseSeconds = getSeconds() - begin;
  return module ? kExitSuccess
                : fail(kExitInput, options.inputFilename + ": is no valid IR");
}

/// One rank needs the model before it is lowered for several.
int RunTool::checkComparison() {
  if (!options.compareOneRank)
    return kExitSuccess;
  StringRef phase = getFinishedPhase(*module);
  if (!phase.empty())
    return fail(kExitUsage,
                "--compare-one-rank needs model IR, got IR that has "
                "gone through phase \"" +
                    phase + "\"");
  oneRankModule = module->clone();
  return kExitSuccess;
}

std::optional<Executable>
RunTool::compile(mlir::ModuleOp module, const CompileOptions &compileOptions) {
  progress.show("compile");
  llvm::Expected<Executable> created =
      Executable::create(module, compileOptions);
  if (created)
    return std::move(*created);
  fail(kExitInput,
       options.inputFilename + ": " + llvm::toString(created.takeError()));
  return std::nullopt;
}

int RunTool::openSources(const Program &program) {
  if (!options.initFromNames && options.parameterFiles.empty() &&
      !program.parameters.empty())
    return fail(kExitUsage, "the program has " +
                                llvm::Twine(program.parameters.size()) +
                                " parameters: --init=names or --params needed");
  auto source = options.initFromNames
                    ? ParameterSource::createFromNames(program)
                    : ParameterSource::open(program, options.parameterFiles);
  if (!source)
    return fail(kExitInput, source.takeError());
  parameters = std::move(*source);
  auto fields =
      BatchSource::open(program, options.batchFiles, options.batchFromNames);
  if (!fields)
    return fail(kExitInput, fields.takeError());
  batch = std::move(*fields);
  return kExitSuccess;
}

int RunTool::execute(const Executable &executable,
                     std::optional<RunOutcome> &outcome) {
  progress.show("init");
  RunOptions runOptions;
  runOptions.steps = options.steps;
  runOptions.timeoutMs = options.timeoutMs;
  runOptions.measureMemory = options.measureMemory;
  runOptions.onInitialized = [this] { progress.show("step"); };
  llvm::Expected<RunOutcome> result =
      executable.run(*parameters, *batch, runOptions);
  if (!result)
    return fail(kExitRuntime, result.takeError());
  outcome = std::move(*result);
  return kExitSuccess;
}

int RunTool::compareWithOneRank() {
  if (!options.compareOneRank)
    return kExitSuccess;
  CompileOptions compileOptions = getCompileOptions();
  compileOptions.mesh = "";
  std::optional<Executable> oneRank = compile(*oneRankModule, compileOptions);
  if (!oneRank)
    return kExitInput;
  if (int64_t ranks = oneRank->getProgram().getNumRanks(); ranks != 1)
    return fail(kExitUsage, "--compare-one-rank needs IR without a mesh, got " +
                                llvm::Twine(ranks) + " ranks");
  std::optional<RunOutcome> other;
  if (int code = execute(*oneRank, other))
    return code;
  comparisons = compareRuns(outcome->results, other->results);
  return kExitSuccess;
}

void RunTool::reportNaNs() {
  if (!options.checkNaN)
    return;
  nans = findNaNs(executable->getProgram(), *parameters, outcome->results);
  progress.clear();
  for (const NaNPlace &place : *nans)
    llvm::WithColor::warning(llvm::errs(), "dsv4-run")
        << "first NaN of " << place.kind << " '" << place.name << "' is at "
        << place.position << "\n";
}

static llvm::Error writeReport(StringRef path, const ReportInput &input) {
  // A rename replaces whatever has the name, so it must not be a device.
  if (path != "-" && path != "/dev/null" && llvm::sys::fs::exists(path) &&
      !llvm::sys::fs::is_regular_file(path))
    return llvm::createStringError(path + ": exists and is no regular file");
  llvm::json::Value report(buildReport(input));
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", report);
    return llvm::Error::success();
  });
  if (!error)
    return error;
  return llvm::createStringError(path + ": " +
                                 llvm::toString(std::move(error)));
}

/// All files or none: what was written before a failure is removed.
int RunTool::writeFiles() {
  std::vector<StringRef> written;
  auto write = [&](const std::string &path,
                   llvm::function_ref<llvm::Error()> write) {
    if (path.empty())
      return true;
    llvm::Error error = write();
    if (!error) {
      if (path != "-")
        written.push_back(path);
      return true;
    }
    fail(kExitInput, std::move(error));
    for (StringRef other : written)
      llvm::sys::fs::remove(other);
    return false;
  };
  auto writeOutput = [&] {
    std::vector<TensorRef> tensors;
    for (const ResultTensor &result : outcome->results)
      tensors.push_back(result.getRef());
    return writeSafeTensors(options.outputFilename, tensors);
  };
  auto writeParams = [&] {
    return parameters->save(executable->getProgram(),
                            options.saveParamsFilename);
  };
  auto report = [&] {
    return writeReport(options.reportFilename,
                       {*executable, *outcome, options.steps, parseSeconds,
                        comparisons, nans});
  };
  return write(options.outputFilename, writeOutput) &&
                 write(options.saveParamsFilename, writeParams) &&
                 write(options.reportFilename, report)
             ? kExitSuccess
             : kExitInput;
}

void RunTool::printScalars() {
  progress.clear();
  if (options.reportFilename == "-")
    return; // stdout is the report's
  for (const ResultTensor &result : outcome->results)
    if (result.shape.empty())
      llvm::outs() << result.name << " = "
                   << llvm::format("%.17g", result.getValue(0)) << "\n";
  if (!comparisons)
    return;
  for (const ResultComparison &comparison : *comparisons)
    llvm::outs() << comparison.name << ": largest difference to one rank "
                 << llvm::format("%.3g", comparison.difference.maxAbs)
                 << (comparison.difference.isBitwise ? ", equal in every bit"
                                                     : "")
                 << "\n";
}

int RunTool::run() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerExecutionTranslations(registry);
  context = std::make_unique<MLIRContext>(registry);
  context->printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(context.get(), [this](Diagnostic &message) {
    progress.clear();
    printDiagnostic(message, llvm::errs());
  });

  if (int code = parse())
    return code;
  if (int code = checkComparison())
    return code;
  if (!(executable = compile(*module, getCompileOptions())))
    return kExitInput;
  if (int code = openSources(executable->getProgram()))
    return code;
  if (int code = execute(*executable, outcome))
    return code;
  if (int code = compareWithOneRank())
    return code;
  reportNaNs();
  if (int code = writeFiles())
    return code;
  printScalars();
  for (const ResultComparison &comparison :
       comparisons.value_or(std::vector<ResultComparison>()))
    if (!comparison.agrees)
      return fail(kExitComparison, "result '" + comparison.name +
                                       "' differs from that of one rank");
  return kExitSuccess;
}

int dsv4::runTool(const RunToolOptions &options) {
  // A rank that could not be stopped may still run after a failure.
  auto *tool = new RunTool(options);
  int code = tool->run();
  if (code == kExitRuntime) {
    llvm::errs().flush();
    std::_Exit(code);
  }
  delete tool;
  return code;
}
