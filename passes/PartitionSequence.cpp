//===- PartitionSequence.cpp - give every value its local shape -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the program on global shapes into the one that every rank runs. With
// ["cp" = 2]:
//
//   %o = dsv4.window_attention ... ins(%q, %k, %sink, %c0, %c0
//          : tensor<2x64x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>) ...
//   ->
//   %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 differentiable
//          : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
//   %r = dsv4.axis_index @mesh ["cp"]
//   %t = arith.muli %r, %c32 : index
//   %t0 = arith.addi %c0, %t : index
//   %o = dsv4.window_attention ... ins(%q, %g, %sink, %t0, %c0
//          : tensor<2x32x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>) ...
//
// Runs after -dsv4-inline-modules. All decisions are those of LayoutAnalysis
// and are made for the whole module before anything changes, so that an error
// leaves the IR as it was. What is inserted stands directly at the operation
// that needs it and carries its `dsv4.path`, so that the operations of a block
// stay together.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Layout.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_PARTITIONSEQUENCEPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

/// Operations that pass gradients on: those with a float result that reaches a
/// result of the function through float values.
static DenseSet<Operation *> findDifferentiated(Block &body) {
  DenseSet<Operation *> operations;
  DenseSet<Value> values;
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  };
  for (Operation &op : llvm::reverse(body)) {
    if (!op.hasTrait<OpTrait::IsTerminator>() &&
        llvm::none_of(op.getResults(),
                      [&](Value result) { return values.contains(result); }))
      continue;
    operations.insert(&op);
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (isFloat(operand))
          values.insert(operand);
    });
  }
  return operations;
}

namespace {

/// Carries out the decisions for one function.
class Partitioner {
public:
  explicit Partitioner(const LayoutAnalysis &analysis)
      : analysis(analysis), mesh(analysis.getMesh()),
        body(analysis.getFunction().getBody().front()),
        differentiated(findDifferentiated(body)) {}
  void run();

private:
  struct CachedChange {
    OperandChange::Kind kind;
    unsigned dim;
    AxisList axes;
    Value result;
  };

  Value makeAgain(Value value, ArrayRef<DimLayout> layout);
  void makeCopies();
  void apply(Operation &op);
  Value change(Operation &op, Value value, const OperandChange &change);
  Value gather(Operation &op, OpBuilder &builder, Value value,
               const OperandChange &change);
  Value getOffset(Operation *op, const IndexOffset &offset);
  void addOffset(Operation *op, const IndexOffset &offset);
  void localizeResults(Operation &op);
  void localizeAttributes(Operation &op);
  void combine(Operation &op, const PartialResult &partial);
  DictionaryAttr addLayoutAttrs(DictionaryAttr known, Type global, Value value);
  void addSignatureAttrs();

  const LayoutAnalysis &analysis;
  const LayoutMesh &mesh;
  Block &body;
  DenseSet<Operation *> differentiated;
  /// What was gathered or sliced before, by operand.
  DenseMap<Value, SmallVector<CachedChange, 1>> changes;
  /// Tensors made again in another layout, by original.
  DenseMap<Value, SmallVector<std::pair<ValueLayout, Value>, 1>> copies;
  /// Dimensions that slices drop; after a change of shapes they could not be
  /// told any more.
  DenseMap<Operation *, llvm::SmallBitVector> droppedDims;
};

struct PartitionSequence
    : public dsv4::impl::PartitionSequencePassBase<PartitionSequence> {
  using PartitionSequencePassBase::PartitionSequencePassBase;
  void runOnOperation() override;
};

} // namespace

/// Gives a new operation the path of the one that it serves.
template <typename OpT>
static OpT withPath(OpT op, Operation *like) {
  if (Attribute path = like->getAttr(kPathAttr))
    op->setAttr(kPathAttr, path);
  return op;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Where this rank's part begins.
Value Partitioner::getOffset(Operation *op, const IndexOffset &offset) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto rank = withPath(AxisIndexOp::create(builder, loc, mesh.getSymbol(),
                                           mesh.getNames(offset.axes)),
                       op);
  auto step =
      withPath(arith::ConstantIndexOp::create(builder, loc, offset.step), op);
  return withPath(arith::MulIOp::create(builder, loc, rank, step), op);
}

void Partitioner::addOffset(Operation *op, const IndexOffset &offset) {
  Value begin = getOffset(op, offset);
  if (offset.operand) {
    OpBuilder builder(op);
    offset.operand->set(
        withPath(arith::AddIOp::create(builder, op->getLoc(),
                                       offset.operand->get(), begin),
                 op));
    return;
  }
  Value index = offset.index->getResult(0);
  OpBuilder builder(offset.index->getContext());
  builder.setInsertionPointAfter(offset.index);
  auto global = arith::AddIOp::create(builder, op->getLoc(), index, begin);
  index.replaceAllUsesExcept(global, global);
}

//===----------------------------------------------------------------------===//
// Tensors that are made once per layout
//===----------------------------------------------------------------------===//

/// The tensor in another layout, next to the original, which is still global.
Value Partitioner::makeAgain(Value value, ArrayRef<DimLayout> layout) {
  for (auto &[other, copy] : copies[value])
    if (ArrayRef<DimLayout>(other) == layout)
      return copy;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      mapping.map(operand, makeAgain(operand, layout));
  Operation *copy = builder.clone(*op, mapping);
  auto type =
      analysis.getLocalType(cast<RankedTensorType>(value.getType()), layout);
  copy->getResult(0).setType(type);
  localizeAttributes(*copy);
  SmallVector<linalg::IndexOp> indices;
  copy->walk([&](linalg::IndexOp index) { indices.push_back(index); });
  for (linalg::IndexOp index : indices) {
    const DimLayout &dim = layout[index.getDim()];
    if (!dim.isWhole())
      addOffset(copy, {index, nullptr, dim.getAxes(), dim.getLocalSize(mesh)});
  }
  copies[value].push_back({ValueLayout(layout), copy->getResult(0)});
  return copy->getResult(0);
}

void Partitioner::makeCopies() {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    const OpDecision *decision = analysis.findDecision(&op);
    if (!decision)
      continue;
    for (const OperandCopy &copy : decision->copies)
      copy.use->set(makeAgain(copy.use->get(), copy.layout));
  }
}

//===----------------------------------------------------------------------===//
// Gathers, slices, reductions
//===----------------------------------------------------------------------===//

Value Partitioner::gather(Operation &op, OpBuilder &builder, Value value,
                          const OperandChange &change) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[change.dim] *= mesh.getNumRanks(change.axes);
  Value result =
      withPath(SeqGatherOp::create(builder, op.getLoc(),
                                   cast<RankedTensorType>(type.clone(shape)),
                                   value, mesh.getSymbol().getValue(),
                                   mesh.getNames(change.axes), change.dim),
               &op);
  if (shape[change.dim] == change.size)
    return result;
  // The last ranks hold padding rows.
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  shape[change.dim] = change.size;
  return withPath(tensor::ExtractSliceOp::create(
                      builder, op.getLoc(), result, offsets,
                      getAsIndexOpFoldResult(builder.getContext(), shape),
                      strides),
                  &op);
}

/// The operand as the operation needs it; one gather or slice serves all.
Value Partitioner::change(Operation &op, Value value,
                          const OperandChange &change) {
  auto &known = changes[value];
  auto it = llvm::find_if(known, [&](const CachedChange &other) {
    return other.kind == change.kind && other.dim == change.dim &&
           other.axes == change.axes;
  });
  if (it == known.end()) {
    OpBuilder builder(&op);
    Value result;
    if (change.kind == OperandChange::Gather) {
      result = gather(op, builder, value, change);
    } else {
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[change.dim] /= mesh.getNumRanks(change.axes);
      result =
          withPath(SeqShardOp::create(builder, op.getLoc(),
                                      cast<RankedTensorType>(type.clone(shape)),
                                      value, mesh.getSymbol().getValue(),
                                      mesh.getNames(change.axes), change.dim),
                   &op);
    }
    known.push_back({change.kind, change.dim, change.axes, result});
    it = std::prev(known.end());
  }
  Value result = it->result;
  Operation *made = result.getDefiningOp();
  if (isa<tensor::ExtractSliceOp>(made))
    made = made->getOperand(0).getDefiningOp();
  auto gathered = dyn_cast<SeqGatherOp>(made);
  if (gathered && differentiated.contains(&op) &&
      isa<FloatType>(getElementTypeOrSelf(value.getType())))
    gathered.setDifferentiable(true);
  return result;
}

void Partitioner::combine(Operation &op, const PartialResult &partial) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(&op);
  Value part = op.getResult(partial.result.getResultNumber());
  auto whole = withPath(AllReduceOp::create(builder, op.getLoc(),
                                            part.getType(), partial.kind, part,
                                            mesh.getSymbol().getValue(),
                                            mesh.getNames(partial.axes)),
                        &op);
  part.replaceAllUsesExcept(whole, whole);
}

//===----------------------------------------------------------------------===//
// Local types
//===----------------------------------------------------------------------===//

/// Attributes that repeat a shape; the result has its local type already.
void Partitioner::localizeAttributes(Operation &op) {
  if (op.getNumResults() == 0)
    return;
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    expand.setStaticOutputShape(type.getShape());
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                            : SplatElementsAttr())
    constant.setValueAttr(splat.resizeSplat(type));
  auto dropped = droppedDims.find(&op);
  if (dropped == droppedDims.end())
    return;
  auto part = isa<tensor::InsertSliceOp>(op)
                  ? cast<RankedTensorType>(op.getOperand(0).getType())
                  : type;
  auto slice = cast<OffsetSizeAndStrideOpInterface>(op);
  SmallVector<int64_t> sizes(slice.getStaticSizes());
  unsigned next = 0;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!dropped->second[i])
      size = part.getDimSize(next++);
  op.setAttr("static_sizes", DenseI64ArrayAttr::get(op.getContext(), sizes));
}

void Partitioner::localizeResults(Operation &op) {
  for (OpResult result : op.getResults())
    result.setType(analysis.getLocalType(result));
  localizeAttributes(op);
}

void Partitioner::apply(Operation &op) {
  const OpDecision *decision = analysis.findDecision(&op);
  if (decision) {
    for (const OperandChange &wanted : decision->changes)
      wanted.use->set(change(op, wanted.use->get(), wanted));
    for (const IndexOffset &offset : decision->offsets)
      addOffset(&op, offset);
  }
  localizeResults(op);
  if (decision)
    for (const PartialResult &partial : llvm::reverse(decision->partials))
      combine(op, partial);
}

/// The attributes of an argument or result, with its layout and global type.
DictionaryAttr Partitioner::addLayoutAttrs(DictionaryAttr known, Type global,
                                           Value value) {
  MLIRContext *context = global.getContext();
  NamedAttrList attrs(known);
  if (isa<RankedTensorType>(global)) {
    SmallVector<Attribute> dims;
    for (const DimLayout &dim : analysis.getLayout(value))
      dims.push_back(mesh.getNames(dim.getAxes()));
    attrs.set(kLayoutAttr, ArrayAttr::get(context, dims));
    attrs.set(kGlobalTypeAttr, TypeAttr::get(global));
  }
  return attrs.getDictionary(context);
}

/// While the function still has its global types.
void Partitioner::addSignatureAttrs() {
  func::FuncOp func = analysis.getFunction();
  SmallVector<DictionaryAttr> args, results;
  for (BlockArgument arg : func.getArguments())
    args.push_back(addLayoutAttrs(func.getArgAttrDict(arg.getArgNumber()),
                                  arg.getType(), arg));
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    results.push_back(
        addLayoutAttrs(func.getResultAttrDict(operand.getOperandNumber()),
                       operand.get().getType(), operand.get()));
  func.setAllArgAttrs(args);
  func.setAllResultAttrs(results);
}

void Partitioner::run() {
  func::FuncOp func = analysis.getFunction();
  addSignatureAttrs();
  SmallVector<Operation *> originals;
  for (Operation &op : body.without_terminator()) {
    originals.push_back(&op);
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      droppedDims[&op] = slice.getDroppedDims();
    if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
      droppedDims[&op] = slice.getDroppedDims();
  }
  makeCopies();
  for (BlockArgument arg : func.getArguments())
    arg.setType(analysis.getLocalType(arg));
  for (Operation *op : originals)
    apply(*op);
  func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(),
                                 body.getTerminator()->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Tells how many rows are padding when the batch does not divide.
static void reportPadding(const LayoutAnalysis &analysis) {
  const std::optional<DimLayout> &batch = analysis.getPaddedBatch();
  if (!batch)
    return;
  const LayoutMesh &mesh = analysis.getMesh();
  int64_t ranks = mesh.getNumRanks(batch->getAxes());
  int64_t rows = batch->getLocalSize(mesh);
  emitRemark(analysis.getFunction().getLoc())
      << "splits " << batch->getSize() << " batch rows over " << ranks
      << " ranks of " << mesh.format(batch->getAxes()) << ": " << rows
      << " on each, " << ranks * rows - batch->getSize()
      << " of all are padding";
}

void PartitionSequence::runOnOperation() {
  FailureOr<LayoutMesh> mesh = LayoutMesh::find(getOperation());
  if (failed(mesh))
    return signalPassFailure();
  SmallVector<LayoutAnalysis> analyses;
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (func.getArgAttr(i, kLayoutAttr)) {
        emitError(func.getLoc()) << "'func.func' op is already partitioned: "
                                    "argument "
                                 << i << " has '" << kLayoutAttr << "'";
        return signalPassFailure();
      }
    FailureOr<LayoutAnalysis> analysis = LayoutAnalysis::compute(func, *mesh);
    if (failed(analysis))
      return signalPassFailure();
    analyses.push_back(std::move(*analysis));
  }
  for (const LayoutAnalysis &analysis : analyses) {
    reportPadding(analysis);
    Partitioner(analysis).run();
  }
}
