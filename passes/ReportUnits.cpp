//===- ReportUnits.cpp - print the bytes of every FSDP unit ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each unit costs, from its symbol and the declarations of its
// parameters: arguments of the model's function, or tensors of a module tree.
//
//   unit    stored  gathered  reduced  padding  gather reduce  alive ...
//   total
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FlatBuffers.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/Analysis/ModuleTreeIR.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_REPORTUNITSPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// A declaration; the type is null where the shape is not known.
struct Declaration {
  RankedTensorType type;
  bool isFrozen = false;
};

using Declarations = llvm::StringMap<Declaration>;

struct UnitBytes {
  int64_t stored = 0, gathered = 0, reduced = 0, padding = 0;

  void operator+=(const UnitBytes &other) {
    stored += other.stored;
    gathered += other.gathered;
    reduced += other.reduced;
    padding += other.padding;
  }
};

struct UnitLine {
  FsdpUnitOp unit;
  UnitBytes bytes;
  /// When the gathered parameters exist.
  StringRef alive;
};

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

FailureOr<Declarations> collectDeclarations(mlir::ModuleOp module) {
  Declarations declarations;
  if (isModuleTree(module)) {
    auto tree = readModuleTree(module);
    if (failed(tree))
      return failure();
    for (const FsdpTensor &tensor : tree->tensors) {
      RankedTensorType type;
      if (tensor.shape)
        type = RankedTensorType::get(
            *tensor.shape, getDtypeType(module.getContext(), tensor.dtype));
      declarations[tensor.path] = {type, !tensor.isTrainable};
      declarations[getCanonicalPath(tensor.path)] = {type,
                                                     !tensor.isTrainable};
    }
    return declarations;
  }
  auto function = findModelFunction(module);
  if (failed(function))
    return failure();
  if (*function)
    for (const ModelParameter &parameter : getParameters(*function))
      declarations[parameter.name.getValue()] = {
          dyn_cast<RankedTensorType>(parameter.type), parameter.isFrozen};
  return declarations;
}

int64_t getNumRanks(mlir::ModuleOp module, FsdpUnitOp unit) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
      module, unit.getMeshAttr());
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    if (llvm::is_contained(unit.getAxes(), axis))
      ranks *= size;
  return ranks;
}

int64_t getBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// As the reference means it: an open rule is true, except for the root.
StringRef getAlive(FsdpUnitOp unit, bool isLast) {
  bool isKept = isLast;
  if (std::optional<bool> reshard = unit.getReshardAfterForward())
    isKept = !*reshard;
  return isKept ? "first use to last backward use"
                : "forward uses; backward uses";
}

FailureOr<UnitBytes> computeBytes(FsdpUnitOp unit, int64_t numRanks,
                                  const Declarations &declarations) {
  UnitBytes bytes;
  SmallVector<FlatParameter> flat;
  for (StringAttr name : unit.getParams().getAsRange<StringAttr>()) {
    auto it = declarations.find(name.getValue());
    if (it == declarations.end())
      return unit.emitOpError() << "has parameter " << name
                                << ", which is declared nowhere";
    const Declaration &declaration = it->second;
    if (!declaration.type || !declaration.type.hasStaticShape())
      return unit.emitOpError()
             << "has parameter " << name
             << " without a shape, expected one to count bytes; give it "
                "'shape' in the module tree";
    Type stored = declaration.type.getElementType();
    Type gathered =
        unit->hasAttr(kAsStoredAttr) ? stored : unit.getGatherDtype();
    int64_t count = declaration.type.getNumElements();
    bytes.stored += count * getBytes(stored);
    bytes.gathered += count * getBytes(gathered);
    if (!declaration.isFrozen)
      bytes.reduced += count * getBytes(unit.getReduceDtype());
    flat.push_back({name, declaration.type, declaration.isFrozen});
  }
  auto buffers = computeFlatBuffers(
      flat, numRanks, [&](unsigned) { return unit.emitOpError(); });
  if (failed(buffers))
    return failure();
  bytes.padding = computeFlatBytes(*buffers).padding;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void printText(ArrayRef<UnitLine> lines, const UnitBytes &total,
               raw_ostream &os) {
  auto row = [&](StringRef name, const UnitBytes &bytes) {
    os << llvm::formatv("{0,-10} {1,14} {2,14} {3,14} {4,12}", name,
                        bytes.stored, bytes.gathered, bytes.reduced,
                        bytes.padding);
  };
  os << llvm::formatv("{0,-10} {1,14} {2,14} {3,14} {4,12}", "unit", "stored",
                      "gathered", "reduced", "padding")
     << "  gather reduce  alive, roots\n";
  for (const UnitLine &line : lines) {
    FsdpUnitOp unit = line.unit;
    row(unit.getSymName(), line.bytes);
    os << "  " << unit.getGatherDtype() << " " << unit.getReduceDtype() << "  "
       << line.alive << ", ";
    llvm::interleaveComma(unit.getRoots().getAsRange<StringAttr>(), os,
                          [&](StringAttr root) { os << root; });
    os << "\n";
  }
  row("total", total);
  os << "\n";
}

llvm::json::Object toJson(const UnitBytes &bytes) {
  return llvm::json::Object{{"stored", bytes.stored},
          {"gathered", bytes.gathered},
          {"reduced", bytes.reduced},
          {"padding", bytes.padding}};
}

void printJson(ArrayRef<UnitLine> lines, const UnitBytes &total,
               raw_ostream &os) {
  llvm::json::Array units;
  for (const UnitLine &line : lines) {
    FsdpUnitOp unit = line.unit;
    llvm::json::Object object = toJson(line.bytes);
    llvm::json::Array roots;
    for (StringAttr root : unit.getRoots().getAsRange<StringAttr>())
      roots.push_back(root.getValue());
    object["unit"] = unit.getSymName();
    object["roots"] = std::move(roots);
    object["gather"] = debugString(unit.getGatherDtype());
    object["reduce"] = debugString(unit.getReduceDtype());
    object["alive"] = line.alive;
    units.push_back(std::move(object));
  }
  llvm::json::Value document = llvm::json::Object{
      {"units", std::move(units)}, {"total", toJson(total)}};
  os << llvm::formatv("{0:2}", document) << "\n";
}

struct ReportUnits : impl::ReportUnitsPassBase<ReportUnits> {
  using ReportUnitsPassBase::ReportUnitsPassBase;

  void runOnOperation() override {
    if (failed(report(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult report(mlir::ModuleOp module) {
    if (format != "text" && format != "json")
      return module.emitError()
             << "'format' must be \"text\" or \"json\", got \"" << format
             << "\"";
    auto declarations = collectDeclarations(module);
    if (failed(declarations))
      return failure();
    SmallVector<UnitLine> lines;
    UnitBytes total;
    auto units = llvm::to_vector(module.getOps<FsdpUnitOp>());
    for (auto [i, unit] : llvm::enumerate(units)) {
      auto bytes =
          computeBytes(unit, getNumRanks(module, unit), *declarations);
      if (failed(bytes))
        return failure();
      total += *bytes;
      lines.push_back({unit, *bytes, getAlive(unit, i + 1 == units.size())});
    }
    return write(module, lines, total);
  }

  LogicalResult write(mlir::ModuleOp module, ArrayRef<UnitLine> lines,
                      const UnitBytes &total) {
    auto print = format == "json" ? printJson : printText;
    if (output == "-") {
      print(lines, total, llvm::errs());
      return success();
    }
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file)
      return module.emitError() << message;
    print(lines, total, file->os());
    file->keep();
    return success();
  }
};

} // namespace
} // namespace mlir::dsv4
