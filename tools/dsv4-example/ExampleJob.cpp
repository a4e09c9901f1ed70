//===- ExampleJob.cpp - One model on several meshes -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleJob.h"

#include "dsv4/Execution/Messages.h"
#include "dsv4/Frontend/BuildModel.h"
#include "dsv4/InitAll.h"
#include "dsv4/Support/Json.h"
#include "dsv4/Support/NameSeed.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// What another implementation computed.
struct Reference {
  double loss;
  SafeTensorsFile file;
  const TensorRef *logits;
};

class ExampleJob {
public:
  explicit ExampleJob(const ExampleOptions &options);
  llvm::Expected<std::vector<ExampleRow>> run();

private:
  llvm::Error readReference();
  llvm::Error import();
  llvm::Error writeBatch(int64_t vocabSize);
  llvm::Error createFolder(llvm::StringRef folder);
  ExampleRow runMesh(llvm::StringRef mesh);
  llvm::Error runMesh(ExampleRow &row, llvm::StringRef folder);
  llvm::Error fillRow(ExampleRow &row, const Executable &executable,
                      RunOutcome outcome, llvm::StringRef folder);
  void show(const llvm::Twine &what);

  const ExampleOptions &options;
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<mlir::ModuleOp> model;
  std::optional<Reference> reference;
  std::string batchFilename;
  std::vector<ResultTensor> oneRank;
};

} // namespace

ExampleJob::ExampleJob(const ExampleOptions &options) : options(options) {
  registerAllDialects(registry);
  registerExecutionTranslations(registry);
  context = std::make_unique<MLIRContext>(registry);
  context->printOpOnDiagnostic(false);
}

void ExampleJob::show(const llvm::Twine &what) {
  llvm::errs() << "dsv4-example: " << what << "\n";
}

std::string dsv4::getMeshFolder(llvm::StringRef mesh) {
  std::string name = mesh.str();
  llvm::erase(name, ':');
  llvm::replace(name, ',', '-');
  return name.empty() ? "one-rank" : name;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

llvm::Error ExampleJob::readReference() {
  if (options.referenceFilename.empty())
    return llvm::Error::success();
  llvm::Expected<SafeTensorsFile> file =
      SafeTensorsFile::open(options.referenceFilename);
  if (!file)
    return file.takeError();
  llvm::SmallString<128> path(options.referenceFilename);
  llvm::sys::path::replace_extension(path, "json");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path);
  auto object = parseJsonObject((*buffer)->getBuffer(), path);
  if (!object)
    return object.takeError();
  std::optional<double> loss = object->getNumber("loss_f64");
  if (!loss)
    return llvm::createStringError(path + ": has no number \"loss_f64\"");
  reference.emplace(Reference{*loss, std::move(*file), nullptr});
  llvm::Expected<const TensorRef *> logits = reference->file.get("logits");
  if (!logits)
    return logits.takeError();
  reference->logits = *logits;
  return llvm::Error::success();
}

static llvm::Error writeModule(mlir::ModuleOp module, llvm::StringRef path) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    module.print(os);
    os << "\n";
    return llvm::Error::success();
  });
}

llvm::Error ExampleJob::createFolder(llvm::StringRef folder) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(code, folder);
  return llvm::Error::success();
}

llvm::Error ExampleJob::writeBatch(int64_t vocabSize) {
  TokenBatch batch =
      computeTokenBatch(options.batchSize, options.seqLen, vocabSize);
  std::vector<int64_t> shape = {options.batchSize, options.seqLen};
  batchFilename = options.folder + "/batch.safetensors";
  return writeSafeTensors(batchFilename,
                          {{"input_ids", dsv4::TensorType::I64, shape,
                            asBytes(llvm::ArrayRef(batch.inputIds))},
                           {"labels", dsv4::TensorType::I64, shape,
                            asBytes(llvm::ArrayRef(batch.labels))}});
}

llvm::Error ExampleJob::import() {
  llvm::Expected<ModelConfig> config =
      readModelConfigFile(options.configFilename);
  if (!config)
    return config.takeError();
  BuildOptions build;
  build.batchSize = options.batchSize;
  build.seqLen = options.seqLen;
  build.elementType = ElementType::F64;
  if (llvm::Error error = checkBuildOptions(*config, build))
    return error;
  model = buildModel(context.get(), *config, build);
  if (!model || failed(verify(*model)))
    return llvm::createStringError(options.configFilename +
                                   ": the graph is not valid");
  if (llvm::Error error = createFolder(options.folder))
    return error;
  if (llvm::Error error = writeModule(*model, options.folder + "/model.mlir"))
    return error;
  return writeBatch(config->vocabSize);
}

//===----------------------------------------------------------------------===//
// One mesh
//===----------------------------------------------------------------------===//

/// NaN if one side is missing or has another shape.
static double getDistance(const ResultTensor *result, const TensorRef *other) {
  std::optional<Difference> difference;
  if (result && other)
    difference = compareTensors(result->getRef(), *other);
  return difference ? difference->maxAbs : std::nan("");
}

static double getDistance(const ResultTensor *result,
                          llvm::ArrayRef<ResultTensor> others) {
  const ResultTensor *other =
      result ? findResult(others, result->name) : nullptr;
  TensorRef ref;
  if (other)
    ref = other->getRef();
  return getDistance(result, other ? &ref : nullptr);
}

static llvm::Error writeOutputs(llvm::StringRef folder,
                                const Executable &executable,
                                const RunOutcome &outcome, int64_t steps) {
  std::vector<TensorRef> tensors;
  for (const ResultTensor &result : outcome.results)
    tensors.push_back(result.getRef());
  if (llvm::Error error =
          writeSafeTensors((folder + "/out.safetensors").str(), tensors))
    return error;
  llvm::json::Value report(buildReport(
      {executable, outcome, steps, 0.0, std::nullopt, std::nullopt}));
  return llvm::writeToOutput((folder + "/report.json").str(),
                             [&](llvm::raw_ostream &os) {
                               os << llvm::formatv("{0:2}\n", report);
                               return llvm::Error::success();
                             });
}

llvm::Error ExampleJob::fillRow(ExampleRow &row, const Executable &executable,
                                RunOutcome outcome, llvm::StringRef folder) {
  if (llvm::Error error =
          writeOutputs(folder, executable, outcome, options.steps))
    return error;
  const ResultTensor *loss = findResult(outcome.results, "loss");
  const ResultTensor *logits = findResult(outcome.results, "logits");
  if (!loss || !loss->shape.empty() || !logits)
    return llvm::createStringError("the program has no loss and logits");
  row.loss = loss->getValue(0);
  row.traffic = outcome.traffic;
  row.stepSeconds = outcome.stepSeconds;
  row.predictedBytes =
      executable.getProgram().stateBytes + executable.getProgram().workBytes;
  row.measuredBytes = executable.getProgram().stateBytes +
                      outcome.measuredWorkBytes.value_or(0);
  llvm::ArrayRef<ResultTensor> others =
      row.mesh.empty() ? outcome.results : oneRank;
  row.toOneRank = {getDistance(loss, others), getDistance(logits, others)};
  row.agrees = row.toOneRank.loss <= 1e-12 && row.toOneRank.logits == 0.0;
  if (reference) {
    row.toReference = {std::abs(row.loss - reference->loss),
                       getDistance(logits, reference->logits)};
    row.agrees &=
        row.toReference->loss <= 1e-9 && row.toReference->logits <= 1e-11;
  }
  if (row.mesh.empty())
    oneRank = std::move(outcome.results);
  return llvm::Error::success();
}

llvm::Error ExampleJob::runMesh(ExampleRow &row, llvm::StringRef folder) {
  if (llvm::Error error = createFolder(folder))
    return error;
  llvm::Error dumpError = llvm::Error::success();
  double dumpSeconds = 0.0;
  int number = 0;
  CompileOptions compile;
  compile.mesh = row.mesh;
  compile.afterPhase = [&](StringRef phase, mlir::ModuleOp module) {
    double begin = getSeconds();
    std::string path =
        llvm::formatv("{0}/{1}-{2}.mlir", folder, ++number, phase);
    dumpError =
        llvm::joinErrors(std::move(dumpError), writeModule(module, path));
    dumpSeconds += getSeconds() - begin;
  };
  OwningOpRef<mlir::ModuleOp> module = model->clone();
  llvm::Expected<Executable> executable = Executable::create(*module, compile);
  if (!executable)
    return llvm::joinErrors(std::move(dumpError), executable.takeError());
  if (dumpError)
    return dumpError;
  const Program &program = executable->getProgram();
  row.numRanks = program.getNumRanks();
  row.compileSeconds = executable->getPipelineSeconds() +
                       executable->getJitSeconds() - dumpSeconds;
  llvm::Expected<ParameterSource> parameters =
      ParameterSource::createFromNames(program);
  if (!parameters)
    return parameters.takeError();
  llvm::Expected<BatchSource> batch = BatchSource::open(program, batchFilename);
  if (!batch)
    return batch.takeError();
  RunOptions run;
  run.steps = options.steps;
  run.measureMemory = true;
  llvm::Expected<RunOutcome> outcome =
      executable->run(*parameters, *batch, run);
  if (!outcome)
    return outcome.takeError();
  return fillRow(row, *executable, std::move(*outcome), folder);
}

ExampleRow ExampleJob::runMesh(llvm::StringRef mesh) {
  show(mesh.empty() ? "one rank" : "mesh " + mesh);
  ExampleRow row;
  row.mesh = mesh.str();
  if (llvm::Error error =
          runMesh(row, options.folder + "/" + getMeshFolder(mesh)))
    row.failure = llvm::toString(std::move(error));
  return row;
}

llvm::Expected<std::vector<ExampleRow>> ExampleJob::run() {
  ScopedDiagnosticHandler handler(context.get(), [](Diagnostic &message) {
    printDiagnostic(message, llvm::errs());
  });
  if (llvm::Error error = readReference())
    return std::move(error);
  show("import of " + options.configFilename);
  if (llvm::Error error = import())
    return std::move(error);
  std::vector<ExampleRow> rows = {runMesh("")};
  for (const std::string &mesh : options.meshes)
    if (!mesh.empty())
      rows.push_back(runMesh(mesh));
  return rows;
}

llvm::Expected<std::vector<ExampleRow>>
dsv4::runExample(const ExampleOptions &options) {
  return ExampleJob(options).run();
}
