//===- Dsv4MeshOps.cpp - mesh and rank coordinates ---===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dsv4;

/// ranks are numbered with 32-bit integers and meshes beyond this are typing
/// errors.
static constexpr int64_t kMaxRanks = 65536;

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

/// mesh-axes ::= `[` (string `=` integer (`,` string `=` integer)*)? `]`
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &names,
                                 DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> nameList;
  SmallVector<int64_t> sizeList;
  auto parseAxis = [&]() -> ParseResult {
    StringAttr name;
    int64_t size;
    if (parser.parseAttribute(name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    nameList.push_back(name);
    sizeList.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseAxis))
    return failure();
  names = parser.getBuilder().getArrayAttr(nameList);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(sizeList);
  return success();
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr names,
                          DenseI64ArrayAttr sizes) {
  printer << "[";
  llvm::interleaveComma(llvm::zip(names, sizes.asArrayRef()), printer,
                        [&](auto axis) {
                          printer << std::get<0>(axis) << " = "
                                  << std::get<1>(axis);
                        });
  printer << "]";
}

LogicalResult MeshOp::verify() {
  ArrayRef<int64_t> sizes = getAxisSizes();
  if (getAxisNames().size() != sizes.size()) // (C1)
    return emitOpError() << "has " << getAxisNames().size() << " names but "
                         << sizes.size() << " sizes";
  llvm::StringSet<> seen;
  int64_t ranks = 1;
  for (auto [attr, size] : llvm::zip(getAxisNames(), sizes)) {
    StringRef name = cast<StringAttr>(attr).getValue();
    if (size < 1) // (C2)
      return emitOpError() << "size of axis \"" << name
                           << "\" must be at least 1, got " << size;
    if (name.empty()) // (C3)
      return emitOpError() << "axis names must not be empty";
    if (!seen.insert(name).second)
      return emitOpError() << "axis \"" << name << "\" is declared twice";
    if (name != "replicate" && name != "dp_shard" && name != "cp") // (C5)
      return emitOpError() << "axis must be one of \"replicate\", \"dp_shard\", "
                              "\"cp\", got \""
                           << name << "\"";
    if (size > kMaxRanks || (ranks *= size) > kMaxRanks) // (C4)
      return emitOpError() << "must have at most " << kMaxRanks << " ranks";
  }
  return success();
}

std::optional<unsigned> MeshOp::getAxisIndex(StringRef axis) {
  for (auto [i, name] : llvm::enumerate(getAxisNames().getAsRange<StringAttr>()))
    if (name.getValue() == axis)
      return i;
  return std::nullopt;
}

std::optional<int64_t> MeshOp::getAxisSize(StringRef axis) {
  if (std::optional<unsigned> index = getAxisIndex(axis))
    return getAxisSizes()[*index];
  return std::nullopt;
}

int64_t MeshOp::getNumRanks() {
  int64_t ranks = 1;
  for (int64_t size : getAxisSizes())
    ranks *= size;
  return ranks;
}

//===----------------------------------------------------------------------===//
// AxisIndexOp
//===----------------------------------------------------------------------===//

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return computeGroupSize(*this, getMeshAttr(), getAxesAttr(), symbols);
}

// The definitions of all operations stand here, next to the custom directives
// that they use.
#define GET_OP_CLASSES
#include "dsv4/IR/Dsv4Enums.cpp.inc"
#include "dsv4/IR/Dsv4Ops.cpp.inc"
