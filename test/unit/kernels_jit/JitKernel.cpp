//===- JitKernel.cpp - compile and call one kernel ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "dsv4/Analysis/KernelWorkspace.h"
#include "dsv4/IR/Dsv4Dialect.h"
#include "dsv4/Passes/KernelCodegen.h"
#include "dsv4/Runtime/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

static void check(bool condition, const char *what) {
  if (condition)
    return;
  llvm::errs() << "kernel test: " << what << "\n";
  std::abort();
}

std::string substitute(std::string text, const Substitutions &values) {
  for (const auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

/// Adds the workspace argument that outlining would add.
static int64_t addWorkspace(func::FuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    bytes = std::max(bytes, dsv4::getWorkspaceBytes(op));
  });
  if (bytes == 0)
    return 0;
  Builder builder(kernel.getContext());
  auto type = MemRefType::get({bytes}, builder.getI8Type());
  auto attrs = builder.getDictionaryAttr(
      builder.getNamedAttr(dsv4::kWorkspaceAttr, builder.getUnitAttr()));
  check(succeeded(kernel.insertArgument(kernel.getNumArguments(), type, attrs,
                                        kernel.getLoc())),
        "workspace");
  return bytes;
}

static std::unique_ptr<ExecutionEngine> makeEngine(ModuleOp module) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  check(static_cast<bool>(builder), "host");
  auto machine = builder->createTargetMachine();
  check(static_cast<bool>(machine), "target machine");
  ExecutionEngineOptions options;
  auto transformer = makeOptimizingTransformer(2, 0, machine->get());
  options.transformer = transformer;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  check(static_cast<bool>(engine), "engine");
  (*engine)->registerSymbols([](llvm::orc::MangleAndInterner intern) {
    auto define = [](auto *function) {
      return llvm::orc::ExecutorSymbolDef(
          llvm::orc::ExecutorAddr::fromPtr(function),
          llvm::JITSymbolFlags::Exported);
    };
    llvm::orc::SymbolMap symbols;
    symbols[intern("dsv4rt_contract")] = define(&dsv4rt_contract);
    symbols[intern("dsv4rt_grouped_contract")] =
        define(&dsv4rt_grouped_contract);
    symbols[intern("dsv4rt_grouped_outer")] = define(&dsv4rt_grouped_outer);
    return symbols;
  });
  return std::move(*engine);
}

JitKernel::JitKernel(const std::string &text) {
  static bool isInitialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)isInitialised;
  registry.insert<dsv4::Dsv4Dialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect>();
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  std::string source = text;
  if (size_t at = source.find(") {");
      source.find("func.func") == std::string::npos)
    source = "func.func private @k" + source.substr(0, at) +
             ") attributes {dsv4.kernel} {" + source.substr(at + 3);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(source, context.get());
  check(static_cast<bool>(module), "does not parse");
  auto kernel = module->lookupSymbol<func::FuncOp>("k");
  workspaceBytes = addWorkspace(kernel);
  // Surrounded by a pattern, so that writes outside are seen.
  workspace.assign(workspaceBytes + 192, 0x5A);
  PassManager pm(context.get(), ModuleOp::getOperationName());
  dsv4::addKernelCodegenPasses(pm);
  check(succeeded(pm.run(*module)), "code generation failed");
  engine = makeEngine(*module);
  auto found = engine->lookup("k");
  check(static_cast<bool>(found), "no symbol");
  function = *found;
}

template <size_t... Is>
static void callWith(void *function, const std::vector<int64_t> &w,
                     std::index_sequence<Is...>) {
  using Function = void (*)(decltype(static_cast<int64_t>(Is))...);
  reinterpret_cast<Function>(function)(w[Is]...);
}

void JitKernel::call(std::vector<int64_t> words) {
  char *begin = workspace.data() + 64;
  begin += 64 - reinterpret_cast<uintptr_t>(begin) % 64;
  if (workspaceBytes)
    words.push_back(reinterpret_cast<int64_t>(begin));
  // Missing arguments of the C convention are not looked at.
  check(words.size() <= 16, "too many arguments");
  words.resize(16);
  callWith(function, words, std::make_index_sequence<16>());
  for (const char *at = workspace.data(); workspaceBytes && at != begin; ++at)
    check(*at == 0x5A, "wrote before the workspace");
  const char *end = workspace.data() + workspace.size();
  for (const char *at = begin + workspaceBytes; workspaceBytes && at < end;
       ++at)
    check(*at == 0x5A, "wrote behind the workspace");
}
