//===- Sources.cpp - Where parameters come from ---------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Sources.h"

#include "Problems.h"

#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"

#include <cstring>

using namespace mlir::dsv4;

std::optional<TensorType> mlir::dsv4::findFileType(uint32_t dtype) {
  switch (dtype) {
  case DSV4RT_F64:
    return TensorType::F64;
  case DSV4RT_F32:
    return TensorType::F32;
  case DSV4RT_F16:
    return TensorType::F16;
  case DSV4RT_BF16:
    return TensorType::BF16;
  case DSV4RT_I64:
    return TensorType::I64;
  case DSV4RT_I32:
    return TensorType::I32;
  case DSV4RT_I8:
    return TensorType::I8;
  case DSV4RT_U8:
    return TensorType::U8;
  case DSV4RT_I1:
    return TensorType::Bool;
  default:
    return std::nullopt;
  }
}

std::string mlir::dsv4::formatShape(llvm::ArrayRef<int64_t> shape) {
  return llvm::formatv("[{0}]", llvm::interleaved(shape)).str();
}

//===----------------------------------------------------------------------===//
// Seeded numbers
//===----------------------------------------------------------------------===//

/// The number of experts that a routing table names, 0 for another tensor or
/// if the program does not tell.
static int64_t findNumExperts(const Program &program, llvm::StringRef name) {
  std::optional<std::string> router = findRouterOfTable(name);
  if (!router)
    return 0;
  auto found = program.parameters.find(*router);
  if (found == program.parameters.end() || found->second.shape.empty())
    return 0;
  return found->second.shape.front();
}

llvm::Expected<ParameterSource>
ParameterSource::createFromNames(const Program &program) {
  ParameterSource source;
  Problems problems;
  for (const auto &[name, tensor] : program.parameters) {
    std::optional<SeedRule> rule =
        getSeedRule(name, tensor.shape, findNumExperts(program, name));
    bool fits = rule && (rule->numExperts ? tensor.dtype == DSV4RT_I64
                                          : tensor.dtype == DSV4RT_F64 ||
                                                tensor.dtype == DSV4RT_F32 ||
                                                tensor.dtype == DSV4RT_BF16);
    if (fits)
      source.entries[name] = {tensor.dtype, *rule, nullptr};
    else
      problems.add("no rule fills parameter '" + name.str() + "' of " +
                   dsv4rt_dtype_name(tensor.dtype) + " " +
                   formatShape(tensor.shape) + " by its name");
  }
  if (problems)
    return problems.takeError();
  return std::move(source);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// What is wrong with `tensor` as a parameter; empty if nothing.
static std::string findMismatch(const TensorRef &tensor,
                                const ProgramTensor &expected) {
  std::optional<TensorType> type = findFileType(expected.dtype);
  if (type != tensor.type)
    return "has type " + getTensorTypeName(tensor.type).str() + ", expected " +
           (type ? getTensorTypeName(*type).str() : "another");
  if (tensor.shape != expected.shape)
    return "has shape " + formatShape(tensor.shape) + ", expected " +
           formatShape(expected.shape);
  return "";
}

std::string ParameterSource::addTensor(const Program &program,
                                       const TensorRef &tensor) {
  auto expected = program.parameters.find(tensor.name);
  if (expected == program.parameters.end())
    return "is no parameter of the program";
  Entry entry{expected->second.dtype, SeedRule(), &tensor};
  if (!entries.try_emplace(tensor.name, entry).second)
    return "is in another file too";
  return findMismatch(tensor, expected->second);
}

llvm::Expected<ParameterSource>
ParameterSource::open(const Program &program,
                      llvm::ArrayRef<std::string> paths) {
  ParameterSource source;
  Problems problems;
  for (const std::string &path : paths) {
    llvm::Expected<SafeTensorsFile> file = SafeTensorsFile::open(path);
    if (!file)
      return file.takeError();
    source.files.push_back(std::make_unique<SafeTensorsFile>(std::move(*file)));
    for (const TensorRef &tensor : source.files.back()->getTensors()) {
      std::string mismatch = source.addTensor(program, tensor);
      if (!mismatch.empty())
        problems.add(path + ": tensor '" + tensor.name + "' " + mismatch);
    }
  }
  for (const auto &[name, tensor] : program.parameters)
    if (!source.entries.contains(name))
      problems.add("parameter '" + name.str() + "' is in none of the files");
  if (problems)
    return problems.takeError();
  return std::move(source);
}

const TensorRef *ParameterSource::findTensor(llvm::StringRef name) const {
  return entries.lookup(name).tensor;
}

template <typename T>
static void fillSeeded(llvm::StringRef name, const SeedRule &rule,
                       uint64_t begin, uint64_t count, void *out) {
  llvm::MutableArrayRef<T> elements(static_cast<T *>(out), count);
  if constexpr (std::is_same_v<T, int64_t>)
    fillTokenToExpert(rule.numExperts, begin, elements);
  else
    fillUniform(name, rule.scale, rule.shift, begin, elements);
}

void ParameterSource::read(llvm::StringRef name, uint64_t begin, uint64_t count,
                           void *out) const {
  const Entry &entry = entries.find(name)->second;
  if (entry.tensor) {
    uint64_t width = getTensorTypeSize(entry.tensor->type);
    std::memcpy(out, entry.tensor->data.data() + begin * width, count * width);
    return;
  }
  switch (entry.dtype) {
  case DSV4RT_F64:
    return fillSeeded<double>(name, entry.rule, begin, count, out);
  case DSV4RT_F32:
    return fillSeeded<float>(name, entry.rule, begin, count, out);
  case DSV4RT_BF16:
    return fillSeeded<uint16_t>(name, entry.rule, begin, count, out);
  default:
    return fillSeeded<int64_t>(name, entry.rule, begin, count, out);
  }
}

/// A megabyte at a time, since a parameter may be larger than memory.
llvm::Error ParameterSource::save(const Program &program,
                                  llvm::StringRef path) const {
  constexpr uint64_t kChunk = uint64_t(1) << 20;
  SafeTensorsWriter writer(path);
  for (const auto &[name, tensor] : program.parameters)
    if (llvm::Error error =
            writer.declare(name, *findFileType(tensor.dtype), tensor.shape))
      return error;
  std::vector<char> chunk;
  for (const auto &[name, tensor] : program.parameters) {
    uint64_t width = dsv4rt_dtype_size(tensor.dtype);
    uint64_t count = 1;
    for (int64_t size : tensor.shape)
      count *= size;
    for (uint64_t begin = 0; begin < count; begin += kChunk / width) {
      uint64_t length = std::min(kChunk / width, count - begin);
      chunk.resize(length * width);
      read(name, begin, length, chunk.data());
      if (llvm::Error error = writer.append(name, chunk))
        return error;
    }
  }
  return writer.finish();
}
