//===- Sources.h - Where batch and parameters come from ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source is opened once and checked against the program as a whole, so that a
// run either has everything or does not begin. Ranks then read from it at the
// same time.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_SOURCES_H
#define DSV4_EXECUTION_SOURCES_H

#include "dsv4/Execution/Program.h"
#include "dsv4/Support/SafeTensors.h"
#include "dsv4/Support/SeedRules.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>

namespace mlir::dsv4 {

/// The type of a file for an element type of the runtime; none for unsigned
/// integers wider than a byte and for 8-bit floats.
std::optional<TensorType> findFileType(uint32_t dtype);

/// "[2, 64]".
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// Parameters and buffers by name.
class ParameterSource {
public:
  /// Numbers computed from the names; an error names the parameters whose
  /// meaning is unknown.
  static llvm::Expected<ParameterSource>
  createFromNames(const Program &program);

  /// Exactly the program's tensors, spread over any number of files. The error
  /// lists missing, unknown and repeated names, wrong shapes and types, a line
  /// each.
  static llvm::Expected<ParameterSource>
  open(const Program &program, llvm::ArrayRef<std::string> paths);

  /// Writes elements [begin, begin + count) of tensor `name` to `out`.
  void read(llvm::StringRef name, uint64_t begin, uint64_t count,
            void *out) const;

  /// Writes all of them, global, to one file.
  llvm::Error save(const Program &program, llvm::StringRef path) const;

  /// The tensor of the file that backs a parameter, or null.
  const TensorRef *findTensor(llvm::StringRef name) const;

private:
  struct Entry {
    uint32_t dtype = 0;
    SeedRule rule;
    const TensorRef *tensor = nullptr;
  };

  /// What is wrong with the tensor; empty if nothing.
  std::string addTensor(const Program &program, const TensorRef &tensor);

  std::vector<std::unique_ptr<SafeTensorsFile>> files;
  llvm::StringMap<Entry> entries;
};

/// The batch by name, global.
class BatchSource {
public:
  /// All fields of the program. Files may hold more; of two fields of one name
  /// the first counts. Token ids, labels and expert ids out of range are errors
  /// that give the position. With `fromNames`, token ids and labels that are in
  /// no file are the name-seeded ones.
  static llvm::Expected<BatchSource> open(const Program &program,
                                          llvm::ArrayRef<std::string> paths,
                                          bool fromNames = false);

  /// The bytes of a field, possibly unaligned.
  llvm::ArrayRef<char> getData(llvm::StringRef name) const {
    return fields.lookup(name)->data;
  }

private:
  struct Seeded;

  void createSeeded(const Program &program);
  /// The tensor and where it comes from; null if there is none.
  std::pair<const TensorRef *, llvm::StringRef>
  findTensor(llvm::StringRef name) const;

  std::vector<std::unique_ptr<SafeTensorsFile>> files;
  std::shared_ptr<const Seeded> seeded;
  llvm::StringMap<const TensorRef *> fields;
};

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_SOURCES_H
