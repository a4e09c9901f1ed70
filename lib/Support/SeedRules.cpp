//===- SeedRules.cpp - How test data fills a parameter --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SeedRules.h"

#include <cmath>

using namespace mlir::dsv4;

static constexpr llvm::StringLiteral kTableSuffix = ".gate.tid2eid";

std::optional<std::string> mlir::dsv4::findRouterOfTable(llvm::StringRef name) {
  if (!name.consume_back(kTableSuffix))
    return std::nullopt;
  return name.str() + ".gate.weight";
}

/// Uniform numbers of variance 1 / fanIn.
static std::optional<SeedRule> getMatrixRule(int64_t fanIn) {
  if (fanIn <= 0)
    return std::nullopt;
  return SeedRule{std::sqrt(3.0 / static_cast<double>(fanIn)), 0.0};
}

std::optional<SeedRule> mlir::dsv4::getSeedRule(llvm::StringRef name,
                                                llvm::ArrayRef<int64_t> shape,
                                                int64_t numExperts) {
  if (name.ends_with(kTableSuffix))
    return numExperts > 0 ? std::optional(SeedRule{0.0, 0.0, numExperts})
                          : std::nullopt;
  if (name.ends_with("norm.weight") || name.ends_with(".scale") ||
      name.ends_with(".hc_scale"))
    return SeedRule{0.2, 1.0};
  if (name.ends_with("sinks_param.weight") ||
      name.ends_with("embed_tokens.weight"))
    return SeedRule{1.0, 0.0};
  if (name.ends_with("ape_param.weight") || name.ends_with(".base") ||
      name.ends_with(".hc_base"))
    return SeedRule{0.5, 0.0};
  if (name.ends_with(".e_score_correction_bias"))
    return SeedRule{0.1, 0.0};
  if (shape.size() < 2)
    return std::nullopt;
  // Stacks of experts are [expert, in, out], all other matrices [out, in].
  return getMatrixRule(name.contains(".experts.") ? shape[shape.size() - 2]
                                                  : shape.back());
}
