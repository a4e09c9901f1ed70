//===- ScheduleCollectives.cpp - split collectives into start and wait ----===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before: collectives are values.
//
//   %w, %v = dsv4.unshard @unit(%shard) ...
//   %k = dsv4.seq_gather %x on @mesh ["cp"] dim 1 ...
//
// After: the unit's flat buffer is in flight while earlier blocks run, its
// parameters are slices inside the block that uses them, and a sequence
// exchange starts where its operand is ready.
//
//   %s, %t = dsv4.all_gather_start parameter %shard into %buffer ... {dsv4.launch = 3}
//   ...                                         // a block earlier
//   %flat = dsv4.wait %t, %s reading %shard
//   %w = tensor.expand_shape (tensor.extract_slice %flat[0] ...)
//
// Buffers of one group that the same run uses first share a number
// `dsv4.launch`: they go to the runtime in one call. Starts with one number
// stand next to each other, the addresses of their buffers apart.
//
// Runs on local shapes after -dsv4-shard-parameters. Starts keep program order,
// which is the same on all ranks because there is one program.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BlockRuns.h"
#include "dsv4/Analysis/BranchAgreement.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "schedule/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

namespace mlir::dsv4 {
#define GEN_PASS_DEF_SCHEDULECOLLECTIVESPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// The groups of a reshape that merges dimensions `dim` and `dim + 1`.
SmallVector<ReassociationIndices> mergeAt(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == dim + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  return groups;
}

} // namespace

/// The place where a collective that starts at `op` must be complete: its first
/// user, in program order.
static Operation *findFirstUser(Operation *op) {
  Operation *first = op->getBlock()->getTerminator();
  for (Operation *user : op->getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (ancestor && ancestor->isBeforeInBlock(first))
      first = ancestor;
  }
  return first;
}

/// Whether `op` continues a run of `block`.
static bool continuesRun(Operation *op, StringRef block) {
  return getBlockOf(op) == block || matchPattern(op, m_Constant());
}

/// Where to wait for what `op` starts: at its first user, but within its own
/// block of the model, and not inside another one. A block whose token leaves
/// it, or that holds an operation of another, could not be outlined.
static Operation *findWaitPlace(Operation *op) {
  Operation *user = findFirstUser(op);
  StringRef own = getBlockOf(op);
  Operation *place = op->getNextNode();
  while (place != user && continuesRun(place, own))
    place = place->getNextNode();
  if (place == user || !own.empty())
    return place;
  StringRef other = getBlockOf(user);
  if (other.empty())
    return user;
  while (user != place && continuesRun(user->getPrevNode(), other))
    user = user->getPrevNode();
  return user;
}

/// Number of elements before dimension `dim`.
static int64_t getLeadingElements(ArrayRef<int64_t> shape, int64_t dim) {
  int64_t elements = 1;
  for (int64_t size : shape.take_front(dim))
    elements *= size;
  return elements;
}

//===----------------------------------------------------------------------===//
// Sequence exchanges
//===----------------------------------------------------------------------===//

/// A gather lays pieces of ranks one after another. If rows lie outside `dim`,
/// the pieces are then interleaved by a transposition.
static void scheduleSeqGather(SeqGatherOp op, int64_t ranks) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  int64_t dim = op.getDim();
  bool interleave = getLeadingElements(from.getShape(), dim) > 1;
  SmallVector<int64_t> landing(to.getShape());
  if (interleave) {
    landing.assign(from.getShape().begin(), from.getShape().end());
    landing.insert(landing.begin(), ranks);
  }

  PathBuilder atStart(op, op);
  Value init = atStart.empty(landing, from.getElementType());
  auto start = atStart.make<AllGatherStartOp>(
      TypeRange(init.getType()), TokenType::get(op.getContext()),
      getClass(op, CollectiveClass::sequence), op.getInput(), init, op.getMeshAttr(),
      op.getAxesAttr());

  PathBuilder atUse(findWaitPlace(op), op);
  atUse.setLoc(op.getLoc());
  Value result = wait(
      atUse, {start.getToken(), start.getStarted().front(), op.getInput()});
  if (interleave) {
    SmallVector<int64_t> permutation, shape;
    for (int64_t i = 0; i < from.getRank(); ++i) {
      if (i == dim)
        permutation.push_back(0);
      permutation.push_back(i + 1);
    }
    for (int64_t i : permutation)
      shape.push_back(landing[i]);
    Value turned = atUse
                       .make<linalg::TransposeOp>(
                           result, atUse.empty(shape, from.getElementType()),
                           permutation)
                       ->getResult(0);
    result = atUse.make<tensor::CollapseShapeOp>(
        to, turned, mergeAt(from.getRank() + 1, dim));
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

/// The inverse of a gather: pieces are brought into rank order first.
static void scheduleSeqReduceScatter(SeqReduceScatterOp op, int64_t ranks) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  int64_t dim = op.getDim();
  PathBuilder atStart(op, op);
  Value source = op.getInput();
  if (getLeadingElements(from.getShape(), dim) > 1) {
    SmallVector<int64_t> split(from.getShape());
    split[dim] /= ranks;
    split.insert(split.begin() + dim, ranks);
    auto splitType = RankedTensorType::get(split, from.getElementType());
    Value pieces = atStart.make<tensor::ExpandShapeOp>(
        splitType, source, mergeAt(from.getRank() + 1, dim));
    SmallVector<int64_t> permutation = {dim}, shape = {ranks};
    for (int64_t i = 0; i <= from.getRank(); ++i)
      if (i != dim)
        permutation.push_back(i);
    shape.append(to.getShape().begin(), to.getShape().end());
    source = atStart
                 .make<linalg::TransposeOp>(
                     pieces, atStart.empty(shape, from.getElementType()),
                     permutation)
                 ->getResult(0);
  }
  Value init = atStart.empty(to.getShape(), to.getElementType());
  auto start = atStart.make<ReduceScatterStartOp>(
      TypeRange(to), TokenType::get(op.getContext()), getClass(op, CollectiveClass::sequence),
      source, init, op.getMeshAttr(), op.getAxesAttr());
  PathBuilder atUse(findWaitPlace(op), op);
  atUse.setLoc(op.getLoc());
  op.replaceAllUsesWith(
      wait(atUse, {start.getToken(), start.getStarted().front(), source}));
  op.erase();
}

static void scheduleAllReduce(AllReduceOp op) {
  RankedTensorType type = op.getInput().getType();
  CollectiveClass kind = type.getRank() == 0 ? CollectiveClass::scalar
                                             : CollectiveClass::sequence;
  PathBuilder atStart(op, op);
  Value init = atStart.empty(type.getShape(), type.getElementType());
  auto start = atStart.make<AllReduceStartOp>(
      TypeRange(type), TokenType::get(op.getContext()), getClass(op, kind), op.getKindAttr(),
      op.getInput(), init, op.getMeshAttr(), op.getAxesAttr());
  PathBuilder atUse(findWaitPlace(op), op);
  atUse.setLoc(op.getLoc());
  op.replaceAllUsesWith(
      wait(atUse, {start.getToken(), start.getStarted().front(), op.getInput()}));
  op.erase();
}

/// No communication: a slice that starts where this rank's part starts.
static void scheduleSeqShard(SeqShardOp op) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  PathBuilder builder(op, op);
  Value rank = builder.make<AxisIndexOp>(op.getMeshAttr(), op.getAxesAttr());
  Value length =
      builder.make<arith::ConstantIndexOp>(to.getDimSize(op.getDim()));
  Value offset = builder.make<arith::MulIOp>(rank, length);
  SmallVector<OpFoldResult> offsets(from.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(from.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : to.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  offsets[op.getDim()] = offset;
  op.replaceAllUsesWith(
      builder
          .make<tensor::ExtractSliceOp>(op.getInput(), offsets, sizes, strides)
          .getResult());
  op.erase();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace {

/// A segment of a flat buffer.
struct Segment {
  unsigned buffer;
  int64_t offset;
  SmallVector<int64_t> shape;
};

} // namespace

/// Segment of each parameter of the unit, in the order of its parameters. The
/// verifier of `dsv4.unshard` has checked the table.
static SmallVector<Segment> getSegments(FsdpUnitOp unit) {
  llvm::StringMap<Segment> byName;
  for (auto [i, attr] : llvm::enumerate(unit.getBuffersAttr())) {
    auto segments = cast<DictionaryAttr>(attr).getAs<ArrayAttr>("segments");
    for (auto segment : segments.getAsRange<DictionaryAttr>())
      byName[segment.getAs<StringAttr>("name")] = {
          static_cast<unsigned>(i), segment.getAs<IntegerAttr>("offset").getInt(),
          SmallVector<int64_t>(
              segment.getAs<DenseI64ArrayAttr>("shape").asArrayRef())};
  }
  SmallVector<Segment> result;
  for (StringAttr name : unit.getParams().getAsRange<StringAttr>())
    result.push_back(byName.lookup(name));
  return result;
}

/// A parameter as a view of its flat buffer: contiguous, never a copy.
static Value sliceParameter(PathBuilder &builder, Value flat,
                            const Segment &segment) {
  int64_t elements = 1;
  for (int64_t size : segment.shape)
    elements *= size;
  OpFoldResult one = builder.getIndexAttr(1);
  Value slice = builder.make<tensor::ExtractSliceOp>(
      flat, ArrayRef<OpFoldResult>(builder.getIndexAttr(segment.offset)),
      ArrayRef<OpFoldResult>(builder.getIndexAttr(elements)),
      ArrayRef<OpFoldResult>(one));
  if (segment.shape.size() == 1)
    return slice;
  auto type = RankedTensorType::get(
      segment.shape, cast<RankedTensorType>(flat.getType()).getElementType());
  SmallVector<ReassociationIndices> groups;
  if (!segment.shape.empty())
    groups.push_back(llvm::to_vector<2>(
        llvm::seq<int64_t>(0, segment.shape.size())));
  if (groups.empty())
    return builder.make<tensor::CollapseShapeOp>(type, slice, groups);
  return builder.make<tensor::ExpandShapeOp>(type, slice, groups);
}

/// Gives every run that uses a parameter its own slices, at the run's entry.
static void sliceAtUses(UnshardOp op, FsdpUnitOp unit, ValueRange flats,
                        Runs &runs) {
  Block *body = op->getBlock();
  for (auto [result, segment] : llvm::zip(op.getResults(), getSegments(unit))) {
    DenseMap<unsigned, Value> sliceIn;
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
      Operation *user = body->findAncestorOpInBlock(*use.getOwner());
      unsigned run = runs.runOf.lookup(user);
      auto [it, isNew] = sliceIn.try_emplace(run);
      if (isNew) {
        // Inside the run: before the first operation that belongs to it.
        Operation *entry = user->hasTrait<OpTrait::IsTerminator>()
                               ? user
                               : runs.list[run].first;
        if (!entry->isBeforeInBlock(user))
          entry = user;
        PathBuilder builder(entry, user);
        builder.setLoc(op.getLoc());
        it->second = sliceParameter(builder, flats[segment.buffer], segment);
        runs.runOf[it->second.getDefiningOp()] = run;
      }
      use.set(it->second);
    }
  }
}

/// The run before which a unit must be whole, and the operation that marks it.
static Operation *findFirstUse(UnshardOp op, Runs &runs, unsigned &run) {
  Operation *user = findFirstUser(op);
  if (user->hasTrait<OpTrait::IsTerminator>()) {
    run = runs.list.size();
    return user;
  }
  run = runs.runOf.lookup(user);
  return runs.list[run].first;
}

/// The entry of the run `depth` model blocks before `run`.
static Operation *findStart(Runs &runs, unsigned run, int64_t depth,
                            Operation *fallback) {
  Operation *place = fallback;
  while (run > 0 && depth > 0) {
    --run;
    place = runs.list[run].first;
    if (!runs.list[run].block.empty())
      --depth;
  }
  return place;
}

/// Starts to gather the unit's flat buffers ahead of their first use; nothing
/// for a unit on one rank, which already is whole.
static SmallVector<Started> startUnit(UnshardOp op, int64_t ranks, int64_t depth,
                                      Runs &runs, Launches &launches) {
  SmallVector<Started> started;
  if (ranks == 1)
    return started;
  unsigned run = 0;
  Operation *use = findFirstUse(op, runs, run);
  PathBuilder builder(findStart(runs, run, depth, use));
  builder.setLoc(op.getLoc());
  for (Value shard : op.getShards()) {
    auto type = cast<RankedTensorType>(shard.getType());
    Value init =
        builder.empty({type.getDimSize(0) * ranks}, type.getElementType());
    auto start = builder.make<AllGatherStartOp>(
        TypeRange(init.getType()), TokenType::get(op.getContext()),
        getClass(op, CollectiveClass::parameter), shard, init, op.getMeshAttr(),
        op.getAxesAttr());
    start->setAttr("unit", op.getUnitAttr());
    start->setAttr(kLaunchAttr, builder.getI64IntegerAttr(launches.getNumber(
                                    use, start.getOperationName(), op.getAxesAttr())));
    started.push_back({start.getToken(), start.getStarted().front(), shard});
  }
  return started;
}

/// The unit's flat buffers, complete at their first use.
static SmallVector<Value> waitForUnit(UnshardOp op, ArrayRef<Started> started,
                                      Runs &runs) {
  if (started.empty())
    return SmallVector<Value>(op.getShards());
  unsigned run = 0;
  PathBuilder builder(findFirstUse(op, runs, run));
  builder.setLoc(op.getLoc());
  return llvm::map_to_vector(started, [&](const Started &inFlight) {
    return wait(builder, inFlight);
  });
}

/// Every unshard of the function, with the runs that use it.
static LogicalResult scheduleParameters(func::FuncOp func, int64_t depth) {
  SmallVector<UnshardOp> unshards(func.getOps<UnshardOp>());
  SmallVector<GradReduceScatterOp> reductions(func.getOps<GradReduceScatterOp>());
  if (unshards.empty() && reductions.empty())
    return success();
  // Out of the way first: an unshard is not part of the run that it stands in.
  Block &body = func.getBody().front();
  SmallVector<int64_t> groupSizes;
  for (UnshardOp op : unshards) {
    FailureOr<int64_t> ranks = op.getGroupSize();
    if (failed(ranks))
      return failure();
    groupSizes.push_back(*ranks);
  }
  for (UnshardOp op : llvm::reverse(unshards)) {
    op->moveBefore(&body, body.begin());
    op->removeAttr(kPathAttr);
  }
  SmallVector<PackedGradients> packed;
  for (GradReduceScatterOp op : reductions)
    packed.push_back(packGradients(op));
  Runs runs(body);
  // In order of first use, then of the group, so that what travels together
  // stands together.
  auto getRun = [&](UnshardOp op) {
    unsigned run = 0;
    (void)findFirstUse(op, runs, run);
    return run;
  };
  SmallVector<std::pair<unsigned, unsigned>> keys;
  DenseMap<Attribute, unsigned> groups;
  for (UnshardOp op : unshards) {
    unsigned next = groups.size();
    unsigned group = groups.try_emplace(op.getAxesAttr(), next).first->second;
    keys.push_back({getRun(op), group});
  }
  SmallVector<unsigned> order(unshards.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order,
                    [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
  // Before a run stand first the starts, then the waits; at its entry the
  // slices.
  Launches launches;
  SmallVector<SmallVector<Started>> started;
  for (unsigned i : order)
    started.push_back(
        startUnit(unshards[i], groupSizes[i], depth, runs, launches));
  SmallVector<SmallVector<Value>> flats;
  for (auto [i, inFlight] : llvm::zip(order, started))
    flats.push_back(waitForUnit(unshards[i], inFlight, runs));
  for (auto [i, buffers] : llvm::zip(order, flats)) {
    UnshardOp op = unshards[i];
    auto unit = SymbolTable::lookupNearestSymbolFrom<FsdpUnitOp>(
        op, op.getUnitAttr());
    sliceAtUses(op, unit, buffers, runs);
    op.erase();
  }
  return reduceGradients(packed, runs, launches);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// A gather moves to the front: it must stand in the only block of its function
/// and read function arguments.
static LogicalResult checkMovable(UnshardOp op, func::FuncOp func) {
  if (op->getParentOp() != func)
    return op.emitOpError() << "must stand in the body of its function, got '"
                            << op->getParentOp()->getName() << "' around it";
  if (!func.getBody().hasOneBlock())
    return op.emitOpError() << "must stand in a function of one block, got "
                            << func.getBody().getBlocks().size();
  for (Value shard : op.getShards())
    if (!isa<BlockArgument>(shard))
      return op.emitOpError() << "must read function arguments, got a value "
                                 "computed in the function";
  return success();
}

static LogicalResult scheduleSequence(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<SeqGatherOp, SeqReduceScatterOp, AllReduceOp, SeqShardOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    int64_t ranks = 1;
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      FailureOr<int64_t> size = collective.getGroupSize();
      if (failed(size))
        return failure();
      ranks = *size;
    }
    if (auto gather = dyn_cast<SeqGatherOp>(op))
      scheduleSeqGather(gather, ranks);
    else if (auto scatter = dyn_cast<SeqReduceScatterOp>(op))
      scheduleSeqReduceScatter(scatter, ranks);
    else if (auto reduce = dyn_cast<AllReduceOp>(op))
      scheduleAllReduce(reduce);
    else
      scheduleSeqShard(cast<SeqShardOp>(op));
  }
  return success();
}

namespace {
struct ScheduleCollectives
    : dsv4::impl::ScheduleCollectivesPassBase<ScheduleCollectives> {
  using ScheduleCollectivesPassBase::ScheduleCollectivesPassBase;

  void runOnOperation() override {
    if (prefetchDepth < 0) {
      getOperation().emitError()
          << "'prefetch-depth' must be at least 0, got "
          << prefetchDepth.getValue();
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      functions.push_back(func);
      WalkResult result = func.walk([&](UnshardOp op) {
        return failed(checkMovable(op, func)) ? WalkResult::interrupt()
                                              : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    if (failed(verifyBranchAgreement(getOperation())))
      return signalPassFailure();
    for (func::FuncOp func : functions)
      if (failed(scheduleParameters(func, prefetchDepth)) ||
          failed(scheduleSequence(func)))
        return signalPassFailure();
  }
};
} // namespace
