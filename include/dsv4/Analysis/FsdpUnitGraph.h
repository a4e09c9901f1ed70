//===- FsdpUnitGraph.h - which parameters form one FSDP unit ---*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is a group of parameters that one all-gather fetches. The planner
// knows parameters by name and modules by path and class; it sees no
// operations, so it serves every front end.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FSDPUNITGRAPH_H
#define DSV4_ANALYSIS_FSDPUNITGRAPH_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dsv4 {

/// One parameter: its path in the module tree and its storage dtype.
struct FsdpParameter {
  StringRef name;
  Type elementType;
};

/// One module whose class is known. Modules that only occur in the names of
/// parameters need no entry.
struct FsdpModule {
  StringRef path;
  StringRef className;
};

enum class FsdpUnitKind {
  /// A module that stays in f32 (f64) whatever the policy of its parent is.
  Island,
  Block,
  Embedding,
  Head,
  /// What is left at the end.
  Root
};

StringRef getFsdpUnitKindName(FsdpUnitKind kind);

struct FsdpUnit {
  FsdpUnitKind kind = FsdpUnitKind::Root;
  /// Paths of the modules that the unit stands for, in registration order.
  SmallVector<std::string, 1> roots;
  /// Indices into the given parameters, ascending.
  SmallVector<unsigned> parameters;
  /// The dtype in which the module computes with its parameters.
  Type gatherDtype;
  /// Set when parameters of several storage dtypes keep their own; the widest
  /// is then the gather dtype.
  bool isMixed = false;
  /// The dtype in which gradients are added.
  Type reduceDtype;
};

struct FsdpPlanOptions {
  /// The dtype in which units that are no islands are gathered; null means as
  /// stored.
  Type paramDtype;
};

/// The partition of all parameters into units.
///
/// The module tree follows from the names: every path prefix is a module, in
/// order of first occurrence, which is the order of registration. Some modules
/// are unit roots, and a parameter belongs to the innermost unit root above
/// it:
///
///   model.layers.0                            block
///   model.layers.0.self_attn.wq_a             .
///   model.layers.0.self_attn.sinks_param      island
///   model.layers.0.attn_hc                    island
///   model.norm                                root: no other unit owns it
///
/// * An island matches the suffix table by whole path components, and all
///   its floats are f32 (or all are f64). Inside an island there is no other.
/// * A block is a module of class DeepseekV4Block or model.layers.<number>.
/// * model.embed_tokens and lm_head are units of their own.
///
/// Units come in post-order of registration: the islands of a block, then the
/// block; the root is last.
class FsdpUnitGraph {
public:
  using EmitErrorFn = llvm::function_ref<InFlightDiagnostic(unsigned)>;

  /// `emitError` starts an error at a parameter, given by its index. Refuses
  /// names that are listed twice, have an empty component or no module, and
  /// parameters that are no floats.
  static FailureOr<FsdpUnitGraph> compute(ArrayRef<FsdpParameter> parameters,
                                          ArrayRef<FsdpModule> modules,
                                          const FsdpPlanOptions &options,
                                          EmitErrorFn emitError);

  ArrayRef<FsdpUnit> getUnits() const { return units; }

  /// One line per unit: number, kind, dtypes, roots and number of parameters.
  void print(raw_ostream &os) const;

private:
  SmallVector<FsdpUnit> units;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FSDPUNITGRAPH_H
