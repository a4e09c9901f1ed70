//===- CollectiveRules.cpp - differentiation rules of collectives ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather hands every rank a copy, so the cotangents of the copies are added
// where the piece came from; and so on, pairwise.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "dsv4/Analysis/FlatBuffers.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Ranks that used the copies differently each hold a partial sum; when all hold
/// the same cotangent, each keeps its own piece.
static LogicalResult buildSeqGatherAdjoint(SeqGatherOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  ArrayAttr partial = b.getPartialAxes(op.getResult(), op.getAxesAttr());
  Type type = op.getInput().getType();
  if (partial == op.getAxesAttr()) {
    b.addCotangent(op.getInput(),
                   b.create<SeqReduceScatterOp>(type, dy, op.getMeshAttr(),
                                                op.getAxesAttr(),
                                                op.getDimAttr()));
    return success();
  }
  if (partial.empty()) {
    b.addCotangent(op.getInput(),
                   b.create<SeqShardOp>(type, dy, op.getMeshAttr(),
                                        op.getAxesAttr(), op.getDimAttr()));
    return success();
  }
  return op.emitOpError() << "has a cotangent that is a partial sum over "
                          << partial << ", expected one over all of "
                          << op.getAxesAttr() << " or none";
}

static LogicalResult buildSeqReduceScatterAdjoint(SeqReduceScatterOp op,
                                                  AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  b.addCotangent(op.getInput(),
                 b.create<SeqGatherOp>(op.getInput().getType(), dy,
                                       op.getMeshAttr(), op.getAxesAttr(),
                                       op.getDimAttr(),
                                       b.getUnitAttr()));
  return success();
}

/// This rank's slice of what all ranks hold: its cotangent is known here only.
static LogicalResult buildSeqShardAdjoint(SeqShardOp op, AdjointBuilder &b) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  Value rank = b.create<AxisIndexOp>(op.getMeshAttr(), op.getAxesAttr());
  Value length =
      b.create<arith::ConstantIndexOp>(to.getDimSize(op.getDim()));
  SmallVector<OpFoldResult> offsets(from.getRank(), b.getIndexAttr(0)), sizes,
      strides(from.getRank(), b.getIndexAttr(1));
  offsets[op.getDim()] = b.create<arith::MulIOp>(rank, length).getResult();
  for (int64_t size : to.getShape())
    sizes.push_back(b.getIndexAttr(size));
  b.addCotangent(op.getInput(), b.create<tensor::InsertSliceOp>(
                                    b.getCotangent(op.getResult()),
                                    b.makeZero(from), offsets, sizes, strides));
  return success();
}

/// The sum over ranks depends on every operand with derivative 1: all of its
/// cotangent, of which ranks may hold parts, goes to each.
static LogicalResult buildAllReduceAdjoint(AllReduceOp op, AdjointBuilder &b) {
  if (op.getKind() != ReductionKind::sum)
    return op.emitOpError() << "'" << stringifyReductionKind(op.getKind())
                            << "' has no differentiation rule, expected 'sum'";
  Value dy = b.getCotangent(op.getResult());
  ArrayAttr partial = b.getPartialAxes(op.getResult(), op.getAxesAttr());
  if (!partial.empty())
    dy = b.create<AllReduceOp>(dy.getType(), op.getKindAttr(), dy, op.getMeshAttr(), partial);
  b.addCotangent(op.getInput(), dy);
  return success();
}

/// All axes of the unit's mesh that are not its own: they hold equal shards.
static ArrayAttr getReplicaAxes(UnshardOp op) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, op.getMeshAttr());
  SmallVector<Attribute> axes;
  for (auto [axis, size] :
       llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    if (size > 1 && !llvm::is_contained(op.getAxes(), axis))
      axes.push_back(axis);
  return ArrayAttr::get(op.getContext(), axes);
}

/// Every rank holds the gradients of what it computed with the parameters: one
/// sum over all ranks counts each once.
static LogicalResult verifyPartial(UnshardOp op, Value parameter, ArrayAttr axes,
                                   AdjointBuilder &b) {
  ArrayAttr partial = b.getPartialAxes(parameter, axes);
  for (Attribute axis : axes)
    if (!llvm::is_contained(partial, axis) && b.isAxisSplit(axis))
      return op.emitOpError()
             << "makes a parameter whose gradient all ranks of axis " << axis
             << " compute alike, so that their sum would count it several times";
  return success();
}

static LogicalResult buildUnshardAdjoint(UnshardOp op, AdjointBuilder &b) {
  auto unit =
      SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(op, op.getUnitAttr());
  SmallVector<FlatBuffer> buffers = getFlatBuffers(unit);
  llvm::DenseSet<StringAttr> trainable;
  for (const FlatBuffer &buffer : buffers)
    for (const FlatSegment &segment : buffer.segments)
      if (!buffer.isFrozen)
        trainable.insert(segment.name);
  ArrayAttr replicas = getReplicaAxes(op);
  SmallVector<Value> gradients;
  for (auto [parameter, name] : llvm::zip(
           op.getResults(), unit.getParams().getAsRange<StringAttr>())) {
    if (!trainable.contains(name))
      continue;
    Value gradient = b.getCotangent(parameter);
    if (!gradient)
      return op.emitOpError() << "makes parameter " << name
                              << ", to whose gradient no operation contributed";
    for (ArrayAttr axes : {op.getAxesAttr(), replicas})
      if (failed(verifyPartial(op, parameter, axes, b)))
        return failure();
    gradients.push_back(gradient);
  }
  SmallVector<Type> types;
  SmallVector<Value> shards;
  for (auto [buffer, shard] : llvm::zip(buffers, op.getShards()))
    if (!buffer.isFrozen) {
      types.push_back(RankedTensorType::get({buffer.shard}, unit.getReduceDtype()));
      shards.push_back(shard);
    }
  auto reduce = b.create<GradReduceScatterOp>(
      types, op.getUnitAttr(), gradients, op.getMeshAttr(), op.getAxesAttr(),
      replicas, b.getF64FloatAttr(1.0));
  for (auto [shard, gradient] : llvm::zip(shards, reduce.getShards()))
    b.setGradient(shard, gradient);
  return success();
}

namespace {
struct SeqGatherRule
    : DifferentiableOpInterface::ExternalModel<SeqGatherRule, SeqGatherOp> {
  bool carriesGradient(Operation *op, OpOperand &) const {
    return cast<SeqGatherOp>(op).getDifferentiable();
  }
  LogicalResult buildAdjoint(Operation *op, AdjointBuilder &builder) const {
    return buildSeqGatherAdjoint(cast<SeqGatherOp>(op), builder);
  }
};
} // namespace

void dsv4::registerCollectiveRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
    SeqGatherOp::attachInterface<SeqGatherRule>(*context);
    attachRule<SeqReduceScatterOp, buildSeqReduceScatterAdjoint>(*context);
    attachRule<SeqShardOp, buildSeqShardAdjoint>(*context);
    attachRule<AllReduceOp, buildAllReduceAdjoint>(*context);
    attachRule<UnshardOp, buildUnshardAdjoint>(*context);
  });
}
