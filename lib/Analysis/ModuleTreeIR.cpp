//===- ModuleTreeIR.cpp - module trees as operations ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/ModuleTreeIR.h"

#include "dsv4/IR/Dsv4Ops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

Type dsv4::getDtypeType(MLIRContext *context, StringRef dtype) {
  Builder builder(context);
  Type type = llvm::StringSwitch<Type>(dtype)
                  .Case("f64", builder.getF64Type())
                  .Case("f32", builder.getF32Type())
                  .Case("f16", builder.getF16Type())
                  .Case("bf16", builder.getBF16Type())
                  .Case("f8", Float8E4M3FNType::get(context))
                  .Default(nullptr);
  unsigned width = 0;
  if (!type && dtype.consume_front("i") && !dtype.getAsInteger(10, width) &&
      width > 0 && width <= 64)
    type = builder.getIntegerType(width);
  return type;
}

static std::string getDtypeName(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return "i" + std::to_string(integer.getWidth());
  if (type.getIntOrFloatBitWidth() == 8)
    return "f8";
  if (isa<BFloat16Type>(type))
    return "bf16";
  return "f" + std::to_string(type.getIntOrFloatBitWidth());
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

namespace {

class TreeBuilder {
public:
  TreeBuilder(MLIRContext *context, const FsdpModuleTree &tree)
      : tree(tree), builder(context) {}

  OwningOpRef<mlir::ModuleOp> build() {
    OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(builder.getUnknownLoc());
    unsigned root = tree.roots.front();
    builder.setInsertionPointToEnd(module->getBody());
    (*module)->setAttr(kRootClassAttr,
                       builder.getStringAttr(tree.modules[root].className));
    fill(*module, root);
    return module;
  }

private:
  /// Nests as deep as the tree does.
  void fill(Operation *op, unsigned index);
  void addChild(StringRef path, unsigned index);
  DictionaryAttr getTensorAttr(StringRef modulePath, StringRef name,
                               const FsdpTensor &tensor);

  const FsdpModuleTree &tree;
  OpBuilder builder;
  llvm::DenseSet<unsigned> built;
};

} // namespace

static std::string joinPath(StringRef path, StringRef name) {
  return path.empty() ? name.str() : (path + "." + name).str();
}

DictionaryAttr TreeBuilder::getTensorAttr(StringRef modulePath, StringRef name,
                                          const FsdpTensor &tensor) {
  Type type = getDtypeType(builder.getContext(), tensor.dtype);
  if (tensor.shape)
    type = RankedTensorType::get(*tensor.shape, type);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("name", builder.getStringAttr(name)),
      builder.getNamedAttr("type", TypeAttr::get(type))};
  if (tensor.isBuffer)
    entries.push_back(builder.getNamedAttr("buffer", builder.getUnitAttr()));
  if (!tensor.isTrainable)
    entries.push_back(builder.getNamedAttr("frozen", builder.getUnitAttr()));
  if (tensor.path != joinPath(modulePath, name))
    entries.push_back(
        builder.getNamedAttr("same_as", builder.getStringAttr(tensor.path)));
  return builder.getDictionaryAttr(entries);
}

void TreeBuilder::fill(Operation *op, unsigned index) {
  built.insert(index);
  const FsdpTreeModule &module = tree.modules[index];
  if (!module.configModelType.empty())
    op->setAttr(kConfigTypeAttr, builder.getStringAttr(module.configModelType));
  SmallVector<Attribute> tensors;
  for (const auto &[name, tensor] : module.tensors)
    tensors.push_back(
        getTensorAttr(module.path, name, tree.tensors[tensor]));
  if (!tensors.empty())
    op->setAttr(kTensorsAttr, builder.getArrayAttr(tensors));
  for (const auto &[name, child] : module.children)
    addChild(joinPath(module.path, name), child);
}

void TreeBuilder::addChild(StringRef path, unsigned index) {
  const FsdpTreeModule &module = tree.modules[index];
  OpBuilder::InsertionGuard guard(builder);
  auto op = dsv4::ModuleOp::create(builder, builder.getUnknownLoc(),
                                   TypeRange(), path, module.className);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  if (built.contains(index))
    op->setAttr(kSameAsAttr, builder.getStringAttr(module.path));
  else
    fill(op, index);
  dsv4::YieldOp::create(builder, builder.getUnknownLoc());
}

OwningOpRef<mlir::ModuleOp>
dsv4::buildModuleTree(MLIRContext *context, const FsdpModuleTree &tree) {
  return TreeBuilder(context, tree).build();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

class IRReader {
public:
  LogicalResult readModule(Operation *op, Block *body, StringRef path,
                           StringRef className);

  FsdpModuleTree tree;

private:
  LogicalResult readTensors(Operation *op, unsigned module);
  LogicalResult readTensor(Operation *op, unsigned module, Attribute attr);

  llvm::StringMap<unsigned> moduleByPath, tensorByPath;
};

} // namespace

LogicalResult IRReader::readTensor(Operation *op, unsigned module,
                                   Attribute attr) {
  auto entry = dyn_cast<DictionaryAttr>(attr);
  auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
  auto type = entry ? entry.getAs<TypeAttr>("type") : TypeAttr();
  if (!name || !type)
    return op->emitError() << "an entry of '" << kTensorsAttr
                           << "' needs 'name' and 'type', got " << attr;
  std::string path = joinPath(tree.modules[module].path, name.getValue());
  if (auto sameAs = entry.getAs<StringAttr>("same_as")) {
    auto it = tensorByPath.find(sameAs.getValue());
    if (it == tensorByPath.end())
      return op->emitError() << "tensor \"" << path << "\" is the same as \""
                             << sameAs.getValue()
                             << "\", which must come before it";
    tree.modules[module].tensors.push_back({name.str(), it->second});
    return success();
  }
  Type elementType = getElementTypeOrSelf(type.getValue());
  auto tensorType = dyn_cast<RankedTensorType>(type.getValue());
  if (!elementType.isIntOrFloat() ||
      (tensorType && !tensorType.hasStaticShape()))
    return op->emitError() << "tensor \"" << path
                           << "\" must be an integer or float, or a tensor of "
                              "these with static shape, got "
                           << type.getValue();
  if (!tensorByPath.try_emplace(path, tree.tensors.size()).second)
    return op->emitError() << "tensor \"" << path << "\" is declared twice";
  tree.modules[module].tensors.push_back({name.str(), tree.tensors.size()});
  FsdpTensor &tensor = tree.tensors.emplace_back();
  tensor.id = tensor.path = path;
  tensor.dtype = getDtypeName(elementType);
  tensor.isBuffer = entry.contains("buffer");
  tensor.isTrainable = !entry.contains("frozen");
  if (tensorType)
    tensor.shape = llvm::to_vector<2>(tensorType.getShape());
  return success();
}

LogicalResult IRReader::readTensors(Operation *op, unsigned module) {
  Attribute attr = op->getAttr(kTensorsAttr);
  if (!attr)
    return success();
  auto tensors = dyn_cast<ArrayAttr>(attr);
  if (!tensors)
    return op->emitError() << "'" << kTensorsAttr
                           << "' must be an array of dictionaries, got "
                           << attr;
  for (Attribute tensor : tensors)
    if (failed(readTensor(op, module, tensor)))
      return failure();
  return success();
}

LogicalResult IRReader::readModule(Operation *op, Block *body, StringRef path,
                                   StringRef className) {
  unsigned index = tree.modules.size();
  if (!moduleByPath.try_emplace(path, index).second)
    return op->emitError() << "module \"" << path << "\" is declared twice";
  FsdpTreeModule &module = tree.modules.emplace_back();
  module.id = path.empty() ? "<root>" : path.str();
  module.path = path.str();
  module.className = className.str();
  if (auto config = op->getAttrOfType<StringAttr>(kConfigTypeAttr))
    module.configModelType = config.str();
  if (failed(readTensors(op, index)))
    return failure();
  for (auto child : body->getOps<dsv4::ModuleOp>()) {
    StringRef name = child.getPath();
    name.consume_front(path.empty() ? "" : joinPath(path, ""));
    unsigned childIndex = tree.modules.size();
    if (auto sameAs = child->getAttrOfType<StringAttr>(kSameAsAttr)) {
      auto it = moduleByPath.find(sameAs.getValue());
      if (it == moduleByPath.end() ||
          joinPath(child.getPath(), "").starts_with(joinPath(sameAs.getValue(), "")))
        return child.emitOpError() << "is the same as \"" << sameAs.getValue()
                                   << "\", which must come before it and not "
                                      "contain it";
      childIndex = it->second;
    } else if (failed(readModule(child, &child.getBody().front(),
                                 child.getPath(), child.getClassName()))) {
      return failure();
    }
    tree.modules[index].children.push_back({name.str(), childIndex});
  }
  return success();
}

FailureOr<FsdpModuleTree> dsv4::readModuleTree(mlir::ModuleOp module) {
  auto rootClass = module->getAttrOfType<StringAttr>(kRootClassAttr);
  if (!rootClass)
    return module.emitError() << "'" << kRootClassAttr
                              << "' must be the class of the root module";
  IRReader reader;
  if (failed(reader.readModule(module, module.getBody(), "",
                               rootClass.getValue())))
    return failure();
  reader.tree.roots = {0};
  return std::move(reader.tree);
}
