//===- dsv4-translate.cpp - model files to IR, plans to JSON --------------===//
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

#include "dsv4/Analysis/ModuleTreeIR.h"
#include "dsv4/Frontend/BuildModel.h"
#include "dsv4/Frontend/ModelConfig.h"
#include "dsv4/Frontend/ModuleTreeFile.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/InitAll.h"
#include "dsv4/Support/Version.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
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

static cl::opt<bool> moduleTreeToMlir(
    "module-tree-to-mlir",
    cl::desc("Read a tree.json, as tools/dump-module-tree.py writes it, and "
             "write its modules and declarations of its parameters"),
    cl::cat(category));

static cl::opt<bool> fsdpPlanToJson(
    "fsdp-plan-to-json",
    cl::desc("Read IR with FSDP units and write these as JSON"),
    cl::cat(category));

static cl::opt<std::string> inputFilename(cl::Positional, cl::desc("<file>"),
                                          cl::cat(category));

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

/// Opens the output and lets `print` fill it.
static int write(llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file =
      openOutputFile(outputFilename, &message);
  if (!file)
    return fail(message);
  print(file->os());
  file->os() << "\n";
  file->os().flush();
  if (std::error_code code = file->os().error()) {
    file->os().clear_error();
    return fail(outputFilename + ": " + code.message());
  }
  file->keep();
  return EXIT_SUCCESS;
}

static int writeModule(mlir::ModuleOp module) {
  return write([&](llvm::raw_ostream &os) { module.print(os); });
}

static int translateModuleTree() {
  llvm::Expected<FsdpModuleTree> tree = readModuleTreeFile(inputFilename);
  if (!tree)
    return fail(llvm::toString(tree.takeError()));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<Dsv4Dialect>();
  OwningOpRef<mlir::ModuleOp> module = buildModuleTree(&context, *tree);
  if (failed(verify(*module)))
    return fail(inputFilename + ": the tree is not valid");
  return writeModule(*module);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static llvm::json::Value toJson(Attribute attr) {
  if (!attr)
    return nullptr;
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.getValue();
  if (isa<UnitAttr>(attr))
    return true;
  if (auto flag = dyn_cast<BoolAttr>(attr))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return number.getInt();
  if (auto type = dyn_cast<TypeAttr>(attr))
    return debugString(type.getValue());
  if (auto sizes = dyn_cast<DenseI64ArrayAttr>(attr))
    return llvm::json::Array(sizes.asArrayRef());
  if (auto items = dyn_cast<ArrayAttr>(attr)) {
    llvm::json::Array array;
    for (Attribute item : items)
      array.push_back(toJson(item));
    return array;
  }
  if (auto entries = dyn_cast<DictionaryAttr>(attr)) {
    llvm::json::Object object;
    for (NamedAttribute entry : entries)
      object[entry.getName().getValue()] = toJson(entry.getValue());
    return object;
  }
  return debugString(attr);
}

static llvm::json::Object toJson(FsdpUnitOp unit) {
  Attribute reshard = unit.getReshardAfterForwardAttr();
  if (Attribute ranks = unit->getAttr("dsv4.reshard_ranks"))
    reshard = ranks;
  return llvm::json::Object{
      {"unit", unit.getSymName()},
      {"modules", toJson(unit.getRoots())},
      {"params", toJson(unit.getParams())},
      {"axes", toJson(unit.getAxes())},
      {"island", unit.getIsland()},
      {"storage", toJson(unit->getAttr("dsv4.storage"))},
      {"param", toJson(unit.getGatherDtypeAttr())},
      {"reduce", toJson(unit.getReduceDtypeAttr())},
      {"output", toJson(unit->getAttr("dsv4.output"))},
      {"cast_inputs", unit->hasAttr("dsv4.cast_inputs")},
      {"reshard_after_forward", toJson(reshard)},
      {"ignored", toJson(unit->getAttr("dsv4.ignored"))},
      {"hca_group", toJson(unit->getAttr("dsv4.hca_group"))},
      {"buffers", toJson(unit.getBuffersAttr())}};
}

static int translatePlan() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  auto module = parseSourceFile<mlir::ModuleOp>(inputFilename, &context);
  if (!module)
    return fail(inputFilename + ": not valid IR");
  llvm::json::Array units;
  for (auto unit : module->getOps<FsdpUnitOp>())
    units.push_back(toJson(unit));
  llvm::json::Value document = llvm::json::Object{{"units", std::move(units)}};
  return write([&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}", document);
  });
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
  if (configToMlir + moduleTreeToMlir + fsdpPlanToJson != 1)
    return fail("a translation must be named: --config-to-mlir, "
                "--module-tree-to-mlir or --fsdp-plan-to-json");
  if (inputFilename.empty())
    return fail(configToMlir ? "--config-to-mlir needs the path of a config.json"
                : moduleTreeToMlir
                    ? "--module-tree-to-mlir needs the path of a tree.json"
                    : "--fsdp-plan-to-json needs the path of IR with units");
  if (moduleTreeToMlir)
    return translateModuleTree();
  if (fsdpPlanToJson)
    return translatePlan();
  if (batchSize.getNumOccurrences() == 0 || seqLen.getNumOccurrences() == 0)
    return fail("--config-to-mlir needs --batch-size and --seq-len");
  return translateConfig();
}
