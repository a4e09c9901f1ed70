//===- Results.cpp - What a run computed ----------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Results.h"

#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir::dsv4;

template <typename T>
static T loadElement(const TensorRef &tensor, uint64_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

static double getHalf(uint16_t bits) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

double mlir::dsv4::getTensorValue(const TensorRef &tensor, uint64_t index) {
  switch (tensor.type) {
  case TensorType::F64:
    return loadElement<double>(tensor, index);
  case TensorType::F32:
    return loadElement<float>(tensor, index);
  case TensorType::BF16:
    return extendBF16(loadElement<uint16_t>(tensor, index));
  case TensorType::F16:
    return getHalf(loadElement<uint16_t>(tensor, index));
  case TensorType::I64:
    return static_cast<double>(loadElement<int64_t>(tensor, index));
  case TensorType::I32:
    return loadElement<int32_t>(tensor, index);
  case TensorType::I8:
    return loadElement<int8_t>(tensor, index);
  case TensorType::U8:
  case TensorType::Bool:
    return loadElement<uint8_t>(tensor, index);
  }
  return 0.0;
}

double ResultTensor::getValue(uint64_t index) const {
  return getTensorValue(getRef(), index);
}

const ResultTensor *mlir::dsv4::findResult(llvm::ArrayRef<ResultTensor> results,
                                           llvm::StringRef name) {
  const auto *found = llvm::find_if(
      results, [&](const ResultTensor &result) { return result.name == name; });
  return found == results.end() ? nullptr : found;
}

std::optional<uint64_t> mlir::dsv4::findNaN(const TensorRef &tensor) {
  for (uint64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    if (std::isnan(getTensorValue(tensor, i)))
      return i;
  return std::nullopt;
}

std::string mlir::dsv4::formatPosition(llvm::ArrayRef<int64_t> shape,
                                       uint64_t index) {
  std::string text;
  for (int64_t size : llvm::reverse(shape)) {
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

std::optional<Difference> mlir::dsv4::compareTensors(const TensorRef &lhs,
                                                     const TensorRef &rhs) {
  if (lhs.shape != rhs.shape)
    return std::nullopt;
  Difference diff;
  if (lhs.type == rhs.type && lhs.data == rhs.data) {
    return diff;
  }
  diff.isBitwise = false;
  for (uint64_t i = 0, e = lhs.getNumElements(); i < e; ++i) {
    double a = getTensorValue(lhs, i), b = getTensorValue(rhs, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double distance = std::abs(a - b);
    diff.maxAbs =
        std::max(diff.maxAbs, std::isnan(distance)
                                  ? std::numeric_limits<double>::infinity()
                                  : distance);
  }
  return diff;
}

bool mlir::dsv4::isRankCountInvariant(const ResultTensor &oneRank,
                                      const Difference &diff) {
  if (diff.isBitwise)
    return true;
  // Sums over ranks; the size of a gradient is that of its largest entry.
  bool isGradient = llvm::StringRef(oneRank.name).starts_with("grad/");
  if (!oneRank.shape.empty() && !isGradient)
    return false;
  double size = isGradient ? 0.0 : 1.0;
  double narrow = isGradient ? 1e-4 : 1e-6;
  for (uint64_t i = 0, e = oneRank.getNumElements(); i < e; ++i)
    size = std::max(size, std::abs(oneRank.getValue(i)));
  return diff.maxAbs <= (oneRank.type == TensorType::F64 ? 1e-12 : narrow) * size;
}
