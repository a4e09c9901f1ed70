//===- FsdpPartitionVerify.cpp - plans that must not run ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference finds these at the first forward, or never. Every text names
// the place, what was got, what was expected and the smallest change.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FsdpPartition.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir::dsv4;

namespace {

class Verifier {
public:
  Verifier(const FsdpModuleTree &tree, const FsdpRequest &request,
           llvm::ArrayRef<FsdpPlannedUnit> units)
      : tree(tree), request(request), units(units), query(tree),
        earlier(request.wrapped.begin(), request.wrapped.end()),
        parents(tree.modules.size(), -1) {
    for (auto [i, module] : llvm::enumerate(tree.modules))
      for (const auto &[childName, child] : module.children)
        if (parents[child] < 0)
          parents[child] = i;
        else
          hasShared = true;
    for (const FsdpPlannedUnit &unit : units)
      if (unit.isIsland)
        islands.insert(unit.roots.front());
  }

  std::vector<FsdpRefusal> run() {
    verifyMesh();
    verifyPolicy();
    for (const FsdpCall &call : request.calls)
      verifyCall(call);
    for (const FsdpPlannedUnit &unit : units)
      verifyUnit(unit);
    if (refusals.empty()) // else it may only follow from one of these
      verifyOwners();
    return std::move(refusals);
  }

private:
  void refuse(llvm::StringRef code, const llvm::Twine &text) {
    refusals.push_back({code.str(), text.str()});
  }
  std::string name(unsigned module) const {
    std::string path = getCanonicalPath(tree.modules[module].path);
    return path.empty() ? "the root module" : "module \"" + path + "\"";
  }
  std::string parameterName(unsigned tensor) const {
    return "\"" + getCanonicalPath(tree.tensors[tensor].path) + "\"";
  }

  void verifyMesh();
  void verifyPolicy();
  void verifyCall(const FsdpCall &call);
  void verifyGroup(const FsdpCall &call);
  void verifySharedNames(unsigned module);
  void verifyWrappedBelow(unsigned module);
  void verifyWrappedAbove(unsigned module);
  void verifyUnit(const FsdpPlannedUnit &unit);
  void verifyDtypes(const FsdpPlannedUnit &unit);
  void verifyNesting(const FsdpPlannedUnit &unit);
  void verifyOwners();
  std::string getDtypeAdvice(unsigned tensor) const;

  const FsdpModuleTree &tree;
  const FsdpRequest &request;
  llvm::ArrayRef<FsdpPlannedUnit> units;
  FsdpTreeQuery query;
  llvm::DenseSet<unsigned> earlier; ///< units before a call
  std::vector<int64_t> parents;     ///< by first path; -1 for roots
  llvm::DenseSet<unsigned> islands;
  bool hasShared = false; ///< a module at several places
  std::vector<FsdpRefusal> refusals;
};

} // namespace

//===----------------------------------------------------------------------===//
// Request
//===----------------------------------------------------------------------===//

void Verifier::verifyMesh() {
  if (request.mesh.empty() || request.mesh.size() > 2)
    refuse("FS-E03", "the mesh of an FSDP unit must have 1 or 2 dimensions, got " +
                         llvm::Twine(request.mesh.size()) +
                         "; flatten the axes that parameters are sharded over "
                         "into one");
  if (request.reshard.kind != FsdpReshard::Ranks || request.mesh.empty())
    return;
  int64_t shard = request.mesh.back(), ranks = request.reshard.ranks;
  if (ranks < 1 || shard % ranks != 0)
    refuse("FS-E02",
           "'reshard-after-forward' must be true, false or a divisor of the " +
               llvm::Twine(shard) + " ranks of the shard axis, got " +
               llvm::Twine(ranks) + "; use " +
               (ranks < 1 ? "false to keep parameters gathered"
                          : "true to reshard over all of them"));
}

void Verifier::verifyPolicy() {
  if (!request.policy)
    refuse("FS-E09", "the precision policy is missing, expected param, reduce "
                     "and output dtypes; give 'param-dtype'");
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Verifier::verifyCall(const FsdpCall &call) {
  if (call.isGroup) {
    verifyGroup(call);
  } else {
    unsigned module = call.modules.front();
    if (!earlier.contains(module)) {
      verifyWrappedAbove(module);
      if (!request.referenceWrappedClass)
        verifyWrappedBelow(module);
      if (hasShared && !request.referenceFirstPath &&
          query.isDsv4(module, {}))
        verifySharedNames(module);
    }
  }
  earlier.insert(call.modules.begin(), call.modules.end());
}

void Verifier::verifyGroup(const FsdpCall &call) {
  if (call.modules.empty())
    return refuse("FS-E06", "a group unit must have at least one module, got "
                            "none; leave the call out");
  llvm::DenseSet<unsigned> members;
  for (unsigned module : call.modules) {
    if (!members.insert(module).second)
      refuse("FS-E06", name(module) +
                           " occurs twice in a group unit, expected once; "
                           "remove one of the two");
    if (earlier.contains(module))
      refuse("FS-E06", name(module) +
                           " of a group unit is a unit already; leave it out "
                           "of the group");
    if (tree.modules[module].path.empty())
      refuse("FS-E06", "the root module is in a group unit, expected modules "
                       "below it; shard the root by a call of its own");
  }
  for (unsigned module : members)
    for (const auto &[path, index] : query.walk(module))
      if (index != module && members.contains(index))
        refuse("FS-E06", name(index) + " of a group unit lies below " +
                             name(module) +
                             " of the same group; leave the inner one out");
}

/// T19: a shared module that a suffix matches under a later path only.
void Verifier::verifySharedNames(unsigned root) {
  llvm::DenseMap<unsigned, std::string> firstPath;
  auto order = query.walk(root);
  for (const auto &[path, index] : order)
    firstPath[index] = getCanonicalPath(path);
  for (const auto &[path, index] : order)
    for (const auto &[childName, child] : tree.modules[index].children) {
      std::string other = getCanonicalPath(
          path.empty() ? childName : path + "." + childName);
      const std::string &first = firstPath[child];
      if (other != first && matchesFp32Suffix(other) &&
          !matchesFp32Suffix(first) &&
          !isFsdpSelfCasting(tree.modules[child]))
        refuse("T19", "module \"" + other +
                          "\" is an fp32 island by its name, but it is shared "
                          "and known as \"" + first +
                          "\", expected the name of the island first; "
                          "register it there before \"" + first + "\"");
    }
}

/// T24: a child after its parent, whose parameters are sharded by then.
void Verifier::verifyWrappedAbove(unsigned module) {
  for (int64_t above = parents[module]; above >= 0; above = parents[above])
    if (earlier.contains(above))
      return refuse("FS-E07", name(module) + " is sharded after " +
                                  name(above) +
                                  ", which contains it, expected children "
                                  "first; swap the two calls");
}

/// T31: a wrapper around a unit is not known by its class any more.
void Verifier::verifyWrappedBelow(unsigned module) {
  for (const auto &[childName, child] : tree.modules[module].children)
    if (getCanonicalPath(childName).empty() && earlier.contains(child))
      refuse("T31", name(module) +
                        " wraps a module that is a unit already, expected the "
                        "wrapper to be the unit; shard after wrapping, or do "
                        "not shard the wrapper");
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void Verifier::verifyUnit(const FsdpPlannedUnit &unit) {
  verifyDtypes(unit);
  verifyNesting(unit);
  for (unsigned root : unit.roots) {
    const FsdpTreeModule &module = tree.modules[root];
    if (module.className == "ModuleList" || module.className == "ModuleDict")
      refuse("FS-E04", name(root) + " is a " + module.className +
                           " without a forward, expected a module that is "
                           "called; shard its members instead");
    if (isFsdpHolder(module) && unit.reshard.kind != FsdpReshard::False)
      refuse("FS-E08", name(root) +
                           " returns its parameter, so its unit must have "
                           "'reshard-after-forward' false; give false for it");
  }
  for (unsigned index : unit.tensors) {
    const FsdpTensor &tensor = tree.tensors[index];
    if (tensor.shape && tensor.shape->empty())
      refuse("FS-E04", "parameter " + parameterName(index) +
                           " is a scalar, expected at least one dimension; "
                           "store it with shape [1]");
  }
}

/// What would make a stray parameter legal.
std::string Verifier::getDtypeAdvice(unsigned tensor) const {
  for (const FsdpTreeModule &module : tree.modules) {
    std::string path = getCanonicalPath(module.path);
    if (!matchesFp32Suffix(path) ||
        query.getFloatDtype(&module - tree.modules.data()) != "mixed")
      continue;
    bool isBelow =
        llvm::StringRef(getCanonicalPath(tree.tensors[tensor].path))
            .starts_with(path + ".");
    if (isBelow)
      return "store all of \"" + path + "\" in f32 to keep it an fp32 island";
  }
  return "store it in the dtype of the others, list it in 'ignored-params' or "
         "make a module that holds it a unit";
}

void Verifier::verifyDtypes(const FsdpPlannedUnit &unit) {
  std::optional<unsigned> first;
  for (unsigned index : unit.tensors) {
    const FsdpTensor &tensor = tree.tensors[index];
    if (!tensor.isTrainable)
      continue; // in the second buffer of the unit
    if (!first) {
      first = index;
      continue;
    }
    if (tensor.dtype == tree.tensors[*first].dtype)
      continue;
    return refuse("FS-E01", "parameter " + parameterName(index) + " is " +
                                tensor.dtype + ", but " +
                                parameterName(*first) + " of the same unit is " +
                                tree.tensors[*first].dtype +
                                ", expected one dtype; " +
                                getDtypeAdvice(index));
  }
}

void Verifier::verifyNesting(const FsdpPlannedUnit &unit) {
  if (!unit.isIsland)
    return;
  unsigned inner = unit.roots.front();
  for (int64_t outer = parents[inner]; outer >= 0; outer = parents[outer])
    if (islands.contains(outer))
      return refuse("FS-E07", name(inner) + " is an fp32 island inside " +
                                  name(outer) +
                                  ", which is one too, expected islands side "
                                  "by side; rename one of the two");
}

void Verifier::verifyOwners() {
  llvm::DenseMap<unsigned, unsigned> owner;
  for (auto [i, unit] : llvm::enumerate(units))
    for (unsigned tensor : unit.tensors) {
      auto [it, isNew] = owner.try_emplace(tensor, i);
      if (!isNew)
        refuse("FS-E05", "parameter " + parameterName(tensor) + " is in unit " +
                             llvm::Twine(it->second) + " and in unit " +
                             llvm::Twine(i) +
                             ", expected one; shard the modules that share it "
                             "by one call on a list");
    }
}

std::vector<FsdpRefusal> FsdpPartition::verify() const {
  return Verifier(*tree, *request, units).run();
}
