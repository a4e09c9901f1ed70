//===- AccessRelation.cpp - which rows an operation reads -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/AccessRelation.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dsv4;

RowAccess dsv4::getLocalAccess(unsigned operandDim, unsigned resultDim) {
  RowAccess access;
  access.operandDim = operandDim;
  access.resultDim = resultDim;
  return access;
}

RowAccess dsv4::getGlobalAccess(unsigned operandDim, unsigned resultDim) {
  RowAccess access = getLocalAccess(operandDim, resultDim);
  access.first = access.last = std::nullopt;
  return access;
}

bool dsv4::isGlobal(const RowAccess &access) {
  return !access.first && !access.last;
}

/// Row t reads row t + rows.
static RowAccess getShift(unsigned operandDim, unsigned resultDim, int64_t rows) {
  RowAccess access = getLocalAccess(operandDim, resultDim);
  access.first = access.last = rows;
  return access;
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// Adds `factor` times the expression to coefficients per loop and a constant;
/// false when it is not linear.
static bool addLinear(AffineExpr expr, int64_t factor, MutableArrayRef<int64_t> loops,
                      int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    loops[dim.getPosition()] += factor;
    return true;
  }
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * value.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, loops, constant) &&
           addLinear(binary.getRHS(), factor, loops, constant);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && scale &&
         addLinear(binary.getLHS(), factor * scale.getValue(), loops, constant);
}

/// The loop that steps furthest through the operand and is a dimension of the
/// result counts rows; the other loops add a range.
static std::optional<RowAccess> findLinalgAccess(linalg::LinalgOp op, OpOperand &use,
                                                 unsigned dim) {
  if (use.getOwner() != op || !op.hasPureTensorSemantics())
    return std::nullopt;
  AffineExpr expr = op.getMatchingIndexingMap(&use).getResult(dim);
  AffineMap out = op.getIndexingMapMatchingResult(op->getResult(0));
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<int64_t> loops(sizes.size(), 0);
  int64_t constant = 0;
  if (!addLinear(expr, 1, loops, constant))
    return std::nullopt;
  std::optional<unsigned> row, resultDim;
  for (auto [i, result] : llvm::enumerate(out.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(result);
    if (!loop || loops[loop.getPosition()] <= 0)
      continue;
    if (!row || loops[loop.getPosition()] > loops[*row]) {
      row = loop.getPosition();
      resultDim = i;
    }
  }
  if (!row)
    return getGlobalAccess(dim);
  RowAccess access = getShift(dim, *resultDim, constant);
  access.num = loops[*row];
  for (auto [i, loop] : llvm::enumerate(loops)) {
    int64_t reach = i == *row ? 0 : loop * (sizes[i] - 1);
    access.first = *access.first + std::min<int64_t>(reach, 0);
    access.last = *access.last + std::max<int64_t>(reach, 0);
  }
  return access;
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

static int64_t getProduct(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

/// Rows become windows along the first dimension of the group that has several
/// elements.
static RowAccess getExpandAccess(tensor::ExpandShapeOp op, unsigned dim) {
  ReassociationIndices group = op.getReassociationIndices()[dim];
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  size_t first = 0;
  while (first + 1 < group.size() && shape[group[first]] == 1)
    ++first;
  RowAccess access = getLocalAccess(dim, group[first]);
  for (int64_t inner : ArrayRef(group).drop_front(first + 1))
    access.num *= shape[inner];
  access.last = access.num - 1;
  return access;
}

/// Windows become rows; dimensions inside windows are read anywhere.
static RowAccess getCollapseAccess(tensor::CollapseShapeOp op, unsigned dim) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  for (auto [result, group] : llvm::enumerate(op.getReassociationIndices())) {
    auto place = llvm::find(group, dim);
    if (place == group.end())
      continue;
    for (int64_t outer : ArrayRef(group.begin(), place))
      if (shape[outer] != 1)
        return getGlobalAccess(dim, result);
    RowAccess access = getLocalAccess(dim, result);
    for (int64_t inner : ArrayRef(place + 1, group.end()))
      access.den *= shape[inner];
    return access;
  }
  return getGlobalAccess(dim);
}

/// The place of dimension `dim` of the whole among those that are not dropped.
static unsigned skipDropped(const llvm::SmallBitVector &dropped, unsigned dim) {
  unsigned place = 0;
  for (unsigned i = 0; i < dim; ++i)
    place += !dropped[i];
  return place;
}

static std::optional<RowAccess> findExtractAccess(tensor::ExtractSliceOp op, unsigned dim) {
  int64_t offset = op.getStaticOffsets()[dim], stride = op.getStaticStrides()[dim];
  if (op.getDroppedDims()[dim])
    return getGlobalAccess(dim);
  if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(stride))
    return std::nullopt;
  RowAccess access = getShift(dim, skipDropped(op.getDroppedDims(), dim), offset);
  access.num = stride;
  return access;
}

static std::optional<RowAccess> findInsertAccess(tensor::InsertSliceOp op, OpOperand &use,
                                                 unsigned dim) {
  if (use.getOperandNumber() == 1)
    return getLocalAccess(dim, dim);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned whole = 0; whole < dropped.size(); ++whole) {
    if (dropped[whole] || skipDropped(dropped, whole) != dim)
      continue;
    int64_t offset = op.getStaticOffsets()[whole];
    if (ShapedType::isDynamic(offset) || op.getStaticStrides()[whole] != 1)
      return std::nullopt;
    return getShift(dim, whole, -offset);
  }
  return std::nullopt;
}

static std::optional<RowAccess> findTensorAccess(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return getExpandAccess(expand, dim);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return getCollapseAccess(collapse, dim);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return findExtractAccess(slice, dim);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return findInsertAccess(slice, use, dim);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    int64_t low = pad.getStaticLow()[dim];
    if (ShapedType::isDynamic(low))
      return std::nullopt;
    return getShift(dim, dim, -low);
  }
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  if (!concat)
    return std::nullopt;
  int64_t start = 0;
  if (dim == concat.getDim())
    for (Value before : concat.getInputs().take_front(use.getOperandNumber()))
      start += cast<RankedTensorType>(before.getType()).getDimSize(dim);
  return getShift(dim, dim, -start);
}

//===----------------------------------------------------------------------===//
// Layout rules
//===----------------------------------------------------------------------===//

/// A factor that operand and result share is read row by row; any other is read
/// all.
static std::optional<RowAccess> findRuleAccess(LayoutOpInterface op, unsigned operand,
                                               unsigned dim) {
  LayoutRule rule = op.getLayoutRule();
  if (rule.results.empty() || operand >= rule.operands.size() ||
      dim >= rule.operands[operand].size())
    return std::nullopt;
  const LayoutRule::Dim &factors = rule.operands[operand][dim];
  if (!factors.empty() && rule.factors[factors[0]] == FactorKind::Parallel)
    for (auto [i, result] : llvm::enumerate(rule.results[0]))
      if (llvm::is_contained(result, factors[0]))
        return result == factors ? getLocalAccess(dim, i) : getGlobalAccess(dim, i);
  return getGlobalAccess(dim);
}

std::optional<RowAccess> dsv4::findAccess(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  unsigned operand = use.getOperandNumber();
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  if (auto structured = dyn_cast<RowAccessOpInterface>(op))
    if (auto access = structured.getRowAccess(operand); access && access->operandDim == dim)
      return access;
  if (auto layout = dyn_cast<LayoutOpInterface>(op))
    return findRuleAccess(layout, operand, dim);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return findLinalgAccess(linalgOp, use, dim);
  if (auto access = findTensorAccess(use, dim))
    return access;
  if (auto halo = dyn_cast<SeqHaloOp>(op))
    return getShift(dim, dim, dim == halo.getDim() ? -static_cast<int64_t>(halo.getLeft()) : 0);
  if (isa<SeqGatherOp, SeqShardOp, SeqPrefixOp>(op) || op->hasTrait<OpTrait::Elementwise>())
    return getLocalAccess(dim, dim);
  if (isa<AllReduceOp>(op))
    return getLocalAccess(dim, dim);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

/// Steps after which floor(t * num / den) repeats, at most.
static constexpr int64_t kMaxPeriod = 1 << 16;

/// The bound of the composition, over one period of t, against
/// floor(t * num / den); `pick` keeps the extreme one.
template <typename Pick>
static std::optional<int64_t>
composeBound(const RowAccess &outer, const RowAccess &inner, const RowAccess &result,
             std::optional<int64_t> outerBound, std::optional<int64_t> innerBound, Pick pick) {
  if (!outerBound || !innerBound)
    return std::nullopt;
  std::optional<int64_t> bound;
  int64_t period = outer.den * inner.den;
  for (int64_t t = 0; t < period; ++t) {
    int64_t middle = llvm::divideFloorSigned(t * outer.num, outer.den) + *outerBound;
    int64_t row = llvm::divideFloorSigned(middle * inner.num, inner.den) + *innerBound -
                  llvm::divideFloorSigned(t * result.num, result.den);
    bound = bound ? pick(*bound, row) : row;
  }
  return bound;
}

RowAccess dsv4::compose(const RowAccess &outer, const RowAccess &inner) {
  RowAccess result = getLocalAccess(inner.operandDim, outer.resultDim);
  int64_t num = outer.num * inner.num, den = outer.den * inner.den;
  int64_t gcd = std::gcd(num, den);
  result.num = num / gcd;
  result.den = den / gcd;
  result.isClippedByIds = outer.isClippedByIds || inner.isClippedByIds;
  if (den > kMaxPeriod)
    return getGlobalAccess(inner.operandDim, outer.resultDim);
  result.first = composeBound(outer, inner, result, outer.first, inner.first,
                              [](int64_t a, int64_t b) { return std::min(a, b); });
  result.last = composeBound(outer, inner, result, outer.last, inner.last,
                             [](int64_t a, int64_t b) { return std::max(a, b); });
  // Only some channels of neighbours are read if nobody else looks at them.
  if (outer.num == 1 && outer.den == 1 && outer.first == 0 && outer.last == 0)
    result.channels = inner.channels;
  return result;
}

RowAccess dsv4::join(const RowAccess &a, const RowAccess &b) {
  if (a.num * b.den != b.num * a.den || a.resultDim != b.resultDim)
    return getGlobalAccess(a.operandDim, a.resultDim);
  RowAccess result = a;
  auto merge = [](std::optional<int64_t> a, std::optional<int64_t> b, auto pick) {
    return a && b ? std::optional<int64_t>(pick(*a, *b)) : std::nullopt;
  };
  result.first = merge(a.first, b.first, [](int64_t a, int64_t b) { return std::min(a, b); });
  result.last = merge(a.last, b.last, [](int64_t a, int64_t b) { return std::max(a, b); });
  if (a.channels != b.channels)
    result.channels = std::nullopt;
  result.isClippedByIds = a.isClippedByIds || b.isClippedByIds;
  return result;
}

std::string dsv4::formatAccess(const RowAccess &access) {
  if (isGlobal(access))
    return "global";
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t own = access.num - 1;
  if (!access.first || !access.last) {
    os << (access.first ? "suffix" : "prefix");
    if (access.num > 1)
      os << " of windows of " << access.num;
    if (access.den > 1)
      os << " of ratio " << access.den;
    int64_t beyond = access.first ? -*access.first : *access.last - own;
    if (beyond > 0)
      os << " and " << beyond << " more";
  } else {
    if (access.num > 1)
      os << "windows of " << access.num;
    if (access.den > 1)
      os << (access.num > 1 ? " of " : "rows of ") << "ratio " << access.den;
    int64_t left = -*access.first, right = *access.last - own;
    if (left != 0 || right != 0)
      os << (text.empty() ? "" : " with ") << "halo(" << left << ", " << right << ")";
    if (text.empty())
      os << "local";
  }
  if (access.channels)
    os << " channels [" << access.channels->first << ", " << access.channels->second << "]";
  if (access.isClippedByIds)
    os << " clipped by ids";
  return text;
}

//===----------------------------------------------------------------------===//
// What a rank needs
//===----------------------------------------------------------------------===//

std::optional<RemoteRows> dsv4::findRemoteRows(const RowAccess &access, int64_t operandRows,
                                               int64_t resultRows, int64_t ranks) {
  if (isGlobal(access))
    return RemoteRows{RemoteRows::All};
  if (resultRows * access.num != operandRows * access.den)
    return std::nullopt;
  // Relative to the first row of the rank: its last result row reads up to here.
  int64_t lastRow = (resultRows - 1) * access.num / access.den;
  int64_t others = (ranks - 1) * operandRows;
  int64_t left = access.first ? std::max<int64_t>(-*access.first, 0) : others;
  int64_t right =
      access.last ? std::max<int64_t>(lastRow + *access.last - (operandRows - 1), 0) : others;
  if (left == 0 && right == 0)
    return RemoteRows{RemoteRows::None};
  if (right == 0 && left >= others)
    return RemoteRows{RemoteRows::Prefix};
  if (left >= others && right >= others)
    return RemoteRows{RemoteRows::All};
  return RemoteRows{RemoteRows::Halo, left, right};
}
