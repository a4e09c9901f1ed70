//===- BenchPlan.cpp - Time and memory of planning FSDP units -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans and verifies the units of V4-Pro, every expert with modules of its own,
// and of the same model with its blocks repeated up to 1,000. Every case runs
// in a process of its own.
//
//   bench-plan examples/configs
//
//===----------------------------------------------------------------------===//

#include "support/Child.h"
#include "support/Table.h"

#include "dsv4/Analysis/FsdpPartition.h"
#include "dsv4/Frontend/ModelConfig.h"
#include "dsv4/Frontend/ParameterInventory.h"

#include "llvm/ADT/StringMap.h"

#include <chrono>

using namespace mlir::dsv4;

static constexpr double kGoalSeconds = 1.0;
static constexpr double kGoalBytes = 300e6;

namespace {

struct PlanTimes {
  int64_t blocks = 0, modules = 0, tensors = 0, units = 0;
  double treeSeconds = 0, planSeconds = 0, verifySeconds = 0;
};

/// Modules follow from the names of parameters.
class TreeFromNames {
public:
  TreeFromNames() { getModule(""); }

  void add(const std::string &path, const ParameterSpec &spec) {
    size_t dot = path.rfind('.');
    unsigned module = getModule(path.substr(0, dot));
    tree.modules[module].tensors.push_back(
        {path.substr(dot + 1), unsigned(tree.tensors.size())});
    FsdpTensor &tensor = tree.tensors.emplace_back();
    tensor.id = tensor.path = path;
    tensor.dtype = getParameterTypeName(spec.type).str();
    tensor.isBuffer = spec.isBuffer;
    tensor.isTrainable = !spec.isFrozen;
  }

  FsdpModuleTree tree;

private:
  unsigned getModule(llvm::StringRef path) {
    auto [it, isNew] = indexByPath.try_emplace(path, tree.modules.size());
    if (!isNew)
      return it->second;
    unsigned index = it->second;
    FsdpTreeModule &module = tree.modules.emplace_back();
    module.id = module.path = path.str();
    module.className = getClass(path);
    if (path.empty()) {
      tree.roots = {index};
      return index;
    }
    auto [above, name] = path.rsplit('.');
    if (name.empty())
      std::swap(above, name); // one component
    unsigned parent = getModule(above);
    tree.modules[parent].children.push_back({name.str(), index});
    return index;
  }

  static std::string getClass(llvm::StringRef path) {
    if (path.empty())
      return "DeepseekV4ForCausalLM";
    if (path.ends_with("sinks_param") || path.ends_with("ape_param"))
      return "DeepseekV4FP32Parameter";
    bool isBlock = path.consume_front("model.layers.") && !path.contains('.');
    return isBlock ? "DeepseekV4Block" : "Module";
  }

  llvm::StringMap<unsigned> indexByPath;
};

} // namespace

/// One routed weight [experts, in, out] becomes one tensor per expert.
static void addParameter(TreeFromNames &names, std::string path,
                         const ParameterSpec &spec) {
  if (!spec.isRoutedExpert)
    return names.add(path, spec);
  size_t dot = path.rfind('.');
  for (int64_t e = 0; e < spec.shape.front(); ++e)
    names.add(path.substr(0, dot) + "." + std::to_string(e) +
                  path.substr(dot) + ".weight",
              spec);
}

static FsdpModuleTree buildTree(const ModelConfig &config, int64_t numBlocks) {
  TreeFromNames names;
  std::vector<ParameterSpec> specs = buildParameterInventory(config);
  std::vector<std::vector<const ParameterSpec *>> layers(config.numLayers);
  for (const ParameterSpec &spec : specs)
    if (spec.layer >= 0)
      layers[spec.layer].push_back(&spec);
    else
      addParameter(names, spec.name, spec);
  for (int64_t block = 0; block < numBlocks; ++block) {
    int64_t layer = block % config.numLayers;
    size_t skip = ("model.layers." + std::to_string(layer)).size();
    for (const ParameterSpec *spec : layers[layer])
      addParameter(names,
                   "model.layers." + std::to_string(block) +
                       spec->name.substr(skip),
                   *spec);
  }
  return std::move(names.tree);
}

static double getNow() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static bool plan(const std::string &filename, int64_t blocks,
                 PlanTimes &times) {
  llvm::Expected<ModelConfig> config = readModelConfigFile(filename);
  if (!config) {
    llvm::errs() << llvm::toString(config.takeError()) << "\n";
    return false;
  }
  times.blocks = blocks ? blocks : config->numLayers;
  double begin = getNow();
  FsdpModuleTree tree = buildTree(*config, times.blocks);
  double built = getNow();
  FsdpRequest request;
  request.policy = FsdpPolicy{"bf16", "f32", "bf16", true};
  request.mesh = {64};
  for (unsigned i = 0; i < tree.modules.size(); ++i)
    if (tree.modules[i].className == "DeepseekV4Block")
      request.calls.push_back({{i}});
  request.calls.push_back({{tree.roots.front()}});
  FsdpPartition partition = FsdpPartition::compute(tree, request);
  double planned = getNow();
  std::vector<FsdpRefusal> refusals = partition.verify();
  for (const FsdpRefusal &refusal : refusals)
    llvm::errs() << refusal.code << ": " << refusal.text << "\n";
  times.modules = tree.modules.size();
  times.tensors = tree.tensors.size();
  times.units = partition.getUnits().size();
  times.treeSeconds = built - begin;
  times.planSeconds = planned - built;
  times.verifySeconds = getNow() - planned;
  return refusals.empty();
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: bench-plan <folder of the configurations>\n";
    return 2;
  }
  Table table("Planning the FSDP units of V4-Pro, one module per expert; goal "
              "for 61 blocks 1 s and 300 MB",
              {"blocks", "modules", "tensors", "units", "tree s", "plan s",
               "verify s", "plan+verify/goal", "us/block", "MB", "MB/goal"});
  for (int64_t blocks : {0, 250, 500, 1000}) {
    auto result = runInChild<PlanTimes>([&](PlanTimes &times) {
      return plan(std::string(argv[1]) + "/v4-pro.json", blocks, times);
    });
    if (!result)
      return 1;
    const PlanTimes &times = result->value;
    double seconds = times.planSeconds + times.verifySeconds;
    table.addRow({std::to_string(times.blocks), std::to_string(times.modules),
                  std::to_string(times.tensors), std::to_string(times.units),
                  formatNumber(times.treeSeconds, 3),
                  formatNumber(times.planSeconds, 3),
                  formatNumber(times.verifySeconds, 3),
                  formatNumber(seconds / kGoalSeconds, 3),
                  formatNumber(seconds * 1e6 / times.blocks, 0),
                  formatMegabytes(result->usage.peakBytes),
                  formatNumber(result->usage.peakBytes / kGoalBytes, 3)});
  }
  table.print(llvm::outs());
  return 0;
}
