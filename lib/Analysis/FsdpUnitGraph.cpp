//===- FsdpUnitGraph.cpp - which parameters form one FSDP unit ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FsdpUnitGraph.h"

#include "dsv4/Analysis/FsdpPartition.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace mlir;
using namespace mlir::dsv4;

static constexpr StringLiteral kBlockClass = "DeepseekV4Block";
static constexpr StringLiteral kLayersPath = "model.layers.";
static constexpr StringLiteral kEmbeddingPath = "model.embed_tokens";
static constexpr StringLiteral kHeadPath = "lm_head";

StringRef dsv4::getFsdpUnitKindName(FsdpUnitKind kind) {
  switch (kind) {
  case FsdpUnitKind::Island:
    return "island";
  case FsdpUnitKind::Block:
    return "block";
  case FsdpUnitKind::Embedding:
    return "embedding";
  case FsdpUnitKind::Head:
    return "head";
  case FsdpUnitKind::Root:
    return "root";
  }
  llvm_unreachable("unknown kind of unit");
}

//===----------------------------------------------------------------------===//
// Module tree
//===----------------------------------------------------------------------===//

namespace {

/// One module. Paths are slices of parameter names.
struct ModuleNode {
  unsigned parent = 0;
  StringRef path;
  StringRef className;
  SmallVector<unsigned, 4> children; // by first occurrence
  SmallVector<unsigned, 2> parameters;
  /// Storage dtypes of all parameters below.
  llvm::SmallSetVector<Type, 2> storedTypes;
};

/// The tree of all path prefixes. Node 0 is the nameless root; a parent's
/// index is smaller than its children's. Nothing here recurses: a name may have
/// any number of components.
class ModuleTree {
public:
  ModuleTree() { nodes.emplace_back(); }

  /// Adds the modules of `name` and the parameter below the last of them.
  void addParameter(unsigned index, StringRef name, Type elementType);
  void setClass(StringRef path, StringRef className);
  /// Adds the storage dtypes of each module to those of the modules above.
  void collectStoredTypes();
  /// All nodes but the root, children before parents, in registration order.
  SmallVector<unsigned> getPostOrder() const;

  ArrayRef<ModuleNode> getNodes() const { return nodes; }

private:
  SmallVector<ModuleNode> nodes;
  llvm::DenseMap<std::pair<unsigned, StringRef>, unsigned> childByName;
};

} // namespace

void ModuleTree::addParameter(unsigned index, StringRef name,
                              Type elementType) {
  unsigned current = 0;
  size_t begin = 0;
  for (size_t dot = name.find('.'); dot != StringRef::npos;
       begin = dot + 1, dot = name.find('.', begin)) {
    auto [it, isNew] = childByName.try_emplace(
        {current, name.slice(begin, dot)}, nodes.size());
    if (isNew) {
      nodes[current].children.push_back(nodes.size());
      ModuleNode &node = nodes.emplace_back();
      node.parent = current;
      node.path = name.take_front(dot);
    }
    current = it->second;
  }
  nodes[current].parameters.push_back(index);
  nodes[current].storedTypes.insert(elementType);
}

void ModuleTree::setClass(StringRef path, StringRef className) {
  unsigned current = 0;
  while (!path.empty()) {
    auto [component, rest] = path.split('.');
    auto it = childByName.find({current, component});
    if (it == childByName.end())
      return; // no parameters below
    current = it->second;
    path = rest;
  }
  nodes[current].className = className;
}

void ModuleTree::collectStoredTypes() {
  for (const ModuleNode &node : llvm::drop_end(llvm::reverse(nodes)))
    nodes[node.parent].storedTypes.insert_range(node.storedTypes);
}

SmallVector<unsigned> ModuleTree::getPostOrder() const {
  SmallVector<unsigned> order;
  SmallVector<std::pair<unsigned, unsigned>> stack = {{0, 0}};
  while (!stack.empty()) {
    auto &[index, nextChild] = stack.back();
    if (nextChild < nodes[index].children.size()) {
      stack.push_back({nodes[index].children[nextChild++], 0});
      continue;
    }
    if (index != 0)
      order.push_back(index);
    stack.pop_back();
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Unit roots
//===----------------------------------------------------------------------===//

/// An island computes in the dtype that it is stored in, so that has to be
/// wide, and one.
static bool isIsland(const ModuleNode &module) {
  return module.storedTypes.size() == 1 &&
         isa<Float32Type, Float64Type>(module.storedTypes.front()) &&
         matchesFp32Suffix(module.path);
}

static bool isBlock(const ModuleNode &module) {
  StringRef layer = module.path;
  return module.className == kBlockClass ||
         (layer.consume_front(kLayersPath) && !layer.empty() &&
          llvm::all_of(layer, llvm::isDigit));
}

static std::optional<FsdpUnitKind> getUnitKind(const ModuleNode &module) {
  if (isIsland(module))
    return FsdpUnitKind::Island;
  if (isBlock(module))
    return FsdpUnitKind::Block;
  if (module.path == kEmbeddingPath)
    return FsdpUnitKind::Embedding;
  if (module.path == kHeadPath)
    return FsdpUnitKind::Head;
  return std::nullopt;
}

/// The unit root above each module, itself included; 0 where there is none.
static SmallVector<unsigned>
findOwners(ArrayRef<ModuleNode> nodes,
           SmallVectorImpl<std::optional<FsdpUnitKind>> &kinds) {
  SmallVector<unsigned> owners(nodes.size(), 0);
  kinds.assign(nodes.size(), std::nullopt);
  for (unsigned i = 1; i < nodes.size(); ++i) {
    owners[i] = owners[nodes[i].parent];
    if (kinds[owners[i]] == FsdpUnitKind::Island)
      continue; // an island is one unit
    kinds[i] = getUnitKind(nodes[i]);
    if (kinds[i])
      owners[i] = i;
  }
  return owners;
}

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

static Type getWider(Type a, Type b) {
  return b.getIntOrFloatBitWidth() > a.getIntOrFloatBitWidth() ? b : a;
}

/// Fills in the dtypes of a unit from those of its parameters.
static void setDtypes(FsdpUnit &unit, ArrayRef<FsdpParameter> parameters,
                      const FsdpPlanOptions &options) {
  Type first = parameters[unit.parameters.front()].elementType;
  unit.gatherDtype = first;
  for (unsigned index : unit.parameters) {
    unit.isMixed |= parameters[index].elementType != first;
    unit.gatherDtype =
        getWider(unit.gatherDtype, parameters[index].elementType);
  }
  unit.reduceDtype =
      getWider(Float32Type::get(first.getContext()), unit.gatherDtype);
  if (!options.paramDtype || unit.kind == FsdpUnitKind::Island)
    return;
  unit.gatherDtype = options.paramDtype;
  unit.isMixed = false;
  unit.reduceDtype = getWider(unit.reduceDtype, unit.gatherDtype);
}

//===----------------------------------------------------------------------===//
// FsdpUnitGraph
//===----------------------------------------------------------------------===//

static LogicalResult verifyParameters(ArrayRef<FsdpParameter> parameters,
                                      FsdpUnitGraph::EmitErrorFn emitError) {
  llvm::DenseMap<StringRef, unsigned> indexByName;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    StringRef name = parameter.name;
    if (!name.contains('.'))
      return emitError(i) << "parameter \"" << name
                          << "\" is in no module, expected a path of at least "
                             "two components";
    if (name.starts_with(".") || name.ends_with(".") || name.contains(".."))
      return emitError(i) << "parameter \"" << name
                          << "\" has an empty path component";
    auto [it, isNew] = indexByName.try_emplace(name, i);
    if (!isNew)
      return emitError(i) << "parameter \"" << name
                          << "\" is declared twice, as number " << it->second
                          << " and " << i;
    if (!isa<FloatType>(parameter.elementType))
      return emitError(i) << "parameter \"" << name
                          << "\" must hold floats, got "
                          << parameter.elementType;
  }
  return success();
}

/// The top-level modules of parameters that no other unit owns.
static void addRootPaths(FsdpUnit &root, ArrayRef<FsdpParameter> parameters) {
  llvm::SmallSetVector<StringRef, 2> paths;
  for (unsigned index : root.parameters)
    paths.insert(parameters[index].name.split('.').first);
  for (StringRef path : paths)
    root.roots.push_back(path.str());
}

FailureOr<FsdpUnitGraph>
FsdpUnitGraph::compute(ArrayRef<FsdpParameter> parameters,
                       ArrayRef<FsdpModule> modules,
                       const FsdpPlanOptions &options, EmitErrorFn emitError) {
  if (failed(verifyParameters(parameters, emitError)))
    return failure();
  ModuleTree tree;
  for (auto [i, parameter] : llvm::enumerate(parameters))
    tree.addParameter(i, parameter.name, parameter.elementType);
  for (const FsdpModule &module : modules)
    tree.setClass(module.path, module.className);
  tree.collectStoredTypes();

  SmallVector<std::optional<FsdpUnitKind>> kinds;
  ArrayRef<ModuleNode> nodes = tree.getNodes();
  SmallVector<unsigned> owners = findOwners(nodes, kinds);
  SmallVector<SmallVector<unsigned>> owned(nodes.size());
  for (auto [node, owner] : llvm::zip(nodes, owners))
    llvm::append_range(owned[owner], node.parameters);

  SmallVector<unsigned> order = tree.getPostOrder();
  order.push_back(0);
  FsdpUnitGraph graph;
  for (unsigned index : order) {
    if (owned[index].empty())
      continue; // no unit root, or all its parameters are in units below
    FsdpUnit &unit = graph.units.emplace_back();
    unit.kind = kinds[index].value_or(FsdpUnitKind::Root);
    unit.parameters = std::move(owned[index]);
    llvm::sort(unit.parameters);
    if (index == 0)
      addRootPaths(unit, parameters);
    else
      unit.roots.push_back(nodes[index].path.str());
    setDtypes(unit, parameters, options);
  }
  return graph;
}

void FsdpUnitGraph::print(raw_ostream &os) const {
  for (auto [i, unit] : llvm::enumerate(units)) {
    os << "unit " << i << ": " << getFsdpUnitKindName(unit.kind) << " gather "
       << unit.gatherDtype << (unit.isMixed ? " (as stored)" : "") << " reduce "
       << unit.reduceDtype << " parameters " << unit.parameters.size()
       << " roots ";
    llvm::interleaveComma(unit.roots, os);
    os << "\n";
  }
}
