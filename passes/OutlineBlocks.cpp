//===- OutlineBlocks.cpp - equal blocks become one function ---------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before: one flat function; the operations of a block form one run.
//
//   ... ops of model.layers.1 ... ops of model.layers.3 ...
//
// After: one function per kind of block, called once per block. Values that a
// block reads become arguments, those that others read become results; every
// result has a destination argument, so that bufferization needs no copy.
//
//   %a = call @block_0(%x, %flat_1, %out)
//   %b = call @block_0(%a, %flat_3, %out2)
//
// Equal means: the same operations with the same attributes and types, locations
// and the number of the block in `dsv4.path` apart. Runs after
// -dsv4-schedule-collectives; parameter collectives stay in the main function.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BlockRuns.h"
#include "dsv4/Analysis/FunctionCatalog.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_OUTLINEBLOCKSPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// A run that becomes a call, and the values on its border.
struct Outline {
  BlockRun run;
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
  /// Constants from outside, copied into the function.
  llvm::SetVector<Value> constants;
  llvm::SetVector<Value> outputs;
};


} // namespace

//===----------------------------------------------------------------------===//
// Decide
//===----------------------------------------------------------------------===//

static Outline findOutline(const BlockRun &run) {
  Outline outline;
  outline.run = run;
  Operation *end = run.last->getNextNode();
  for (Operation *op = run.first; op != end; op = op->getNextNode())
    outline.ops.insert(op);
  auto isInside = [&](Operation *op) {
    while (op && op->getBlock() != run.first->getBlock())
      op = op->getParentOp();
    return op && outline.ops.contains(op);
  };
  for (Operation *op : outline.ops) {
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def ? isInside(def)
                : isInside(operand.getParentBlock()->getParentOp()))
          continue;
        if (def && matchPattern(def, m_Constant()))
          outline.constants.insert(operand);
        else
          outline.inputs.insert(operand);
      }
    });
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isInside(user); }))
        outline.outputs.insert(result);
  }
  return outline;
}

/// Destination arguments are tensors; a run that yields anything else stays.
static bool canOutline(const Outline &outline) {
  // A wait stays in the function of its start.
  if (llvm::any_of(outline.inputs,
                   [](Value input) { return isa<TokenType>(input.getType()); }))
    return false;
  return llvm::all_of(outline.outputs, [](Value output) {
    auto type = dyn_cast<RankedTensorType>(output.getType());
    return type && type.hasStaticShape();
  });
}

//===----------------------------------------------------------------------===//
// Apply
//===----------------------------------------------------------------------===//

/// Equal blocks may differ in the number of their block only.
static void makePathsRelative(func::FuncOp function, StringRef block) {
  function.walk([&](Operation *op) {
    auto path = op->getAttrOfType<StringAttr>(kPathAttr);
    if (!path)
      return;
    StringRef rest = path.getValue();
    if (rest.consume_front(block))
      rest.consume_front(".");
    if (rest.empty())
      op->removeAttr(kPathAttr);
    else
      op->setAttr(kPathAttr, StringAttr::get(op->getContext(), rest));
  });
}

/// Moves the run into a new private function, which replaces the operations of
/// the caller by nothing yet.
static func::FuncOp buildFunction(Outline &outline, StringRef name) {
  MLIRContext *context = outline.run.first->getContext();
  Location loc = outline.run.first->getLoc();
  SmallVector<Type> argumentTypes, resultTypes;
  for (Value input : outline.inputs)
    argumentTypes.push_back(input.getType());
  for (Value output : outline.outputs) {
    argumentTypes.push_back(output.getType());
    resultTypes.push_back(output.getType());
  }
  auto function = func::FuncOp::create(
      loc, name, FunctionType::get(context, argumentTypes, resultTypes));
  function.setPrivate();
  Block *body = function.addEntryBlock();

  OpBuilder builder = OpBuilder::atBlockBegin(body);
  IRMapping constants;
  for (Value constant : outline.constants)
    builder.clone(*constant.getDefiningOp(), constants);
  auto isMoved = [&](OpOperand &use) {
    return body->findAncestorOpInBlock(*use.getOwner()) != nullptr;
  };
  for (Operation *op : outline.ops)
    op->moveBefore(body, body->end());
  for (Value constant : outline.constants)
    constant.replaceUsesWithIf(constants.lookup(constant), isMoved);
  unsigned next = 0;
  for (Value input : outline.inputs)
    input.replaceUsesWithIf(body->getArgument(next++), isMoved);

  builder.setInsertionPointToEnd(body);
  SmallVector<Value> results;
  for (auto [i, output] : llvm::enumerate(outline.outputs)) {
    Value destination = body->getArgument(outline.inputs.size() + i);
    results.push_back(
        bufferization::MaterializeInDestinationOp::create(builder, loc, output,
                                                          destination)
            .getResult());
  }
  func::ReturnOp::create(builder, loc, results);
  // Inputs are never written in place.
  for (unsigned i = 0; i < outline.inputs.size(); ++i)
    if (isa<TensorType>(argumentTypes[i]))
      function.setArgAttr(i, "bufferization.writable",
                          builder.getBoolAttr(false));
  makePathsRelative(function, outline.run.block);
  return function;
}

static void outlineRun(Outline &outline, FunctionCatalog &catalog) {
  OpBuilder builder(outline.run.last->getBlock(),
                    std::next(outline.run.last->getIterator()));
  Location loc = outline.run.first->getLoc();
  SmallVector<Value> outputs(outline.outputs.begin(), outline.outputs.end());
  StringAttr path = builder.getStringAttr(outline.run.block);
  func::FuncOp function = buildFunction(outline, "block");
  SmallVector<Value> operands(outline.inputs.begin(), outline.inputs.end());
  for (Value output : outputs) {
    auto type = cast<RankedTensorType>(output.getType());
    operands.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                               type.getElementType()));
  }
  auto call = func::CallOp::create(builder, loc, function, operands);
  call->setAttr(kPathAttr, path);
  Block *body = &function.getBody().front();
  for (auto [output, result] : llvm::zip(outputs, call.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !body->findAncestorOpInBlock(*use.getOwner());
    });
  call.setCallee(catalog.findOrInsert(function).getSymName());
}

/// Constants belong to no run: they go to the front, and each function gets
/// copies of those that it uses.
static void hoistConstants(Block &body) {
  SmallVector<Operation *> constants;
  for (Operation &op : body)
    if (matchPattern(&op, m_Constant()))
      constants.push_back(&op);
  for (Operation *op : llvm::reverse(constants)) {
    op->moveBefore(&body, body.begin());
    op->removeAttr(kPathAttr);
  }
}

namespace {
struct OutlineBlocks : dsv4::impl::OutlineBlocksPassBase<OutlineBlocks> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    FunctionCatalog catalog(symbols);
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && !function.isPrivate() &&
          function.getBody().hasOneBlock())
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      hoistConstants(function.getBody().front());
      for (const BlockRun &run : findBlockRuns(function.getBody().front())) {
        if (run.block.empty())
          continue;
        Outline outline = findOutline(run);
        if (canOutline(outline))
          outlineRun(outline, catalog);
      }
    }
  }
};
} // namespace
