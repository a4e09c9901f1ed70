//===- ParameterInventory.h - All parameters of a model ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_FRONTEND_PARAMETERINVENTORY_H
#define DSV4_FRONTEND_PARAMETERINVENTORY_H

#include "dsv4/Frontend/ModelConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dsv4 {

/// Element type in training.
enum class ParameterType { BF16, F32, I64 };

/// "bf16", "f32", "i64".
llvm::StringRef getParameterTypeName(ParameterType type);
/// Bytes of one element: 2, 4, 8.
int64_t getParameterTypeSize(ParameterType type);

/// How name-seeded test data fills a parameter.
enum class SeedKind {
  Uniform,       // scale * (2u - 1) + shift
  TokenToExpert, // the routing table of a hash layer
};

struct ParameterSpec {
  /// Path in the module tree, e.g. "model.layers.0.self_attn.wq_a.weight".
  std::string name;
  llvm::SmallVector<int64_t, 3> shape;
  ParameterType type = ParameterType::BF16;
  /// Layer of the main model, or -1 (top level, multi-token prediction).
  int64_t layer = -1;
  /// Part of the state, but no parameter of a unit: routing bias, routing
  /// table.
  bool isBuffer = false;
  /// Has no gradient: indexer and buffers.
  bool isFrozen = false;
  /// Weights of the routed experts.
  bool isRoutedExpert = false;

  SeedKind seedKind = SeedKind::Uniform;
  double seedScale = 0.0;
  double seedShift = 0.0;
  int64_t seedNumExperts = 0; // TokenToExpert only

  int64_t getNumElements() const;
  int64_t getNumBytes() const {
    return getNumElements() * getParameterTypeSize(type);
  }
};

/// Parameters and buffers of the main model in the order in which the module
/// tree registers them.
std::vector<ParameterSpec> buildParameterInventory(const ModelConfig &config);

/// Those of one block of multi-token prediction, "mtp.layers.<index>.*": a
/// window block with score routing plus its projections, norms and stream head.
std::vector<ParameterSpec> buildMtpParameterInventory(const ModelConfig &config,
                                                      int64_t index = 0);

/// Element counts over the parameters; buffers count in `numBufferElements`
/// alone.
struct ParameterTotals {
  int64_t numElements = 0;
  int64_t numBytes = 0;
  int64_t numF32Elements = 0;
  int64_t numBF16Elements = 0; // routed experts included
  int64_t numRoutedExpertElements = 0;
  int64_t numFrozenElements = 0;
  int64_t numFrozenF32Elements = 0;
  int64_t numBufferElements = 0;
};

ParameterTotals computeTotals(llvm::ArrayRef<ParameterSpec> parameters);
/// Over the parameters of one layer of the main model.
ParameterTotals computeLayerTotals(llvm::ArrayRef<ParameterSpec> parameters,
                                   int64_t layer);

/// Name-seeded elements [begin, begin + out.size()) of a floating-point
/// parameter, unrounded, as f32, or as the bits of bf16.
void fillParameter(const ParameterSpec &parameter, uint64_t begin,
                   llvm::MutableArrayRef<double> out);
void fillParameter(const ParameterSpec &parameter, uint64_t begin,
                   llvm::MutableArrayRef<float> out);
void fillParameter(const ParameterSpec &parameter, uint64_t begin,
                   llvm::MutableArrayRef<uint16_t> out);
/// The same of an integer table.
void fillParameter(const ParameterSpec &parameter, uint64_t begin,
                   llvm::MutableArrayRef<int64_t> out);

} // namespace mlir::dsv4

#endif // DSV4_FRONTEND_PARAMETERINVENTORY_H
