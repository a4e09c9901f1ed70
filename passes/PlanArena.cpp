//===- PlanArena.cpp - place every buffer in one arena --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two levels. A private function's buffers become views of a scratch argument:
//
//   func private @block_0(%x: memref<..>, %scratch: memref<4096xi8>)
//
// and a call occupies that scratch while it runs. The public function's
// buffers, scratch of its calls included, become views of its last argument,
// marked `dsv4.work`. Program order is the time axis; a collective in flight
// keeps its source and destination alive because its wait takes both.
//
// Runs after -dsv4-outline-kernels. No allocation is left.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/ArenaPlan.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_PLANARENAPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

/// Sums of a few buffers cannot overflow; no machine has as much.
static constexpr int64_t kMaxArenaBytes = int64_t(1) << 62;

namespace {

/// The buffers of one function and where they go.
struct FunctionPlan {
  func::FuncOp function;
  SmallVector<memref::AllocOp> allocs;
  ArenaPlan plan;
};

/// A range of an arena: offset and size in bytes.
using ByteRange = std::pair<int64_t, int64_t>;

} // namespace

/// Nothing for more than 2^62 bytes.
static std::optional<int64_t> findBytes(MemRefType type) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes <= kMaxArenaBytes ? std::optional(bytes) : std::nullopt;
}

/// Extends [first, last] by every operation that uses the buffer or a view of
/// it. Operations in regions count at their ancestor in the function's body.
static void extendByUses(Value buffer, const DenseMap<Operation *, int64_t> &order,
                         Block &body, ArenaBuffer &lifetime) {
  for (Operation *user : buffer.getUsers()) {
    Operation *ancestor = body.findAncestorOpInBlock(*user);
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value result : user->getResults())
        extendByUses(result, order, body, lifetime);
      continue;
    }
    int64_t point = order.lookup(ancestor);
    lifetime.first = std::min(lifetime.first, point);
    lifetime.last = std::max(lifetime.last, point);
  }
}

/// Every use of a buffer must be seen: none may free it or hand it on under
/// another name.
static LogicalResult checkUses(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<memref::DeallocOp>(user))
      return user->emitOpError() << "frees a buffer that the arena will hold";
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value result : user->getResults())
        if (failed(checkUses(result)))
          return failure();
      continue;
    }
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>))
      return user->emitOpError() << "hands on a buffer, whose last use is then "
                                    "unknown, expected views only";
  }
  return success();
}

static LogicalResult checkAlloc(memref::AllocOp op, Block &body) {
  if (!op.getType().hasStaticShape() || !op.getType().getLayout().isIdentity())
    return op.emitOpError() << "must have a static shape and identity layout, got "
                            << op.getType();
  if (!op.getType().getElementType().isIntOrFloat())
    return op.emitOpError() << "must hold integers or floats, got "
                            << op.getType();
  if (op->getBlock() != &body)
    return op.emitOpError() << "must stand in the body of its function, not in a "
                               "nested region";
  return checkUses(op);
}

/// What can be known before anything changes.
static LogicalResult checkFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "must have one block before its buffers are placed";
  if (function->hasAttr(kWorkBytesAttr))
    return function.emitOpError() << "has '" << kWorkBytesAttr
                                  << "', expected buffers to be placed once";
  Block &body = function.getBody().front();
  return failure(function
                     .walk([&](memref::AllocOp op) {
                       return failed(checkAlloc(op, body))
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted());
}

static FailureOr<FunctionPlan> planFunction(func::FuncOp function) {
  FunctionPlan result;
  result.function = function;
  Block &body = function.getBody().front();
  DenseMap<Operation *, int64_t> order;
  for (Operation &op : body)
    order[&op] = order.size();
  SmallVector<ArenaBuffer> buffers;
  int64_t total = 0;
  WalkResult walk = function.walk([&](memref::AllocOp op) {
    std::optional<int64_t> bytes = findBytes(op.getType());
    if (!bytes || (total += llvm::alignTo(*bytes, kArenaAlignment)) > kMaxArenaBytes) {
      op.emitOpError() << "brings the buffers of @" << function.getSymName()
                       << " to more than 2^62 bytes";
      return WalkResult::interrupt();
    }
    ArenaBuffer lifetime{*bytes, static_cast<int64_t>(order.size()), 0};
    extendByUses(op, order, body, lifetime);
    if (lifetime.first > lifetime.last) // no use
      lifetime = {0, 0, 0};
    result.allocs.push_back(op);
    buffers.push_back(lifetime);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  result.plan = planArena(buffers);
  return result;
}

/// Replaces allocations by views of `arena`.
static void applyPlan(FunctionPlan &plan, Value arena) {
  for (auto [op, offset] : llvm::zip(plan.allocs, plan.plan.offsets)) {
    if (op->use_empty()) {
      op.erase();
      continue;
    }
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    Value shift = arith::ConstantIndexOp::create(builder, offset);
    op.replaceAllUsesWith(
        memref::ViewOp::create(builder, op.getType(), arena, shift, ValueRange())
            .getResult());
    op.erase();
  }
}

/// Adds an argument that holds the function's buffers.
static void addArena(FunctionPlan &plan, StringRef attribute) {
  func::FuncOp function = plan.function;
  OpBuilder builder(function.getContext());
  auto type = MemRefType::get({plan.plan.peak}, builder.getI8Type());
  (void)function.insertArgument(
      function.getNumArguments(), type,
      builder.getDictionaryAttr(
          builder.getNamedAttr(attribute, builder.getUnitAttr())),
      function.getLoc());
  applyPlan(plan, function.getArguments().back());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PlanArena : dsv4::impl::PlanArenaPassBase<PlanArena> {
  void runOnOperation() override;

private:
  LogicalResult visit(func::FuncOp function);

  void passScratch(func::FuncOp function);
  SmallVector<ByteRange> findRanges(FunctionPlan &plan);

  DenseMap<StringAttr, SmallVector<func::CallOp>> callsOf;
  DenseMap<StringAttr, SmallVector<ByteRange>> rangesOf;
  DenseMap<Operation *, StringAttr> calleeOfScratch;
  llvm::SetVector<Operation *> done, open;
};
} // namespace

/// Gives every call of the function the scratch that it needs, allocated by the
/// caller and so placed with the caller's buffers.
void PlanArena::passScratch(func::FuncOp function) {
  auto type = cast<MemRefType>(function.getArgumentTypes().back());
  for (func::CallOp call : callsOf[function.getSymNameAttr()]) {
    OpBuilder builder(call);
    auto scratch = memref::AllocOp::create(builder, call.getLoc(), type);
    call.getOperandsMutable().append(scratch.getResult());
    calleeOfScratch[scratch] = function.getSymNameAttr();
  }
}

/// Where the function's buffers lie in its arena: a scratch counts as the
/// buffers of its callee, so that the padding between them belongs to none.
SmallVector<ByteRange> PlanArena::findRanges(FunctionPlan &plan) {
  SmallVector<ByteRange> ranges;
  for (auto [op, offset] : llvm::zip(plan.allocs, plan.plan.offsets)) {
    if (op->use_empty())
      continue;
    auto callee = calleeOfScratch.find(op);
    if (callee == calleeOfScratch.end())
      ranges.push_back({offset, *findBytes(op.getType())});
    else
      for (auto [inner, bytes] : rangesOf[callee->second])
        ranges.push_back({offset + inner, bytes});
  }
  llvm::sort(ranges);
  ranges.erase(llvm::unique(ranges), ranges.end());
  return ranges;
}


/// Places callees first; a function that calls itself has no bound.
LogicalResult PlanArena::visit(func::FuncOp function) {
  if (done.contains(function) || function.isDeclaration() ||
      function->hasAttr(kKernelAttr))
    return success();
  if (!open.insert(function))
    return function.emitOpError() << "calls itself, so its memory has no bound";
  SymbolTable symbols(getOperation());
  WalkResult walk = function.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    return callee && failed(visit(callee)) ? WalkResult::interrupt()
                                           : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  FailureOr<FunctionPlan> plan = planFunction(function);
  if (failed(plan))
    return failure();
  OpBuilder builder(function.getContext());
  SmallVector<ByteRange> ranges = findRanges(*plan);
  if (function.isPrivate()) {
    if (plan->plan.peak > 0) {
      addArena(*plan, kScratchAttr);
      rangesOf[function.getSymNameAttr()] = ranges;
      passScratch(function);
    }
  } else {
    addArena(*plan, kWorkAttr);
    function->setAttr(kWorkBytesAttr, builder.getI64IntegerAttr(plan->plan.peak));
    function->setAttr(kWorkBoundAttr,
                      builder.getI64IntegerAttr(plan->plan.lowerBound));
    SmallVector<int64_t> numbers;
    for (auto [offset, bytes] : ranges)
      numbers.append({offset, bytes});
    function->setAttr(kWorkBuffersAttr, builder.getDenseI64ArrayAttr(numbers));
  }
  open.remove(function);
  done.insert(function);
  return success();
}

void PlanArena::runOnOperation() {
  callsOf.clear();
  rangesOf.clear();
  calleeOfScratch.clear();
  done.clear();
  open.clear();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isDeclaration() && !function->hasAttr(kKernelAttr) &&
        failed(checkFunction(function)))
      return signalPassFailure();
  getOperation().walk([&](func::CallOp call) {
    callsOf[call.getCalleeAttr().getAttr()].push_back(call);
  });
  for (auto function :
       llvm::to_vector(getOperation().getOps<func::FuncOp>()))
    if (failed(visit(function)))
      return signalPassFailure();
}
