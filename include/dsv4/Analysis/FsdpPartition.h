//===- FsdpPartition.h - units of a module tree ----------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the calls of fully_shard_deepseek_v4 do to a tree of modules. Nothing
// here knows IR: trees come from files and from dsv4.module operations.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FSDPPARTITION_H
#define DSV4_ANALYSIS_FSDPPARTITION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::dsv4 {

/// One parameter or buffer object. Shared ones occur once.
struct FsdpTensor {
  std::string id;   ///< names the object; its path where the file gives none
  std::string path; ///< first path in the tree
  std::string dtype;
  std::optional<llvm::SmallVector<int64_t, 2>> shape;
  bool isTrainable = true;
  bool isBuffer = false;
};

/// One module object. Shared ones occur once.
struct FsdpTreeModule {
  std::string id;
  std::string path; ///< first path in the tree; empty for the root
  std::string className;
  std::string configModelType;
  std::vector<std::pair<std::string, unsigned>> children;
  std::vector<std::pair<std::string, unsigned>> tensors;
};

/// Modules and tensors in order of registration. Children are modules of a
/// higher index, unless shared: then of any, but never an ancestor.
struct FsdpModuleTree {
  std::vector<FsdpTreeModule> modules;
  std::vector<FsdpTensor> tensors;
  std::vector<unsigned> roots;
};

/// Dtypes of a unit; none means "not set".
struct FsdpPolicy {
  std::optional<std::string> param, reduce, output;
  bool castInputs = true;
};

struct FsdpReshard {
  enum Kind { Unset, None, False, True, Ranks };
  Kind kind = Unset;
  int64_t ranks = 0;
};

/// One call: a single module, or a list that forms one unit.
struct FsdpCall {
  llvm::SmallVector<unsigned, 1> modules;
  bool isGroup = false;
};

struct FsdpRequest {
  std::vector<FsdpCall> calls;
  std::optional<FsdpPolicy> policy;
  FsdpReshard reshard;
  /// Tensors that no unit owns; none where the keyword is absent.
  std::optional<std::vector<unsigned>> ignored;
  /// Modules that are units already.
  std::vector<unsigned> wrapped;
  /// Sizes of the mesh, outermost first: [shard] or [replicate, shard].
  llvm::SmallVector<int64_t, 2> mesh = {1};
  /// Keep what the reference does where it differs: wrapper components of
  /// paths count (T17), a shared module is known by its first path (T19), a
  /// unit is no longer known by its class (T31).
  bool referenceRawPaths = false;
  bool referenceFirstPath = false;
  bool referenceWrappedClass = false;
};

struct FsdpPlannedUnit {
  llvm::SmallVector<unsigned, 1> roots;
  std::vector<unsigned> tensors; ///< in ownership order
  std::optional<FsdpPolicy> policy;
  FsdpReshard reshard;
  std::optional<std::vector<unsigned>> ignored;
  bool isIsland = false; ///< the policy is the derived fp32 one
  bool isGroup = false;
  /// A compressor without indexer is at, above or below one of the roots.
  bool alignsHca = false;
};

/// A plan that must not run.
struct FsdpRefusal {
  std::string code; ///< FS-E01 to FS-E09, T18, T19, T31
  std::string text;
};

/// The path without the components that checkpoint and compile wrappers add.
std::string getCanonicalPath(llvm::StringRef path);

/// The units that a request makes, in order of creation: islands, then the
/// module that contains them.
///
///   call block, policy bf16           units
///     attn_norm           bf16        self_attn.sinks_param  f32 island
///     self_attn.wq_a      bf16        attn_hc                f32 island
///     self_attn.sinks_param f32       (block)  attn_norm, self_attn.wq_a
///     attn_hc             f32
///
/// A module is owned by the innermost unit above it. Time and memory are
/// linear in the tree for calls that do not enclose each other.
class FsdpPartition {
public:
  static FsdpPartition compute(const FsdpModuleTree &tree,
                               const FsdpRequest &request);

  llvm::ArrayRef<FsdpPlannedUnit> getUnits() const { return units; }

  /// What makes this plan illegal, in order of units; empty when it is legal.
  std::vector<FsdpRefusal> verify() const;

  void print(llvm::raw_ostream &os) const;

private:
  FsdpPartition(const FsdpModuleTree &tree, const FsdpRequest &request)
      : tree(&tree), request(&request) {}

  const FsdpModuleTree *tree;
  const FsdpRequest *request;
  std::vector<FsdpPlannedUnit> units;
};

/// What the planner asks about a tree.
class FsdpTreeQuery {
public:
  explicit FsdpTreeQuery(const FsdpModuleTree &tree) : tree(tree) {}

  /// The modules at and below `root` in pre-order, each once, with their path
  /// below it. Does not descend into those of `closed`, `root` excepted.
  std::vector<std::pair<std::string, unsigned>>
  walk(unsigned root, const llvm::DenseSet<unsigned> *closed = nullptr) const;
  /// "f32" when all floating parameters below are, "" when there are none,
  /// else "mixed" or the other dtype.
  std::string getFloatDtype(unsigned module) const;
  bool isDsv4(unsigned module, const llvm::DenseSet<unsigned> &unknown) const;

private:
  const FsdpModuleTree &tree;
};

bool isFsdpHolder(const FsdpTreeModule &module);
bool isFsdpSelfCasting(const FsdpTreeModule &module);
bool isDsv4ClassName(llvm::StringRef name);
bool matchesFp32Suffix(llvm::StringRef path);
bool isFsdpFloat(llvm::StringRef dtype);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FSDPPARTITION_H
