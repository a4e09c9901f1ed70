//===- Results.h - What a run computed --------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_RESULTS_H
#define DSV4_EXECUTION_RESULTS_H

#include "dsv4/Execution/Program.h"
#include "dsv4/Support/SafeTensors.h"

#include <optional>

namespace mlir::dsv4 {

/// A result over all ranks, in the caller's order and without padding.
struct ResultTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<int64_t> shape;
  std::vector<char> data;

  TensorRef getRef() const { return {name, type, shape, data}; }
  uint64_t getNumElements() const {
    return data.size() / getTensorTypeSize(type);
  }
  /// Element `index`, integers included.
  double getValue(uint64_t index) const;
};

/// Null if there is no such result.
const ResultTensor *findResult(llvm::ArrayRef<ResultTensor> results,
                               llvm::StringRef name);

/// Element `index` of a tensor, integers included.
double getTensorValue(const TensorRef &tensor, uint64_t index);

/// Flat index of the first NaN.
std::optional<uint64_t> findNaN(const TensorRef &tensor);

/// "[1, 3]" for a flat index into `shape`.
std::string formatPosition(llvm::ArrayRef<int64_t> shape, uint64_t index);

/// How two results of equal shape differ.
struct Difference {
  double maxAbs = 0.0;
  /// Equal in every bit.
  bool isBitwise = true;
  /// Where a NaN stands on one side only, `maxAbs` is infinite.
};

/// None if shapes differ. The types may differ; values are compared then.
std::optional<Difference> compareTensors(const TensorRef &lhs,
                                         const TensorRef &rhs);

/// Whether a result of a run on several ranks agrees with that of one rank:
/// scalars and gradients are sums over ranks and may differ by 1e-12 (f64) of
/// their size, in narrower types scalars by 1e-6 and gradients by 1e-4;
/// everything else must be equal in every bit.
bool isRankCountInvariant(const ResultTensor &oneRank, const Difference &diff);

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_RESULTS_H
