//===- replay-fsdp.cpp - Replay vector files through the planner ----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   replay-fsdp [--default] FILE...
//
// Plans the units of every case of files in the format of
// test/data/fsdp_vectors.json and prints, for each that differs from what is
// expected, expected and got per unit; then "N passed, M failed". Exit status 1
// if any failed. Vectors describe the reference implementation: the options
// that keep its behaviour are set, plans are not verified, and the mesh has
// 8 ranks. With --default none of that holds, and expected is
// "expect_default": units as in "expect", or the first refusal as a text.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Frontend/ModuleTreeFile.h"
#include "dsv4/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::dsv4;
namespace json = llvm::json;
using llvm::StringRef;

namespace {

struct Totals {
  int passed = 0;
  int failed = 0;
};

std::optional<std::string> getDtype(const json::Object &policy, StringRef key) {
  if (auto text = policy.getString(key))
    return text->str();
  return std::nullopt;
}

FsdpReshard getReshard(const json::Value *value) {
  if (!value || value->getAsString() == StringRef("unset"))
    return {FsdpReshard::Unset};
  if (auto flag = value->getAsBoolean())
    return {*flag ? FsdpReshard::True : FsdpReshard::False};
  if (auto ranks = value->getAsInteger())
    return {FsdpReshard::Ranks, *ranks};
  return {FsdpReshard::None};
}

/// Indices of the named objects; unknown names are an error text.
template <typename Objects>
std::string findIds(const json::Array &ids, const Objects &objects,
                    std::vector<unsigned> &indices) {
  llvm::StringMap<unsigned> byId;
  for (auto [i, object] : llvm::enumerate(objects))
    byId.try_emplace(object.id, i);
  for (const json::Value &id : ids) {
    auto it = byId.find(id.getAsString().value_or(""));
    if (it == byId.end())
      return llvm::formatv("unknown id {0}", id);
    indices.push_back(it->second);
  }
  return "";
}

std::string getRequest(const json::Object &inputs, const FsdpModuleTree &tree,
                       bool isDefault, FsdpRequest &request) {
  if (const json::Object *policy = inputs.getObject("policy"))
    request.policy = FsdpPolicy{getDtype(*policy, "param"),
                                getDtype(*policy, "reduce"),
                                getDtype(*policy, "output"),
                                policy->getBoolean("cast_inputs").value_or(true)};
  request.reshard = getReshard(inputs.get("reshard"));
  request.mesh = {8};
  request.referenceRawPaths = !isDefault;
  request.referenceFirstPath = !isDefault;
  request.referenceWrappedClass = !isDefault;
  bool isGroup = inputs.get("module")->getAsArray();
  FsdpCall &call = request.calls.emplace_back();
  call.isGroup = isGroup;
  call.modules.assign(tree.roots.begin(), tree.roots.end());
  if (const json::Array *ignored = inputs.getArray("ignored"))
    if (std::string problem =
            findIds(*ignored, tree.tensors, request.ignored.emplace());
        !problem.empty())
      return problem;
  if (const json::Array *wrapped = inputs.getArray("wrapped"))
    return findIds(*wrapped, tree.modules, request.wrapped);
  return "";
}

using Differences = std::vector<std::string>;

Differences compareUnits(const json::Value &expected, const json::Value &got) {
  if (expected == got)
    return {};
  const json::Array *wanted = expected.getAsArray();
  const json::Array *units = got.getAsArray();
  if (!wanted || !units)
    return {llvm::formatv("expected {0}", expected),
            llvm::formatv("got      {0}", got)};
  Differences differences;
  for (size_t i = 0; i < std::max(wanted->size(), units->size()); ++i) {
    json::Value none = nullptr;
    const json::Value &want = i < wanted->size() ? (*wanted)[i] : none;
    const json::Value &unit = i < units->size() ? (*units)[i] : none;
    if (want == unit)
      continue;
    differences.push_back(llvm::formatv("unit {0} expected {1}", i, want));
    differences.push_back(llvm::formatv("unit {0} got      {1}", i, unit));
  }
  return differences;
}

Differences replayCase(const json::Object &test, bool isDefault) {
  const json::Object *inputs = test.getObject("inputs");
  const json::Value *expected =
      test.get(isDefault ? "expect_default" : "expect");
  if (!inputs || !expected || !inputs->get("module"))
    return {"needs 'inputs' with 'module', and what to expect"};
  auto tree = readModuleTree(*inputs->get("module"));
  if (!tree)
    return {llvm::toString(tree.takeError())};
  FsdpRequest request;
  if (std::string problem = getRequest(*inputs, *tree, isDefault, request);
      !problem.empty())
    return {problem};
  FsdpPartition partition = FsdpPartition::compute(*tree, request);
  if (isDefault)
    if (std::vector<FsdpRefusal> refusals = partition.verify();
        !refusals.empty())
      return compareUnits(*expected, refusals.front().code + ": " +
                                         refusals.front().text);
  return compareUnits(*expected, getPlanJson(*tree, partition));
}

void failFile(StringRef path, const llvm::Twine &what, Totals &totals) {
  llvm::outs() << "FAIL " << path << ": " << what << "\n";
  ++totals.failed;
}

void replayFile(StringRef path, bool isDefault, Totals &totals) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return failFile(path, "cannot be read", totals);
  auto document = parseJsonObject((*buffer)->getBuffer(), path);
  if (!document)
    return failFile(path, llvm::toString(document.takeError()), totals);
  const json::Array *cases = document->getArray("cases");
  if (!cases)
    return failFile(path, "has no array 'cases'", totals);
  for (const json::Value &value : *cases) {
    const json::Object *test = value.getAsObject();
    if (!test) {
      failFile(path, "a case is no object", totals);
      continue;
    }
    if (isDefault && !test->get("expect_default"))
      continue;
    Differences differences = replayCase(*test, isDefault);
    ++(differences.empty() ? totals.passed : totals.failed);
    if (!differences.empty())
      llvm::outs() << "FAIL " << path << ": "
                   << test->getString("name").value_or("") << "\n";
    for (const std::string &difference : differences)
      llvm::outs() << "  " << difference << "\n";
  }
}

} // namespace

int main(int argc, char **argv) {
  llvm::ArrayRef<char *> files(argv + 1, argv + argc);
  bool isDefault = !files.empty() && StringRef(files.front()) == "--default";
  if (isDefault)
    files = files.drop_front();
  if (files.empty()) {
    llvm::errs() << "usage: replay-fsdp [--default] FILE...\n";
    return 2;
  }
  Totals totals;
  for (StringRef file : files)
    replayFile(file, isDefault, totals);
  llvm::outs() << totals.passed << " passed, " << totals.failed << " failed\n";
  return totals.failed ? 1 : 0;
}
