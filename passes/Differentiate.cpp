//===- Differentiate.cpp - from the loss to its gradients -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before: a function that returns the loss.
//
//   func @forward(%x, %s: ... {dsv4.shard = @unit_0, dsv4.buffer_index = 0})
//       -> (tensor<f32> {dsv4.result = "loss"})
//
// After: it also returns a gradient for each parameter, or each shard of
// parameters, that is not frozen.
//
//   func @forward(%x, %s: ...)
//       -> (tensor<f32> {dsv4.result = "loss"},
//           tensor<16xf32> {dsv4.result = "grad", dsv4.shard = @unit_0,
//                           dsv4.buffer_index = 0})
//
// The backward operations follow all forward ones, in reverse order; they carry
// the module path of the operation that they transpose and
// `dsv4.direction = "backward"`. Which operations need a rule is decided first
// (differentiate/Activity.h); each rule is in a file of its family
// (dsv4/Passes/Differentiation.h).
//
// Every rank computes the loss of all ranks, so a cotangent of a value that
// ranks hold alike is a partial sum as soon as ranks use it differently.
//
//===----------------------------------------------------------------------===//

#include "differentiate/Activity.h"
#include "dsv4/Analysis/ModelFunction.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// An argument that gets a gradient, and the attributes of that result.
struct GradientResult {
  BlockArgument argument;
  DictionaryAttr attrs;
};

} // namespace

/// The only function that returns a result called "loss".
static FailureOr<func::FuncOp> findLossFunction(mlir::ModuleOp module,
                                                unsigned &index) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
      if (!name || name.getValue() != "loss")
        continue;
      if (found)
        return function.emitOpError()
               << "returns a loss, expected one in the module";
      found = function;
      index = i;
    }
  if (!found)
    return module.emitError() << "no function has a result with '" << kResultAttr
                              << "' = \"loss\", expected one";
  return found;
}

static LogicalResult verifyLoss(func::FuncOp function, unsigned index) {
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[index]);
  if (!type || type.getRank() != 0 || !isDifferentiableType(type))
    return function.emitOpError()
           << "must return the loss as a tensor of one float, got "
           << function.getResultTypes()[index];
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "returns a loss and must have one block";
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue().starts_with("grad"))
      return function.emitOpError() << "returns gradients already";
  }
  return success();
}

/// Parameters that are not frozen, whole or as shards.
static SmallVector<GradientResult> getGradientResults(func::FuncOp function) {
  Builder builder(function.getContext());
  SmallVector<GradientResult> results;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (function.getArgAttr(i, kFrozenAttr))
      continue;
    NamedAttrList attrs;
    if (auto name = function.getArgAttrOfType<StringAttr>(i, kParamAttr)) {
      attrs.set(kResultAttr, builder.getStringAttr("grad/" + name.getValue()));
    } else if (Attribute unit = function.getArgAttr(i, kShardAttr)) {
      attrs.set(kResultAttr, builder.getStringAttr("grad"));
      attrs.set(kShardAttr, unit);
      attrs.set(kBufferIndexAttr, function.getArgAttr(i, kBufferIndexAttr));
    } else {
      continue;
    }
    results.push_back({argument, attrs.getDictionary(builder.getContext())});
  }
  return results;
}

/// Operations that were added behind `last`, if anything fails.
static void eraseAfter(Operation *last, Block &body) {
  while (true) {
    Operation *op = body.getTerminator()->getPrevNode();
    if (!op || op == last)
      return;
    op->erase();
  }
}

static LogicalResult differentiate(mlir::ModuleOp module) {
  unsigned lossIndex = 0;
  FailureOr<func::FuncOp> found = findLossFunction(module, lossIndex);
  if (failed(found) || failed(verifyLoss(*found, lossIndex)))
    return failure();
  func::FuncOp function = *found;
  Block &body = function.getBody().front();
  Operation *terminator = body.getTerminator();
  Value loss = terminator->getOperand(lossIndex);

  SmallVector<DifferentiatedParameter> parameters =
      getDifferentiatedParameters(function);
  Activity activity(function, loss, parameters);
  FailureOr<Replication> replication = Replication::compute(function);
  if (failed(replication) || failed(activity.verify()))
    return failure();

  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  Operation *last = ops.empty() ? nullptr : ops.back();
  SmallVector<GradientResult> results = getGradientResults(function);
  AdjointBuilder builder(loss.getLoc(), OpBuilder(terminator),
                         activity.getActive(), &*replication);
  builder.seedOne(loss);
  LogicalResult result = builder.visit(ops);
  SmallVector<Value> gradients;
  for (const GradientResult &gradient : results) {
    Value value = builder.getCotangent(gradient.argument);
    if (succeeded(result) && !value)
      result = emitError(gradient.argument.getLoc())
               << "no rule between the loss and this argument contributed to "
                  "its gradient";
    gradients.push_back(value);
  }
  if (failed(result)) {
    eraseAfter(last, body);
    return failure();
  }

  SmallVector<unsigned> indices(results.size(), function.getNumResults());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  for (auto [gradient, value] : llvm::zip(results, gradients)) {
    types.push_back(value.getType());
    attrs.push_back(gradient.attrs);
  }
  if (failed(function.insertResults(indices, types, attrs)))
    return failure();
  terminator->insertOperands(terminator->getNumOperands(), gradients);
  return success();
}

namespace {
struct Differentiate : dsv4::impl::DifferentiatePassBase<Differentiate> {
  void runOnOperation() override {
    if (failed(differentiate(getOperation())))
      signalPassFailure();
  }
};
} // namespace
