//===- Gradients.cpp - reductions of gradients on their way ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before:
//
//   %g = dsv4.grad_reduce_scatter @unit(%dw, %dv) ...     // in a block's run
//
// After:
//
//   %flat = tensor.insert_slice %dv into (tensor.insert_slice %dw into zero)
//   ...                                                   // end of the run
//   %s, %t = dsv4.reduce_scatter_start parameter %flat into %shard
//   ...                                                   // a block later
//   %g = dsv4.wait %t, %s reading %flat
//
// and behind it an all_reduce over the replicas. On one rank the flat buffer is
// the result.
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "dsv4/Analysis/FlatBuffers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// One dimension of all elements.
static Value flatten(PathBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
  if (type.getRank() == 1)
    return value;
  if (type.getRank() == 0)
    return builder.make<tensor::ExpandShapeOp>(flat, value,
                                               ArrayRef<ReassociationIndices>());
  SmallVector<ReassociationIndices> all = {
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()))};
  return builder.make<tensor::CollapseShapeOp>(flat, value, all);
}

/// Elements in the type in which they are added, multiplied by the scale.
static Value convert(PathBuilder &builder, Value value, Type element,
                     double scale) {
  auto type = cast<RankedTensorType>(value.getType());
  Type from = type.getElementType();
  if (from == element && scale == 1.0)
    return value;
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(1));
  SmallVector<utils::IteratorType> loops(1, utils::IteratorType::parallel);
  auto op = builder.make<linalg::GenericOp>(
      TypeRange(type.clone(element)), ValueRange(value),
      ValueRange(builder.empty(type.getShape(), element)), maps, loops,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Value result = args[0];
        unsigned wide = element.getIntOrFloatBitWidth();
        if (from.getIntOrFloatBitWidth() < wide)
          result = arith::ExtFOp::create(b, loc, element, result);
        if (scale != 1.0) {
          Value factor = arith::ConstantOp::create(
              b, loc, FloatAttr::get(result.getType(), scale));
          result = arith::MulFOp::create(b, loc, result, factor);
        }
        if (from.getIntOrFloatBitWidth() > wide)
          result = arith::TruncFOp::create(b, loc, element, result);
        linalg::YieldOp::create(b, loc, result);
      });
  if (from != element)
    op->setAttr(kCastAttr, builder.getStringAttr("reduce dtype"));
  return op.getResult(0);
}

PackedGradients dsv4::packGradients(GradReduceScatterOp op) {
  auto unit =
      SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(op, op.getUnitAttr());
  FailureOr<int64_t> ranks = op.getGroupSize();
  PathBuilder builder(op, op);
  llvm::StringMap<Value> gradients;
  SmallVector<FlatBuffer> buffers = getFlatBuffers(unit);
  llvm::StringMap<bool> isTrainable;
  for (const FlatBuffer &buffer : buffers)
    for (const FlatSegment &segment : buffer.segments)
      isTrainable[segment.name] = !buffer.isFrozen;
  unsigned next = 0;
  for (StringAttr name : unit.getParams().getAsRange<StringAttr>())
    if (isTrainable.lookup(name))
      gradients[name] = op.getGradients()[next++];

  PackedGradients packed{op, {}};
  Type element = unit.getReduceDtype();
  for (const FlatBuffer &buffer : buffers) {
    if (buffer.isFrozen)
      continue;
    Value zero =
        builder.make<arith::ConstantOp>(FloatAttr::get(element, 0.0));
    Value flat = builder
                     .make<linalg::FillOp>(
                         zero, builder.empty({buffer.shard * *ranks}, element))
                     .getResult(0);
    for (const FlatSegment &segment : buffer.segments) {
      Value part = convert(builder, flatten(builder, gradients.lookup(segment.name)),
                           element, op.getScale().convertToDouble());
      int64_t size = cast<RankedTensorType>(part.getType()).getDimSize(0);
      flat = builder.make<tensor::InsertSliceOp>(
          part, flat, ArrayRef<OpFoldResult>(builder.getIndexAttr(segment.offset)),
          ArrayRef<OpFoldResult>(builder.getIndexAttr(size)),
          ArrayRef<OpFoldResult>(builder.getIndexAttr(1)));
    }
    packed.flats.push_back(flat);
  }
  op->moveBefore(op->getBlock()->getTerminator());
  op->removeAttr(kPathAttr);
  return packed;
}

//===----------------------------------------------------------------------===//
// Reducing
//===----------------------------------------------------------------------===//

namespace {

/// One flat buffer on its way.
struct Reduction {
  GradReduceScatterOp op;
  Value flat;
  /// Number of the result of `op`.
  unsigned index;
  /// The run that packs it.
  unsigned run;
};

} // namespace

/// The entry of a run, or the end of the function.
static Operation *getEntry(Runs &runs, unsigned run, Block &body) {
  return run < runs.list.size() ? runs.list[run].first : body.getTerminator();
}

/// The run behind the next block behind `run`.
static unsigned findRunToWaitIn(Runs &runs, unsigned run) {
  for (++run; run < runs.list.size(); ++run)
    if (!runs.list[run].block.empty())
      return run + 1;
  return run;
}

template <typename StartOp, typename... Args>
static Started start(PathBuilder &builder, GradReduceScatterOp op, Value source,
                     Type result, int64_t launch, ArrayAttr axes, Args... args) {
  auto type = cast<RankedTensorType>(result);
  Value init = builder.empty(type.getShape(), type.getElementType());
  auto start = builder.make<StartOp>(
      TypeRange(result), TokenType::get(op.getContext()),
      getClass(op, CollectiveClass::parameter), args..., source, init,
      op.getMeshAttr(), axes);
  start->setAttr("unit", op.getUnitAttr());
  start->setAttr(kLaunchAttr, builder.getI64IntegerAttr(launch));
  return {start.getToken(), start.getStarted().front(), source};
}

/// All of them stand in front of one operation: first the starts, then the waits.
template <typename StartFn>
static SmallVector<Value> reduceTogether(ArrayRef<Reduction> reductions,
                                         ArrayRef<Operation *> startAt,
                                         ArrayRef<Operation *> waitAt,
                                         StartFn startOne) {
  SmallVector<Started> started;
  for (auto [reduction, place] : llvm::zip(reductions, startAt)) {
    PathBuilder builder(place);
    builder.setLoc(reduction.op->getLoc());
    started.push_back(startOne(builder, reduction));
  }
  SmallVector<Value> results;
  for (auto [reduction, place, inFlight] :
       llvm::zip(reductions, waitAt, started)) {
    PathBuilder builder(place);
    builder.setLoc(reduction.op->getLoc());
    results.push_back(wait(builder, inFlight));
  }
  return results;
}

LogicalResult dsv4::reduceGradients(ArrayRef<PackedGradients> gradients,
                                    Runs &runs, Launches &launches) {
  SmallVector<Reduction> scattered, replicated;
  for (const PackedGradients &packed : gradients) {
    GradReduceScatterOp op = packed.op;
    auto ranks = op.getGroupSize();
    auto replicas = computeGroupSize(op, op.getMeshAttr(), op.getReplicasAttr());
    if (failed(ranks) || failed(replicas))
      return failure();
    for (auto [i, flat] : llvm::enumerate(packed.flats)) {
      Reduction reduction{op, flat, static_cast<unsigned>(i),
                          runs.runOf.lookup(flat.getDefiningOp())};
      if (*ranks > 1)
        scattered.push_back(reduction);
      if (*replicas > 1)
        replicated.push_back(reduction);
      if (*ranks == 1)
        op.getShards()[i].replaceAllUsesWith(flat);
    }
  }
  auto byRun = [](const Reduction &a, const Reduction &b) { return a.run < b.run; };
  llvm::stable_sort(scattered, byRun);
  llvm::stable_sort(replicated, byRun);

  Block *body = gradients.empty() ? nullptr : gradients.front().op->getBlock();
  auto getPlaces = [&](ArrayRef<Reduction> reductions, auto getRun) {
    return llvm::map_to_vector(reductions, [&](const Reduction &reduction) {
      return getEntry(runs, getRun(reduction.run), *body);
    });
  };
  auto isBehind = [](unsigned run) { return run + 1; };
  auto isLater = [&](unsigned run) { return findRunToWaitIn(runs, run); };
  SmallVector<Operation *> starts = getPlaces(scattered, isBehind);
  SmallVector<Operation *> waits = getPlaces(scattered, isLater);
  SmallVector<Value> shards = reduceTogether(
      scattered, starts, waits, [&](PathBuilder &builder, const Reduction &r) {
        GradReduceScatterOp op = r.op;
        return start<ReduceScatterStartOp>(
            builder, op, r.flat, op.getShards()[r.index].getType(),
            launches.getNumber(getEntry(runs, r.run + 1, *body), "reduce_scatter",
                               op.getAxesAttr()),
            op.getAxesAttr());
      });
  llvm::DenseMap<Value, Value> sums; // results of one rank per shard
  for (auto [reduction, shard] : llvm::zip(scattered, shards)) {
    GradReduceScatterOp op = reduction.op;
    sums[op.getShards()[reduction.index]] = shard;
  }
  // Over replicas, where the shard is complete.
  starts = getPlaces(replicated, isLater);
  waits = getPlaces(replicated, [&](unsigned run) { return isLater(isLater(run)); });
  SmallVector<Value> totals = reduceTogether(
      replicated, starts, waits, [&](PathBuilder &builder, const Reduction &r) {
        GradReduceScatterOp op = r.op;
        Value shard = op.getShards()[r.index];
        Value source = sums.contains(shard) ? sums.lookup(shard) : r.flat;
        return start<AllReduceStartOp>(
            builder, op, source, shard.getType(),
            launches.getNumber(getEntry(runs, isLater(r.run), *body),
                               "all_reduce", op.getReplicasAttr()),
            op.getReplicasAttr(),
            ReductionKindAttr::get(op.getContext(), ReductionKind::sum));
      });
  for (auto [reduction, total] : llvm::zip(replicated, totals)) {
    GradReduceScatterOp op = reduction.op;
    sums[op.getShards()[reduction.index]] = total;
  }
  for (auto [shard, sum] : sums)
    shard.replaceAllUsesWith(sum);
  for (const PackedGradients &packed : gradients)
    GradReduceScatterOp(packed.op).erase();
  return success();
}
