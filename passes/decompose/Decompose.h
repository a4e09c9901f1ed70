//===- Decompose.h - loops of each family of operations --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function emits the loops of one operation on memrefs where the emitter
// stands. The operation itself is left for the caller to erase.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DECOMPOSE_DECOMPOSE_H
#define DSV4_PASSES_DECOMPOSE_DECOMPOSE_H

#include "Emitter.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Runtime/Kernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dsv4 {

/// Calls of the runtime's kernel table from kernels of one module. A descriptor
/// is a constant; equal ones are shared.
class RuntimeCalls {
public:
  explicit RuntimeCalls(::mlir::ModuleOp module) : module(module) {}

  /// The address of an element as an LLVM pointer.
  Value getPointer(const Buffer &buffer, Expr position, Emitter &e);
  /// C = C + A B. The descriptor must be valid: the status is not looked at,
  /// because a valid descriptor cannot fail.
  void contract(const dsv4rt_contract_desc &desc, Value a, Value b, Value c,
                Emitter &e);
  void groupedContract(const dsv4rt_contract_desc &desc, int64_t groups,
                       int64_t groupStride, Value offsets, Value a, Value b,
                       Value c, Emitter &e);
  /// As `groupedContract`, with k instead of m divided into groups.
  void groupedOuter(const dsv4rt_contract_desc &desc, int64_t groups,
                    int64_t groupStride, Value offsets, Value a, Value b,
                    Value c, Emitter &e);

private:
  void callGrouped(StringRef name, const dsv4rt_contract_desc &desc,
                   int64_t groups, int64_t groupStride, Value offsets, Value a,
                   Value b, Value c, Emitter &e);
  Value getDesc(const dsv4rt_contract_desc &desc, Emitter &e);
  LLVM::LLVMFuncOp getCallee(StringRef name, ArrayRef<Type> arguments);

  ::mlir::ModuleOp module;
  SmallVector<std::pair<dsv4rt_contract_desc, std::string>> descs;
};

/// Sets the types of a descriptor; false if the kernel table lacks them.
bool setContractTypes(dsv4rt_contract_desc &desc, Type a, Type b, Type c);

/// The arrays of the workspace of the kernel around `op`, in the order of
/// `getWorkspaceParts`. Fails with an error on `op` if the kernel has none.
FailureOr<SmallVector<Buffer>> getWorkspace(Operation *op, Emitter &e);

/// f64 if an operand holds f64, else f32.
Type getAccumulatorType(Operation *op);

LogicalResult decomposeLinalg(linalg::LinalgOp op, RuntimeCalls &runtime,
                              Emitter &e);

LogicalResult decompose(WindowAttentionOp op, Emitter &e);
LogicalResult decompose(IndexTopkOp op, Emitter &e);
LogicalResult decompose(PoolWindowsOp op, Emitter &e);
LogicalResult decompose(RopeOp op, Emitter &e);
LogicalResult decompose(SinkhornOp op, Emitter &e);
LogicalResult decompose(TopkOp op, Emitter &e);
LogicalResult decompose(GatherRowsOp op, Emitter &e);
LogicalResult decompose(TakeAlongOp op, Emitter &e);
LogicalResult decompose(SortByExpertOp op, Emitter &e);
LogicalResult decompose(DispatchRowsOp op, Emitter &e);
LogicalResult decompose(DispatchWeightsOp op, Emitter &e);
LogicalResult decompose(CombineRowsOp op, Emitter &e);
LogicalResult decompose(GroupedMatmulOp op, RuntimeCalls &runtime, Emitter &e);

LogicalResult decompose(WindowAttentionGradOp op, Emitter &e);
LogicalResult decompose(PoolWindowsGradOp op, Emitter &e);
LogicalResult decompose(SinkhornGradOp op, Emitter &e);
LogicalResult decompose(ScatterAddOp op, Emitter &e);
LogicalResult decompose(ScatterAlongOp op, Emitter &e);
LogicalResult decompose(DispatchRowsGradOp op, Emitter &e);
LogicalResult decompose(DispatchWeightsGradOp op, Emitter &e);
LogicalResult decompose(CombineRowsGradOp op, Emitter &e);
LogicalResult decompose(GroupedOuterOp op, RuntimeCalls &runtime, Emitter &e);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DECOMPOSE_DECOMPOSE_H
