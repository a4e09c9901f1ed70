//===- FloatIslands.cpp - islands, and the ways of values -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is checked is in FloatIslandsVerify.cpp.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FloatIslands.h"
#include "dsv4/Analysis/FloatCast.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

/// The input that a linalg body yields untouched, or casts and yields.
static Value findYieldedInput(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  if (auto cast = yielded.getDefiningOp<arith::ExtFOp>())
    yielded = cast.getIn();
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != body ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return nullptr;
  return op.getDpsInputOperand(argument.getArgNumber())->get();
}

/// The values whose elements `result` holds, unchanged or in a wider type.
/// Empty when its operation computes.
static SmallVector<Value> findMovedValues(OpResult result) {
  Operation *op = result.getOwner();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    Value input = findYieldedInput(linalgOp);
    return input ? SmallVector<Value>{input} : SmallVector<Value>();
  }
  if (isa<tensor::InsertSliceOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  if (isa<tensor::ConcatOp>(op))
    return op->getOperands();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, tensor::PadOp, arith::ExtFOp, SeqGatherOp,
          SeqShardOp, GatherRowsOp, TakeAlongOp, DispatchRowsOp,
          DispatchWeightsOp>(op))
    return {op->getOperand(0)};
  SmallVector<Value> yielded;
  if (isa<RegionBranchOpInterface>(op))
    for (Region &region : op->getRegions())
      if (!region.empty())
        yielded.push_back(
            region.front().getTerminator()->getOperand(result.getResultNumber()));
  return yielded;
}

/// The results that hold what `use` reads, unchanged or in a wider type.
static SmallVector<OpResult> findMovedResults(OpOperand &use) {
  Operation *op = use.getOwner();
  if (op->hasTrait<OpTrait::IsTerminator>())
    op = op->getParentOp();
  SmallVector<OpResult> results;
  for (OpResult result : op->getResults())
    if (llvm::is_contained(findMovedValues(result), use.get()))
      results.push_back(result);
  return results;
}

SmallVector<Value> dsv4::findOrigins(Value value) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  SmallVector<Value> origins;
  for (unsigned i = 0; i < seen.size(); ++i) {
    Value current = seen[i];
    SmallVector<Value> sources;
    if (auto result = dyn_cast<OpResult>(current))
      sources = findMovedValues(result);
    if (sources.empty())
      origins.push_back(current);
    seen.insert_range(sources);
  }
  return origins;
}

SmallVector<Value> FloatIslands::findNarrowOrigins(Value value) const {
  return llvm::filter_to_vector(findOrigins(value), [](Value origin) {
    return isNarrowFloat(origin.getType());
  });
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

/// The operation of the function that uses the value, not one in its body.
static Operation *getReader(OpOperand &use) {
  Operation *op = use.getOwner();
  while (op->getParentOp() && isa<linalg::LinalgOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

SmallVector<PrecisionStep> FloatIslands::findPath(Value from,
                                                  Operation *to) const {
  struct Visit {
    Value value;
    int previous;
  };
  SmallVector<Visit> visits = {{from, -1}};
  llvm::DenseSet<Value> seen = {from};
  // The first reader at all, for a value that no island reads.
  Operation *reader = nullptr;
  unsigned readerVisit = 0;
  bool isFound = false;
  for (unsigned i = 0; i < visits.size() && !isFound; ++i)
    for (OpOperand &use : visits[i].value.getUses()) {
      SmallVector<OpResult> moved = findMovedResults(use);
      Operation *op = getReader(use);
      isFound = to ? op == to : moved.empty() && islandOf.contains(op);
      if (isFound || (!to && moved.empty() && !reader)) {
        reader = op;
        readerVisit = i;
      }
      if (isFound)
        break;
      for (OpResult result : moved)
        if (seen.insert(result).second)
          visits.push_back({result, static_cast<int>(i)});
    }
  if (!reader)
    return {};
  StringRef island = islandOf.lookup(reader);
  std::string read = "reads it";
  if (!island.empty())
    read += " in fp32 island \"" + island.str() + "\"";
  SmallVector<PrecisionStep> path = {{reader, read}};
  for (int i = readerVisit; visits[i].previous >= 0; i = visits[i].previous)
    path.push_back({visits[i].value.getDefiningOp(),
                    "passes it on as " + describe(visits[i].value.getType())});
  std::reverse(path.begin(), path.end());
  return path;
}

//===----------------------------------------------------------------------===//
// Islands, parameters, units
//===----------------------------------------------------------------------===//

static StringRef getPath(Operation *op) {
  auto path = op->getAttrOfType<StringAttr>(kPathAttr);
  return path ? path.getValue() : StringRef();
}

/// Islands that are whole modules, or single operations.
static StringRef findOwnIsland(Operation *op) {
  StringRef path = getPath(op);
  if (isa<SinkhornOp>(op) || isAtPlace(path, "attn_hc") ||
      isAtPlace(path, "ffn_hc") || isAtPlace(path, "hc_head"))
    return "mHC maps";
  if (isAtPlace(path, "mlp.gate"))
    return "router";
  if (isAtPlace(path, "lm_head"))
    return "head and loss";
  if (isa<PoolWindowsOp>(op))
    return "compressor";
  if (isa<IndexTopkOp>(op))
    return "indexer scores";
  if (isa<WindowAttentionOp>(op))
    return "attention softmax";
  return "";
}

void FloatIslands::findIslands() {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    StringRef island = findOwnIsland(op);
    // What follows the head without belonging to a module is the loss.
    if (island.empty() && getPath(op).empty() &&
        llvm::any_of(op->getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && islandOf.lookup(maker) == "head and loss";
        }))
      island = "head and loss";
    if (!island.empty())
      islandOf[op] = island;
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  // The compressor is what its pool is computed from, within its module.
  SmallVector<Operation *> worklist;
  function.walk([&](PoolWindowsOp op) { worklist.push_back(op); });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || islandOf.contains(maker) || getPath(maker) != getPath(op) ||
          getPath(op).empty() || isa<UnshardOp>(maker))
        continue;
      islandOf[maker] = "compressor";
      worklist.push_back(maker);
    }
  }
}

void FloatIslands::findParameters() {
  for (BlockArgument argument : function.getArguments())
    for (StringRef kind : {kParamAttr, kBufferAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), kind))
        parameterNames[argument] = name.getValue();
  function.walk([&](UnshardOp op) {
    auto unit = SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(
        op, op.getUnitAttr());
    for (auto [result, name] :
         llvm::zip(op.getResults(), unit.getParams().getAsRange<StringAttr>()))
      parameterNames[result] = name.getValue();
  });
}

FsdpUnitOp FloatIslands::findUnit(Operation *op) const {
  StringRef path = op ? getPath(op) : StringRef();
  FsdpUnitOp found;
  size_t longest = 0;
  for (FsdpUnitOp unit : units)
    for (StringAttr root : unit.getRoots().getAsRange<StringAttr>()) {
      StringRef rest = path;
      bool isBelow = rest.consume_front(root.getValue()) &&
                     (root.empty() || rest.empty() || rest.front() == '.');
      if (isBelow && (!found || root.size() >= longest)) {
        found = unit;
        longest = root.size();
      }
    }
  return found;
}

void FloatIslands::addFault(Operation *op, const Twine &message,
                            SmallVector<PrecisionStep> path) {
  faults.push_back({op->getLoc(), message.str(), std::move(path)});
}

FloatIslands FloatIslands::compute(func::FuncOp function) {
  FloatIslands result;
  result.function = function;
  auto module = function->getParentOfType<mlir::ModuleOp>();
  auto numerics = module->getAttrOfType<StringAttr>(kNumericsAttr);
  result.isAutomodel = numerics && numerics.getValue() == "automodel";
  result.units = llvm::to_vector(module.getOps<FsdpUnitOp>());
  result.findParameters();
  result.findIslands();
  result.checkParameters();
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function)
      result.checkOperation(op);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  return result;
}
