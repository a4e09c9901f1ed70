//===- SafeTensors.h - Named tensors in a file ------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batches, parameters and results travel in safetensors files:
//
//   u64 n, little endian | n bytes of JSON | data
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// The reader trusts nothing: a file it accepts describes every byte of its data
// exactly once. The writer puts wide elements first, so that each tensor is
// aligned to its element size although holes are not allowed.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_SUPPORT_SAFETENSORS_H
#define DSV4_SUPPORT_SAFETENSORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dsv4 {

enum class TensorType { F64, F32, F16, BF16, I64, I32, I8, U8, Bool };

/// "F64", "BF16", "BOOL", ...
llvm::StringRef getTensorTypeName(TensorType type);
std::optional<TensorType> findTensorType(llvm::StringRef name);
/// Bytes of one element.
uint64_t getTensorTypeSize(TensorType type);

/// Bytes of a tensor, or none if a dimension is negative or the number exceeds
/// 2^63 - 1. A shape without dimensions is a scalar.
std::optional<uint64_t> findTensorByteSize(TensorType type,
                                           llvm::ArrayRef<int64_t> shape);

/// One tensor of an open file. `data` points into the file's mapping and may be
/// unaligned when another program wrote the file.
struct TensorRef {
  std::string name;
  TensorType type;
  std::vector<int64_t> shape;
  llvm::ArrayRef<char> data;

  uint64_t getNumElements() const {
    return data.size() / getTensorTypeSize(type);
  }
};

/// A read-only file. Movable; tensors stay valid as long as it lives.
class SafeTensorsFile {
public:
  static llvm::Expected<SafeTensorsFile> open(llvm::StringRef path);

  /// As `open`, from memory; messages name the buffer's identifier.
  static llvm::Expected<SafeTensorsFile>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// The tensors in the order of their data.
  llvm::ArrayRef<TensorRef> getTensors() const { return tensors; }

  /// The entries of "__metadata__".
  const std::map<std::string, std::string> &getMetadata() const {
    return metadata;
  }

  /// Null if there is no such tensor.
  const TensorRef *find(llvm::StringRef name) const;

  /// The tensor, or an error that names the file and the tensor.
  llvm::Expected<const TensorRef *> get(llvm::StringRef name) const;

  /// As above, and an error if it has another type or shape.
  llvm::Expected<const TensorRef *> get(llvm::StringRef name, TensorType type,
                                        llvm::ArrayRef<int64_t> shape) const;

  /// The elements of a floating-point tensor, widened exactly.
  llvm::Expected<std::vector<double>> readFloats(llvm::StringRef name) const;

  /// The elements of an integer or boolean tensor.
  llvm::Expected<std::vector<int64_t>> readIntegers(llvm::StringRef name) const;

  llvm::StringRef getFilename() const { return buffer->getBufferIdentifier(); }

private:
  SafeTensorsFile() = default;

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<TensorRef> tensors;
  std::map<std::string, std::string> metadata;
  llvm::StringMap<unsigned> indices;
};

/// Writes one file. Tensors are declared first; then their bytes are appended,
/// in any number of pieces and any order of tensors, so that a tensor need not
/// fit in memory. The bytes of the file depend on declarations and data only.
/// The file appears under its name in `finish`; a writer that is dropped
/// before leaves nothing.
///
///   SafeTensorsWriter writer("out.safetensors");
///   writer.declare("loss", TensorType::F64, {});       // each returns an
///   Error writer.append("loss", bytes); writer.finish();
class SafeTensorsWriter {
public:
  explicit SafeTensorsWriter(llvm::StringRef path);
  SafeTensorsWriter(SafeTensorsWriter &&);
  ~SafeTensorsWriter();

  /// Not after the first `append`.
  llvm::Error declare(llvm::StringRef name, TensorType type,
                      llvm::ArrayRef<int64_t> shape);
  llvm::Error setMetadata(llvm::StringRef key, llvm::StringRef value);

  /// Appends to the bytes of tensor `name`, which are row-major.
  llvm::Error append(llvm::StringRef name, llvm::ArrayRef<char> bytes);

  /// Refuses tensors with missing bytes.
  llvm::Error finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Writes `tensors` at once.
llvm::Error
writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorRef> tensors,
                 const std::map<std::string, std::string> &metadata = {});

/// The bytes of an array of numbers, as `TensorRef::data` and `append` take
/// them.
template <typename T>
llvm::ArrayRef<char> asBytes(llvm::ArrayRef<T> values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

} // namespace mlir::dsv4

#endif // DSV4_SUPPORT_SAFETENSORS_H
