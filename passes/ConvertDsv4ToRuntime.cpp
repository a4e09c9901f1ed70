//===- ConvertDsv4ToRuntime.cpp - from launches to calls ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program at this point: a public function and blocks that only compute
// addresses, launch kernels, start and wait for collectives, and call blocks.
// It becomes
//
//   llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32
//   llvm.func @block_0(%module: !llvm.ptr, %buffers...) -> i32
//
// Arguments of the public function are buffers in `state`, one after another.
// A launch is a call of its kernel, a collective a call of the runtime's C ABI; after each
// call that returns a status a failure branches to the function's exit. A token may carry a
// failed start: its wait returns that status.
//
// Kernels are lowered first, in a module of their own, so that no upstream
// conversion touches the program around them. What the runtime must know goes
// into attributes of the module:
//
//   dsv4.axis_names, dsv4.axis_sizes, dsv4.groups, dsv4.sites, dsv4.arguments,
//   dsv4.state_bytes, dsv4.work_bytes, dsv4.work_bytes_lower_bound,
//   dsv4.work_buffers
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/KernelWorkspace.h"
#include "dsv4/Passes/KernelCodegen.h"
#include "dsv4/Passes/Passes.h"
#include "runtime/ProgramTables.h"
#include "runtime/StepLowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_CONVERTDSV4TORUNTIMEPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

/// Names that the lowered program and the runtime give.
static bool isReservedName(StringRef name) {
  return name == "dsv4_step" || name.starts_with("dsv4rt_");
}

/// Calls and launches go to private functions with a body.
static LogicalResult checkCallee(Operation *op, StringRef verb,
                                 FlatSymbolRefAttr name, func::FuncOp entry) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!callee || callee.isDeclaration())
    return op->emitOpError() << verb << " " << name << ", which has no body";
  if (callee == entry)
    return op->emitOpError() << verb << " " << name
                             << ", the public function, expected a private one";
  if (isa<func::CallOp>(op) && callee->hasAttr(kKernelAttr))
    return op->emitOpError() << verb << " kernel " << name
                             << ", expected a dsv4.launch of it";
  return success();
}

/// What would leave a module that does not verify, or calls without a target.
static LogicalResult checkSymbols(mlir::ModuleOp module, func::FuncOp entry) {
  for (Operation &op : *module.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (symbol && &op != entry.getOperation() && isReservedName(symbol.getName()))
      return op.emitOpError() << "has the name @" << symbol.getName()
                              << ", which the lowered program gives";
  }
  WalkResult walk = module.walk([&](Operation *op) {
    LogicalResult result = success();
    if (auto call = dyn_cast<func::CallOp>(op))
      result = checkCallee(op, "calls", call.getCalleeAttr(), entry);
    else if (auto launch = dyn_cast<LaunchOp>(op))
      result = checkCallee(op, "launches", launch.getKernelAttr(), entry);
    return failed(result) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The one public function; blocks are private.
static FailureOr<func::FuncOp> findEntry(mlir::ModuleOp module) {
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate())
      continue;
    if (entry)
      return function.emitOpError()
             << "is a second public function besides @" << entry.getSymName()
             << ", expected one";
    entry = function;
  }
  if (!entry || entry.isDeclaration())
    return module.emitError() << "expected one public function, got none";
  return entry;
}

namespace {
struct ConvertDsv4ToRuntime
    : dsv4::impl::ConvertDsv4ToRuntimePassBase<ConvertDsv4ToRuntime> {
  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertDsv4ToRuntimePassBase::getDependentDialects(registry);
    OpPassManager kernels(mlir::ModuleOp::getOperationName());
    addKernelCodegenPasses(kernels);
    kernels.getDependentDialects(registry);
  }

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry = findEntry(module);
    if (failed(entry))
      return signalPassFailure();
    FailureOr<ProgramTables> tables = ProgramTables::create(*entry);
    if (failed(tables) || failed(checkSymbols(module, *entry)))
      return signalPassFailure();
    // What cannot be lowered shows when much has been: go back to this then.
    OwningOpRef<mlir::ModuleOp> before = module.clone();
    if (failed(lowerStep(*entry, *tables)) || failed(lowerKernels())) {
      restore(*before);
      return signalPassFailure();
    }
    tables->writeTo(module);
  }

private:
  void restore(mlir::ModuleOp before) {
    getOperation().getBodyRegion().takeBody(before.getBodyRegion());
  }
  LogicalResult lowerKernels();
};
} // namespace

/// Argument attributes of this dialect mean nothing to LLVM.
static void dropArgumentAttributes(mlir::ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, kWorkspaceAttr);
}

/// Moves the kernels into a nested module, lowers them there and moves the
/// result back.
LogicalResult ConvertDsv4ToRuntime::lowerKernels() {
  mlir::ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto nested = mlir::ModuleOp::create(builder, module.getLoc());
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    kernel->moveBefore(nested.getBody(), nested.getBody()->end());
  OpPassManager pm(mlir::ModuleOp::getOperationName());
  addKernelCodegenPasses(pm);
  if (failed(runPipeline(pm, nested)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(*nested.getBody()))
    op.moveBefore(module.getBody(), module.getBody()->end());
  nested.erase();
  dropArgumentAttributes(module);
  return success();
}
