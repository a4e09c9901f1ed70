//===- LayoutRules.cpp - layout rules of all operations -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRules.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dsv4;

static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

/// Dimensions that share no factor with anything yet.
static SmallVector<LayoutRule::Dim> addOwnFactors(LayoutRule &rule, Value value,
                                                  FactorKind kind) {
  SmallVector<LayoutRule::Dim> dims;
  for (int64_t i = 0, e = getRank(value); i < e; ++i)
    dims.push_back({rule.addFactor(kind)});
  return dims;
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// Loops that an operand reads in a way other than one loop per dimension have
/// to run whole.
static void addCompoundLoops(AffineExpr expr, LayoutRule &rule) {
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      rule.factors[dim.getPosition()] = FactorKind::Whole;
  });
}

static SmallVector<LayoutRule::Dim> getLinalgDims(AffineMap map,
                                                  LayoutRule &rule) {
  SmallVector<LayoutRule::Dim> dims;
  SmallVector<bool> seen(map.getNumDims(), false);
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      unsigned loop = dim.getPosition();
      if (seen[loop])
        rule.factors[loop] = FactorKind::Whole;
      seen[loop] = true;
      dims.push_back({loop});
      continue;
    }
    addCompoundLoops(expr, rule);
    dims.push_back({rule.addFactor(FactorKind::Whole)});
  }
  return dims;
}

/// A loop is split alike for all operands that it walks. Factor i is loop i.
static bool addLinalgRule(linalg::LinalgOp op, LayoutRule &rule) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!op.hasPureTensorSemantics() || maps.size() != op->getNumOperands())
    return false;
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  for (utils::IteratorType loop : loops)
    rule.addFactor(loop == utils::IteratorType::parallel ? FactorKind::Parallel
                   : loop == utils::IteratorType::reduction
                       ? FactorKind::Reduction
                       : FactorKind::Whole);
  for (AffineMap map : maps)
    rule.operands.push_back(getLinalgDims(map, rule));
  unsigned firstInit = op.getNumDpsInputs();
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
    const auto &dims = rule.operands[firstInit + i];
    rule.results.push_back(dims);
    for (unsigned loop = 0; loop < loops.size(); ++loop) {
      bool isIndexed = llvm::is_contained(dims, LayoutRule::Dim{loop});
      if (isIndexed == (loops[loop] == utils::IteratorType::reduction))
        rule.factors[loop] = FactorKind::Whole;
    }
  }
  return true;
}

std::optional<ReductionKind> dsv4::matchCombiner(linalg::LinalgOp op,
                                                 unsigned number) {
  SmallVector<Operation *, 4> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), number, combiners) ||
      combiners.size() != 1)
    return std::nullopt;
  if (isa<arith::AddFOp, arith::AddIOp>(combiners[0]))
    return ReductionKind::sum;
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(combiners[0]))
    return ReductionKind::max;
  if (isa<arith::MinimumFOp, arith::MinSIOp>(combiners[0]))
    return ReductionKind::min;
  return std::nullopt;
}

bool dsv4::canCombine(ReductionKind kind, Type element) {
  if (kind != ReductionKind::sum)
    return isa<IntegerType, FloatType>(element) && !element.isInteger(1);
  return element.isInteger(32) || element.isInteger(64) ||
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element);
}

bool dsv4::isZeroTensor(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

/// `groups[i]` lists the dimensions of the expanded side that dimension i of
/// the collapsed side consists of.
static void addReshapeRule(ArrayRef<ReassociationIndices> groups,
                           Value expanded, LayoutRule &rule,
                           SmallVectorImpl<LayoutRule::Dim> &expandedDims,
                           SmallVectorImpl<LayoutRule::Dim> &collapsedDims) {
  expandedDims = addOwnFactors(rule, expanded, FactorKind::Parallel);
  for (const ReassociationIndices &group : groups) {
    LayoutRule::Dim factors;
    for (int64_t dim : group)
      factors.push_back(expandedDims[dim].front());
    collapsedDims.push_back(factors);
  }
}

/// Rule of a slice: `whole` has all elements, `part` the selected ones. A
/// dimension that is selected entirely is shared, any other is needed whole.
template <typename OpT>
static void addSliceRule(OpT op, Value whole, LayoutRule &rule,
                         SmallVectorImpl<LayoutRule::Dim> &wholeDims,
                         SmallVectorImpl<LayoutRule::Dim> &partDims) {
  auto type = cast<RankedTensorType>(whole.getType());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (int64_t i = 0, e = type.getRank(); i < e; ++i) {
    bool isFull = op.getStaticOffsets()[i] == 0 &&
                  op.getStaticStrides()[i] == 1 &&
                  op.getStaticSizes()[i] == type.getDimSize(i) && !dropped[i];
    unsigned factor =
        rule.addFactor(isFull ? FactorKind::Parallel : FactorKind::Whole);
    wholeDims.push_back({factor});
    if (!dropped[i])
      partDims.push_back({isFull ? factor : rule.addFactor(FactorKind::Whole)});
  }
}

static bool addPadRule(tensor::PadOp op, LayoutRule &rule) {
  for (BlockArgument index : op.getBody()->getArguments())
    if (!index.use_empty())
      return false;
  SmallVector<LayoutRule::Dim> source, result;
  for (auto [low, high] : llvm::zip(op.getStaticLow(), op.getStaticHigh())) {
    bool isFull = low == 0 && high == 0;
    unsigned factor =
        rule.addFactor(isFull ? FactorKind::Parallel : FactorKind::Whole);
    source.push_back({factor});
    result.push_back({isFull ? factor : rule.addFactor(FactorKind::Whole)});
  }
  rule.operands.resize(op->getNumOperands());
  rule.operands[0] = source;
  rule.results.push_back(result);
  return true;
}

static void addConcatRule(tensor::ConcatOp op, LayoutRule &rule) {
  unsigned joined = op.getDim();
  SmallVector<LayoutRule::Dim> result =
      addOwnFactors(rule, op.getResult(), FactorKind::Parallel);
  rule.factors[joined] = FactorKind::Whole;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    rule.operands.push_back(result);
    rule.operands.back()[joined] = {rule.addFactor(FactorKind::Whole)};
  }
  rule.results.push_back(result);
}

/// Operations of the tensor dialect and constants; false when not known.
static bool addTensorRule(Operation *op, LayoutRule &rule) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    rule.results.resize(1);
    rule.operands.resize(op->getNumOperands());
    addReshapeRule(expand.getReassociationIndices(), expand.getResult(), rule,
                   rule.results[0], rule.operands[0]);
    return true;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    rule.results.resize(1);
    rule.operands.resize(1);
    addReshapeRule(collapse.getReassociationIndices(), collapse.getSrc(), rule,
                   rule.operands[0], rule.results[0]);
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    rule.results.resize(1);
    rule.operands.resize(op->getNumOperands());
    addSliceRule(slice, slice.getSource(), rule, rule.operands[0],
                 rule.results[0]);
    return true;
  }
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    rule.operands.resize(op->getNumOperands());
    addSliceRule(slice, slice.getDest(), rule, rule.operands[1],
                 rule.operands[0]);
    rule.results.push_back(rule.operands[1]);
    return true;
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return addPadRule(pad, rule);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    addConcatRule(concat, rule);
    return true;
  }
  return false;
}

/// Tensors made from scalars or an attribute.
static bool addSourceRule(Operation *op, LayoutRule &rule) {
  FactorKind kind = FactorKind::Parallel;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    kind = isa<SplatElementsAttr>(constant.getValue()) ? FactorKind::Parallel
                                                       : FactorKind::Whole;
  else if (!isa<tensor::EmptyOp, tensor::SplatOp>(op))
    return false;
  rule.operands.resize(op->getNumOperands());
  rule.results.push_back(addOwnFactors(rule, op->getResult(0), kind));
  return true;
}

/// arith and math on tensors: all dimensions of all tensors are shared.
static bool addElementwiseRule(Operation *op, LayoutRule &rule) {
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  rule.results.push_back(addOwnFactors(rule, result, FactorKind::Parallel));
  for (Value operand : op->getOperands()) {
    bool isTensor = isa<RankedTensorType>(operand.getType());
    if (isTensor && getRank(operand) != getRank(result))
      return false;
    rule.operands.push_back(isTensor ? rule.results[0]
                                     : SmallVector<LayoutRule::Dim>());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

static bool addRule(Operation *op, LayoutRule &rule) {
  if (auto interface = dyn_cast<LayoutOpInterface>(op)) {
    rule = interface.getLayoutRule();
    return true;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return addLinalgRule(linalgOp, rule);
  return addTensorRule(op, rule) || addSourceRule(op, rule) ||
         addElementwiseRule(op, rule);
}

/// True when the rule has one entry per operand, result and dimension.
static bool isComplete(Operation *op, const LayoutRule &rule) {
  if (rule.operands.size() != op->getNumOperands() ||
      rule.results.size() != op->getNumResults())
    return false;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    if (getRank(value) != static_cast<int64_t>(dims.size()))
      return false;
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    if (getRank(value) != static_cast<int64_t>(dims.size()))
      return false;
  return true;
}

/// Tensors from outside that operations inside read.
static SmallVector<OpOperand *> getCapturedTensors(Operation *op) {
  SmallVector<OpOperand *> captured;
  if (op->getNumRegions() == 0)
    return captured;
  op->walk([&](Operation *nested) {
    if (nested == op)
      return;
    for (OpOperand &operand : nested->getOpOperands()) {
      Operation *parent = operand.get().getParentBlock()->getParentOp();
      if (isa<TensorType>(operand.get().getType()) &&
          !(parent && op->isAncestor(parent)))
        captured.push_back(&operand);
    }
  });
  return captured;
}

OpRule dsv4::getOpRule(Operation *op) {
  OpRule result;
  for (OpOperand &operand : op->getOpOperands())
    result.uses.push_back(&operand);
  SmallVector<OpOperand *> captured = getCapturedTensors(op);
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (captured.empty() && llvm::none_of(op->getOperandTypes(), isTensor) &&
      llvm::none_of(op->getResultTypes(), isTensor)) {
    result.kind = OpRule::Kind::Scalar;
    return result;
  }
  if (addRule(op, result.rule) && isComplete(op, result.rule)) {
    result.kind = OpRule::Kind::Known;
    for (OpOperand *use : captured)
      result.rule.operands.push_back(
          addOwnFactors(result.rule, use->get(), FactorKind::Whole));
  }
  llvm::append_range(result.uses, captured);
  return result;
}

bool dsv4::isRemakeable(Operation *op) {
  // A tensor that is overwritten is made by one of the others, so that a few
  // steps decide.
  for (int depth = 0; op && depth < 3; ++depth) {
    if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
      return true;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || op->getNumResults() != 1 ||
        linalgOp.getNumReductionLoops() != 0 || !getCapturedTensors(op).empty())
      return false;
    for (OpOperand *input : linalgOp.getDpsInputOperands())
      if (isa<TensorType>(input->get().getType()))
        return false;
    OpOperand *init = linalgOp.getDpsInitOperand(0);
    if (!linalgOp.getMatchingIndexingMap(init).isIdentity())
      return false;
    op = init->get().getDefiningOp();
  }
  return false;
}
