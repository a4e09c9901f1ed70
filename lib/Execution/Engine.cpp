//===- Engine.cpp - Compile a program for this machine --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The LLVM module is optimised before the execution engine sees it: the engine
// adds a wrapper for every function, which would be optimised and inlined into
// along with it. Only the step stays visible.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Engine.h"

#include "dsv4/IR/Dsv4Dialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {
/// Attributes of the dialect say nothing that LLVM needs; without an interface
/// each of them is a warning.
struct Dsv4TranslationInterface : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;
};
} // namespace

void dsv4::registerExecutionTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registry.addExtension(+[](MLIRContext *, Dsv4Dialect *dialect) {
    dialect->addInterfaces<Dsv4TranslationInterface>();
  });
}

Engine::Engine() = default;
Engine::Engine(Engine &&) = default;
Engine &Engine::operator=(Engine &&) = default;
Engine::~Engine() = default;

/// The function that ranks call: (module, state, work) -> status.
static llvm::Error checkStep(mlir::ModuleOp module) {
  auto step = module.lookupSymbol<LLVM::LLVMFuncOp>(kStepFunction);
  if (!step || step.isExternal())
    return llvm::createStringError("the module has no function @" +
                                   kStepFunction);
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto expected = LLVM::LLVMFunctionType::get(IntegerType::get(context, 32),
                                              {pointer, pointer, pointer});
  if (step.getFunctionType() != expected) {
    step.emitOpError() << "must have type " << expected << ", got "
                       << step.getFunctionType();
    return llvm::createStringError("@" + kStepFunction +
                                   " is not the step of a program");
  }
  return llvm::Error::success();
}

/// Ranks share the process, so a variable would be shared too.
static llvm::Error checkGlobals(const llvm::Module &module) {
  for (const llvm::GlobalVariable &global : module.globals())
    if (!global.isConstant())
      return llvm::createStringError(
          "global @" + global.getName() +
          " is a variable, which all ranks would share; only constants are "
          "allowed");
  return llvm::Error::success();
}

/// The address of a function of this process.
static void *findSymbol(llvm::StringRef name) {
  llvm::sys::DynamicLibrary::LoadLibraryPermanently(nullptr);
  return llvm::sys::DynamicLibrary::SearchForAddressOfSymbol(name.str());
}

/// Every function without a body must be one of the runtime or the C library.
static llvm::Error checkCallees(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && !findSymbol(function.getName()))
      return llvm::createStringError("the program calls @" +
                                     function.getName() +
                                     ", which neither it nor the runtime has");
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder->createTargetMachine();
}

/// LLVM IR of the module at -O2, or null and an error.
static std::unique_ptr<llvm::Module> buildModule(Operation *op,
                                                 llvm::LLVMContext &context,
                                                 llvm::TargetMachine *machine,
                                                 llvm::Error &error) {
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(op, context);
  if (!module)
    return nullptr;
  error = llvm::joinErrors(checkGlobals(*module), checkCallees(*module));
  if (error)
    return nullptr;
  ExecutionEngine::setupTargetTripleAndDataLayout(module.get(), machine);
  llvm::internalizeModule(*module, [](const llvm::GlobalValue &value) {
    return value.getName() == kStepFunction;
  });
  error = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0,
                                    machine)(module.get());
  return error ? nullptr : std::move(module);
}

/// Hands the runtime's functions to the linker by address: the ones this
/// process is linked with, whatever else it has loaded.
static void registerRuntime(ExecutionEngine &engine, mlir::ModuleOp module) {
  engine.registerSymbols([&](llvm::orc::MangleAndInterner mangle) {
    llvm::orc::SymbolMap symbols;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function.isExternal() && function.getName().starts_with("dsv4rt_"))
        if (void *address = findSymbol(function.getName()))
          symbols[mangle(function.getName())] = {
              llvm::orc::ExecutorAddr::fromPtr(address),
              llvm::JITSymbolFlags::Exported};
    return symbols;
  });
}

llvm::Expected<Engine> Engine::compile(mlir::ModuleOp module) {
  if (llvm::Error error = checkStep(module))
    return std::move(error);
  auto machine = createTargetMachine();
  if (!machine)
    return machine.takeError();

  llvm::Error buildError = llvm::Error::success();
  llvm::TargetMachine *target = machine->get();
  auto build = [&](Operation *op, llvm::LLVMContext &context) {
    llvm::consumeError(std::move(buildError));
    return buildModule(op, context, target, buildError);
  };
  ExecutionEngineOptions options;
  options.llvmModuleBuilder = build;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto created = ExecutionEngine::create(module, options, std::move(*machine));
  if (buildError) {
    llvm::consumeError(created.takeError());
    return std::move(buildError);
  }
  if (!created)
    return created.takeError();

  Engine engine;
  engine.engine = std::move(*created);
  registerRuntime(*engine.engine, module);
  llvm::Expected<void *> step = engine.engine->lookup(kStepFunction);
  if (!step)
    return step.takeError();
  engine.step = reinterpret_cast<StepFunction>(*step);
  return std::move(engine);
}
