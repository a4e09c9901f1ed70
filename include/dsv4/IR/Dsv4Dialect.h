//===- Dsv4Dialect.h - the dsv4 dialect ------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_IR_DSV4DIALECT_H
#define DSV4_IR_DSV4DIALECT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsv4/IR/Dsv4Dialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dsv4/IR/Dsv4Types.h.inc"

namespace mlir::dsv4 {

/// The order of collectives on this rank, as a side effect resource.
struct CommunicatorResource
    : public SideEffects::Resource::Base<CommunicatorResource> {
  StringRef getName() final { return "Communicator"; }
};

/// Names of discardable attributes; their meaning is in the dialect's
/// description.
inline constexpr StringLiteral kBatchAttr = "dsv4.batch";
inline constexpr StringLiteral kParamAttr = "dsv4.param";
inline constexpr StringLiteral kBufferAttr = "dsv4.buffer";
inline constexpr StringLiteral kFrozenAttr = "dsv4.frozen";
inline constexpr StringLiteral kResultAttr = "dsv4.result";
inline constexpr StringLiteral kPathAttr = "dsv4.path";
inline constexpr StringLiteral kDirectionAttr = "dsv4.direction";
inline constexpr StringLiteral kNoGradAttr = "dsv4.no_grad";
inline constexpr StringLiteral kCastAttr = "dsv4.cast";
inline constexpr StringLiteral kKernelAttr = "dsv4.kernel";
inline constexpr StringLiteral kScratchAttr = "dsv4.scratch";
inline constexpr StringLiteral kWorkAttr = "dsv4.work";
inline constexpr StringLiteral kWorkBytesAttr = "dsv4.work_bytes";
inline constexpr StringLiteral kWorkBoundAttr = "dsv4.work_bytes_lower_bound";
inline constexpr StringLiteral kPhaseAttr = "dsv4.phase";
inline constexpr StringLiteral kLayoutAttr = "dsv4.layout";
inline constexpr StringLiteral kGlobalTypeAttr = "dsv4.global_type";
inline constexpr StringLiteral kLaunchAttr = "dsv4.launch";
inline constexpr StringLiteral kAsStoredAttr = "dsv4.as_stored";
inline constexpr StringLiteral kShardAttr = "dsv4.shard";
inline constexpr StringLiteral kBufferIndexAttr = "dsv4.buffer_index";

} // namespace mlir::dsv4

#endif // DSV4_IR_DSV4DIALECT_H
