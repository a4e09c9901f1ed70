//===- Decompose.cpp - rewrite kernels as loops ---------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel holds one operation on buffers. This pass writes it as loops in the
// order that the numerics contract fixes; nothing later may change that order.
//
//   func.func private @k(%a: memref<8x64xf32>, %r: memref<8xf32>)
//       attributes {dsv4.kernel} {
//     linalg.generic {..} ins(%a) outs(%r) { addf }
//   }
//   -->
//     scf.for %i = 0 to 8 {
//       %s = scf.for %j = 0 to 64 step 32 iter_args(vector<32xf32>) ...
//       <halves tree>; memref.store
//     }
//
// Runs after -dsv4-outline-kernels. The loops themselves are in decompose/,
// one file for each family. Functions that are not kernels are not looked at.
//
//===----------------------------------------------------------------------===//

#include "decompose/Decompose.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dsv4 {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// The elements from the first to the last that a buffer may address are known
/// and countable.
bool hasSpan(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return false;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    int64_t step;
    if (ShapedType::isDynamic(stride) || stride < 0 ||
        llvm::MulOverflow(std::max<int64_t>(size - 1, 0), stride, step) ||
        llvm::AddOverflow(span, step, span))
      return false;
  }
  return true;
}

/// Kernels address flat memory: every memref needs constant strides and
/// starts at its pointer.
LogicalResult verifyBuffer(Operation *op, StringRef what, unsigned number,
                           Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !hasSpan(memref))
    return op->emitOpError()
           << what << " " << number
           << " must have a static shape, constant strides and offset 0, got "
           << type;
  if (!memref.getElementType().isIntOrIndexOrFloat())
    return op->emitOpError() << what << " " << number
                             << " must hold integers or floats, got " << type;
  return success();
}

LogicalResult verifySignature(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError() << "must have one block, got "
                                << kernel.getBody().getBlocks().size();
  if (kernel.getNumResults() != 0)
    return kernel.emitOpError()
           << "must return nothing, got " << kernel.getResultTypes();
  for (BlockArgument argument : kernel.getArguments()) {
    Type type = argument.getType();
    if (isa<BaseMemRefType>(type) &&
        failed(verifyBuffer(kernel, "argument", argument.getArgNumber(), type)))
      return failure();
  }
  return success();
}

/// Operands need not be arguments.
LogicalResult verifyOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<BaseMemRefType>(operand.get().getType()) &&
        failed(verifyBuffer(op, "operand", operand.getOperandNumber(),
                            operand.get().getType())))
      return failure();
  return success();
}

LogicalResult decomposeOp(Operation *op, RuntimeCalls &runtime, Emitter &e) {
  auto style = dyn_cast<DestinationStyleOpInterface>(op);
  if (style && !style.hasPureBufferSemantics())
    return op->emitOpError("works on tensors, expected memrefs in a kernel");
  if (failed(verifyOperands(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](linalg::LinalgOp linalgOp) {
        return decomposeLinalg(linalgOp, runtime, e);
      })
      .Case<GroupedMatmulOp, GroupedOuterOp>(
          [&](auto grouped) { return decompose(grouped, runtime, e); })
      .Case<WindowAttentionOp, IndexTopkOp, PoolWindowsOp, RopeOp, SinkhornOp,
            TopkOp, GatherRowsOp, TakeAlongOp, SortByExpertOp, DispatchRowsOp,
            DispatchWeightsOp, CombineRowsOp, WindowAttentionGradOp,
            PoolWindowsGradOp, SinkhornGradOp, ScatterAddOp, ScatterAlongOp,
            DispatchRowsGradOp, DispatchWeightsGradOp, CombineRowsGradOp>(
          [&](auto modelOp) { return decompose(modelOp, e); })
      .Default([](Operation *unknown) {
        return unknown->emitOpError("has no loops in a kernel");
      });
}

/// Operations that a kernel may keep: scalars and its end.
bool isScalarCode(Operation *op) {
  return isa<func::ReturnOp, arith::ConstantOp>(op) ||
         (!isa<DestinationStyleOpInterface, memref::CopyOp>(op) &&
          llvm::none_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>) &&
          isMemoryEffectFree(op));
}

struct Decompose : impl::DecomposePassBase<Decompose> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    RuntimeCalls runtime(getOperation());
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kKernelAttr) && !kernel.isExternal() &&
          failed(decomposeKernel(kernel, runtime)))
        return signalPassFailure();
  }

  LogicalResult decomposeKernel(func::FuncOp kernel, RuntimeCalls &runtime) {
    if (failed(verifySignature(kernel)))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front())) {
      if (isScalarCode(&op))
        continue;
      OpBuilder builder(&op);
      Operation *structured = &op;
      if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        if (failed(verifyOperands(copy)))
          return failure();
        structured = linalg::CopyOp::create(builder, op.getLoc(),
                                            copy.getSource(), copy.getTarget());
      }
      builder.setInsertionPoint(structured);
      Emitter e(builder, op.getLoc());
      if (failed(decomposeOp(structured, runtime, e)))
        return failure();
      if (structured != &op)
        structured->erase();
      op.erase();
    }
    return success();
  }
};

} // namespace
} // namespace mlir::dsv4
