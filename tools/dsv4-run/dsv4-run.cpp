//===- dsv4-run.cpp - Run a program on N ranks ----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/RunTool.h"
#include "dsv4/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mlir::dsv4;
namespace cl = llvm::cl;

static cl::OptionCategory category("dsv4-run options");

static cl::opt<std::string> inputFilename(cl::Positional,
                                          cl::desc("<IR of any phase>"),
                                          cl::cat(category));

enum class Init { None, Names };

static cl::opt<Init>
    init("init", cl::desc("How parameters are filled:"),
         cl::values(clEnumValN(Init::Names, "names",
                               "With numbers computed from their names")),
         cl::init(Init::None), cl::cat(category));

static cl::list<std::string>
    params("params",
           cl::desc("Safetensors files with exactly the parameters and buffers "
                    "of the program, in place of --init; may be repeated"),
           cl::value_desc("file"), cl::cat(category));

static cl::list<std::string> batch(
    "batch",
    cl::desc("Safetensors files with the global batch: input_ids, labels "
             "and what else the program takes; may be repeated. \"names\" "
             "computes the first two from their names"),
    cl::value_desc("file"), cl::cat(category));

static cl::opt<std::string>
    output("output", cl::desc("Safetensors file for all results, global"),
           cl::value_desc("file"), cl::cat(category));

static cl::opt<std::string>
    report("report", cl::desc("JSON file for loss, collectives, times, memory"),
           cl::value_desc("file"), cl::cat(category));

static cl::opt<std::string>
    saveParams("save-params",
               cl::desc("Safetensors file for the parameters and buffers as "
                        "they were filled, global; --params reads it"),
               cl::value_desc("file"), cl::cat(category));

static cl::opt<std::string>
    mesh("mesh",
         cl::desc("Ranks to lower for, as in \"dp_shard:2,cp:2\"; empty means "
                  "one. Lowered IR has its mesh and refuses another"),
         cl::value_desc("axes"), cl::cat(category));

static cl::opt<std::string> fsdpAxes(
    "fsdp-axes",
    cl::desc("Mesh axes that parameters are sharded over, for model IR "
             "(default: dp_shard and cp, flattened)"),
    cl::value_desc("axes"), cl::cat(category));

static cl::opt<int64_t> prefetchDepth(
    "prefetch-depth",
    cl::desc("How many blocks ahead of its use a unit is gathered, for IR "
             "before phase \"schedule\" (default: 1)"),
    cl::value_desc("blocks"), cl::cat(category));

static cl::opt<bool> gradients(
    "gradients",
    cl::desc("Compute the gradients of the loss too, for IR before phase "
             "\"backward\"; --output gets grad/PARAMETER"),
    cl::cat(category));

static cl::opt<bool> compareOneRank(
    "compare-one-rank",
    cl::desc("Run model IR on one rank too and compare all results: scalars "
             "within 1e-12 (f64) or 1e-6, gradients within 1e-12 or 1e-4 of the "
             "largest entry, everything else bit for bit"),
    cl::cat(category));

static cl::opt<int64_t>
    steps("steps",
          cl::desc("How often the step runs; the fastest is reported "
                   "(default: 1)"),
          cl::value_desc("number"), cl::init(1), cl::cat(category));

static cl::opt<int64_t> timeoutMs(
    "timeout-ms",
    cl::desc("How long a rank waits for another, in milliseconds; negative "
             "means for ever (default: 600000)"),
    cl::value_desc("ms"), cl::init(0), cl::cat(category));

static cl::opt<bool>
    checkNaN("check-nan",
             cl::desc("Tell the position of the first NaN in each parameter of "
                      "--params and in each result"),
             cl::cat(category));

static cl::opt<bool>
    measureMemory("measure-memory",
                  cl::desc("Report how far the step wrote into its work arena"),
                  cl::cat(category));

static cl::extrahelp
    exitCodes("\nEXIT CODES:\n\n"
              "  0  success\n"
              "  1  a file or the IR is not valid, or cannot be written\n"
              "  2  the command line is not valid\n"
              "  3  the run failed: out of memory, a time limit, ranks that "
              "disagree\n"
              "  4  it ran, but results that must agree with one rank do not\n"
              "\nOutput files are written when the run succeeds, also before "
              "code 4.\n");

static int failUsage(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dsv4-run") << message << "\n";
  return kExitUsage;
}

static RunToolOptions getOptions() {
  RunToolOptions options;
  options.inputFilename = inputFilename;
  options.initFromNames = init == Init::Names;
  options.parameterFiles.assign(params.begin(), params.end());
  for (const std::string &source : batch)
    if (source == "names")
      options.batchFromNames = true;
    else
      options.batchFiles.push_back(source);
  options.outputFilename = output;
  options.reportFilename = report;
  options.saveParamsFilename = saveParams;
  if (mesh.getNumOccurrences())
    options.mesh = mesh;
  if (fsdpAxes.getNumOccurrences())
    options.fsdpAxes = fsdpAxes;
  if (prefetchDepth.getNumOccurrences())
    options.prefetchDepth = prefetchDepth;
  options.gradients = gradients;
  options.compareOneRank = compareOneRank;
  options.checkNaN = checkNaN;
  options.measureMemory = measureMemory;
  options.steps = steps;
  options.timeoutMs = timeoutMs;
  return options;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  addVersionPrinter();
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "Runs a DSV4 program on as many ranks as "
                                   "its mesh has, threads of this process\n",
                                   &llvm::errs()))
    return kExitUsage;
  if (inputFilename.empty())
    return failUsage("needs a file of IR, or - for standard input");
  if (init == Init::Names && !params.empty())
    return failUsage("--init and --params exclude each other");
  if (steps < 1)
    return failUsage("--steps must be at least 1, got " + llvm::Twine(steps));
  return runTool(getOptions());
}
