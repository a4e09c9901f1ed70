//===- dsv4-translate.cpp - model files to IR -----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output exists only after success: everything is checked, built and
// verified before the file is opened.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/BuildModel.h"
#include "dsv4/Frontend/ModelConfig.h"
#include "dsv4/Support/Version.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::dsv4;
namespace cl = llvm::cl;

static cl::OptionCategory category("dsv4-translate options");

static cl::opt<bool>
    configToMlir("config-to-mlir",
                 cl::desc("Read a config.json and write the forward graph of "
                          "the model with its loss"),
                 cl::cat(category));

static cl::opt<std::string>
    inputFilename(cl::Positional, cl::desc("<config.json>"), cl::cat(category));

static cl::opt<std::string> outputFilename("o", cl::desc("Output file"),
                                           cl::value_desc("file"),
                                           cl::init("-"), cl::cat(category));

static cl::opt<int64_t> batchSize("batch-size",
                                  cl::desc("Rows of the whole batch"),
                                  cl::value_desc("rows"), cl::init(1),
                                  cl::cat(category));

static cl::opt<int64_t>
    seqLen("seq-len",
           cl::desc("Tokens of a row; a multiple of every compression ratio"),
           cl::value_desc("tokens"), cl::init(1), cl::cat(category));

static cl::opt<ElementType> elementType(
    "element-type", cl::desc("In which type the graph computes:"),
    cl::values(clEnumValN(ElementType::F32, "f32",
                          "Everything in f32 (default)"),
               clEnumValN(ElementType::F64, "f64", "Everything in f64"),
               clEnumValN(ElementType::Mixed, "mixed",
                          "bf16 with f32 islands, parameters of their training "
                          "type")),
    cl::init(ElementType::F32), cl::cat(category));

static cl::opt<Numerics> numerics(
    "numerics",
    cl::desc("Where a graph of type mixed rounds to bf16 (without effect in "
             "the other types):"),
    cl::values(clEnumValN(Numerics::Fp32Islands, "fp32-islands",
                          "As seldom as the islands allow (default)"),
               clEnumValN(Numerics::Automodel, "automodel",
                          "Where the Automodel implementation does")),
    cl::init(Numerics::Fp32Islands), cl::cat(category));

static cl::opt<Choices> choices(
    "choices", cl::desc("What happens to expert ids and selected windows:"),
    cl::values(clEnumValN(Choices::Free, "free", "The graph chooses (default)"),
               clEnumValN(Choices::Emit, "emit", "They are also results"),
               clEnumValN(Choices::Impose, "impose",
                          "They are batch arguments instead")),
    cl::init(Choices::Free), cl::cat(category));

static cl::list<std::string>
    batchFields("batch-fields",
                cl::desc("Fields of the batch besides input_ids and labels: "
                         "position_ids"),
                cl::value_desc("names"), cl::CommaSeparated, cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dsv4-translate") << message << "\n";
  return EXIT_FAILURE;
}

static BuildOptions getBuildOptions() {
  BuildOptions options;
  options.batchSize = batchSize;
  options.seqLen = seqLen;
  options.elementType = elementType;
  options.numerics = numerics;
  options.choices = choices;
  options.batchFields.assign(batchFields.begin(), batchFields.end());
  return options;
}

static int writeModule(mlir::ModuleOp module) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file =
      openOutputFile(outputFilename, &message);
  if (!file)
    return fail(message);
  module.print(file->os());
  file->os() << "\n";
  file->os().flush();
  if (std::error_code code = file->os().error()) {
    file->os().clear_error();
    return fail(outputFilename + ": " + code.message());
  }
  file->keep();
  return EXIT_SUCCESS;
}

static int translateConfig() {
  llvm::Expected<ModelConfig> config = readModelConfigFile(inputFilename);
  if (!config)
    return fail(llvm::toString(config.takeError()));
  BuildOptions options = getBuildOptions();
  if (llvm::Error error = checkBuildOptions(*config, options))
    return fail(inputFilename + ": " + llvm::toString(std::move(error)));

  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<mlir::ModuleOp> module = buildModel(&context, *config, options);
  if (!module || failed(verify(*module)))
    return fail(inputFilename + ": the graph is not valid");

  for (const std::string &remark : config->remarks)
    llvm::errs() << inputFilename << ": remark: " << remark << "\n";
  for (const std::string &remark : getBuildRemarks(*config, options))
    llvm::errs() << inputFilename << ": remark: " << remark << "\n";
  return writeModule(*module);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  addVersionPrinter();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "DSV4 translation driver\n");
  if (!configToMlir)
    return fail("a translation must be named: --config-to-mlir");
  if (inputFilename.empty())
    return fail("--config-to-mlir needs the path of a config.json");
  if (batchSize.getNumOccurrences() == 0 || seqLen.getNumOccurrences() == 0)
    return fail("--config-to-mlir needs --batch-size and --seq-len");
  return translateConfig();
}
