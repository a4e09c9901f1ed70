//===- ProgramReader.h - From module attributes to plain data ---*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_EXECUTION_PROGRAMREADER_H
#define DSV4_LIB_EXECUTION_PROGRAMREADER_H

#include "dsv4/Execution/Program.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::dsv4 {

/// An entry of a table, or the module's own attributes, with its name for
/// messages.
struct Entry {
  DictionaryAttr dict;
  std::string place;
};

class ProgramReader {
public:
  explicit ProgramReader(mlir::ModuleOp module) : module(module) {}
  FailureOr<Program> read();

private:
  InFlightDiagnostic fail(const Entry &entry) {
    return module.emitError() << entry.place;
  }
  template <typename AttrT>
  FailureOr<AttrT> get(const Entry &entry, StringRef key, StringRef what);
  FailureOr<std::string> getString(const Entry &entry, StringRef key);
  FailureOr<int64_t> getInteger(const Entry &entry, StringRef key,
                                int64_t limit);
  FailureOr<uint32_t> getElementType(const Entry &entry, Type type);
  FailureOr<uint32_t> getCode(const Entry &entry, StringRef key,
                              ArrayRef<std::pair<StringRef, uint32_t>> codes);
  FailureOr<std::vector<unsigned>> getAxes(const Entry &entry, Attribute list);
  LogicalResult forEachEntry(StringRef key,
                             function_ref<LogicalResult(const Entry &)> read);

  LogicalResult readMesh();
  LogicalResult readWorkBuffers();
  LogicalResult readGroup(const Entry &entry);
  LogicalResult readSite(const Entry &entry);
  LogicalResult readArgument(const Entry &entry);
  LogicalResult readDims(const Entry &entry, ProgramArgument &argument);
  LogicalResult readShard(const Entry &entry, ProgramArgument &argument);
  LogicalResult readSegment(const Entry &entry, Attribute attribute,
                            int64_t total, ProgramArgument &argument);
  LogicalResult collectParameters();
  void computeHash();

  mlir::ModuleOp module;
  Entry root;
  Program program;
};

template <typename AttrT>
FailureOr<AttrT> ProgramReader::get(const Entry &entry, StringRef key,
                                    StringRef what) {
  Attribute attribute = entry.dict.get(key);
  if (auto typed = dyn_cast_or_null<AttrT>(attribute))
    return typed;
  InFlightDiagnostic diagnostic = fail(entry);
  diagnostic << "'" << key << "' must be " << what << ", got ";
  if (attribute)
    diagnostic << attribute;
  else
    diagnostic << "nothing";
  return failure();
}

} // namespace mlir::dsv4

#endif // DSV4_LIB_EXECUTION_PROGRAMREADER_H
