//===- FlatBuffers.h - how the parameters of a unit are stored -*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_FLATBUFFERS_H
#define DSV4_ANALYSIS_FLATBUFFERS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dsv4 {

class FsdpUnitOp;

/// Alignment of every parameter and every shard in a flat buffer, in bytes.
inline constexpr int64_t kFlatAlignment = 64;

/// One parameter of a unit with its full shape.
struct FlatParameter {
  StringAttr name;
  RankedTensorType type;
  bool isFrozen = false;
};

/// Where a parameter lies; counts are elements.
struct FlatSegment {
  StringAttr name;
  int64_t offset = 0;
  SmallVector<int64_t> shape;
};

/// The parameters of a unit that share storage dtype and frozenness:
///
///   3 ranks      [ p0  |   p1          | p2 |   pad  ]
///   rank 0 owns  [ p0  | p1 ]
///   rank 1 owns             [ p1       | p2 ]
///   rank 2 owns                             [   pad  ]
///
/// Each start is aligned; a shard is an equal, aligned slice, so a parameter's
/// part of it may be empty.
struct FlatBuffer {
  Type dtype;
  bool isFrozen = false;
  /// Elements on one rank.
  int64_t shard = 0;
  /// Elements on all ranks together.
  int64_t total = 0;
  SmallVector<FlatSegment> segments;
};

using EmitFlatErrorFn = llvm::function_ref<InFlightDiagnostic(unsigned)>;

/// Lays out the parameters of one unit over `numRanks`: storage dtypes by first
/// occurrence, trainable before frozen, parameters in the given order.
/// `emitError` starts an error at a parameter, given by its index; refused are
/// dtypes that do not fill whole bytes and sizes beyond 64 bits.
FailureOr<SmallVector<FlatBuffer>>
computeFlatBuffers(ArrayRef<FlatParameter> parameters, int64_t numRanks,
                   EmitFlatErrorFn emitError);

/// The attribute `buffers` of a unit.
ArrayAttr getFlatBuffersAttr(MLIRContext *context,
                             ArrayRef<FlatBuffer> buffers);

/// Reads that attribute back; empty when the unit has none.
SmallVector<FlatBuffer> getFlatBuffers(FsdpUnitOp unit);

/// What a unit stores, over all ranks.
struct FlatBytes {
  int64_t payload = 0;
  int64_t padding = 0;
};

FlatBytes computeFlatBytes(ArrayRef<FlatBuffer> buffers);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_FLATBUFFERS_H
