//===- LinalgRules.cpp - one differentiation rule for all of linalg -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of input k is an operation over the same loops. Its body repeats
// the forward body, differentiates it with the rules of its scalar operations,
// and adds into the elements that input k was read from:
//
//   y(b,o) += x(b,i) * w(o,i)
//     dx(b,i) += w(o,i) * dy(b,o)        loops b,i parallel, o reduction
//     dw(o,i) += x(b,i) * dy(b,o)        loops o,i parallel, b reduction
//
// Loops that are a dimension of input k are parallel, all others reductions.
// Inputs that the result does not read are dropped, so the transposes of a
// contraction are contractions. Sums are formed in f32 at least and rounded once.
//
// What would give a silent zero is an error: several results, reductions other
// than sums (a maximum that shifts a softmax is marked `dsv4.no_grad`), and
// (checked by the pass) float tensors read inside the body.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// What the rule needs to know of the forward operation.
struct Forward {
  linalg::LinalgOp op;
  Block *body = nullptr;
  /// For reductions, what is added to the accumulator; else the result.
  Value result;
  bool isReduction = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// The forward operation
//===----------------------------------------------------------------------===//

static FailureOr<Forward> readForward(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return op.emitOpError() << "is differentiated on tensors only";
  if (op->getNumResults() != 1)
    return op.emitOpError() << "has " << op->getNumResults()
                            << " results, expected 1 where a gradient passes";
  Forward forward;
  forward.op = op;
  forward.body = op.getBlock();
  forward.isReduction = op.getNumReductionLoops() != 0;
  forward.result = forward.body->getTerminator()->getOperand(0);
  if (!forward.isReduction)
    return forward;
  Value accumulator = op.getRegionOutputArgs().front();
  auto add = forward.result.getDefiningOp<arith::AddFOp>();
  if (add && accumulator.hasOneUse() && forward.result.hasOneUse()) {
    if (add.getLhs() == accumulator)
      forward.result = add.getRhs();
    else if (add.getRhs() == accumulator)
      forward.result = add.getLhs();
    else
      add = nullptr;
  } else {
    add = nullptr;
  }
  if (!add) {
    auto diagnostic = op.emitOpError()
                      << "accumulates in another way than by adding to its "
                         "result, which has no differentiation rule";
    diagnostic.attachNote(forward.result.getLoc())
        << "mark the operation 'dsv4.no_grad' if the loss does not depend on "
           "this value, as on the shift of a softmax";
    return diagnostic;
  }
  return forward;
}

/// Whether the yielded value depends on a block argument through floats.
static bool reachesResult(BlockArgument argument) {
  llvm::DenseSet<Value> reached = {argument};
  Operation *terminator = argument.getOwner()->getTerminator();
  for (Operation &op : argument.getOwner()->without_terminator()) {
    bool reads = llvm::any_of(op.getOpOperands(), [&](OpOperand &use) {
      auto rule = dyn_cast<DifferentiableOpInterface>(op);
      return reached.contains(use.get()) && (!rule || rule.carriesGradient(use));
    });
    if (reads)
      for (Value result : op.getResults())
        if (isDifferentiableType(result.getType()))
          reached.insert(result);
  }
  return llvm::any_of(terminator->getOperands(),
                      [&](Value value) { return reached.contains(value); });
}

//===----------------------------------------------------------------------===//
// The body of a cotangent
//===----------------------------------------------------------------------===//

namespace {

/// A body without operation yet: its arguments are all inputs and the
/// accumulator of the forward operation, and the cotangent of the result.
struct AdjointBody {
  Block block;
  Value result;
};

} // namespace

/// Erases what `result` does not need.
static void eraseDead(Block &block, Value result) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && result.getDefiningOp() != &op && isPure(&op))
      op.erase();
}

/// Equal widenings of one argument become one, so that its cotangent is
/// summed before it is narrowed.
static void mergeWidenings(BlockArgument argument) {
  arith::ExtFOp first;
  for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
    auto widening = dyn_cast<arith::ExtFOp>(user);
    if (!widening)
      continue;
    if (!first) {
      first = widening;
      continue;
    }
    if (first.getType() != widening.getType())
      continue;
    if (widening->isBeforeInBlock(first))
      std::swap(first, widening);
    widening.getResult().replaceAllUsesWith(first.getResult());
    widening.erase();
  }
}

/// Forward operations, then backward ones. `result` is null when nothing depends
/// on argument `number`.
static LogicalResult buildBody(Forward &forward, unsigned number,
                               AdjointBody &body) {
  OpBuilder builder(forward.op.getContext());
  builder.setInsertionPointToEnd(&body.block);
  IRMapping mapping;
  for (BlockArgument argument : forward.body->getArguments())
    mapping.map(argument,
                body.block.addArgument(argument.getType(), argument.getLoc()));
  Value dy = body.block.addArgument(forward.result.getType(),
                                    forward.op.getLoc());
  for (Operation &op : forward.body->without_terminator())
    builder.clone(op, mapping);
  BlockArgument input = body.block.getArgument(number);
  mergeWidenings(input);

  llvm::DenseSet<Value> active = {input};
  SmallVector<Operation *> ops;
  for (Operation &op : body.block) {
    ops.push_back(&op);
    for (OpOperand &use : op.getOpOperands()) {
      auto rule = dyn_cast<DifferentiableOpInterface>(op);
      if (active.contains(use.get()) && (!rule || rule.carriesGradient(use)))
        for (Value result : op.getResults())
          if (isDifferentiableType(result.getType()))
            active.insert(result);
    }
  }
  AdjointBuilder adjoint(forward.op.getLoc(), builder, active);
  // The result may be the cloned value of a widening that was merged.
  Value result = mapping.lookupOrDefault(forward.result);
  if (result == dy || !active.contains(result))
    return success();
  adjoint.seed(result, dy);
  if (failed(adjoint.visit(ops)))
    return failure();
  body.result = adjoint.getCotangent(input);
  if (body.result)
    eraseDead(body.block, body.result);
  return success();
}

//===----------------------------------------------------------------------===//
// The operation of a cotangent
//===----------------------------------------------------------------------===//

/// The operands that the body reads, in the order of its arguments; further
/// ones until every loop has an extent.
static SmallVector<unsigned> selectOperands(AdjointBody &body,
                                            ArrayRef<AffineMap> maps,
                                            AffineMap resultMap) {
  llvm::BitVector isUsed(maps.size());
  for (BlockArgument argument : body.block.getArguments())
    if (!argument.use_empty() || argument == body.result)
      isUsed.set(argument.getArgNumber());
  auto covers = [&] {
    SmallVector<AffineMap> used = {resultMap};
    for (unsigned i : isUsed.set_bits())
      used.push_back(maps[i]);
    return !!inversePermutation(concatAffineMaps(used, resultMap.getContext()));
  };
  for (unsigned i = maps.size(); i-- > 0 && !covers();)
    isUsed.set(i);
  return llvm::to_vector_of<unsigned>(isUsed.set_bits());
}

Value dsv4::narrow(AdjointBuilder &b, Value value, RankedTensorType type,
                   Attribute label) {
  if (value.getType() == type)
    return value;
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto cast = linalg::GenericOp::create(
      b, b.getLoc(), TypeRange(type), value, b.makeEmpty(type), maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        linalg::YieldOp::create(
            builder, loc,
            arith::TruncFOp::create(builder, loc, type.getElementType(), args[0])
                .getResult());
      });
  cast->setAttr(kCastAttr, label);
  return cast.getResult(0);
}

/// Adds the cotangent of one operand.
static LogicalResult buildOperandAdjoint(Forward &forward,
                                         OpOperand &operand, AdjointBuilder &b) {
  linalg::LinalgOp op = forward.op;
  AdjointBody body;
  if (failed(buildBody(forward, operand.getOperandNumber(), body)))
    return failure();
  if (!body.result)
    return success();

  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap resultMap = maps[operand.getOperandNumber()];
  SmallVector<Value> values(op->getOperands());
  maps.push_back(maps.back());
  values.push_back(b.getCotangent(op->getResult(0)));

  auto type = cast<RankedTensorType>(operand.get().getType());
  bool accumulates = !resultMap.isPermutation();
  RankedTensorType sumType = type;
  if (accumulates)
    sumType = type.clone(getAccumulatorType(type.getElementType()));
  // A sum of narrow terms is narrowed at its end instead.
  auto narrowing = body.result.getDefiningOp<arith::TruncFOp>();
  if (accumulates && sumType != type && narrowing &&
      narrowing.getIn().getType() == sumType.getElementType())
    body.result = narrowing.getIn();

  SmallVector<unsigned> used = selectOperands(body, maps, resultMap);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> usedMaps;
  for (unsigned i : used) {
    inputs.push_back(values[i]);
    usedMaps.push_back(maps[i]);
  }
  usedMaps.push_back(resultMap);
  SmallVector<utils::IteratorType> loops(op.getNumLoops(),
                                         utils::IteratorType::reduction);
  for (AffineExpr expr : resultMap.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = utils::IteratorType::parallel;

  Value init = accumulates ? b.makeZero(sumType) : b.makeEmpty(sumType);
  auto generic = linalg::GenericOp::create(
      b, b.getLoc(), TypeRange(sumType), inputs, init, usedMaps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        for (auto [i, number] : llvm::enumerate(used)) {
          BlockArgument old = body.block.getArgument(number);
          if (body.result == old)
            body.result = args[i];
          old.replaceAllUsesWith(args[i]);
        }
        Block *target = builder.getInsertionBlock();
        target->getOperations().splice(target->end(),
                                       body.block.getOperations());
        builder.setInsertionPointToEnd(target);
        Value result = body.result;
        Type element = sumType.getElementType();
        if (result.getType() != element)
          result = arith::ExtFOp::create(builder, loc, element, result);
        if (accumulates)
          result = arith::AddFOp::create(builder, loc, args.back(), result);
        linalg::YieldOp::create(builder, loc, result);
      });
  for (Operation &nested :
       llvm::make_early_inc_range(llvm::reverse(*generic.getBody())))
    if (nested.use_empty() && isPure(&nested) &&
        !nested.hasTrait<OpTrait::IsTerminator>())
      nested.erase();
  Attribute label = op->getAttr(kCastAttr);
  if (label)
    generic->setAttr(kCastAttr, label);
  Value result = generic.getResult(0);
  if (sumType != type)
    result = narrow(b, result, type,
                    label ? label : b.getStringAttr("sum of cotangents"));
  b.addCotangent(operand.get(), result);
  return success();
}

static LogicalResult buildLinalgAdjoint(linalg::LinalgOp op, AdjointBuilder &b) {
  FailureOr<Forward> forward = readForward(op);
  if (failed(forward))
    return failure();
  OpOperand *init = op.getDpsInitOperand(0);
  if (forward->isReduction && b.needsCotangent(init->get()))
    b.addCotangent(init->get(), b.getCotangent(op->getResult(0)));
  for (OpOperand &operand : op->getOpOperands()) {
    bool isAccumulator = &operand == init && forward->isReduction;
    if (!isAccumulator && b.needsCotangent(operand.get()) &&
        failed(buildOperandAdjoint(*forward, operand, b)))
      return failure();
  }
  return success();
}

namespace {

template <typename OpT>
struct LinalgRule
    : DifferentiableOpInterface::ExternalModel<LinalgRule<OpT>, OpT> {
  bool carriesGradient(Operation *op, OpOperand &operand) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    Block *body = linalgOp.getBlock();
    // An operand that is not one of the structure is read in no known way.
    return operand.getOperandNumber() >= body->getNumArguments() ||
           reachesResult(linalgOp.getMatchingBlockArgument(&operand));
  }
  LogicalResult buildAdjoint(Operation *op, AdjointBuilder &builder) const {
    return buildLinalgAdjoint(cast<linalg::LinalgOp>(op), builder);
  }
};

template <typename... OpTs> void attachLinalgRules(MLIRContext &context) {
  (OpTs::template attachInterface<LinalgRule<OpTs>>(context), ...);
}

} // namespace

void dsv4::registerLinalgRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachLinalgRules<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(*context);
  });
}
