//===- BatchSource.cpp - Where the batch comes from -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "dsv4/Execution/Results.h"
#include "dsv4/Execution/Sources.h"
#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <limits>

using namespace mlir::dsv4;

namespace {

/// The legal values of a field: [low, high), and `other`.
struct ValueRange {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> other;

  bool contains(int64_t value) const {
    return (value >= low && value < high) || value == other;
  }
};

} // namespace

/// Size `dim` of the parameter whose name ends with `suffix`; none if there is
/// no such parameter.
static std::optional<int64_t> findSize(const Program &program,
                                       llvm::StringRef suffix, unsigned dim) {
  for (const auto &[name, tensor] : program.parameters)
    if (name.ends_with(suffix) && dim < tensor.shape.size())
      return tensor.shape[dim];
  return std::nullopt;
}

/// What the program indexes with a field, and what it therefore may hold; none
/// for a field of another meaning.
static std::optional<ValueRange> findRange(const Program &program,
                                           const ProgramArgument &field) {
  llvm::StringRef name = field.name;
  auto upTo = [](std::optional<int64_t> size) {
    return size.value_or(std::numeric_limits<int64_t>::max());
  };
  std::optional<int64_t> vocabulary =
      findSize(program, "embed_tokens.weight", 0);
  if (name == "input_ids")
    return ValueRange{0, upTo(vocabulary), std::nullopt};
  if (name == "labels")
    return ValueRange{0, upTo(vocabulary), kIgnoredLabel};
  if (name == "position_ids")
    return ValueRange{};
  if (name.consume_front("experts/")) {
    std::string router = (".layers." + name + ".mlp.gate.weight").str();
    return ValueRange{0, upTo(findSize(program, router, 0)), std::nullopt};
  }
  if (name.consume_front("selected/") && field.dims.size() > 1) {
    // One window per `ratio` positions; -1 for none.
    std::optional<int64_t> ratio = findSize(
        program,
        (".layers." + name + ".self_attn.compressor.ape_param.weight").str(),
        0);
    if (ratio && *ratio > 0)
      ratio = field.dims[1].global / *ratio;
    return ValueRange{0, upTo(ratio), -1};
  }
  return std::nullopt;
}

/// What is wrong with the values of a field; empty if nothing.
static std::string findIllegalValue(const Program &program,
                                    const ProgramArgument &field,
                                    const TensorRef &tensor) {
  std::optional<ValueRange> range = findRange(program, field);
  if (!range || tensor.type != TensorType::I64)
    return "";
  for (uint64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    int64_t value;
    std::memcpy(&value, tensor.data.data() + i * sizeof(value), sizeof(value));
    if (range->contains(value))
      continue;
    std::string legal = "in [" + std::to_string(range->low) + ", " +
                        std::to_string(range->high) + ")";
    if (range->other)
      legal += " or " + std::to_string(*range->other);
    return "has " + std::to_string(value) + " at " +
           formatPosition(tensor.shape, i) + ", expected a value " + legal;
  }
  return "";
}

static std::string findProblem(const Program &program,
                               const ProgramArgument &field,
                               const TensorRef &tensor) {
  std::optional<TensorType> type = findFileType(field.dtype);
  if (type != tensor.type)
    return "has type " + getTensorTypeName(tensor.type).str() + ", expected " +
           (type ? getTensorTypeName(*type).str() : "another");
  if (tensor.shape != field.getGlobalShape())
    return "has shape " + formatShape(tensor.shape) + ", expected " +
           formatShape(field.getGlobalShape());
  return findIllegalValue(program, field, tensor);
}

/// The name-seeded batch and its tensors.
struct BatchSource::Seeded {
  TokenBatch batch;
  TensorRef inputIds, labels;
};

/// Needs the shape of the batch and the size of the vocabulary.
void BatchSource::createSeeded(const Program &program) {
  auto ids = llvm::find_if(program.arguments, [](const auto &argument) {
    return argument.kind == ArgumentKind::Batch && argument.name == "input_ids";
  });
  std::optional<int64_t> vocabulary =
      findSize(program, "embed_tokens.weight", 0);
  if (ids == program.arguments.end() || ids->dims.size() != 2 ||
      vocabulary.value_or(0) < 1)
    return;
  std::vector<int64_t> shape = ids->getGlobalShape();
  auto created = std::make_shared<Seeded>();
  created->batch = computeTokenBatch(shape[0], shape[1], *vocabulary);
  created->inputIds = {"input_ids", TensorType::I64, shape,
                       asBytes(llvm::ArrayRef(created->batch.inputIds))};
  created->labels = {"labels", TensorType::I64, shape,
                     asBytes(llvm::ArrayRef(created->batch.labels))};
  seeded = std::move(created);
}

std::pair<const TensorRef *, llvm::StringRef>
BatchSource::findTensor(llvm::StringRef name) const {
  for (const auto &file : files)
    if (const TensorRef *tensor = file->find(name))
      return {tensor, file->getFilename()};
  if (seeded && name == "input_ids")
    return {&seeded->inputIds, "names"};
  if (seeded && name == "labels")
    return {&seeded->labels, "names"};
  return {nullptr, ""};
}

llvm::Expected<BatchSource> BatchSource::open(const Program &program,
                                              llvm::ArrayRef<std::string> paths,
                                              bool fromNames) {
  BatchSource source;
  for (const std::string &path : paths) {
    llvm::Expected<SafeTensorsFile> file = SafeTensorsFile::open(path);
    if (!file)
      return file.takeError();
    source.files.push_back(std::make_unique<SafeTensorsFile>(std::move(*file)));
  }
  if (fromNames)
    source.createSeeded(program);
  Problems problems;
  for (const ProgramArgument &field : program.arguments) {
    if (field.kind != ArgumentKind::Batch)
      continue;
    auto [tensor, place] = source.findTensor(field.name);
    std::string problem =
        tensor ? findProblem(program, field, *tensor) : std::string();
    if (!tensor)
      problems.add("batch field '" + field.name + "' of shape " +
                   formatShape(field.getGlobalShape()) +
                   " is in no file of the batch");
    else if (!problem.empty())
      problems.add((place + ": tensor '" + field.name + "' " + problem).str());
    source.fields[field.name] = tensor;
  }
  if (problems)
    return problems.takeError();
  return std::move(source);
}
