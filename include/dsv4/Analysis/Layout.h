//===- Layout.h - which rank holds which part of a value -------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout says for each dimension of a tensor which mesh axes split it; over
// all other axes the tensor is replicated. The analysis gives one layout to
// every value of a function and lists what must happen where the layout of a
// value is not what an operation needs. It decides and never changes IR.
//
//   %x : [B, S, 8]       [{"dp_shard"}, {"cp"}, {}]    seeded: a batch argument
//   %w : [16, 8]         [{}, {}]                      seeded: a parameter
//   contraction of both  [{"dp_shard"}, {"cp"}, {}]    forward, by its maps
//   its tensor.empty     [{"dp_shard"}, {"cp"}, {}]    backward, from its use
//   sum of everything    [] partial {"dp_shard", "cp"} an all_reduce is due
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_LAYOUT_H
#define DSV4_ANALYSIS_LAYOUT_H

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dsv4 {

/// Mesh axes by their number in `LayoutMesh`, from outer to inner.
using AxisList = SmallVector<unsigned, 2>;

/// The axes of a mesh that have more than one rank. Axes of size 1 split
/// nothing and are treated as absent.
class LayoutMesh {
public:
  /// Finds the one mesh that the module declares; emits an error when there is
  /// none or there are several.
  static FailureOr<LayoutMesh> find(mlir::ModuleOp module);

  FlatSymbolRefAttr getSymbol() const { return symbol; }
  std::optional<unsigned> findAxis(StringRef name) const;
  /// The axes that split batch rows: `replicate`, then `dp_shard`.
  AxisList getDataAxes() const;
  /// The axes that split positions: `cp`.
  AxisList getSequenceAxes() const;
  int64_t getNumRanks(ArrayRef<unsigned> axes) const;
  ArrayAttr getNames(ArrayRef<unsigned> axes) const;
  /// As in `{"dp_shard", "cp"}`.
  std::string format(ArrayRef<unsigned> axes) const;

private:
  FlatSymbolRefAttr symbol;
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
};

/// How one dimension is split: parts from outer to inner, each with its global
/// size and the axes that split it. One part is the rule: rank r of the axes
/// holds elements r*ceil(size/N) and following. Several parts come from
/// collapsed dimensions and rows of routed tokens; then a rank's elements are
/// not contiguous in the global order.
class DimLayout {
public:
  struct Part {
    AxisList axes;
    int64_t size;
    bool operator==(const Part &other) const {
      return axes == other.axes && size == other.size;
    }
  };

  static DimLayout getWhole(int64_t size);
  static DimLayout getSplit(ArrayRef<unsigned> axes, int64_t size);
  /// The layout of the dimension that `dims`, from outer to inner, collapse to.
  static DimLayout concat(ArrayRef<DimLayout> dims, const LayoutMesh &mesh);

  bool isWhole() const;
  bool isContiguous() const { return parts.size() == 1; }
  /// True if every rank holds equally much.
  bool isEven(const LayoutMesh &mesh) const;
  AxisList getAxes() const;
  int64_t getSize() const;
  int64_t getLocalSize(const LayoutMesh &mesh) const;
  bool operator==(const DimLayout &other) const { return parts == other.parts; }
  bool operator!=(const DimLayout &other) const { return !(*this == other); }

  enum class Fit {
    /// The pieces are exact.
    Even,
    /// A piece is split over ranks that do not divide it.
    Uneven,
    /// A split crosses the border between pieces.
    Never
  };
  /// The layouts of the dimensions of these sizes that this one expands to.
  Fit divide(ArrayRef<int64_t> sizes, const LayoutMesh &mesh,
             SmallVectorImpl<DimLayout> &pieces) const;

private:
  static DimLayout normalize(ArrayRef<Part> parts, const LayoutMesh &mesh);
  SmallVector<Part, 1> parts;
};

using ValueLayout = SmallVector<DimLayout, 4>;

/// As in `[{"dp_shard"}, {"cp"}, {}]`.
std::string formatLayout(ArrayRef<DimLayout> layout, const LayoutMesh &mesh);

/// A value that an operation needs in another layout.
struct OperandChange {
  enum Kind {
    /// The operation needs all of a split dimension.
    Gather,
    /// Every rank holds all of a dimension and keeps its part: no
    /// communication.
    Slice
  };
  Kind kind;
  OpOperand *use;
  unsigned dim;
  AxisList axes;
  /// Global size of the dimension.
  int64_t size;
};

/// A use of an empty, constant or index tensor that has a layout of its own:
/// the tensor is made again instead of sliced.
struct OperandCopy {
  OpOperand *use;
  ValueLayout layout;
};

/// A result of which each rank computes a part, combined where it arises.
struct PartialResult {
  OpResult result;
  ReductionKind kind;
  AxisList axes;
};

/// A local index that becomes global by adding `step` times the coordinate
/// along `axes`: a `linalg.index` or an operand of index type.
struct IndexOffset {
  Operation *index;
  OpOperand *operand;
  AxisList axes;
  int64_t step;
};

/// What happens around one operation.
struct OpDecision {
  SmallVector<OperandChange> changes;
  SmallVector<OperandCopy> copies;
  SmallVector<PartialResult> partials;
  SmallVector<IndexOffset> offsets;
  bool isEmpty() const {
    return changes.empty() && copies.empty() && partials.empty() &&
           offsets.empty();
  }
};

/// Layouts and decisions for one function.
class LayoutAnalysis {
public:
  /// Analyses `func`, or emits a located error: a conflict, an operation that
  /// is not known, a sequence that does not divide.
  static FailureOr<LayoutAnalysis> compute(func::FuncOp func,
                                           const LayoutMesh &mesh);

  const LayoutMesh &getMesh() const { return mesh; }
  func::FuncOp getFunction() const { return func; }
  /// One entry per dimension; empty for values that are not tensors.
  ArrayRef<DimLayout> getLayout(Value value) const;
  /// The type of the value, or of another value in this layout, on one rank.
  Type getLocalType(Value value) const;
  RankedTensorType getLocalType(RankedTensorType type,
                                ArrayRef<DimLayout> layout) const;
  /// Null when nothing happens around the operation.
  const OpDecision *findDecision(Operation *op) const;
  /// The batch dimension when ranks hold padding rows.
  const std::optional<DimLayout> &getPaddedBatch() const { return paddedBatch; }

private:
  friend class LayoutSolver;
  LayoutAnalysis(func::FuncOp func, const LayoutMesh &mesh)
      : func(func), mesh(mesh) {}

  func::FuncOp func;
  LayoutMesh mesh;
  DenseMap<Value, ValueLayout> layouts;
  DenseMap<Operation *, OpDecision> decisions;
  std::optional<DimLayout> paddedBatch;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_LAYOUT_H
