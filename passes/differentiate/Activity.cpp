//===- Activity.cpp - what lies between the loss and parameters -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Activity.h"
#include "dsv4/Analysis/FlatBuffers.h"
#include "dsv4/Analysis/ModelFunction.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SmallVector<DifferentiatedParameter>
dsv4::getDifferentiatedParameters(func::FuncOp function) {
  SmallVector<DifferentiatedParameter> result;
  for (const ModelParameter &parameter : getParameters(function))
    if (!parameter.isFrozen) {
      Value value = function.getArgument(parameter.argument);
      result.push_back({parameter.name, value.getLoc(), value});
    }
  auto module = function->getParentOfType<mlir::ModuleOp>();
  llvm::DenseMap<Attribute, UnshardOp> unshards;
  for (auto op : function.getOps<UnshardOp>())
    unshards[op.getUnitAttr().getAttr()] = op;
  for (auto unit : module.getOps<FsdpUnitOp>()) {
    llvm::DenseSet<StringAttr> trainable;
    for (const FlatBuffer &buffer : getFlatBuffers(unit))
      for (const FlatSegment &segment : buffer.segments)
        if (!buffer.isFrozen)
          trainable.insert(segment.name);
    UnshardOp unshard = unshards.lookup(unit.getSymNameAttr());
    for (auto [i, name] :
         llvm::enumerate(unit.getParams().getAsRange<StringAttr>()))
      if (trainable.contains(name))
        result.push_back({name, unit.getLoc(),
                          unshard ? Value(unshard.getResult(i)) : Value()});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

namespace {

/// Something that an operation of the body reads, directly or in a region.
struct Read {
  Operation *op; // in the body
  OpOperand *use;
  bool isCaptured() const { return use->getOwner() != op; }
};

} // namespace

static SmallVector<Read> getReads(Operation &op) {
  SmallVector<Read> reads;
  op.walk<WalkOrder::PreOrder>([&](Operation *nested) {
    for (OpOperand &use : nested->getOpOperands())
      if (nested == &op || !op.isAncestor(use.get().getParentBlock()->getParentOp()))
        reads.push_back({&op, &use});
  });
  return reads;
}

static bool hasFloatResult(Operation &op) {
  return llvm::any_of(op.getResultTypes(), isDifferentiableType);
}

static bool carriesGradient(const Read &read) {
  if (!isDifferentiableType(read.use->get().getType()) ||
      read.op->hasAttr(kNoGradAttr) || !hasFloatResult(*read.op))
    return false;
  auto rule = dyn_cast<DifferentiableOpInterface>(read.op);
  return read.isCaptured() || !rule || rule.carriesGradient(*read.use);
}

/// Why an edge carries no gradient, as the end of a sentence.
static StringRef getReason(const Read &read) {
  if (read.op->hasAttr(kNoGradAttr))
    return "because it is marked 'dsv4.no_grad'";
  if (!hasFloatResult(*read.op))
    return "because its results are no floats";
  return "because of its rule";
}

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

/// Marks what values reach through edges, in program order.
template <typename FollowFn>
static void reachForward(Block &body, llvm::DenseSet<Value> &reached,
                         FollowFn follows) {
  for (Operation &op : body) {
    if (isa<UnshardOp>(op))
      continue;
    bool isReached = llvm::any_of(getReads(op), [&](const Read &read) {
      return reached.contains(read.use->get()) && follows(read);
    });
    if (!isReached)
      continue;
    for (Value result : op.getResults())
      reached.insert(result);
  }
}

/// Marks what reaches values through edges, against program order.
template <typename FollowFn>
static void reachBackward(Block &body, llvm::DenseSet<Value> &reached,
                          FollowFn follows) {
  for (Operation &op : llvm::reverse(body)) {
    bool isReached = llvm::any_of(
        op.getResults(), [&](Value result) { return reached.contains(result); });
    if (!isReached || isa<UnshardOp>(op))
      continue;
    for (const Read &read : getReads(op))
      if (follows(read))
        reached.insert(read.use->get());
  }
}

Activity::Activity(func::FuncOp function, Value loss,
                   ArrayRef<DifferentiatedParameter> parameters)
    : body(function.getBody().front()), loss(loss), parameters(parameters) {
  for (const DifferentiatedParameter &parameter : parameters)
    if (parameter.value)
      varied.insert(parameter.value);
  useful.insert(loss);
  reachForward(body, varied, carriesGradient);
  reachBackward(body, useful, carriesGradient);
  for (Value value : varied)
    if (useful.contains(value) && isDifferentiableType(value.getType())) {
      active.insert(value);
      // The shards of a unit need what its parameters need.
      if (auto unshard = value.getDefiningOp<UnshardOp>())
        for (Value shard : unshard.getShards())
          active.insert(shard);
    }
}

LogicalResult
Activity::verifyParameter(const DifferentiatedParameter &parameter) {
  if (parameter.value && active.contains(parameter.value))
    return success();
  auto all = [](const Read &) { return true; };
  llvm::DenseSet<Value> reaching = {loss}, reached, all_reached;
  reachBackward(body, reaching, all);
  if (parameter.value)
    reached.insert(parameter.value);
  reachForward(body, reached, carriesGradient);
  if (!parameter.value || !reaching.contains(parameter.value))
    return emitError(parameter.loc)
           << "parameter " << parameter.name
           << " is not marked 'dsv4.frozen', but the loss does not depend on it";
  auto diagnostic = emitError(parameter.loc)
                    << "parameter " << parameter.name
                    << " is not marked 'dsv4.frozen', but every path from it to "
                       "the loss ends in an edge without gradient";
  for (Operation &op : body)
    for (const Read &read : getReads(op)) {
      auto leads = [&](Value value) { return reaching.contains(value); };
      if (reached.contains(read.use->get()) && !carriesGradient(read) &&
          llvm::any_of(op.getResults(), leads)) {
        diagnostic.attachNote(op.getLoc())
            << "operand " << read.use->getOperandNumber() << " of '"
            << op.getName() << "' has no gradient " << getReason(read);
        return failure();
      }
    }
  return failure();
}

/// The module paths, or operation names where there are none, from the loss
/// through an operation to a parameter.
std::string Activity::formatPath(Operation *op) const {
  SmallVector<std::string> steps = {"loss"};
  auto add = [&](Operation *step) {
    auto path = step->getAttrOfType<StringAttr>(kPathAttr);
    std::string text =
        path ? path.str() : "'" + step->getName().getStringRef().str() + "'";
    if (steps.back() != text)
      steps.push_back(text);
  };
  // From the loss down: the way up from `op`, reversed.
  SmallVector<Operation *> up;
  llvm::DenseMap<Value, Operation *> user; // the next step towards the loss
  for (Operation &next : llvm::reverse(body)) {
    auto isOnPath = [&](Value value) {
      return value == loss || user.contains(value);
    };
    if (llvm::none_of(next.getResults(), isOnPath))
      continue;
    for (const Read &read : getReads(next))
      if (carriesGradient(read))
        user.try_emplace(read.use->get(), &next);
  }
  for (Operation *step = op; step;) {
    Operation *next = nullptr;
    for (Value result : step->getResults())
      if (!next && result != loss)
        next = user.lookup(result);
    if (next)
      up.push_back(next);
    step = next;
  }
  for (Operation *step : llvm::reverse(up))
    add(step);
  // And on to a parameter.
  Value value;
  for (Operation *step = op; step; step = value.getDefiningOp()) {
    if (isa<UnshardOp>(step))
      break;
    add(step);
    value = {};
    for (const Read &read : getReads(*step))
      if (varied.contains(read.use->get()) && carriesGradient(read))
        value = read.use->get();
    if (!value)
      break;
  }
  for (const DifferentiatedParameter &parameter : parameters)
    if (value && parameter.value == value)
      steps.push_back("parameter \"" + parameter.name.str() + "\"");
  if (steps.size() > 12) {
    steps[6] = "...";
    steps.erase(steps.begin() + 7, steps.end() - 5);
  }
  return llvm::join(steps, ", ");
}

/// An operation in a region computes floats from floats.
static bool needsRule(Operation *op) {
  return !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::any_of(op->getOperandTypes(), isDifferentiableType) &&
         hasFloatResult(*op);
}

LogicalResult Activity::verifyOperation(Operation &op) {
  auto isActive = [&](Value value) { return active.contains(value); };
  if (llvm::none_of(op.getResults(), isActive) || isa<UnshardOp>(op))
    return success();
  auto fail = [&](Operation *at, const Twine &what) {
    auto diagnostic = at->emitOpError() << what;
    diagnostic.attachNote(op.getLoc())
        << "it lies on the path from the loss to a parameter: "
        << formatPath(&op);
    return failure();
  };
  for (const Read &read : getReads(op))
    if (read.isCaptured() && isActive(read.use->get()))
      return fail(&op, "reads a float tensor in its region, expected an operand, "
                       "whose gradient is known");
  Operation *missing = isa<DifferentiableOpInterface>(op) ? nullptr : &op;
  op.walk([&](Operation *nested) {
    if (!missing && nested != &op && needsRule(nested) &&
        !isa<DifferentiableOpInterface>(nested))
      missing = nested;
  });
  return missing ? fail(missing, "has no differentiation rule") : success();
}

LogicalResult Activity::verify() {
  for (const DifferentiatedParameter &parameter : parameters)
    if (failed(verifyParameter(parameter)))
      return failure();
  for (Operation &op : llvm::reverse(body))
    if (failed(verifyOperation(op)))
      return failure();
  return success();
}
