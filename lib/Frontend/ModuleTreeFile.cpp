//===- ModuleTreeFile.cpp - module trees as JSON --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ModuleTreeFile.h"

#include "dsv4/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::dsv4;
namespace json = llvm::json;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr llvm::StringLiteral kDtypes[] = {
    "f64", "f32", "f16", "bf16", "f8", "i1", "i8", "i16", "i32", "i64"};

static Error makeError(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

class TreeReader {
public:
  /// Nodes nest as deep as the JSON does, which its parser limits.
  Expected<unsigned> readNode(const json::Value &value, StringRef path);

  FsdpModuleTree tree;

private:
  Error readTensors(unsigned module, const json::Object &node);
  Error readTensor(unsigned module, const json::Value &value);
  Error readTensorObject(const json::Object &object, StringRef path,
                         FsdpTensor &tensor);
  Error readChildren(unsigned module, const json::Object &node);

  llvm::StringMap<unsigned> moduleById, tensorById;
  llvm::StringSet<> openIds; ///< of the nodes being read
};

} // namespace

static std::string joinPath(StringRef path, StringRef name) {
  return path.empty() ? name.str() : (path + "." + name).str();
}

static std::string describeModule(StringRef path) {
  return path.empty() ? "the root module" : ("module \"" + path + "\"").str();
}

static Error checkName(StringRef path, StringRef name) {
  if (!name.empty() && !name.contains('.'))
    return Error::success();
  return makeError(describeModule(path) +
                   ": names must not be empty nor contain '.', got \"" + name +
                   "\"");
}

Expected<unsigned> TreeReader::readNode(const json::Value &value,
                                        StringRef path) {
  const json::Object *node = value.getAsObject();
  if (!node)
    return makeError(describeModule(path) + " must be an object, got " +
                     describeJson(value));
  auto className = node->getString("class");
  if (!className)
    return makeError(describeModule(path) + " needs a string 'class'");
  std::string id = node->getString("id").value_or("").str();
  if (id.empty())
    id = path.empty() ? "<root>" : path.str();
  if (openIds.contains(id))
    return makeError(describeModule(path) + " contains itself as \"" + id +
                     "\", expected a tree");
  auto [it, isNew] = moduleById.try_emplace(id, tree.modules.size());
  if (!isNew)
    return it->second;
  unsigned index = it->second;
  openIds.insert(id);
  FsdpTreeModule &module = tree.modules.emplace_back();
  module.id = id;
  module.path = path.str();
  module.className = className->str();
  module.configModelType =
      node->getString("config_model_type").value_or("").str();
  if (Error error = readTensors(index, *node))
    return std::move(error);
  if (Error error = readChildren(index, *node))
    return std::move(error);
  openIds.erase(id);
  return index;
}

Error TreeReader::readTensors(unsigned module, const json::Object &node) {
  const json::Value *params = node.get("params");
  if (!params)
    return Error::success();
  const json::Array *array = params->getAsArray();
  if (!array)
    return makeError(describeModule(tree.modules[module].path) +
                     ": 'params' must be an array, got " +
                     describeJson(*params));
  for (const json::Value &value : *array)
    if (Error error = readTensor(module, value))
      return error;
  return Error::success();
}

/// Everything but the name.
Error TreeReader::readTensorObject(const json::Object &object, StringRef path,
                                   FsdpTensor &tensor) {
  tensor.dtype = object.getString("dtype").value_or("").str();
  tensor.id = object.getString("id").value_or("").str();
  for (auto [key, flag] : {std::pair("trainable", &tensor.isTrainable),
                           std::pair("buffer", &tensor.isBuffer)}) {
    const json::Value *value = object.get(key);
    if (!value)
      continue;
    if (!value->getAsBoolean())
      return makeError("tensor \"" + path + "\": '" + key +
                       "' must be true or false, got " + describeJson(*value));
    *flag = *value->getAsBoolean();
  }
  const json::Value *shape = object.get("shape");
  if (!shape || shape->kind() == json::Value::Null)
    return Error::success();
  tensor.shape.emplace();
  const json::Array *sizes = shape->getAsArray();
  if (!sizes)
    return makeError("tensor \"" + path + "\": 'shape' must be an array, got " +
                     describeJson(*shape));
  for (const json::Value &size : *sizes) {
    if (!size.getAsInteger() || *size.getAsInteger() < 0)
      return makeError("tensor \"" + path +
                       "\": sizes must be integers of at least 0, got " +
                       describeJson(size));
    tensor.shape->push_back(*size.getAsInteger());
  }
  return Error::success();
}

Error TreeReader::readTensor(unsigned module, const json::Value &value) {
  std::string modulePath = tree.modules[module].path, name;
  FsdpTensor tensor;
  if (const json::Array *array = value.getAsArray()) {
    if (array->size() != 3 ||
        !llvm::all_of(*array, [](const auto &v) { return v.getAsString(); }))
      return makeError(describeModule(modulePath) +
                       ": a tensor must be an object or [name, dtype, id], "
                       "got " + describeJson(value));
    name = (*array)[0].getAsString()->str();
    tensor.dtype = (*array)[1].getAsString()->str();
    tensor.id = (*array)[2].getAsString()->str();
  } else if (const json::Object *object = value.getAsObject()) {
    name = object->getString("name").value_or("").str();
    if (Error error = readTensorObject(*object, joinPath(modulePath, name), tensor))
      return error;
  } else {
    return makeError(describeModule(modulePath) +
                     ": a tensor must be an object or [name, dtype, id], got " +
                     describeJson(value));
  }
  if (Error error = checkName(modulePath, name))
    return error;
  tensor.path = joinPath(modulePath, name);
  if (!llvm::is_contained(kDtypes, tensor.dtype))
    return makeError("tensor \"" + tensor.path +
                     "\": 'dtype' must be one of f64, f32, f16, bf16, f8, i1, "
                     "i8, i16, i32, i64, got \"" + tensor.dtype + "\"");
  if (tensor.id.empty())
    tensor.id = tensor.path;
  auto [it, isNew] = tensorById.try_emplace(tensor.id, tree.tensors.size());
  tree.modules[module].tensors.push_back({name, it->second});
  if (isNew)
    tree.tensors.push_back(std::move(tensor));
  return Error::success();
}

Error TreeReader::readChildren(unsigned module, const json::Object &node) {
  const json::Value *children = node.get("children");
  if (!children)
    return Error::success();
  std::string path = tree.modules[module].path;
  const json::Array *array = children->getAsArray();
  if (!array)
    return makeError(describeModule(path) +
                     ": 'children' must be an array, got " +
                     describeJson(*children));
  llvm::StringSet<> names;
  for (const json::Value &value : *array) {
    const json::Array *pair = value.getAsArray();
    if (!pair || pair->size() != 2 || !(*pair)[0].getAsString())
      return makeError(describeModule(path) +
                       ": a child must be [name, module], got " +
                       describeJson(value));
    StringRef name = *(*pair)[0].getAsString();
    if (Error error = checkName(path, name))
      return error;
    if (!names.insert(name).second)
      return makeError(describeModule(path) + " has two children \"" + name +
                       "\", expected names that differ");
    Expected<unsigned> child = readNode((*pair)[1], joinPath(path, name));
    if (!child)
      return child.takeError();
    tree.modules[module].children.push_back({name.str(), *child});
  }
  return Error::success();
}

Expected<FsdpModuleTree>
mlir::dsv4::readModuleTree(const json::Value &value) {
  TreeReader reader;
  const json::Array *array = value.getAsArray();
  for (size_t i = 0, e = array ? array->size() : 1; i < e; ++i) {
    const json::Value &node = array ? (*array)[i] : value;
    // Several roots stand where their ids say.
    StringRef path;
    if (const json::Object *object = array ? node.getAsObject() : nullptr)
      path = object->getString("id").value_or("");
    Expected<unsigned> root = reader.readNode(node, path);
    if (!root)
      return root.takeError();
    reader.tree.roots.push_back(*root);
  }
  return std::move(reader.tree);
}

Expected<FsdpModuleTree>
mlir::dsv4::readModuleTreeFile(StringRef filename) {
  auto buffer = llvm::MemoryBuffer::getFile(filename, /*IsText=*/true);
  if (!buffer)
    return makeError(filename + ": " + buffer.getError().message());
  auto object = parseJsonObject((*buffer)->getBuffer(), filename);
  if (!object)
    return object.takeError();
  auto tree = readModuleTree(json::Value(std::move(*object)));
  if (!tree)
    return makeError(filename + ": " + llvm::toString(tree.takeError()));
  return tree;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static json::Value toJson(const std::optional<std::string> &dtype) {
  return dtype ? json::Value(*dtype) : json::Value(nullptr);
}

static json::Value toJson(const FsdpReshard &reshard) {
  switch (reshard.kind) {
  case FsdpReshard::Unset:
    return "unset";
  case FsdpReshard::None:
    return nullptr;
  case FsdpReshard::False:
    return false;
  case FsdpReshard::True:
    return true;
  case FsdpReshard::Ranks:
    return reshard.ranks;
  }
  llvm_unreachable("unknown kind of reshard");
}

json::Array mlir::dsv4::getPlanJson(const FsdpModuleTree &tree,
                                    const FsdpPartition &partition) {
  auto getIds = [&](llvm::ArrayRef<unsigned> tensors) {
    json::Array ids;
    for (unsigned tensor : tensors)
      ids.push_back(tree.tensors[tensor].id);
    return ids;
  };
  json::Array units;
  for (const FsdpPlannedUnit &unit : partition.getUnits()) {
    json::Object object;
    json::Array modules;
    for (unsigned root : unit.roots)
      modules.push_back(tree.modules[root].id);
    object["modules"] = std::move(modules);
    object["policy"] = nullptr;
    if (unit.policy)
      object["policy"] = json::Object{{"param", toJson(unit.policy->param)},
                                      {"reduce", toJson(unit.policy->reduce)},
                                      {"output", toJson(unit.policy->output)},
                                      {"cast_inputs", unit.policy->castInputs}};
    object["reshard_after_forward"] = toJson(unit.reshard);
    object["ignored"] = nullptr;
    if (unit.ignored) {
      // Sets: by name.
      std::vector<std::string> ids;
      for (unsigned tensor : *unit.ignored)
        ids.push_back(tree.tensors[tensor].id);
      llvm::sort(ids);
      object["ignored"] = json::Array(ids);
    }
    object["params"] = getIds(unit.tensors);
    units.push_back(std::move(object));
  }
  return units;
}
