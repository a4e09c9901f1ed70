//===- FloatIslandsVerify.cpp - what may be narrow, and where -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FloatCast.h"
#include "dsv4/Analysis/FloatIslands.h"
#include "dsv4/Analysis/FsdpUnitGraph.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::dsv4;

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(type);
  return text;
}

static bool isBackward(Operation *op) {
  auto direction = op->getAttrOfType<StringAttr>(kDirectionAttr);
  return direction && direction.getValue() == "backward";
}

static StringRef getPath(Operation *op) {
  auto path = op->getAttrOfType<StringAttr>(kPathAttr);
  return path ? path.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The island module above a parameter; empty when there is none. The router's
/// bias is no parameter of a unit, but selects in f32.
static StringRef findIslandModule(StringRef parameter) {
  if (isAtPlace(parameter, "e_score_correction_bias"))
    return parameter;
  for (size_t dot = parameter.find('.'); dot != StringRef::npos;
       dot = parameter.find('.', dot + 1))
    if (isIslandPath(parameter.take_front(dot)))
      return parameter.take_front(dot);
  return "";
}

void FloatIslands::checkParameters() {
  for (auto [value, name] : parameterNames)
    if (!findIslandModule(name).empty() && isNarrowFloat(value.getType()))
      faults.push_back({value.getLoc(),
                        ("parameter \"" + name + "\" belongs to an fp32 island, "
                         "expected at least f32, got " +
                         describe(value.getType()))
                            .str(),
                        findPath(value, nullptr)});
  for (FsdpUnitOp unit : units)
    for (StringAttr name : unit.getParams().getAsRange<StringAttr>()) {
      if (findIslandModule(name.getValue()).empty())
        continue;
      for (auto [what, type] : {std::pair("gathers", unit.getGatherDtype()),
                                std::pair("reduces", unit.getReduceDtype())})
        if (isNarrowFloat(type))
          addFault(unit, Twine(what) + " parameter \"" + name.getValue() +
                             "\" of an fp32 island in " + describe(type) +
                             ", expected at least f32");
    }
}

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

static bool hasReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() > 0;
}

/// Inputs that are tensors, in order.
static SmallVector<Value> getTensorInputs(Operation *op) {
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  if (!dps)
    return llvm::to_vector(op->getOperands());
  SmallVector<Value> inputs;
  for (OpOperand *operand : dps.getDpsInputOperands())
    if (isa<TensorType>(operand->get().getType()))
      inputs.push_back(operand->get());
  return inputs;
}

/// What a cast rounds; the operation itself when it is more than a cast.
static Operation *findRounded(Operation *op, RoundedKind kind) {
  if (kind == RoundedKind::Elementwise)
    return op;
  if (!findFloatCast(op))
    return nullptr;
  SmallVector<Value> origins = findOrigins(op->getOperand(0));
  return origins.size() == 1 ? origins[0].getDefiningOp() : nullptr;
}

static bool isOfKind(Operation *op, RoundedKind kind) {
  switch (kind) {
  case RoundedKind::Contraction:
    return isa<GroupedMatmulOp>(op) || hasReduction(op);
  case RoundedKind::Pool:
    return isa<PoolWindowsOp>(op);
  case RoundedKind::Combine:
    return isa<CombineRowsOp>(op);
  case RoundedKind::Elementwise:
    return true;
  }
  llvm_unreachable("unknown kind of rounding");
}

/// Whether the rounding rounds what its label says; its inputs are checked.
bool FloatIslands::checkRounded(Operation *op, const RoundingRule &rule) {
  Operation *rounded = findRounded(op, rule.kind);
  if (!rounded || !isOfKind(rounded, rule.kind))
    return false;
  SmallVector<Value> inputs = getTensorInputs(rounded);
  if (inputs.size() != rule.numInputs)
    return false;
  for (auto [i, input] : llvm::enumerate(inputs))
    if (rule.wideInputs & (1u << i))
      for (Value origin : findNarrowOrigins(input))
        faults.push_back(
            {origin.getLoc(),
             "a " + describe(origin.getType()) + " value reaches input " +
                 std::to_string(i) + " of step \"" + rule.label.str() +
                 "\", expected at least f32 on the way",
             findPath(origin, rounded)});
  return true;
}

void FloatIslands::checkRule(Operation *op, StringRef label) {
  SmallVector<const RoundingRule *> rules;
  for (const RoundingRule &rule : getRoundingRules())
    if (rule.label == label)
      rules.push_back(&rule);
  Value result = op->getResult(0);
  if (rules.empty())
    return addFault(op, "label \"" + label + "\" is no step of the model",
                    findPath(result, nullptr));
  StringRef place = rules.front()->place;
  llvm::erase_if(rules, [&](const RoundingRule *rule) {
    return !isAtPlace(getPath(op), rule->place);
  });
  if (rules.empty())
    return addFault(op,
                    "step \"" + label + "\" stands in module \"" + place +
                        "\", got \"" + getPath(op) + "\"",
                    findPath(result, nullptr));
  RoundedIn other = isAutomodel ? RoundedIn::Islands : RoundedIn::Automodel;
  llvm::erase_if(rules, [&](const RoundingRule *rule) {
    return rule->where == other;
  });
  if (rules.empty())
    return addFault(op,
                    "step \"" + label + "\" rounds only where '" +
                        kNumericsAttr + "' is \"automodel\"",
                    findPath(result, nullptr));
  if (!checkRounded(op, *rules.front()))
    addFault(op,
             "step \"" + label + "\" rounds " +
                 getRoundedKindName(rules.front()->kind) + " of " +
                 Twine(rules.front()->numInputs) +
                 " tensors, got something else",
             findPath(result, nullptr));
}

/// Whether the value comes out of an operation that rounds.
static bool isRounded(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::TruncFOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getBlock()
                         ->getTerminator()
                         ->getOperand(0)
                         .getDefiningOp<arith::TruncFOp>();
}

void FloatIslands::checkRounding(Operation *op, Type from, Type to) {
  roundings.push_back(op);
  Value result = op->getResult(0);
  auto label = op->getAttrOfType<StringAttr>(kCastAttr);
  std::string cast = describe(from) + " to " + describe(to);
  if (!label)
    return addFault(op,
                    "rounds " + cast + " without a label, expected the step of "
                    "the model in '" + kCastAttr + "'",
                    findPath(result, nullptr));
  if (findFloatCast(op))
    for (Value origin : findOrigins(op->getOperand(0)))
      if (isRounded(origin))
        return addFault(origin.getDefiningOp(),
                        "rounds a value that is rounded again to " +
                            describe(to) + ", expected one rounding",
                        findPath(origin, op));
  if (label.getValue() == kReduceLabel)
    return checkReduceCast(op);
  if (isBackward(op)) {
    if (label.getValue() != kCotangentLabel && !isRoundingLabel(label))
      addFault(op, "label " + Twine(label.getValue()) + " is no step of the model");
    return;
  }
  StringRef island = islandOf.lookup(op);
  bool isExit = isAutomodel && (label.getValue() == "M3" || label.getValue() == "logits");
  if (!island.empty() && !isExit)
    return addFault(op,
                    "rounds " + cast + " inside fp32 island \"" + island + "\"",
                    findPath(result, nullptr));
  if (label.getValue() == kPolicyLabel)
    return checkPolicyCast(op);
  checkRule(op, label);
}

//===----------------------------------------------------------------------===//
// Unit borders
//===----------------------------------------------------------------------===//

/// A policy casts parameters to the gather dtype of their unit, and what goes
/// into a unit or comes out of it.
void FloatIslands::checkPolicyCast(Operation *op) {
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  SmallVector<Value> origins;
  if (findFloatCast(op))
    origins = findOrigins(op->getOperand(0));
  for (Value origin : origins) {
    FsdpUnitOp owner;
    auto name = parameterNames.find(origin);
    if (name != parameterNames.end())
      for (FsdpUnitOp unit : units)
        if (llvm::is_contained(unit.getParams().getAsValueRange<StringAttr>(),
                               name->second))
          owner = unit;
    if (auto argument = dyn_cast<BlockArgument>(origin))
      if (argument.getOwner()->getParentOp() == function)
        if (auto shard = function.getArgAttrOfType<FlatSymbolRefAttr>(
                argument.getArgNumber(), kShardAttr))
          owner = SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(function,
                                                                  shard);
    if (owner && owner.getGatherDtype() != to)
      return addFault(op, "casts a parameter to " + describe(to) +
                              ", expected the gather dtype " +
                              describe(owner.getGatherDtype()) + " of its unit");
    if (owner)
      return;
  }
  bool isBorder = !origins.empty() && !op->use_empty();
  for (Value origin : origins)
    for (Operation *user : op->getUsers())
      isBorder &= findUnit(origin.getDefiningOp()) != findUnit(user);
  if (!isBorder)
    addFault(op, "a policy casts at the border of a unit: a parameter, an input, "
                 "an output or a reduction; got a value of its inside",
             findPath(op->getResult(0), nullptr));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static FsdpUnitOp findReducedUnit(Operation *op) {
  auto unit = op->getAttrOfType<FlatSymbolRefAttr>("unit");
  if (!unit || !isa<ReduceScatterStartOp, AllReduceStartOp>(op))
    return nullptr;
  return SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(op, unit);
}

/// The cast behind the gradients of a unit, in front of their reduction.
void FloatIslands::checkReduceCast(Operation *op) {
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  SmallVector<PrecisionStep> path = findPath(op->getResult(0), nullptr);
  FsdpUnitOp unit = path.empty() ? nullptr : findReducedUnit(path.back().op);
  if (!unit)
    addFault(op, "label \"" + kReduceLabel +
                     "\" stands in front of a reduction of gradients, got none",
             path);
  else if (unit.getReduceDtype() != to)
    addFault(op, "casts gradients to " + describe(to) + ", expected " +
                     describe(unit.getReduceDtype()) +
                     ", the reduce dtype of @" + unit.getSymName(),
             path);
}

void FloatIslands::checkReduction(Operation *op) {
  if (FsdpUnitOp unit = findReducedUnit(op)) {
    Type type = getElementTypeOrSelf(op->getOperand(0).getType());
    if (type != unit.getReduceDtype())
      addFault(op, "adds gradients in " + describe(type) + ", expected " +
                       describe(unit.getReduceDtype()) +
                       ", the reduce dtype of @" + unit.getSymName());
    return;
  }
  auto allReduce = dyn_cast<AllReduceOp>(op);
  bool isSum = (allReduce && allReduce.getKind() == ReductionKind::sum) ||
               (isa<SeqReduceScatterOp>(op) && !isBackward(op));
  if (isSum)
    return checkWide(op, 0, "reduction");
  auto gradients = dyn_cast<GradReduceScatterOp>(op);
  if (!gradients)
    return;
  auto unit = SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(
      op, gradients.getUnitAttr());
  bool isIsland = unit.getIsland() ||
                  llvm::any_of(unit.getParams().getAsValueRange<StringAttr>(),
                               [](StringRef name) {
                                 return !findIslandModule(name).empty();
                               });
  for (unsigned i = 0; isIsland && i < op->getNumOperands(); ++i)
    checkWide(op, i, "reduction of an island's gradients");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void FloatIslands::checkWide(Operation *op, unsigned operand, StringRef what) {
  for (Value origin : findNarrowOrigins(op->getOperand(operand)))
    faults.push_back({origin.getLoc(),
                      "a " + describe(origin.getType()) + " value reaches the " +
                          what.str() + ", expected at least f32 on the way",
                      findPath(origin, op)});
}

void FloatIslands::checkOperation(Operation *op) {
  // Bodies: no arithmetic on narrow floats, and a cast only at the very end.
  arith::TruncFOp rounding = dyn_cast<arith::TruncFOp>(op);
  bool isBody = isa<linalg::LinalgOp>(op);
  Operation *narrow = nullptr;
  op->walk([&](Operation *nested) {
    if (nested != op && !isBody)
      return;
    if (roundsToNarrow(nested))
      narrow = nested;
    auto cast = dyn_cast<arith::TruncFOp>(nested);
    if (!cast || !isBody)
      return;
    bool isLast = llvm::all_of(cast->getUsers(), llvm::IsaPred<linalg::YieldOp>);
    if (!isLast || hasReduction(op))
      narrow = nested;
    rounding = cast;
  });
  if (narrow) {
    if (isBackward(op) && isa<arith::TruncFOp>(narrow))
      return;
    return addFault(op,
                    (hasReduction(op) ? "adds" : "computes") +
                        std::string(" in floats narrower than f32 ('") +
                        narrow->getName().getStringRef() +
                        "'), expected f32 and one rounding at the end",
                    op->getNumResults() ? findPath(op->getResult(0), nullptr)
                                        : SmallVector<PrecisionStep>());
  }
  if (rounding) {
    checkRounding(op, rounding.getIn().getType(), rounding.getType());
  } else if (auto cast = findFloatCast(op)) {
    auto label = op->getAttrOfType<StringAttr>(kCastAttr);
    if (!label)
      addFault(op, "widens " + describe(cast->from) + " to " +
                       describe(cast->to) + " without a label, expected the "
                       "step of the model in '" + kCastAttr + "'",
               findPath(op->getResult(0), nullptr));
  }
  if (isa<SinkhornOp, TopkOp>(op))
    checkWide(op, 0, isa<TopkOp>(op) ? "selection of experts" : "mHC maps");
  else if (isa<PoolWindowsOp>(op))
    for (unsigned i = 0; i < 3; ++i)
      checkWide(op, i, "compressor");
  else if (isa<WindowAttentionOp, IndexTopkOp>(op))
    checkWide(op, 2, isa<IndexTopkOp>(op) ? "indexer scores" : "attention sink");
  else
    checkReduction(op);
}
