//===- ShardParameters.cpp - store units as flat shards -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank of model IR holds all parameters. Afterwards each holds its slice
// of the unit's flat buffers, and one operation per unit makes the parameters:
//
//   func.func @forward(%x: ..., %w: tensor<4x8xf32> {dsv4.param = ...}) {
//     %y = linalg.generic ... ins(%x, %w)
//   ->
//   func.func @forward(%x: ...,
//                      %s: tensor<16xf32> {dsv4.shard = @unit_0,
//                                          dsv4.buffer_index = 0 : i64}) {
//     %w = dsv4.unshard @unit_0(%s) on @mesh ["cp"]
//       : (tensor<16xf32>) -> tensor<4x8xf32>
//     %y = linalg.generic ... ins(%x, %w)
//
// Runs on local shapes, after -dsv4-partition-sequence. All other arguments and
// all results stay as they are. Nothing is gathered for a unit that no
// operation uses, and nothing is gathered twice.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FlatBuffers.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// How one unit is stored, and where it is gathered.
struct UnitDecision {
  FsdpUnitOp unit;
  SmallVector<BlockArgument> parameters; // in the order of the unit
  SmallVector<FlatBuffer> buffers;
  Operation *firstUse = nullptr; // null when no operation uses the unit
};

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

/// The signature changes and the unshards stand in one block.
LogicalResult verifyFunction(mlir::ModuleOp module, func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError()
           << "has parameters and must have one block, got "
           << function.getBody().getBlocks().size();
  if (!SymbolTable::symbolKnownUseEmpty(function, module))
    return function.emitOpError()
           << "has parameters and must have no callers, expected all of them "
              "inlined";
  return success();
}

/// Every rank computes with whole parameters of a known size.
LogicalResult verifyType(func::FuncOp function,
                         const ModelParameter &parameter) {
  Location loc = getArgumentLoc(function, parameter.argument);
  auto type = dyn_cast<RankedTensorType>(parameter.type);
  if (!type || !type.hasStaticShape())
    return emitError(loc) << "parameter " << parameter.name
                          << " must be a tensor of static shape, got "
                          << parameter.type;
  auto global =
      function.getArgAttrOfType<TypeAttr>(parameter.argument, kGlobalTypeAttr);
  if (global && global.getValue() != type)
    return emitError(loc) << "parameter " << parameter.name
                          << " must be whole on every rank, got " << type
                          << " of " << global.getValue();
  return success();
}

/// The first operation of the body that uses one of `values`, directly or in a
/// region.
Operation *findFirstUse(Block &body, ArrayRef<BlockArgument> values) {
  Operation *first = nullptr;
  for (BlockArgument value : values)
    for (Operation *user : value.getUsers()) {
      Operation *op = body.findAncestorOpInBlock(*user);
      if (op && (!first || op->isBeforeInBlock(first)))
        first = op;
    }
  return first;
}

FailureOr<UnitDecision> decideUnit(func::FuncOp function, FsdpUnitOp unit,
                                   ParameterOwners &owners) {
  if (unit.getBuffersAttr())
    return unit.emitOpError()
           << "has 'buffers' already, expected parameters to be sharded once";
  auto numRanks =
      computeGroupSize(unit, unit.getMeshAttr(), unit.getAxesAttr());
  if (failed(numRanks))
    return failure();
  UnitDecision decision{unit, {}, {}, nullptr};
  SmallVector<FlatParameter> flat;
  for (StringAttr name : unit.getParams().getAsRange<StringAttr>()) {
    auto parameter = owners.take(unit, name);
    if (failed(parameter))
      return failure();
    decision.parameters.push_back(function.getArgument((*parameter)->argument));
    flat.push_back({name, cast<RankedTensorType>((*parameter)->type),
                    (*parameter)->isFrozen});
  }
  auto buffers = computeFlatBuffers(flat, *numRanks, [&](unsigned index) {
    return emitError(decision.parameters[index].getLoc());
  });
  if (failed(buffers))
    return failure();
  decision.buffers = std::move(*buffers);
  decision.firstUse =
      findFirstUse(function.getBody().front(), decision.parameters);
  return decision;
}

/// Without parameters there must be nothing left to do.
LogicalResult verifyNothingToShard(ArrayRef<FsdpUnitOp> units) {
  for (FsdpUnitOp unit : units)
    if (!unit.getBuffersAttr() && !unit.getParams().empty())
      return unit.emitOpError() << "lists parameter " << unit.getParams()[0]
                                << ", which is no function argument";
  return success();
}

//===----------------------------------------------------------------------===//
// Change
//===----------------------------------------------------------------------===//

DictionaryAttr getShardAttrs(Builder &builder, FsdpUnitOp unit, unsigned index,
                             bool isFrozen) {
  NamedAttrList attrs;
  attrs.set(kShardAttr, FlatSymbolRefAttr::get(unit.getSymNameAttr()));
  attrs.set(kBufferIndexAttr, builder.getI64IntegerAttr(index));
  if (isFrozen)
    attrs.set(kFrozenAttr, builder.getUnitAttr());
  return attrs.getDictionary(builder.getContext());
}

/// Appends one argument per flat buffer, in unit order.
LogicalResult addShardArguments(func::FuncOp function,
                                ArrayRef<UnitDecision> decisions) {
  Builder builder(function.getContext());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locs;
  for (const UnitDecision &decision : decisions)
    for (auto [i, buffer] : llvm::enumerate(decision.buffers)) {
      types.push_back(RankedTensorType::get({buffer.shard}, buffer.dtype));
      attrs.push_back(
          getShardAttrs(builder, decision.unit, i, buffer.isFrozen));
      locs.push_back(decision.unit->getLoc());
    }
  SmallVector<unsigned> indices(types.size(), function.getNumArguments());
  return function.insertArguments(indices, types, attrs, locs);
}

/// Gathers the unit in front of its first use.
void addUnshard(const UnitDecision &decision, ValueRange shards) {
  FsdpUnitOp unit = decision.unit;
  OpBuilder builder(decision.firstUse);
  SmallVector<Type> types;
  for (BlockArgument parameter : decision.parameters)
    types.push_back(parameter.getType());
  auto unshard =
      UnshardOp::create(builder, unit.getLoc(), types,
                        FlatSymbolRefAttr::get(unit.getSymNameAttr()), shards,
                        unit.getMeshAttr(), unit.getAxesAttr());
  auto roots = unit.getRoots().getAsRange<StringAttr>();
  if (!roots.empty() && !(*roots.begin()).empty())
    unshard->setAttr(kPathAttr, *roots.begin());
  for (auto [i, result] : llvm::enumerate(unshard.getResults()))
    BlockArgument(decision.parameters[i]).replaceAllUsesWith(result);
}

LogicalResult apply(func::FuncOp function,
                    MutableArrayRef<UnitDecision> decisions) {
  unsigned next = function.getNumArguments();
  llvm::BitVector erased(next);
  if (failed(addShardArguments(function, decisions)))
    return failure();
  erased.resize(function.getNumArguments());
  for (UnitDecision &decision : decisions) {
    size_t numBuffers = decision.buffers.size();
    ValueRange shards = function.getArguments().slice(next, numBuffers);
    next += numBuffers;
    decision.unit.setBuffersAttr(
        getFlatBuffersAttr(function.getContext(), decision.buffers));
    if (decision.firstUse)
      addUnshard(decision, shards);
    for (BlockArgument parameter : decision.parameters)
      erased.set(parameter.getArgNumber());
  }
  return function.eraseArguments(erased);
}

struct ShardParameters : impl::ShardParametersPassBase<ShardParameters> {
  using ShardParametersPassBase::ShardParametersPassBase;

  void runOnOperation() override {
    if (failed(shard(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult shard(mlir::ModuleOp module) {
    auto units = llvm::to_vector(module.getOps<FsdpUnitOp>());
    auto function = findModelFunction(module);
    if (failed(function))
      return failure();
    if (!*function)
      return verifyNothingToShard(units);
    if (failed(verifyFunction(module, *function)))
      return failure();
    auto owners = ParameterOwners::create(*function);
    if (failed(owners))
      return failure();
    for (const ModelParameter &parameter : owners->getParameters())
      if (failed(verifyType(*function, parameter)))
        return failure();
    SmallVector<UnitDecision> decisions;
    for (FsdpUnitOp unit : units) {
      auto decision = decideUnit(*function, unit, *owners);
      if (failed(decision))
        return failure();
      decisions.push_back(std::move(*decision));
    }
    if (failed(owners->verifyAllTaken()))
      return failure();
    return apply(*function, decisions);
  }
};

} // namespace
} // namespace mlir::dsv4
