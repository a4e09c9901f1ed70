//===- Gradients.h - reductions of gradients on their way ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_SCHEDULE_GRADIENTS_H
#define DSV4_PASSES_SCHEDULE_GRADIENTS_H

#include "ScheduleBuilder.h"

namespace mlir::dsv4 {

/// The gradients of one unit in the form of its flat buffers.
struct PackedGradients {
  GradReduceScatterOp op;
  SmallVector<Value> flats;
};

/// Puts the gradients of a unit into flat buffers, inside the run of the block
/// that computes the last of them. The operation moves out of the way.
PackedGradients packGradients(GradReduceScatterOp op);

/// Starts each reduction behind the run that packs it and waits one block later;
/// what is reduced behind the same run travels together.
LogicalResult reduceGradients(ArrayRef<PackedGradients> gradients, Runs &runs,
                              Launches &launches);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_SCHEDULE_GRADIENTS_H
