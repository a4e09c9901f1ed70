//===- LinalgNest.cpp - a linalg operation as loops over flat memory ------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgNest.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// Splits `expr` into strides and an offset; false if it is not affine with
/// constant coefficients in the loops alone.
static bool splitAffine(AffineExpr expr, MutableArrayRef<int64_t> strides,
                        int64_t &offset, int64_t factor = 1) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    offset += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    strides[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  if (binary.getKind() == AffineExprKind::Add)
    return splitAffine(lhs, strides, offset, factor) &&
           splitAffine(rhs, strides, offset, factor);
  if (binary.getKind() != AffineExprKind::Mul)
    return false;
  if (auto constant = dyn_cast<AffineConstantExpr>(rhs))
    return splitAffine(lhs, strides, offset, factor * constant.getValue());
  return false;
}

static NestAccess getAccess(OpOperand &operand, linalg::LinalgOp op, Emitter &e,
                            SmallVectorImpl<int64_t> &strides) {
  NestAccess access;
  access.operand = operand.get();
  strides.assign(op.getNumLoops(), 0);
  if (!isa<MemRefType>(operand.get().getType())) {
    access.isScalar = true;
    return access;
  }
  access.buffer = e.flatten(operand.get());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  access.position = getAffineConstantExpr(0, e.getContext());
  for (auto [result, stride] :
       llvm::zip(map.getResults(), access.buffer.strides))
    access.position = access.position + result * stride;
  access.position = simplifyAffineExpr(access.position, map.getNumDims(), 0);
  access.isAffine = splitAffine(access.position, strides, access.offset);
  return access;
}

static bool isLanewise(Operation &op) {
  return isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(op) ||
         (OpTrait::hasElementwiseMappableTraits(&op) &&
          op.getNumRegions() == 0);
}

LinalgNest LinalgNest::get(linalg::LinalgOp op, Emitter &e) {
  LinalgNest nest;
  nest.op = op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (auto [i, size] : llvm::enumerate(sizes))
    nest.loops.push_back({size,
                          kinds[i] == utils::IteratorType::reduction,
                          static_cast<unsigned>(i),
                          {}});
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> strides;
    nest.accesses.push_back(getAccess(operand, op, e, strides));
    nest.isAffine &= nest.accesses.back().isAffine;
    for (auto [loop, stride] : llvm::zip(nest.loops, strides))
      loop.strides.push_back(stride);
  }
  for (Operation &inner : nest.getBody()) {
    nest.usesIndex |= isa<linalg::IndexOp>(inner);
    nest.isVectorizable &= isLanewise(inner);
  }
  return nest;
}

bool dsv4::isLaneLoop(const LinalgNest &nest, const NestLoop &loop,
                      ArrayRef<unsigned> accesses) {
  return llvm::all_of(accesses, [&](unsigned i) {
    return nest.accesses[i].isScalar ||
           (nest.accesses[i].isAffine && loop.strides[i] >= 0 &&
            loop.strides[i] <= 1);
  });
}

void dsv4::mergeLoops(const LinalgNest &nest,
                      SmallVectorImpl<NestLoop> &loops) {
  if (!nest.isAffine || nest.usesIndex)
    return;
  SmallVector<NestLoop> merged;
  for (NestLoop &loop : loops) {
    if (loop.size == 1)
      continue;
    bool joins = !merged.empty() &&
                 merged.back().isReduction == loop.isReduction &&
                 llvm::all_of(llvm::zip(merged.back().strides, loop.strides),
                              [&](auto pair) {
                                auto [outer, inner] = pair;
                                return outer == inner * loop.size;
                              });
    if (!joins) {
      merged.push_back(loop);
      continue;
    }
    merged.back().size *= loop.size;
    merged.back().strides = loop.strides;
  }
  loops.assign(merged.begin(), merged.end());
}

void dsv4::sortByStride(SmallVectorImpl<NestLoop> &loops, unsigned access) {
  llvm::stable_sort(loops, [&](const NestLoop &a, const NestLoop &b) {
    return a.strides[access] > b.strides[access];
  });
}

SmallVector<unsigned> dsv4::getUsedInputs(LinalgNest &nest) {
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < nest.getNumInputs(); ++i)
    if (!nest.getBody().getArgument(i).use_empty())
      used.push_back(i);
  return used;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

NestPoint dsv4::getStart(const LinalgNest &nest, Emitter &e) {
  NestPoint point;
  // Loops of size 1 may have been dropped: their index is 0.
  auto op = const_cast<LinalgNest &>(nest).op;
  point.indices.assign(op.getNumLoops(), e.index(0));
  for (const NestAccess &access : nest.accesses)
    point.positions.push_back(e.index(access.offset));
  return point;
}

NestPoint dsv4::advance(const LinalgNest &nest, const NestPoint &point,
                        const NestLoop &loop, Expr i, Emitter &e) {
  NestPoint next = point;
  next.indices[loop.origin] = i;
  for (auto [position, stride] : llvm::zip(next.positions, loop.strides))
    if (stride != 0)
      position = position + i * stride;
  return next;
}

NestPoint dsv4::advanceLanes(const LinalgNest &nest, const NestPoint &point,
                             const NestLoop &loop, Expr first, int64_t width,
                             Emitter &e) {
  NestPoint next = advance(nest, point, loop, first, e);
  if (width > 1)
    next.indices[loop.origin] =
        first + e.iota(e.getBuilder().getIndexType(), width);
  return next;
}

namespace {
/// Emits the value of an affine expression over the loop indices.
class ExprEmitter : public AffineExprVisitor<ExprEmitter, Expr> {
public:
  ExprEmitter(ArrayRef<Expr> dims, Emitter &e) : dims(dims), e(e) {}
  Expr visitDimExpr(AffineDimExpr expr) { return dims[expr.getPosition()]; }
  Expr visitSymbolExpr(AffineSymbolExpr) { llvm_unreachable("no symbols"); }
  Expr visitConstantExpr(AffineConstantExpr expr) {
    return e.index(expr.getValue());
  }
  Expr visitAddExpr(AffineBinaryOpExpr expr) {
    return visit(expr.getLHS()) + visit(expr.getRHS());
  }
  Expr visitMulExpr(AffineBinaryOpExpr expr) {
    return visit(expr.getLHS()) * visit(expr.getRHS());
  }
  Expr visitFloorDivExpr(AffineBinaryOpExpr expr) {
    return e.floorDivide(visit(expr.getLHS()), getConstant(expr.getRHS()));
  }
  Expr visitCeilDivExpr(AffineBinaryOpExpr expr) {
    int64_t divisor = getConstant(expr.getRHS());
    return e.floorDivide(visit(expr.getLHS()) + (divisor - 1), divisor);
  }
  Expr visitModExpr(AffineBinaryOpExpr expr) {
    Expr value = visit(expr.getLHS());
    int64_t divisor = getConstant(expr.getRHS());
    return value - e.floorDivide(value, divisor) * divisor;
  }

private:
  static int64_t getConstant(AffineExpr expr) {
    return cast<AffineConstantExpr>(expr).getValue();
  }
  ArrayRef<Expr> dims;
  Emitter &e;
};
} // namespace

Expr dsv4::getPosition(const LinalgNest &nest, const NestPoint &point,
                       unsigned access, Emitter &e) {
  const NestAccess &info = nest.accesses[access];
  if (info.isAffine)
    return point.positions[access];
  return ExprEmitter(point.indices, e).visit(info.position);
}

void dsv4::forEachPoint(const LinalgNest &nest, ArrayRef<NestLoop> loops,
                        const NestPoint &start, Emitter &e,
                        llvm::function_ref<void(const NestPoint &)> body) {
  if (loops.empty())
    return body(start);
  e.loop(0, loops.front().size, [&](Expr i) {
    forEachPoint(nest, loops.drop_front(),
                 advance(nest, start, loops.front(), i, e), e, body);
  });
}

SmallVector<Expr> dsv4::foldPoints(
    const LinalgNest &nest, ArrayRef<NestLoop> loops, const NestPoint &start,
    ArrayRef<Expr> carried, Emitter &e,
    llvm::function_ref<SmallVector<Expr>(const NestPoint &, ArrayRef<Expr>)>
        body) {
  if (loops.empty())
    return body(start, carried);
  return e.loop(e.index(0), e.index(loops.front().size), carried,
                [&](Expr i, ArrayRef<Expr> state) {
                  return foldPoints(nest, loops.drop_front(),
                                    advance(nest, start, loops.front(), i, e),
                                    state, e, body);
                });
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Expr dsv4::loadOperand(const LinalgNest &nest, const NestPoint &point,
                       unsigned access, const NestLoop *lane, int64_t width,
                       Expr mask, Emitter &e) {
  const NestAccess &info = nest.accesses[access];
  if (info.isScalar)
    return e.wrap(info.operand);
  Expr position = getPosition(nest, point, access, e);
  if (!lane || width == 1 || lane->strides[access] == 0)
    return e.load(info.buffer, position);
  if (mask)
    return e.loadMasked(info.buffer, position, mask);
  return e.load(info.buffer, position, width);
}

/// Clones one operation of the body, on vectors if an operand is one.
static void cloneOp(Operation &op, IRMapping &mapping, Emitter &e) {
  int64_t width = 1;
  for (Value operand : op.getOperands())
    width =
        std::max(width, e.wrap(mapping.lookupOrDefault(operand)).getWidth());
  if (width == 1 || op.getNumOperands() == 0) {
    e.getBuilder().clone(op, mapping);
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(
        e.broadcast(e.wrap(mapping.lookupOrDefault(operand)), width));
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(e.getVectorType(type, width));
  OperationState state(op.getLoc(), op.getName(), operands, types,
                       op.getAttrs());
  mapping.map(op.getResults(), e.getBuilder().create(state)->getResults());
}

SmallVector<Expr> dsv4::emitBody(LinalgNest &nest, ValueRange values,
                                 ArrayRef<Expr> arguments,
                                 const NestPoint &point, Emitter &e) {
  // What the values need, in order.
  Block &body = nest.getBody();
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> work(values.begin(), values.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != &body || !needed.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      work.append(inner->operand_begin(), inner->operand_end());
    });
  }
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    if (value)
      mapping.map(argument, value.get());
  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(&op))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      mapping.map(index.getResult(), point.indices[index.getDim()].get());
    else
      cloneOp(op, mapping, e);
  }
  return llvm::map_to_vector(values, [&](Value value) {
    return e.wrap(mapping.lookupOrDefault(value));
  });
}
