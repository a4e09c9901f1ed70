//===- DeclareMesh.cpp - declare the mesh of the program ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Model IR knows nothing of ranks. This pass puts the mesh that the user asks
// for in front of it:
//
//   -dsv4-declare-mesh="mesh=dp_shard:2,cp:4"
//
//   module { func.func @forward ... }
//   ->
//   module {
//     dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
//     func.func @forward ...
//   }
//
// A mesh that the module declares already is never replaced.
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_DECLAREMESHPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kMeshName = "mesh";
constexpr int64_t kMaxRanks = 65536;

struct MeshAxis {
  StringRef name;
  int64_t size;
};

/// Adds `piece` ("cp:4") to `axes`.
LogicalResult parseAxis(Operation *op, StringRef piece,
                        SmallVectorImpl<MeshAxis> &axes) {
  auto [name, sizeText] = piece.split(':');
  if (name.size() == piece.size())
    return op->emitError() << "'mesh' must list axes as \"name:size\", got \""
                           << piece << "\"";
  if (name == "ep")
    return op->emitError()
           << "axis \"ep\" is not supported: routed experts are "
              "sharded like all other parameters";
  if (!llvm::is_contained({"replicate", "dp_shard", "cp"}, name))
    return op->emitError() << "axis must be one of \"replicate\", "
                              "\"dp_shard\", \"cp\", got \""
                           << name << "\"";
  if (llvm::any_of(axes, [&](const MeshAxis &a) { return a.name == name; }))
    return op->emitError() << "axis \"" << name << "\" is listed twice";
  llvm::APInt size;
  bool isNegative = sizeText.consume_front("-");
  if (sizeText.getAsInteger(10, size))
    return op->emitError() << "size of axis \"" << name
                           << "\" must be a number, got \""
                           << (isNegative ? "-" : "") << sizeText << "\"";
  if (isNegative || size.isZero())
    return op->emitError() << "size of axis \"" << name
                           << "\" must be at least 1, got "
                           << (isNegative ? "-" : "") << sizeText;
  if (size.ugt(kMaxRanks))
    return op->emitError() << "size of axis \"" << name << "\" must be at most "
                           << kMaxRanks << ", got " << sizeText;
  axes.push_back({name, static_cast<int64_t>(size.getZExtValue())});
  return success();
}

/// Parses "dp_shard:2,cp:4"; the empty text is a mesh without axes.
FailureOr<SmallVector<MeshAxis>> parseMesh(Operation *op, StringRef text) {
  SmallVector<MeshAxis> axes;
  if (text.empty())
    return axes;
  SmallVector<StringRef> pieces;
  text.split(pieces, ',');
  int64_t numRanks = 1;
  for (StringRef piece : pieces) {
    if (failed(parseAxis(op, piece, axes)))
      return failure();
    numRanks *= axes.back().size;
    if (numRanks > kMaxRanks)
      return op->emitError() << "'mesh' must have at most " << kMaxRanks
                             << " ranks, got \"" << text << "\"";
  }
  return axes;
}

bool hasAxes(MeshOp mesh, ArrayRef<MeshAxis> axes) {
  auto names = mesh.getAxisNames().getAsRange<StringAttr>();
  return mesh.getAxisNames().size() == axes.size() &&
         llvm::all_of(llvm::zip(names, mesh.getAxisSizes(), axes),
                      [](const auto &entry) {
                        auto [name, size, axis] = entry;
                        return name.getValue() == axis.name &&
                               size == axis.size;
                      });
}

/// The axes as the option writes them: "dp_shard:2,cp:4".
std::string formatMesh(MeshOp mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      llvm::zip(mesh.getAxisNames().getAsRange<StringAttr>(),
                mesh.getAxisSizes()),
      os,
      [&](const auto &axis) {
        os << std::get<0>(axis).getValue() << ":" << std::get<1>(axis);
      },
      ",");
  return text;
}

struct DeclareMesh : impl::DeclareMeshPassBase<DeclareMesh> {
  using DeclareMeshPassBase::DeclareMeshPassBase;

  void runOnOperation() override {
    auto axes = parseMesh(getOperation(), mesh);
    if (failed(axes))
      return signalPassFailure();
    if (Operation *existing =
            SymbolTable::lookupSymbolIn(getOperation(), kMeshName)) {
      if (failed(checkExisting(existing, *axes)))
        signalPassFailure();
      return;
    }
    declare(*axes);
  }

private:
  /// Without a mesh in the option, the declared one holds.
  LogicalResult checkExisting(Operation *existing, ArrayRef<MeshAxis> axes) {
    auto declared = dyn_cast<MeshOp>(existing);
    if (!declared)
      return existing->emitError()
             << "symbol @" << kMeshName << " must be a dsv4.mesh, got '"
             << existing->getName() << "'";
    if (mesh.empty() || hasAxes(declared, axes))
      return success();
    return declared.emitOpError()
           << "declares \"" << formatMesh(declared)
           << "\", which differs from 'mesh', got \"" << mesh << "\"";
  }

  void declare(ArrayRef<MeshAxis> axes) {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (const MeshAxis &axis : axes) {
      names.push_back(axis.name);
      sizes.push_back(axis.size);
    }
    MeshOp::create(builder, getOperation().getLoc(), kMeshName,
                   builder.getStrArrayAttr(names), sizes);
  }
};

} // namespace
} // namespace mlir::dsv4
