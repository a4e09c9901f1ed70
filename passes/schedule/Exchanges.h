//===- Exchanges.h - halos and prefixes as messages ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_SCHEDULE_EXCHANGES_H
#define DSV4_PASSES_SCHEDULE_EXCHANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dsv4 {

/// Replaces every seq_halo, seq_halo_add, seq_prefix and seq_prefix_add by
/// started messages. Halos of one block and group travel in one message per
/// neighbour where what they send can be computed before the first is needed.
LogicalResult scheduleExchanges(func::FuncOp func);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_SCHEDULE_EXCHANGES_H
