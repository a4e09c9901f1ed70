//===- RuntimeCalls.cpp - calls of the kernel table, workspaces -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   llvm.mlir.global internal constant @dsv4_contract_0(dense<[...]>)
//     : !llvm.array<24 x i64>
//   %d = llvm.mlir.addressof @dsv4_contract_0
//   llvm.call @dsv4rt_contract(%d, %a, %b, %c)
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "dsv4/Analysis/KernelWorkspace.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cstring>

using namespace mlir;
using namespace mlir::dsv4;

static constexpr size_t kDescWords = sizeof(dsv4rt_contract_desc) / 8;
static_assert(sizeof(dsv4rt_contract_desc) % 8 == 0, "written as 64-bit words");

Value RuntimeCalls::getPointer(const Buffer &buffer, Expr position,
                               Emitter &e) {
  OpBuilder &builder = e.getBuilder();
  Expr base = e.wrap(memref::ExtractAlignedPointerAsIndexOp::create(
      builder, e.getLoc(), buffer.memref));
  int64_t bytes = buffer.element.getIntOrFloatBitWidth() / 8;
  Expr address = e.cast(base + position * bytes, builder.getI64Type());
  auto type = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::IntToPtrOp::create(builder, e.getLoc(), type, address.get());
}

LLVM::LLVMFuncOp RuntimeCalls::getCallee(StringRef name,
                                         ArrayRef<Type> arguments) {
  if (auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return callee;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(), arguments);
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

Value RuntimeCalls::getDesc(const dsv4rt_contract_desc &desc, Emitter &e) {
  auto it = llvm::find_if(descs, [&](const auto &known) {
    return std::memcmp(&known.first, &desc, sizeof(desc)) == 0;
  });
  OpBuilder &builder = e.getBuilder();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto getAddress = [&](StringRef name) {
    return LLVM::AddressOfOp::create(builder, e.getLoc(), pointer, name);
  };
  if (it != descs.end())
    return getAddress(it->second);
  std::array<int64_t, kDescWords> words;
  std::memcpy(words.data(), &desc, sizeof(desc));
  std::string name;
  for (unsigned i = descs.size(); name.empty() || module.lookupSymbol(name);
       ++i)
    name = ("dsv4_contract_" + Twine(i)).str();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto tensor = RankedTensorType::get({kDescWords}, top.getI64Type());
  LLVM::GlobalOp::create(
      top, module.getLoc(),
      LLVM::LLVMArrayType::get(top.getI64Type(), kDescWords),
      /*isConstant=*/true, LLVM::Linkage::Internal, name,
      DenseElementsAttr::get(tensor, ArrayRef<int64_t>(words)),
      /*alignment=*/8);
  descs.emplace_back(desc, name);
  return getAddress(name);
}

void RuntimeCalls::contract(const dsv4rt_contract_desc &desc, Value a, Value b,
                            Value c, Emitter &e) {
  auto pointer = LLVM::LLVMPointerType::get(e.getContext());
  auto callee =
      getCallee("dsv4rt_contract", {pointer, pointer, pointer, pointer});
  Value address = getDesc(desc, e);
  LLVM::CallOp::create(e.getBuilder(), e.getLoc(), callee,
                       ValueRange{address, a, b, c});
}

void RuntimeCalls::callGrouped(StringRef name,
                               const dsv4rt_contract_desc &desc, int64_t groups,
                               int64_t groupStride, Value offsets, Value a,
                               Value b, Value c, Emitter &e) {
  auto pointer = LLVM::LLVMPointerType::get(e.getContext());
  Type i64 = e.getBuilder().getI64Type();
  auto callee =
      getCallee(name, {pointer, i64, i64, pointer, pointer, pointer, pointer});
  Value address = getDesc(desc, e);
  LLVM::CallOp::create(e.getBuilder(), e.getLoc(), callee,
                       ValueRange{address, e.constantInt(i64, groups),
                                  e.constantInt(i64, groupStride), offsets, a,
                                  b, c});
}

void RuntimeCalls::groupedContract(const dsv4rt_contract_desc &desc,
                                   int64_t groups, int64_t groupStride,
                                   Value offsets, Value a, Value b, Value c,
                                   Emitter &e) {
  callGrouped("dsv4rt_grouped_contract", desc, groups, groupStride, offsets, a,
              b, c, e);
}

void RuntimeCalls::groupedOuter(const dsv4rt_contract_desc &desc,
                                int64_t groups, int64_t groupStride,
                                Value offsets, Value a, Value b, Value c,
                                Emitter &e) {
  callGrouped("dsv4rt_grouped_outer", desc, groups, groupStride, offsets, a, b,
              c, e);
}

bool dsv4::setContractTypes(dsv4rt_contract_desc &desc, Type a, Type b,
                            Type c) {
  auto getDtype = [](Type type) -> uint32_t {
    return type.isF32() ? DSV4RT_F32 : type.isBF16() ? DSV4RT_BF16 : DSV4RT_F64;
  };
  for (Type type : {a, b, c})
    if (!type.isF32() && !type.isBF16() && !type.isF64())
      return false;
  if (a.isF64() != b.isF64() || b.isF64() != c.isF64())
    return false;
  desc.a_dtype = getDtype(a);
  desc.b_dtype = getDtype(b);
  desc.c_dtype = getDtype(c);
  return true;
}

FailureOr<SmallVector<Buffer>> dsv4::getWorkspace(Operation *op, Emitter &e) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  unsigned last = kernel.getNumArguments();
  int64_t bytes = getWorkspaceBytes(op);
  if (last == 0 || !kernel.getArgAttr(last - 1, kWorkspaceAttr))
    return op->emitOpError() << "needs a workspace of " << bytes
                             << " bytes as last argument of its kernel";
  Value workspace = kernel.getArgument(last - 1);
  auto type = dyn_cast<MemRefType>(workspace.getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isInteger(8) ||
      type.getDimSize(0) < bytes)
    return op->emitOpError() << "needs a workspace of " << bytes
                             << " bytes, got " << workspace.getType();
  SmallVector<Buffer> buffers;
  for (const WorkspacePart &part : getWorkspaceParts(op)) {
    auto view = MemRefType::get({part.size}, part.element);
    Value memref =
        memref::ViewOp::create(e.getBuilder(), e.getLoc(), view, workspace,
                               e.index(part.offset), ValueRange());
    buffers.push_back({memref, part.element, {part.size}, {1}});
  }
  return buffers;
}

Type dsv4::getAccumulatorType(Operation *op) {
  bool isWide = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isF64();
  });
  Builder builder(op->getContext());
  return isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}
