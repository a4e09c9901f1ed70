//===- dsv4-example.cpp - The main job on several meshes ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleJob.h"

#include "dsv4/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mlir::dsv4;
namespace cl = llvm::cl;

static cl::OptionCategory category("dsv4-example options");

static cl::opt<std::string> config("config",
                                   cl::desc("config.json of the model"),
                                   cl::value_desc("file"), cl::Required,
                                   cl::cat(category));

static cl::opt<std::string> reference(
    "reference",
    cl::desc("Safetensors file with the expected `logits`; the file beside it "
             "with the ending .json has `loss_f64`"),
    cl::value_desc("file"), cl::cat(category));

static cl::opt<std::string>
    folder("output-folder",
           cl::desc("Gets the IR after every phase, outputs and reports"),
           cl::value_desc("folder"), cl::Required, cl::cat(category));

static cl::list<std::string>
    meshes("mesh",
           cl::desc("A mesh besides one rank; may be repeated (default: cp:2, "
                    "cp:4, dp_shard:2,cp:2 and dp_shard:4)"),
           cl::value_desc("axes"), cl::cat(category));

static cl::opt<int64_t> batchSize("batch-size",
                                  cl::desc("Rows of the batch (default: 2)"),
                                  cl::init(2), cl::cat(category));

static cl::opt<int64_t> seqLen("seq-len",
                               cl::desc("Tokens of a row (default: 64)"),
                               cl::init(64), cl::cat(category));

static cl::opt<int64_t>
    steps("steps",
          cl::desc("How often each step runs; the fastest counts (default: 3)"),
          cl::init(3), cl::cat(category));

static int fail(int code, const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dsv4-example") << message << "\n";
  return code;
}

static ExampleOptions getOptions() {
  ExampleOptions options;
  options.configFilename = config;
  options.referenceFilename = reference;
  options.folder = folder;
  options.meshes.assign(meshes.begin(), meshes.end());
  if (options.meshes.empty())
    options.meshes = {"cp:2", "cp:4", "dp_shard:2,cp:2", "dp_shard:4"};
  options.batchSize = batchSize;
  options.seqLen = seqLen;
  options.steps = steps;
  return options;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  addVersionPrinter();
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Imports a model, lowers it for several meshes, runs each on its "
          "ranks and compares the numbers in f64. Exit code 0 only if all "
          "agree, 1 if not, 2 for a wrong command line.\n",
          &llvm::errs()))
    return 2;
  if (steps < 1)
    return fail(2, "--steps must be at least 1, got " + llvm::Twine(steps));
  llvm::Expected<std::vector<ExampleRow>> rows = runExample(getOptions());
  if (!rows)
    return fail(1, llvm::toString(rows.takeError()));
  printExampleTable(*rows, llvm::outs());
  llvm::outs() << "\nIR after every phase, outputs and reports are in "
               << folder << "\n";
  llvm::outs().flush();
  bool agrees = true;
  for (const ExampleRow &row : *rows) {
    if (!row.failure.empty())
      fail(1, getMeshFolder(row.mesh) + ": " + row.failure);
    agrees &= row.agrees;
  }
  return agrees ? 0 : fail(1, "not all numbers agree");
}
