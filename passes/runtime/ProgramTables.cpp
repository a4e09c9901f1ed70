//===- ProgramTables.cpp - what the runtime must know ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramTables.h"
#include "dsv4/Analysis/ArenaPlan.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Lanes 0 and 1 are compute and copies; each group has a lane of its own.
static constexpr int64_t kFirstGroupLane = 2;

/// The text that error messages name a site by: the module path.
static StringAttr getSiteText(Operation *op) {
  if (auto path = op->getAttrOfType<StringAttr>(kPathAttr))
    return path;
  if (auto unit = op->getAttrOfType<FlatSymbolRefAttr>("unit"))
    return unit.getAttr();
  return StringAttr::get(op->getContext(), "main");
}

FailureOr<ProgramTables> ProgramTables::create(func::FuncOp entry) {
  ProgramTables tables;
  for (auto mesh : entry->getParentOfType<mlir::ModuleOp>().getOps<MeshOp>()) {
    if (tables.mesh)
      return mesh.emitOpError() << "is a second mesh, expected one";
    tables.mesh = mesh;
  }
  if (!tables.mesh)
    return entry.emitOpError() << "needs a dsv4.mesh in its module";
  tables.axisNames = tables.mesh.getAxisNames();
  tables.axisSizes = tables.mesh.getAxisSizesAttr();
  tables.workBytes = entry->getAttrOfType<IntegerAttr>(kWorkBytesAttr);
  tables.workBound = entry->getAttrOfType<IntegerAttr>(kWorkBoundAttr);
  tables.workBuffers = entry->getAttrOfType<DenseI64ArrayAttr>(kWorkBuffersAttr);
  unsigned last = entry.getNumArguments();
  if (!tables.workBytes || !tables.workBound || !tables.workBuffers ||
      last == 0 || !entry.getArgAttr(last - 1, kWorkAttr))
    return entry.emitOpError() << "has no work arena: run -dsv4-plan-arena first";
  if (failed(tables.addArguments(entry)))
    return failure();
  return tables;
}

/// Kind and name of an argument; an empty kind if it carries no role.
static std::pair<StringRef, Attribute> getRole(DictionaryAttr attributes) {
  static constexpr std::pair<StringLiteral, StringLiteral> roles[] = {
      {kBatchAttr, "batch"},
      {kBufferAttr, "buffer"},
      {kShardAttr, "shard"},
      {kParamAttr, "param"},
      {kResultAttr, "result"}};
  if (attributes)
    for (auto [name, kind] : roles)
      if (Attribute value = attributes.get(name))
        return {kind, value};
  return {};
}

/// Where the buffer behind `begin` ends, aligned; nothing beyond 2^62 bytes.
static std::optional<int64_t> findEnd(int64_t begin, MemRefType type) {
  constexpr int64_t limit = int64_t(1) << 62;
  if (llvm::is_contained(type.getShape(), 0))
    return begin;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > limit)
      return std::nullopt;
  int64_t end = begin + llvm::alignTo(bytes, kArenaAlignment);
  return end <= limit ? std::optional(end) : std::nullopt;
}

LogicalResult ProgramTables::addArguments(func::FuncOp entry) {
  Builder builder(entry.getContext());
  for (unsigned i = 0; i + 1 < entry.getNumArguments(); ++i) {
    auto type = dyn_cast<MemRefType>(entry.getArgumentTypes()[i]);
    auto [kind, value] = getRole(entry.getArgAttrDict(i));
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return entry.emitOpError() << "argument " << i << " must be a static buffer";
    if (!type.getElementType().isIntOrFloat())
      return entry.emitOpError() << "argument " << i
                                 << " must hold integers or floats, got " << type;
    if (kind.empty())
      return entry.emitOpError()
             << "argument " << i << " has no role, expected one of '" << kBatchAttr
             << "', '" << kBufferAttr << "', '" << kShardAttr << "', '" << kParamAttr
             << "', '" << kResultAttr << "'";
    auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
    NamedAttrList dict;
    dict.set("kind", builder.getStringAttr(kind));
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value))
      value = symbol.getAttr();
    Attribute unitName = value;
    // A result with the segments of a shard.
    bool isGradient = kind == "shard" && entry.getArgAttr(i, kResultAttr);
    if (isGradient) {
      dict.set("kind", builder.getStringAttr("gradient"));
      value = builder.getStringAttr("grad/" + cast<StringAttr>(value).getValue());
    }
    dict.set("name", value);
    dict.set("offset", builder.getI64IntegerAttr(stateBytes));
    dict.set("type", TypeAttr::get(tensor));
    for (StringRef name : {kLayoutAttr, kGlobalTypeAttr, kBufferIndexAttr})
      if (Attribute attribute = entry.getArgAttr(i, name))
        dict.set(name.drop_front(strlen("dsv4.")), attribute);
    if (kind == "shard") {
      auto unit = SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(
          entry, cast<StringAttr>(unitName));
      auto index = entry.getArgAttrOfType<IntegerAttr>(i, kBufferIndexAttr);
      if (!unit || !unit.getBuffersAttr() || !index || index.getInt() < 0 ||
          index.getInt() >= static_cast<int64_t>(unit.getBuffersAttr().size()))
        return entry.emitOpError() << "argument " << i
                                   << " must be a flat buffer of a unit";
      auto buffer = cast<DictionaryAttr>(unit.getBuffersAttr()[index.getInt()]);
      dict.set("axes", unit.getAxesAttr());
      for (NamedAttribute attribute : buffer)
        if (!isGradient || attribute.getName() != "dtype")
          dict.set(attribute.getName(), attribute.getValue());
    }
    arguments.push_back(dict.getDictionary(entry.getContext()));
    offsets.push_back(stateBytes);
    std::optional<int64_t> end = findEnd(stateBytes, type);
    if (!end)
      return entry.emitOpError() << "argument " << i
                                 << " brings the state to more than 2^62 bytes, got "
                                 << type;
    stateBytes = *end;
  }
  return success();
}

unsigned ProgramTables::getGroup(ArrayAttr axes) {
  auto [it, isNew] = groupOfAxes.try_emplace(axes, groups.size());
  if (!isNew)
    return it->second;
  Builder builder(axes.getContext());
  int64_t mask = 0;
  SmallVector<StringRef> names;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    mask |= int64_t(1) << mesh.getAxisIndex(axis).value_or(0);
    names.push_back(axis.getValue());
  }
  groups.push_back(builder.getDictionaryAttr({
      builder.getNamedAttr("axis_mask", builder.getI64IntegerAttr(mask)),
      builder.getNamedAttr("lane", builder.getI64IntegerAttr(
                                       kFirstGroupLane + it->second)),
      builder.getNamedAttr("name", builder.getStringAttr(llvm::join(names, ","))),
  }));
  return it->second;
}

unsigned ProgramTables::addSite(Operation *op, StringRef kind,
                                StringRef collectiveClass, StringRef reduction,
                                Type element, int64_t count, ArrayAttr axes) {
  Builder builder(op->getContext());
  unsigned group = getGroup(axes);
  sites.push_back(builder.getDictionaryAttr({
      builder.getNamedAttr("class", builder.getStringAttr(collectiveClass)),
      builder.getNamedAttr("count", builder.getI64IntegerAttr(count)),
      builder.getNamedAttr("dtype", TypeAttr::get(element)),
      builder.getNamedAttr("group", builder.getI64IntegerAttr(group)),
      builder.getNamedAttr("location", getSiteText(op)),
      builder.getNamedAttr("op", builder.getStringAttr(kind)),
      builder.getNamedAttr("redop", builder.getStringAttr(reduction)),
  }));
  groupOfSite.push_back(group);
  return sites.size() - 1;
}

int64_t ProgramTables::getLane(unsigned site) const {
  return kFirstGroupLane + groupOfSite[site];
}

void ProgramTables::writeTo(mlir::ModuleOp module) const {
  Builder builder(module.getContext());
  module->setAttr("dsv4.axis_names", axisNames);
  module->setAttr("dsv4.axis_sizes", axisSizes);
  module->setAttr("dsv4.groups", builder.getArrayAttr(groups));
  module->setAttr("dsv4.sites", builder.getArrayAttr(sites));
  module->setAttr("dsv4.arguments", builder.getArrayAttr(arguments));
  module->setAttr("dsv4.state_bytes", builder.getI64IntegerAttr(stateBytes));
  module->setAttr(kWorkBuffersAttr, workBuffers);
  module->setAttr(kWorkBytesAttr, workBytes);
  module->setAttr(kWorkBoundAttr, workBound);
}
