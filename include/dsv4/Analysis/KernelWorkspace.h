//===- KernelWorkspace.h - scratch memory of kernels -----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some operations need scratch memory when they become loops: transposed keys,
// scores of one query. Its size depends on the operation alone, so the buffer
// can be planned before the loops exist. A kernel that needs one has it as its
// last argument, a memref<Nxi8> marked `dsv4.workspace`.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_KERNELWORKSPACE_H
#define DSV4_ANALYSIS_KERNELWORKSPACE_H

#include "mlir/IR/Operation.h"

namespace mlir::dsv4 {

/// Marks the argument of a kernel that is its workspace.
inline constexpr StringLiteral kWorkspaceAttr = "dsv4.workspace";

/// One array of the workspace.
struct WorkspacePart {
  Type element;
  int64_t size;
  /// Its first byte, a multiple of 64.
  int64_t offset;
};

/// The arrays that an operation on memrefs needs, in the order in which its
/// loops expect them; empty for most.
SmallVector<WorkspacePart> getWorkspaceParts(Operation *op);

/// No machine has as much: sizes that do not fit 64 bits count as this.
inline constexpr int64_t kMaxWorkspaceBytes = int64_t(1) << 62;

/// Bytes of workspace of an operation on memrefs; 0 for most.
int64_t getWorkspaceBytes(Operation *op);

/// Queries whose keys are transposed at once, and the slots scored at once.
inline constexpr int64_t kQueryBlock = 128;
inline constexpr int64_t kSlotChunk = 32;

/// Rounds up to whole chunks of slots.
inline int64_t padSlots(int64_t slots) {
  return (slots + kSlotChunk - 1) / kSlotChunk * kSlotChunk;
}

/// Heads that share each load of a key.
inline constexpr int64_t kHeadGroup = 4;

/// Matrices that sinkhorn treats side by side.
inline constexpr int64_t kMatrixLanes = 16;

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_KERNELWORKSPACE_H
