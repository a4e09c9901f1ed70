//===- OutlineKernels.cpp - one kernel per distinct operation -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before:
//
//   linalg.generic ... ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {...}
//
// After:
//
//   dsv4.launch @kernel_0(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
//   func.func private @kernel_0(%0: memref<8xf32>, %1: memref<8xf32>)
//     attributes {dsv4.kernel} { linalg.generic ...; return }
//
// Kernels are equal when their operations are, module paths and locations
// apart; offsets of views are not part of a kernel's type. Scalars that an
// operation's region uses become arguments, constants are copied. An operation
// that needs scratch gets a workspace as last operand. Runs after
// -dsv4-bufferize; the main program touches no buffer afterwards.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/KernelWorkspace.h"
#include "dsv4/Analysis/FunctionCatalog.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// The operands of a launch: buffers once each, then scalars.
struct KernelOperands {
  llvm::SetVector<Value> arguments;
  llvm::SetVector<Value> constants;
  llvm::DenseSet<Value> written;
};


} // namespace

/// Operations that touch buffers; everything else only computes addresses.
static bool isKernelOp(Operation *op) {
  if (isa<memref::CopyOp>(op))
    return true;
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  return dps && dps.hasPureBufferSemantics() && !isa<CollectiveOpInterface>(op);
}

static KernelOperands findOperands(Operation *op) {
  KernelOperands operands;
  auto add = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && op->isProperAncestor(def))
      return;
    if (!def && op->isProperAncestor(value.getParentBlock()->getParentOp()))
      return;
    if (!def && value.getParentBlock()->getParentOp() == op)
      return;
    if (def && matchPattern(def, m_Constant()))
      operands.constants.insert(value);
    else
      operands.arguments.insert(value);
  };
  llvm::for_each(op->getOperands(), add);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      llvm::for_each(nested->getOperands(), add);
    });
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    operands.written.insert(copy.getTarget());
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    for (Value init : dps.getDpsInits())
      operands.written.insert(init);
  return operands;
}

/// The same strides at offset 0, which the launch adds to the pointer.
static Type getArgumentType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getLayout().isIdentity())
    return type;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return type;
  auto plain = MemRefType::get(memref.getShape(), memref.getElementType());
  auto strided = MemRefType::get(
      memref.getShape(), memref.getElementType(),
      StridedLayoutAttr::get(type.getContext(), 0, strides));
  SmallVector<int64_t> plainStrides;
  if (succeeded(plain.getStridesAndOffset(plainStrides, offset)) &&
      plainStrides == strides)
    return plain;
  return strided;
}

static LogicalResult checkOperands(Operation *op,
                                   const KernelOperands &operands) {
  for (Value value : operands.arguments) {
    auto memref = dyn_cast<MemRefType>(value.getType());
    if (!memref) {
      if (value.getType().isIndex())
        continue;
      return op->emitOpError()
             << "uses a scalar of type " << value.getType()
             << " from outside, expected index: compute it inside";
    }
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!memref.hasStaticShape() ||
        failed(memref.getStridesAndOffset(strides, offset)) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return op->emitOpError() << "needs buffers of static shape and strides, got "
                               << memref;
  }
  if (getWorkspaceBytes(op) >= kMaxWorkspaceBytes)
    return op->emitOpError() << "needs a workspace of more than 2^62 bytes";
  return success();
}

/// The function, not yet in the module.
static func::FuncOp buildKernel(Operation *op, const KernelOperands &operands,
                                int64_t workspaceBytes) {
  OpBuilder builder(op->getContext());
  SmallVector<Type> types;
  for (Value value : operands.arguments)
    types.push_back(getArgumentType(value.getType()));
  if (workspaceBytes)
    types.push_back(MemRefType::get({workspaceBytes}, builder.getI8Type()));
  auto kernel = func::FuncOp::create(op->getLoc(), "kernel",
                                     builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr(kKernelAttr, builder.getUnitAttr());
  if (workspaceBytes)
    kernel.setArgAttr(types.size() - 1, kWorkspaceAttr, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  for (Value constant : operands.constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (auto [i, value] : llvm::enumerate(operands.arguments))
    mapping.map(value, body->getArgument(i));
  Operation *clone = builder.clone(*op, mapping);
  clone->removeAttr(kPathAttr);
  clone->removeAttr(kCastAttr);
  func::ReturnOp::create(builder, op->getLoc());
  return kernel;
}

static void outlineKernel(Operation *op, const KernelOperands &operands,
                          FunctionCatalog &catalog) {
  int64_t workspaceBytes = getWorkspaceBytes(op);
  func::FuncOp kernel = catalog.findOrInsert(buildKernel(op, operands, workspaceBytes));
  OpBuilder builder(op);
  SmallVector<Value> values(operands.arguments.begin(),
                            operands.arguments.end());
  SmallVector<int64_t> writes;
  for (auto [i, value] : llvm::enumerate(values))
    if (operands.written.contains(value))
      writes.push_back(i);
  if (workspaceBytes) {
    writes.push_back(values.size());
    values.push_back(memref::AllocOp::create(
        builder, op->getLoc(),
        MemRefType::get({workspaceBytes}, builder.getI8Type())));
  }
  auto launch = LaunchOp::create(
      builder, op->getLoc(), FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
      values, builder.getDenseI64ArrayAttr(writes));
  if (Attribute path = op->getAttr(kPathAttr))
    launch->setAttr(kPathAttr, path);
  op->erase();
}

/// Constants that only kernels used have been copied into them.
static void eraseDeadConstants(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (matchPattern(op, m_Constant()) && op->use_empty())
      op->erase();
  });
}

namespace {
struct OutlineKernels : dsv4::impl::OutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, KernelOperands>> found;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(kKernelAttr))
        continue;
      WalkResult result = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isKernelOp(op))
          return WalkResult::advance();
        found.push_back({op, findOperands(op)});
        return failed(checkOperands(op, found.back().second))
                   ? WalkResult::interrupt()
                   : WalkResult::skip();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    FunctionCatalog catalog(symbols);
    for (auto &[op, operands] : found)
      outlineKernel(op, operands, catalog);
    for (auto function : getOperation().getOps<func::FuncOp>())
      eraseDeadConstants(function);
  }
};
} // namespace
