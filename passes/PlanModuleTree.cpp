//===- PlanModuleTree.cpp - FSDP units of a module tree -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of -dsv4-plan-fsdp-units for modules without operations: options
// become a request, FsdpPartition decides and refuses, units become symbols.
//
//===----------------------------------------------------------------------===//

#include "PlanModuleTree.h"

#include "dsv4/Analysis/FlatBuffers.h"
#include "dsv4/Analysis/FsdpPartition.h"
#include "dsv4/Analysis/ModuleTreeIR.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dsv4;

bool dsv4::matchesIgnored(StringRef path, StringRef patterns) {
  std::string dotted = ("." + path + ".").str();
  for (StringRef rest = patterns; !rest.empty();) {
    auto [pattern, next] = rest.split(',');
    rest = next;
    if (!pattern.empty() &&
        StringRef(dotted).contains(("." + pattern + ".").str()))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Request
//===----------------------------------------------------------------------===//

static FailureOr<std::optional<std::string>>
parseDtype(mlir::ModuleOp module, StringRef option, StringRef text,
           StringRef none) {
  if (text == none)
    return std::optional<std::string>();
  if (!isFsdpFloat(text))
    return module.emitError()
           << "'" << option << "' must be \"" << none
           << "\" or one of \"f64\", \"f32\", \"f16\", \"bf16\", \"f8\", got \""
           << text << "\"";
  return std::optional<std::string>(text.str());
}

static FailureOr<FsdpReshard> parseReshard(mlir::ModuleOp module,
                                           StringRef text) {
  int64_t ranks = 0;
  if (text.empty())
    return FsdpReshard{FsdpReshard::Unset};
  if (text == "true")
    return FsdpReshard{FsdpReshard::True};
  if (text == "false")
    return FsdpReshard{FsdpReshard::False};
  if (!text.getAsInteger(10, ranks))
    return FsdpReshard{FsdpReshard::Ranks, ranks};
  return module.emitError() << "'reshard-after-forward' must be true, false or "
                               "a number of ranks, got \""
                            << text << "\"";
}

static bool isBlockClass(StringRef name) {
  return name.starts_with("Deepseek") && name.ends_with("Block");
}

/// Every block, every embedding, the root.
static std::vector<FsdpCall> getDefaultCalls(const FsdpModuleTree &tree) {
  std::vector<FsdpCall> calls;
  for (auto [i, module] : llvm::enumerate(tree.modules)) {
    StringRef path = module.path;
    if (i != tree.roots.front() &&
        (isBlockClass(module.className) ||
         path.rsplit('.').second == "embed_tokens" || path == "embed_tokens"))
      calls.push_back({{unsigned(i)}});
  }
  calls.push_back({{tree.roots.front()}});
  return calls;
}

/// An empty path is the root. Wrapper components may be left out.
static FailureOr<std::vector<FsdpCall>>
parseCalls(mlir::ModuleOp module, const FsdpModuleTree &tree, StringRef text) {
  if (text.empty())
    return getDefaultCalls(tree);
  llvm::StringMap<unsigned> byPath;
  for (auto [i, entry] : llvm::enumerate(tree.modules)) {
    byPath.try_emplace(entry.path, i);
    byPath.try_emplace(getCanonicalPath(entry.path), i);
  }
  std::vector<FsdpCall> calls;
  SmallVector<StringRef> texts, paths;
  text.split(texts, ';');
  for (StringRef callText : texts) {
    FsdpCall &call = calls.emplace_back();
    paths.clear();
    callText.split(paths, '+');
    call.isGroup = paths.size() > 1;
    for (StringRef path : paths) {
      auto it = byPath.find(path);
      if (it == byPath.end())
        return module.emitError() << "'calls' names module \"" << path
                                  << "\", which the tree does not have";
      call.modules.push_back(it->second);
    }
  }
  return calls;
}

/// [shard] or, where gradients are also added over other axes, [rest, shard].
static SmallVector<int64_t, 2> getMeshSizes(MeshOp mesh, ArrayAttr axes) {
  int64_t shard = 1, rest = 1;
  for (auto [axis, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    (llvm::is_contained(axes, axis) ? shard : rest) *= size;
  if (rest == 1)
    return {shard};
  return {rest, shard};
}

static FailureOr<FsdpRequest> makeRequest(mlir::ModuleOp module, MeshOp mesh,
                                          ArrayAttr axes,
                                          const FsdpModuleTree &tree,
                                          const TreePlanOptions &options) {
  auto param = parseDtype(module, "param-dtype", options.paramDtype, "as-stored");
  auto reduce = parseDtype(module, "reduce-dtype", options.reduceDtype, "");
  auto output = parseDtype(module, "output-dtype", options.outputDtype, "");
  auto reshard = parseReshard(module, options.reshard);
  auto calls = parseCalls(module, tree, options.calls);
  if (failed(param) || failed(reduce) || failed(output) || failed(reshard) ||
      failed(calls))
    return failure();
  FsdpRequest request;
  request.calls = std::move(*calls);
  request.policy = FsdpPolicy{*param, *reduce, *output, options.castInputs};
  request.reshard = *reshard;
  request.mesh = getMeshSizes(mesh, axes);
  request.referenceRawPaths = options.rawPaths;
  request.referenceFirstPath = options.firstPath;
  request.referenceWrappedClass = options.wrappedClass;
  if (!options.ignored.empty()) {
    request.ignored.emplace();
    for (auto [i, tensor] : llvm::enumerate(tree.tensors))
      if (!tensor.isBuffer &&
          matchesIgnored(getCanonicalPath(tensor.path), options.ignored))
        request.ignored->push_back(i);
  }
  return request;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

namespace {

class UnitDeclarer {
public:
  UnitDeclarer(MeshOp mesh, ArrayAttr axes, const FsdpModuleTree &tree,
               const FsdpRequest &request, bool rawPaths)
      : mesh(mesh), axes(axes), tree(tree),
        rawPaths(rawPaths), builder(mesh.getContext()) {
    builder.setInsertionPointAfter(mesh);
    numRanks = request.mesh.back();
  }

  /// The buffers of a unit whose shapes are known; null where one is not.
  FailureOr<ArrayAttr> getBuffers(const FsdpPlannedUnit &unit);
  void declare(unsigned number, const FsdpPlannedUnit &unit, ArrayAttr buffers);

private:
  Type getType(StringRef dtype) {
    return getDtypeType(builder.getContext(), dtype);
  }
  StringAttr getPath(StringRef path) {
    return builder.getStringAttr(rawPaths ? path.str()
                                          : getCanonicalPath(path));
  }
  ArrayAttr getTensorPaths(ArrayRef<unsigned> tensors) {
    SmallVector<Attribute> paths;
    for (unsigned tensor : tensors)
      paths.push_back(getPath(tree.tensors[tensor].path));
    return builder.getArrayAttr(paths);
  }
  ArrayAttr getStorage(const FsdpPlannedUnit &unit) {
    llvm::SmallSetVector<Attribute, 2> dtypes;
    for (unsigned tensor : unit.tensors)
      dtypes.insert(TypeAttr::get(getType(tree.tensors[tensor].dtype)));
    return builder.getArrayAttr(dtypes.getArrayRef());
  }
  void setDetails(FsdpUnitOp op, const FsdpPlannedUnit &unit);

  MeshOp mesh;
  ArrayAttr axes;
  const FsdpModuleTree &tree;
  bool rawPaths;
  OpBuilder builder;
  int64_t numRanks;
};

} // namespace

FailureOr<ArrayAttr> UnitDeclarer::getBuffers(const FsdpPlannedUnit &unit) {
  SmallVector<FlatParameter> parameters;
  for (unsigned index : unit.tensors) {
    const FsdpTensor &tensor = tree.tensors[index];
    if (!tensor.shape)
      return ArrayAttr();
    parameters.push_back(
        {getPath(tensor.path),
         RankedTensorType::get(*tensor.shape, getType(tensor.dtype)),
         !tensor.isTrainable});
  }
  auto buffers = computeFlatBuffers(parameters, numRanks, [&](unsigned index) {
    return mlir::emitError(mesh.getLoc());
  });
  if (failed(buffers))
    return failure();
  return getFlatBuffersAttr(builder.getContext(), *buffers);
}

/// What fsdp_unit has no operand for.
void UnitDeclarer::setDetails(FsdpUnitOp op, const FsdpPlannedUnit &unit) {
  op->setAttr("dsv4.storage", getStorage(unit));
  if (unit.policy && unit.policy->output)
    op->setAttr("dsv4.output", TypeAttr::get(getType(*unit.policy->output)));
  if (unit.policy && unit.policy->castInputs)
    op->setAttr("dsv4.cast_inputs", builder.getUnitAttr());
  if (unit.reshard.kind == FsdpReshard::Ranks)
    op->setAttr("dsv4.reshard_ranks",
                builder.getI64IntegerAttr(unit.reshard.ranks));
  if (unit.ignored && !unit.ignored->empty())
    op->setAttr("dsv4.ignored", getTensorPaths(*unit.ignored));
  if (unit.alignsHca) // all axes over which its gradients are added
    op->setAttr("dsv4.hca_group", mesh.getAxisNames());
}

void UnitDeclarer::declare(unsigned number, const FsdpPlannedUnit &unit,
                           ArrayAttr buffers) {
  SmallVector<Attribute> roots;
  for (unsigned root : unit.roots)
    roots.push_back(getPath(tree.modules[root].path));
  auto dtype = [&](const std::optional<std::string> &text, Type otherwise) {
    return text ? getType(*text) : otherwise;
  };
  Type stored = getType(tree.tensors[unit.tensors.front()].dtype);
  FsdpPolicy policy = unit.policy.value_or(FsdpPolicy());
  Type gather = dtype(policy.param, stored);
  Type reduce = dtype(policy.reduce, gather);
  BoolAttr reshard;
  if (unit.reshard.kind == FsdpReshard::True ||
      unit.reshard.kind == FsdpReshard::False)
    reshard = builder.getBoolAttr(unit.reshard.kind == FsdpReshard::True);
  auto op = FsdpUnitOp::create(
      builder, mesh.getLoc(),
      builder.getStringAttr("unit_" + std::to_string(number)),
      FlatSymbolRefAttr::get(mesh.getSymNameAttr()), axes,
      builder.getArrayAttr(roots), getTensorPaths(unit.tensors),
      TypeAttr::get(gather), TypeAttr::get(reduce),
      unit.isIsland ? builder.getUnitAttr() : UnitAttr(), reshard, buffers);
  setDetails(op, unit);
}

//===----------------------------------------------------------------------===//
// planModuleTree
//===----------------------------------------------------------------------===//

static LogicalResult verifyFloats(mlir::ModuleOp module,
                                  const FsdpModuleTree &tree,
                                  const FsdpPartition &partition) {
  for (const FsdpPlannedUnit &unit : partition.getUnits())
    for (unsigned index : unit.tensors)
      if (!isFsdpFloat(tree.tensors[index].dtype))
        return module.emitError()
               << "parameter \"" << tree.tensors[index].path
               << "\" must hold floats, got " << tree.tensors[index].dtype
               << "; declare it a buffer or list it in 'ignored-params'";
  return success();
}

LogicalResult dsv4::planModuleTree(mlir::ModuleOp module, MeshOp mesh,
                                   ArrayAttr axes,
                                   const TreePlanOptions &options) {
  auto tree = readModuleTree(module);
  if (failed(tree))
    return failure();
  if (!module.getOps<FsdpUnitOp>().empty())
    return (*module.getOps<FsdpUnitOp>().begin()).emitOpError()
           << "exists already, expected a module tree without units";
  auto request = makeRequest(module, mesh, axes, *tree, options);
  if (failed(request))
    return failure();
  FsdpPartition partition = FsdpPartition::compute(*tree, *request);
  if (!options.noVerify) {
    std::vector<FsdpRefusal> refusals = partition.verify();
    for (const FsdpRefusal &refusal : refusals)
      module.emitError() << refusal.code << ": " << refusal.text;
    if (!refusals.empty())
      return failure();
  }
  if (failed(verifyFloats(module, *tree, partition)))
    return failure();

  UnitDeclarer declarer(mesh, axes, *tree, *request, options.rawPaths);
  SmallVector<ArrayAttr> buffers;
  for (const FsdpPlannedUnit &unit : partition.getUnits()) {
    auto attr = declarer.getBuffers(unit);
    if (failed(attr))
      return failure();
    buffers.push_back(*attr);
  }
  unsigned number = 0;
  for (auto [unit, attr] : llvm::zip(partition.getUnits(), buffers))
    if (!unit.tensors.empty()) // a root whose modules are all units
      declarer.declare(number++, unit, attr);
  return success();
}
