//===- FsdpPartition.cpp - units of a module tree -------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FsdpPartition.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::dsv4;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kDsv4Classes[] = {
    "DeepseekV4ForCausalLM", "DeepseekV4Model", "DeepseekV4Block",
    "DeepseekV4VisionBlock", "DeepseekV4VisionTransformer"};

static constexpr llvm::StringLiteral kFp32Suffixes[] = {
    "attn_hc",
    "ffn_hc",
    "hc_head",
    "lm_head",
    "self_attn.sinks_param",
    "self_attn.compressor.wkv",
    "self_attn.compressor.wgate",
    "self_attn.compressor.ape_param",
    "self_attn.compressor.indexer.wkv",
    "self_attn.compressor.indexer.wgate",
    "self_attn.compressor.indexer.ape_param",
    "norm1",
    "norm2",
    "vision.norm"};

static constexpr llvm::StringLiteral kFloats[] = {"f64", "f32", "f16", "bf16",
                                                  "f8"};

static constexpr llvm::StringLiteral kWrapperComponents[] = {
    "_checkpoint_wrapped_module", "_orig_mod", "_fsdp_wrapped_module"};

bool mlir::dsv4::isDsv4ClassName(StringRef name) {
  return llvm::is_contained(kDsv4Classes, name);
}

bool mlir::dsv4::isFsdpHolder(const FsdpTreeModule &module) {
  return module.className == "DeepseekV4FP32Parameter";
}

bool mlir::dsv4::isFsdpSelfCasting(const FsdpTreeModule &module) {
  return module.className == "DeepseekV4VisionRMSNorm";
}

bool mlir::dsv4::isFsdpFloat(StringRef dtype) {
  return llvm::is_contained(kFloats, dtype);
}

bool mlir::dsv4::matchesFp32Suffix(StringRef path) {
  return llvm::any_of(kFp32Suffixes, [&](StringRef suffix) {
    StringRef rest = path;
    return rest.consume_back(suffix) && (rest.empty() || rest.back() == '.');
  });
}

std::string mlir::dsv4::getCanonicalPath(StringRef path) {
  if (llvm::none_of(kWrapperComponents,
                    [&](StringRef name) { return path.contains(name); }))
    return path.str();
  std::string result;
  while (!path.empty()) {
    auto [component, rest] = path.split('.');
    path = rest;
    if (llvm::is_contained(kWrapperComponents, component))
      continue;
    if (!result.empty())
      result += '.';
    result += component;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// FsdpTreeQuery
//===----------------------------------------------------------------------===//

std::vector<std::pair<std::string, unsigned>>
FsdpTreeQuery::walk(unsigned root,
                    const llvm::DenseSet<unsigned> *closed) const {
  std::vector<std::pair<std::string, unsigned>> order;
  llvm::DenseSet<unsigned> seen;
  llvm::SmallVector<std::pair<std::string, unsigned>> stack = {{"", root}};
  while (!stack.empty()) {
    auto [path, index] = stack.pop_back_val();
    if (!seen.insert(index).second)
      continue;
    bool isOpen = index == root || !closed || !closed->contains(index);
    for (const auto &[name, child] :
         llvm::reverse(tree.modules[index].children))
      if (isOpen)
        stack.push_back({path.empty() ? name : path + "." + name, child});
    order.push_back({std::move(path), index});
  }
  return order;
}

/// Calls `fn` on every module at and below `root`, each once, until it returns
/// false.
template <typename Fn>
static void visitBelow(const FsdpModuleTree &tree, unsigned root, Fn fn) {
  llvm::DenseSet<unsigned> seen;
  llvm::SmallVector<unsigned> stack = {root};
  while (!stack.empty()) {
    unsigned index = stack.pop_back_val();
    if (!seen.insert(index).second)
      continue;
    if (!fn(index))
      return;
    for (const auto &[name, child] : llvm::reverse(tree.modules[index].children))
      stack.push_back(child);
  }
}

std::string FsdpTreeQuery::getFloatDtype(unsigned module) const {
  std::string dtype;
  visitBelow(tree, module, [&](unsigned index) {
    for (const auto &[name, id] : tree.modules[index].tensors) {
      const FsdpTensor &tensor = tree.tensors[id];
      if (tensor.isBuffer || !isFsdpFloat(tensor.dtype))
        continue;
      if (!dtype.empty() && dtype != tensor.dtype)
        dtype = "mixed";
      else
        dtype = tensor.dtype;
      if (dtype == "mixed")
        return false;
    }
    return true;
  });
  return dtype;
}

bool FsdpTreeQuery::isDsv4(unsigned module,
                           const llvm::DenseSet<unsigned> &unknown) const {
  bool found = false;
  visitBelow(tree, module, [&](unsigned index) {
    const FsdpTreeModule &candidate = tree.modules[index];
    found = candidate.configModelType == "deepseek_v4" ||
            (isDsv4ClassName(candidate.className) && !unknown.contains(index));
    return !found;
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// Carries out the calls of a request in order.
class Planner {
public:
  Planner(const FsdpModuleTree &tree, const FsdpRequest &request)
      : tree(tree), request(request), query(tree),
        wrapped(request.wrapped.begin(), request.wrapped.end()) {
    if (request.ignored)
      ignored.insert(request.ignored->begin(), request.ignored->end());
  }

  std::vector<FsdpPlannedUnit> plan() {
    for (const FsdpCall &call : request.calls)
      call.isGroup ? planGroup(call) : planModule(call.modules.front());
    return std::move(units);
  }

private:
  void planGroup(const FsdpCall &call);
  void planModule(unsigned module);
  void createUnit(unsigned module, std::optional<FsdpPolicy> policy,
                  FsdpReshard reshard, bool isIsland);
  /// The derived fp32 policy and the holder rule.
  void createFp32Unit(unsigned module);
  std::optional<std::vector<unsigned>> getIgnoredBelow(unsigned module) const;
  std::vector<unsigned> getOwned(llvm::ArrayRef<unsigned> roots,
                                 bool ignoresSome) const;
  std::string getMatchedPath(StringRef path) const {
    return request.referenceRawPaths ? path.str() : getCanonicalPath(path);
  }

  const FsdpModuleTree &tree;
  const FsdpRequest &request;
  FsdpTreeQuery query;
  llvm::DenseSet<unsigned> wrapped;
  llvm::DenseSet<unsigned> ignored;
  std::vector<FsdpPlannedUnit> units;
};

} // namespace

std::optional<std::vector<unsigned>>
Planner::getIgnoredBelow(unsigned module) const {
  if (!request.ignored || request.ignored->empty())
    return request.ignored;
  std::vector<unsigned> below;
  visitBelow(tree, module, [&](unsigned index) {
    for (const auto &[name, tensor] : tree.modules[index].tensors)
      if (ignored.contains(tensor) && !tree.tensors[tensor].isBuffer)
        below.push_back(tensor);
    return true;
  });
  llvm::sort(below);
  below.erase(llvm::unique(below), below.end());
  if (below.empty())
    return std::nullopt; // the keyword is dropped
  return below;
}

std::vector<unsigned> Planner::getOwned(llvm::ArrayRef<unsigned> roots,
                                        bool ignoresSome) const {
  std::vector<unsigned> owned;
  llvm::DenseSet<unsigned> visited, taken;
  struct Frame {
    unsigned module;
    size_t nextChild;
  };
  llvm::SmallVector<Frame> stack;
  auto enter = [&](unsigned module) {
    if (wrapped.contains(module) && !llvm::is_contained(roots, module))
      return;
    if (visited.insert(module).second)
      stack.push_back({module, 0});
  };
  for (unsigned root : roots) {
    enter(root);
    while (!stack.empty()) {
      unsigned index = stack.back().module;
      const FsdpTreeModule &module = tree.modules[index];
      if (stack.back().nextChild < module.children.size()) {
        enter(module.children[stack.back().nextChild++].second);
        continue;
      }
      for (const auto &[name, tensor] : module.tensors)
        if (!tree.tensors[tensor].isBuffer &&
            !(ignoresSome && ignored.contains(tensor)) &&
            taken.insert(tensor).second)
          owned.push_back(tensor);
      stack.pop_back();
    }
  }
  return owned;
}

void Planner::createUnit(unsigned module, std::optional<FsdpPolicy> policy,
                         FsdpReshard reshard, bool isIsland) {
  if (!wrapped.insert(module).second)
    return;
  FsdpPlannedUnit &unit = units.emplace_back();
  unit.roots = {module};
  unit.policy = std::move(policy);
  unit.reshard = reshard;
  unit.isIsland = isIsland;
  unit.ignored = getIgnoredBelow(module);
  unit.tensors = getOwned(unit.roots, unit.ignored && !unit.ignored->empty());
}

void Planner::createFp32Unit(unsigned module) {
  std::optional<FsdpPolicy> policy;
  bool keepsDtype = isFsdpSelfCasting(tree.modules[module]);
  if (request.policy) {
    policy = FsdpPolicy{"f32", "f32", "f32", request.policy->castInputs};
    if (keepsDtype) {
      policy->output = std::nullopt;
      policy->castInputs = false;
    }
  }
  FsdpReshard reshard = request.reshard;
  if (isFsdpHolder(tree.modules[module]))
    reshard = {FsdpReshard::False};
  createUnit(module, std::move(policy), reshard, /*isIsland=*/true);
}

void Planner::planGroup(const FsdpCall &call) {
  wrapped.insert(call.modules.begin(), call.modules.end());
  FsdpPlannedUnit &unit = units.emplace_back();
  unit.roots = call.modules;
  unit.policy = request.policy;
  unit.reshard = request.reshard;
  unit.ignored = request.ignored;
  if (unit.ignored)
    llvm::sort(*unit.ignored);
  unit.isGroup = true;
  unit.tensors = getOwned(unit.roots, !ignored.empty());
}

void Planner::planModule(unsigned module) {
  if (!request.referenceWrappedClass && wrapped.contains(module))
    return; // its islands were made with it
  bool isDsv4 = query.isDsv4(module, request.referenceWrappedClass
                                         ? wrapped
                                         : llvm::DenseSet<unsigned>());
  bool computesInF32 = !request.policy || !request.policy->param ||
                       *request.policy->param == "f32";
  if (query.getFloatDtype(module) == "f32" && (!isDsv4 || computesInF32))
    return createFp32Unit(module);
  if (isDsv4)
    for (const auto &[path, index] : query.walk(
             module, request.referenceWrappedClass ? nullptr : &wrapped)) {
      if (path.empty())
        continue;
      if ((isFsdpSelfCasting(tree.modules[index]) ||
           matchesFp32Suffix(getMatchedPath(path))) &&
          query.getFloatDtype(index) == "f32")
        createFp32Unit(index);
    }
  createUnit(module, request.policy, request.reshard, /*isIsland=*/false);
}

//===----------------------------------------------------------------------===//
// FsdpPartition
//===----------------------------------------------------------------------===//

/// Tensors below a compressor without indexer: its graph may be absent on
/// ranks without a complete window.
static llvm::DenseSet<unsigned> findHcaTensors(const FsdpModuleTree &tree) {
  llvm::DenseSet<unsigned> tensors;
  for (auto [i, module] : llvm::enumerate(tree.modules)) {
    bool hasIndexer = llvm::any_of(module.children, [](const auto &child) {
      return child.first == "indexer";
    });
    if (module.className != "DeepseekV4Compressor" || hasIndexer)
      continue;
    visitBelow(tree, i, [&](unsigned index) {
      for (const auto &[name, tensor] : tree.modules[index].tensors)
        tensors.insert(tensor);
      return true;
    });
  }
  return tensors;
}

FsdpPartition FsdpPartition::compute(const FsdpModuleTree &tree,
                                     const FsdpRequest &request) {
  FsdpPartition partition(tree, request);
  partition.units = Planner(tree, request).plan();
  llvm::DenseSet<unsigned> hca = findHcaTensors(tree);
  for (FsdpPlannedUnit &unit : partition.units)
    unit.alignsHca = llvm::any_of(
        unit.tensors, [&](unsigned tensor) { return hca.contains(tensor); });
  return partition;
}

void FsdpPartition::print(llvm::raw_ostream &os) const {
  auto text = [](const std::optional<std::string> &dtype) {
    return dtype ? *dtype : std::string("none");
  };
  for (auto [i, unit] : llvm::enumerate(units)) {
    os << "unit " << i << ":" << (unit.isIsland ? " island" : "")
       << (unit.isGroup ? " group" : "") << (unit.alignsHca ? " hca" : "");
    if (unit.policy)
      os << " param " << text(unit.policy->param) << " reduce "
         << text(unit.policy->reduce) << " output "
         << text(unit.policy->output);
    os << " parameters " << unit.tensors.size() << " roots ";
    llvm::interleaveComma(unit.roots, os, [&](unsigned root) {
      std::string path = getCanonicalPath(tree->modules[root].path);
      os << (path.empty() ? "<root>" : path);
    });
    os << "\n";
  }
}
