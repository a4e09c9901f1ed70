//===- LowerKernels.cpp - kernels become LLVM functions -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C interface of a kernel is its pointers in argument order:
//
//   func.func private @k(%a: memref<8x64xf32>, %p: index) {dsv4.kernel}
//   -->
//   llvm.func @k(%a: !llvm.ptr {llvm.noalias}, %p: i64) {passthrough =
//   ["noinline"]}
//
// Inlining a kernel into its callers would make compile time superlinear in
// the number of layers. No flag that lets LLVM reorder sums is ever set.
//
// Runs after -dsv4-decompose, one kernel at a time, so that the cost does not
// depend on what else the module holds.
//
//===----------------------------------------------------------------------===//

#include "decompose/MathExpansion.h"
#include "dsv4/IR/Dsv4Dialect.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::dsv4 {

#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "dsv4/Passes/Passes.h.inc"

namespace {

/// What all kernels of a module share.
struct KernelLowering {
  explicit KernelLowering(::mlir::ModuleOp module);
  LogicalResult run(func::FuncOp kernel);

  MLIRContext *context;
  LLVMTypeConverter converter;
  FrozenRewritePatternSet expansion, controlFlow, toLLVM;

private:
  static LowerToLLVMOptions getOptions(MLIRContext *context);
  void addToLLVMPatterns(RewritePatternSet &patterns);
};

} // namespace

/// What is left of the math dialect must be single instructions: the LLVM
/// intrinsic of any other function is a call of the C library.
static LogicalResult verifyExpanded(func::FuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::AbsIOp,
            math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
            math::CopySignOp, math::CountLeadingZerosOp,
            math::CountTrailingZerosOp, math::CtPopOp, math::IsNaNOp,
            math::IsFiniteOp, math::IsInfOp>(op))
      return WalkResult::advance();
    op->emitOpError() << "on " << op->getResult(0).getType()
                      << " has no expansion into arithmetic";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LowerToLLVMOptions KernelLowering::getOptions(MLIRContext *context) {
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  return options;
}

void KernelLowering::addToLLVMPatterns(RewritePatternSet &patterns) {
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
}

KernelLowering::KernelLowering(::mlir::ModuleOp module)
    : context(module.getContext()), converter(context, getOptions(context)) {
  RewritePatternSet expansionPatterns(context), controlFlowPatterns(context),
      toLLVMPatterns(context);
  populateMathExpansionPatterns(expansionPatterns, module);
  arith::populateArithExpandOpsPatterns(expansionPatterns);
  arith::populateExpandBFloat16Patterns(expansionPatterns);
  expansion = std::move(expansionPatterns);
  populateSCFToControlFlowConversionPatterns(controlFlowPatterns);
  controlFlow = std::move(controlFlowPatterns);
  addToLLVMPatterns(toLLVMPatterns);
  toLLVM = std::move(toLLVMPatterns);
}

LogicalResult KernelLowering::run(func::FuncOp kernel) {
  if (failed(applyPatternsGreedily(kernel, expansion)))
    return kernel.emitOpError("mathematics could not be expanded");
  if (failed(verifyExpanded(kernel)))
    return failure();
  IRRewriter rewriter(context);
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);

  ConversionTarget loops(*context);
  loops.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp>();
  loops.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(kernel, loops, controlFlow)))
    return failure();

  StringAttr name = kernel.getSymNameAttr();
  auto module = kernel->getParentOfType<::mlir::ModuleOp>();
  LLVMConversionTarget target(*context);
  if (failed(applyFullConversion(kernel, target, toLLVM)))
    return failure();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  Builder builder(context);
  function.setPassthroughAttr(builder.getStrArrayAttr({"noinline"}));
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<LLVM::LLVMPointerType>(type))
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
  return success();
}

namespace {

struct LowerKernels : impl::LowerKernelsPassBase<LowerKernels> {
  using LowerKernelsPassBase::LowerKernelsPassBase;

  void runOnOperation() override {
    KernelLowering lowering(getOperation());
    auto kernels = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp kernel : kernels)
      if (kernel->hasAttr(kKernelAttr) && !kernel.isExternal() &&
          failed(lowering.run(kernel)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::dsv4
