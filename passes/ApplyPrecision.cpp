// STUB: overwrite this file.
#include "dsv4/Passes/Passes.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
namespace mlir::dsv4 {
#define GEN_PASS_DEF_APPLYPRECISIONPASS
#include "dsv4/Passes/Passes.h.inc"
namespace {
struct ApplyPrecision : impl::ApplyPrecisionPassBase<ApplyPrecision> {
  using ApplyPrecisionPassBase::ApplyPrecisionPassBase;
  void runOnOperation() override {
    getOperation()->emitError("pass not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace mlir::dsv4
