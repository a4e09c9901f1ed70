//===- BuildModel.h - The graph of a V4 model -------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the forward graph of a model with its loss, for one rank that holds
// the whole batch:
//
//   func.func @forward(%ids: tensor<BxSxi64> {dsv4.batch = "input_ids"},
//                      %labels: tensor<BxSxi64> {dsv4.batch = "labels"}, ...,
//                      %w: tensor<...> {dsv4.param = "model.embed..."}, ...)
//       -> (tensor<f32> {dsv4.result = "loss"},
//           tensor<BxSxVxf32> {dsv4.result = "logits"}, ...)
//
// Parameters and buffers follow the batch in the order of the inventory.
// `dsv4.module` regions mirror the module tree; all operations of a block are
// inside its region. Between blocks travel only the residual streams.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_FRONTEND_BUILDMODEL_H
#define DSV4_FRONTEND_BUILDMODEL_H

#include "dsv4/Frontend/ModelConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace mlir::dsv4 {

/// The type in which the graph computes.
enum class ElementType {
  F64,
  F32,
  /// bf16 activations, f32 islands, parameters of their training type.
  Mixed,
};

/// Where a mixed graph rounds to bf16. Without effect in the other types.
enum class Numerics {
  /// Rotary tables, routing weights, stream mixing, the sum of routed and
  /// shared experts and the logits stay in f32, each with at most one rounding.
  Fp32Islands,
  /// All of these round where the Automodel implementation does.
  Automodel,
};

/// What happens to the discrete choices, expert ids and selected windows.
enum class Choices {
  Free,
  /// They are results: "experts/LAYER" [B,S,k] and "selected/LAYER" [B,S,K].
  Emit,
  /// They are batch arguments of the same names, and nothing chooses.
  Impose,
};

struct BuildOptions {
  /// Rows and positions of the whole batch.
  int64_t batchSize = 1;
  int64_t seqLen = 1;
  ElementType elementType = ElementType::F32;
  Numerics numerics = Numerics::Fp32Islands;
  Choices choices = Choices::Free;
  /// Fields of the batch besides `input_ids` and `labels`.
  std::vector<std::string> batchFields;
};

/// Whether `buildModel` accepts these options; the error is one sentence.
llvm::Error checkBuildOptions(const ModelConfig &config,
                              const BuildOptions &options);

/// Sentences about what the caller may not expect of legal options.
std::vector<std::string> getBuildRemarks(const ModelConfig &config,
                                         const BuildOptions &options);

/// Null, with a diagnostic, if `checkBuildOptions` fails.
OwningOpRef<mlir::ModuleOp> buildModel(MLIRContext *context,
                                       const ModelConfig &config,
                                       const BuildOptions &options);

} // namespace mlir::dsv4

#endif // DSV4_FRONTEND_BUILDMODEL_H
