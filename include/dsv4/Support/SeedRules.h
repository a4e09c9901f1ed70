//===- SeedRules.h - How test data fills a parameter ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Name-seeded parameters need a scale and a shift besides the name. Both follow
// from what the parameter is, which its name and shape tell.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_SUPPORT_SEEDRULES_H
#define DSV4_SUPPORT_SEEDRULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::dsv4 {

/// Either uniform numbers, scale * (2u - 1) + shift, or, where `numExperts` is
/// not zero, the routing table of a hash layer.
struct SeedRule {
  double scale = 0.0;
  double shift = 0.0;
  int64_t numExperts = 0;

  bool operator==(const SeedRule &) const = default;
};

/// The parameter whose first dimension is the number of experts that the table
/// `name` routes to; none if `name` is no such table.
std::optional<std::string> findRouterOfTable(llvm::StringRef name);

/// The rule for a parameter or buffer; none for a vector of unknown meaning.
/// `numExperts` matters for routing tables only, which have no rule without it.
std::optional<SeedRule> getSeedRule(llvm::StringRef name,
                                    llvm::ArrayRef<int64_t> shape,
                                    int64_t numExperts = 0);

} // namespace mlir::dsv4

#endif // DSV4_SUPPORT_SEEDRULES_H
