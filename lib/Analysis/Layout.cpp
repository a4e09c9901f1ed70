//===- Layout.cpp - which rank holds which part of a value ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Meshes, layouts of dimensions, and the result of the analysis. How layouts
// are found is in LayoutSolver.h.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Layout.h"
#include "LayoutSolver.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// LayoutMesh
//===----------------------------------------------------------------------===//

FailureOr<LayoutMesh> LayoutMesh::find(mlir::ModuleOp module) {
  MeshOp found;
  for (auto op : module.getOps<MeshOp>()) {
    if (found) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "is the second mesh, expected one";
      diag.attachNote(found.getLoc()) << "first mesh declared here";
      return diag;
    }
    found = op;
  }
  if (!found)
    return module.emitError() << "needs a dsv4.mesh, which -dsv4-declare-mesh "
                                 "adds";
  LayoutMesh mesh;
  mesh.symbol = FlatSymbolRefAttr::get(found.getSymNameAttr());
  for (auto [name, size] :
       llvm::zip(found.getAxisNames().getAsRange<StringAttr>(),
                 found.getAxisSizes())) {
    if (size == 1)
      continue;
    mesh.names.push_back(name);
    mesh.sizes.push_back(size);
  }
  return mesh;
}

std::optional<unsigned> LayoutMesh::findAxis(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(names))
    if (axis.getValue() == name)
      return i;
  return std::nullopt;
}

AxisList LayoutMesh::getDataAxes() const {
  AxisList axes;
  for (StringRef name : {"replicate", "dp_shard"})
    if (std::optional<unsigned> axis = findAxis(name))
      axes.push_back(*axis);
  return axes;
}

AxisList LayoutMesh::getSequenceAxes() const {
  AxisList axes;
  if (std::optional<unsigned> axis = findAxis("cp"))
    axes.push_back(*axis);
  return axes;
}

int64_t LayoutMesh::getNumRanks(ArrayRef<unsigned> axes) const {
  int64_t ranks = 1;
  for (unsigned axis : axes)
    ranks *= sizes[axis];
  return ranks;
}

ArrayAttr LayoutMesh::getNames(ArrayRef<unsigned> axes) const {
  SmallVector<Attribute> attrs;
  for (unsigned axis : axes)
    attrs.push_back(names[axis]);
  return ArrayAttr::get(symbol.getContext(), attrs);
}

std::string LayoutMesh::format(ArrayRef<unsigned> axes) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{";
  llvm::interleaveComma(axes, os, [&](unsigned axis) { os << names[axis]; });
  os << "}";
  return text;
}

//===----------------------------------------------------------------------===//
// DimLayout
//===----------------------------------------------------------------------===//

DimLayout DimLayout::getWhole(int64_t size) { return getSplit({}, size); }

DimLayout DimLayout::getSplit(ArrayRef<unsigned> axes, int64_t size) {
  DimLayout layout;
  layout.parts.push_back({AxisList(axes), size});
  return layout;
}

/// Drops parts of size 1 and merges a whole part into the part before it where
/// that stays contiguous, so that equal layouts compare equal.
DimLayout DimLayout::normalize(ArrayRef<Part> parts, const LayoutMesh &mesh) {
  DimLayout layout;
  for (const Part &part : parts) {
    if (part.axes.empty() && part.size == 1)
      continue;
    if (part.axes.empty() && !layout.parts.empty()) {
      Part &last = layout.parts.back();
      if (last.size % mesh.getNumRanks(last.axes) == 0) {
        last.size *= part.size;
        continue;
      }
    }
    layout.parts.push_back(part);
  }
  return layout.parts.empty() ? getWhole(1) : layout;
}

DimLayout DimLayout::concat(ArrayRef<DimLayout> dims, const LayoutMesh &mesh) {
  SmallVector<Part> parts;
  for (const DimLayout &dim : dims)
    llvm::append_range(parts, dim.parts);
  return normalize(parts, mesh);
}

bool DimLayout::isWhole() const {
  return llvm::all_of(parts,
                      [](const Part &part) { return part.axes.empty(); });
}

bool DimLayout::isEven(const LayoutMesh &mesh) const {
  return llvm::all_of(parts, [&](const Part &part) {
    return part.size % mesh.getNumRanks(part.axes) == 0;
  });
}

AxisList DimLayout::getAxes() const {
  AxisList axes;
  for (const Part &part : parts)
    llvm::append_range(axes, part.axes);
  return axes;
}

int64_t DimLayout::getSize() const {
  int64_t size = 1;
  for (const Part &part : parts)
    size *= part.size;
  return size;
}

int64_t DimLayout::getLocalSize(const LayoutMesh &mesh) const {
  int64_t size = 1;
  for (const Part &part : parts)
    size *= llvm::divideCeil(part.size, mesh.getNumRanks(part.axes));
  return size;
}

DimLayout::Fit DimLayout::divide(ArrayRef<int64_t> sizes,
                                 const LayoutMesh &mesh,
                                 SmallVectorImpl<DimLayout> &pieces) const {
  pieces.clear();
  auto isEmpty = [](int64_t size) { return size < 1; };
  if (llvm::any_of(sizes, isEmpty) ||
      llvm::any_of(parts, [](const Part &part) { return part.size < 1; }))
    return Fit::Never;
  Fit fit = Fit::Even;
  // `rest` is what the pieces so far left of the current part.
  const Part *next = parts.begin();
  Part rest = *next++;
  auto isUsedUp = [&] { return rest.size == 1 && rest.axes.empty(); };
  for (int64_t size : sizes) {
    SmallVector<Part> taken;
    int64_t need = size;
    while (need > 1 || (taken.empty() && rest.size == 1)) {
      if (isUsedUp()) {
        if (need == 1)
          break;
        if (next == parts.end())
          return Fit::Never;
        rest = *next++;
        continue;
      }
      int64_t take = std::min(need, rest.size);
      if (need % take != 0 || rest.size % take != 0)
        return Fit::Never;
      if (take < rest.size && take % mesh.getNumRanks(rest.axes) != 0)
        fit = Fit::Uneven;
      taken.push_back({rest.axes, take});
      need /= take;
      rest = {{}, rest.size / take};
    }
    pieces.push_back(taken.empty() ? getWhole(size) : normalize(taken, mesh));
  }
  return isUsedUp() && next == parts.end() ? fit : Fit::Never;
}

std::string dsv4::formatLayout(ArrayRef<DimLayout> layout,
                               const LayoutMesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(layout, os, [&](const DimLayout &dim) {
    os << mesh.format(dim.getAxes());
  });
  os << "]";
  return text;
}

//===----------------------------------------------------------------------===//
// LayoutAnalysis
//===----------------------------------------------------------------------===//

FailureOr<LayoutAnalysis> LayoutAnalysis::compute(func::FuncOp func,
                                                  const LayoutMesh &mesh) {
  LayoutAnalysis analysis(func, mesh);
  if (failed(LayoutSolver(analysis).run()))
    return failure();
  return analysis;
}

ArrayRef<DimLayout> LayoutAnalysis::getLayout(Value value) const {
  auto it = layouts.find(value);
  return it == layouts.end() ? ArrayRef<DimLayout>() : it->second;
}

RankedTensorType
LayoutAnalysis::getLocalType(RankedTensorType type,
                             ArrayRef<DimLayout> layout) const {
  SmallVector<int64_t> shape;
  for (const DimLayout &dim : layout)
    shape.push_back(dim.getLocalSize(mesh));
  return cast<RankedTensorType>(type.clone(shape));
}

Type LayoutAnalysis::getLocalType(Value value) const {
  auto it = layouts.find(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return it == layouts.end() || !type ? value.getType()
                                      : getLocalType(type, it->second);
}

const OpDecision *LayoutAnalysis::findDecision(Operation *op) const {
  auto it = decisions.find(op);
  return it == decisions.end() ? nullptr : &it->second;
}
