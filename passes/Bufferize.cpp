//===- Bufferize.cpp - from tensors to buffers ----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before:
//
//   func @forward(%ids: tensor<..>) -> (tensor<f32> {dsv4.result = "loss"})
//
// After: the public function reads its arguments and writes its results in
// buffers that the caller owns; everything else is memref.alloc without
// dealloc, for -dsv4-plan-arena.
//
//   func @forward(%ids: memref<..>, %loss: memref<f32> {dsv4.result = "loss"})
//
// Arguments are never written. Every destination gets its own tensor.empty and
// fill first: equal ones that were merged would each need a copy.
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_BUFFERIZEPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

/// Gives each use of an empty or filled destination its own.
static void separateDestinations(mlir::ModuleOp module) {
  SmallVector<Operation *> shared;
  // Fills first, so that a cloned fill's empty is then seen with all its uses.
  module.walk([&](linalg::FillOp op) {
    if (op->getNumResults() == 1 && !op->hasOneUse())
      shared.push_back(op);
  });
  auto separate = [](Operation *op) {
    auto uses = llvm::make_early_inc_range(op->getResult(0).getUses());
    bool first = true;
    for (OpOperand &use : uses) {
      if (!std::exchange(first, false)) {
        OpBuilder builder(use.getOwner());
        use.set(builder.clone(*op)->getResult(0));
      }
    }
  };
  llvm::for_each(shared, separate);
  SmallVector<Operation *> empties;
  module.walk([&](tensor::EmptyOp op) {
    if (!op->hasOneUse())
      empties.push_back(op);
  });
  llvm::for_each(empties, separate);
}

//===----------------------------------------------------------------------===//
// The public function
//===----------------------------------------------------------------------===//

static MemRefType getBufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// Only functions on static tensors can become functions on buffers; results
/// become arguments, which no call would pass.
static LogicalResult checkSignature(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "must have one block";
  if (!SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    return function.emitOpError()
           << "is public and must have no callers, expected all of them inlined";
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           BaseMemRefType::isValidElementType(tensor.getElementType());
  };
  for (Type type : function.getArgumentTypes())
    if (!isStatic(type))
      return function.emitOpError()
             << "must take static tensors, got " << type;
  for (Type type : function.getResultTypes())
    if (!isStatic(type))
      return function.emitOpError()
             << "must return static tensors, got " << type;
  return success();
}

/// Arguments become buffers that are read, results buffers that are written.
static void convertSignature(func::FuncOp function) {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Type tensor = argument.getType();
    types.push_back(getBufferType(tensor));
    attributes.push_back(function.getArgAttrDict(i) ? function.getArgAttrDict(i)
                                                    : builder.getDictionaryAttr({}));
    argument.setType(types.back());
    auto value = bufferization::ToTensorOp::create(
        builder, argument.getLoc(), tensor, argument, /*restrict=*/true,
        /*writable=*/false);
    argument.replaceAllUsesExcept(value, value);
  }
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    types.push_back(getBufferType(result.getType()));
    DictionaryAttr dict = function.getResultAttrDict(i);
    attributes.push_back(dict ? dict : builder.getDictionaryAttr({}));
    Value argument = body.addArgument(types.back(), terminator->getLoc());
    bufferization::MaterializeInDestinationOp::create(
        builder, terminator->getLoc(), /*result=*/Type(), result, argument,
        /*restrict=*/true, /*writable=*/true);
  }
  terminator->setOperands({});
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.removeResAttrsAttr();
  function.setArgAttrsAttr(builder.getArrayAttr(attributes));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static bufferization::OneShotBufferizationOptions getOptions() {
  bufferization::OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.setFunctionBoundaryTypeConversion(
      bufferization::LayoutMapOption::IdentityLayoutMap);
  options.bufferAlignment = 0;
  return options;
}

/// Results of private functions are buffers that the caller gave: drop them.
static void dropEquivalentResults(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, "bufferization.writable");
  (void)bufferization::dropEquivalentBufferResults(module);
}

namespace {
/// Module paths of calls, which bufferization builds anew without attributes.
/// Calls stay in their order.
class CallPaths {
public:
  explicit CallPaths(mlir::ModuleOp module) {
    module.walk([&](func::CallOp call) { paths.push_back(call->getAttr(kPathAttr)); });
  }
  void restore(mlir::ModuleOp module) const {
    ArrayRef<Attribute> left = paths;
    module.walk([&](func::CallOp call) {
      if (Attribute path = left.consume_front())
        call->setAttr(kPathAttr, path);
    });
  }

private:
  SmallVector<Attribute> paths;
};

struct Bufferize : dsv4::impl::BufferizePassBase<Bufferize> {
  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isDeclaration()) {
        if (failed(checkSignature(function)))
          return signalPassFailure();
        entries.push_back(function);
      }
    separateDestinations(module);
    llvm::for_each(entries, convertSignature);

    CallPaths callPaths(module);
    IRRewriter rewriter(&getContext());
    bufferization::BufferizationState state;
    if (failed(bufferization::eliminateEmptyTensors(rewriter, module)) ||
        failed(bufferization::runOneShotModuleBufferize(module, getOptions(),
                                                        state)))
      return signalPassFailure();
    dropEquivalentResults(module);
    callPaths.restore(module);
    OpPassManager cleanup(mlir::ModuleOp::getOperationName());
    cleanup.addPass(createCanonicalizerPass());
    cleanup.addPass(createCSEPass());
    if (failed(runPipeline(cleanup, module)))
      return signalPassFailure();
  }
};
} // namespace
