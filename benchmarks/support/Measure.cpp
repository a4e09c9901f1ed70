//===- Measure.cpp - A model on its way to a program ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "support/Measure.h"

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"

#include <thread>

using namespace mlir;
using namespace mlir::dsv4;

/// Adds what one execution of `function` calls and launches.
static void countStep(func::FuncOp function, SymbolTable &symbols,
                      ProgramCounts &counts) {
  function.walk([&](Operation *op) {
    counts.launches += isa<LaunchOp>(op);
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return;
    ++counts.calls;
    countStep(symbols.lookup<func::FuncOp>(call.getCallee()), symbols, counts);
  });
}

ProgramCounts dsv4::countProgram(mlir::ModuleOp module) {
  ProgramCounts counts;
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kKernelAttr))
      ++counts.kernels;
    else if (function.isPrivate())
      ++counts.blocks;
    else
      countStep(function, symbols, counts);
    if (auto bytes = function->getAttrOfType<IntegerAttr>(kWorkBytesAttr))
      counts.workBytes = bytes.getInt();
    if (auto bytes = function->getAttrOfType<IntegerAttr>(kWorkBoundAttr))
      counts.workBytesLowerBound = bytes.getInt();
  }
  module.walk([&](memref::CopyOp) { ++counts.copies; });
  return counts;
}

std::optional<ModelConfig> dsv4::readBenchConfig(llvm::StringRef path,
                                                 int64_t layers) {
  llvm::Expected<ModelConfig> config = readModelConfigFile(path);
  if (!config) {
    llvm::errs() << "error: " << llvm::toString(config.takeError()) << "\n";
    return std::nullopt;
  }
  int64_t pattern = config->numLayers;
  if (layers != 0)
    config->numLayers = layers;
  for (int64_t i = pattern; i < layers; ++i) {
    config->compressRatios.push_back(config->compressRatios[i - pattern]);
    config->hashLayers.push_back(config->hashLayers[i - pattern]);
  }
  return std::move(*config);
}

OwningOpRef<mlir::ModuleOp> dsv4::importModel(MLIRContext *context,
                                              const ModelConfig &config,
                                              const BuildOptions &options) {
  if (llvm::Error error = checkBuildOptions(config, options)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return nullptr;
  }
  OwningOpRef<mlir::ModuleOp> module = buildModel(context, config, options);
  if (!module || failed(verify(*module)))
    return nullptr;
  return module;
}

/// The text behind `key` up to the end of the line, or "unknown".
static std::string readField(llvm::StringRef path, llvm::StringRef key) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  if (!buffer)
    return "unknown";
  auto [before, rest] = (*buffer)->getBuffer().split(key);
  llvm::StringRef line = rest.split('\n').first.ltrim("\t :").rtrim();
  return line.empty() ? "unknown" : line.str();
}

std::string dsv4::describeMachine() {
  std::string load = readField("/proc/loadavg", "");
  return std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         readField("/proc/cpuinfo", "model name") + ", load " +
         StringRef(load).split(' ').first.str();
}

void dsv4::showProgress(const llvm::Twine &what) {
  llvm::errs() << what << "\n";
}
