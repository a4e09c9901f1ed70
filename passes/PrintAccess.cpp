//===- PrintAccess.cpp - print which rows are read ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows positions from the batch through the operations. For each operand
// with positions one remark says what a row of the result reads of it, and for
// each operation one says what its result reads of each field of the batch.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/AccessRelation.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_PRINTACCESSPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// What a value reads of the batch, row by row along `dim` if it has rows.
struct Reads {
  std::optional<unsigned> dim;
  llvm::MapVector<Value, RowAccess> fields;
};

struct PrintAccess : dsv4::impl::PrintAccessPassBase<PrintAccess> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(visit(func)))
        return signalPassFailure();
  }

private:
  LogicalResult visit(func::FuncOp func);
  LogicalResult visit(Operation *op);

  DenseMap<Value, Reads> reads;
};

} // namespace

static StringRef getFieldName(Value argument) {
  auto block = cast<BlockArgument>(argument);
  auto func = cast<func::FuncOp>(block.getOwner()->getParentOp());
  return func.getArgAttrOfType<StringAttr>(block.getArgNumber(), kBatchAttr).getValue();
}

/// What the result reads through one operand.
static void addReads(Reads &result, const Reads &operand, const RowAccess &access) {
  bool hasRows = operand.dim && !isGlobal(access);
  if (hasRows && !result.dim)
    result.dim = access.resultDim;
  for (auto &[field, inner] : operand.fields) {
    RowAccess composed = hasRows && result.dim == access.resultDim
                             ? compose(access, inner)
                             : getGlobalAccess(inner.operandDim, access.resultDim);
    auto [it, isNew] = result.fields.insert({field, composed});
    if (!isNew)
      it->second = join(it->second, composed);
  }
}

LogicalResult PrintAccess::visit(Operation *op) {
  Reads result;
  for (OpOperand &use : op->getOpOperands()) {
    auto it = reads.find(use.get());
    if (it == reads.end() || op->hasTrait<OpTrait::IsTerminator>())
      continue;
    RowAccess access = getGlobalAccess(0);
    if (it->second.dim) {
      std::optional<RowAccess> found = findAccess(use, *it->second.dim);
      if (!found)
        return op->emitOpError() << "reads operand " << use.getOperandNumber()
                                 << " in a way that is not known";
      access = *found;
      op->emitRemark() << "operand " << use.getOperandNumber() << " dimension "
                       << *it->second.dim << ": " << formatAccess(access);
    }
    addReads(result, it->second, access);
  }
  if (result.fields.empty())
    return success();
  for (auto &[field, access] : result.fields)
    op->emitRemark() << "reads \"" << getFieldName(field) << "\": " << formatAccess(access);
  for (Value value : op->getResults())
    if (isa<RankedTensorType>(value.getType()))
      reads[value] = result;
  return success();
}

LogicalResult PrintAccess::visit(func::FuncOp func) {
  reads.clear();
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() < 2 || !func.getArgAttr(argument.getArgNumber(), kBatchAttr))
      continue;
    Reads &own = reads[argument];
    own.dim = 1;
    own.fields.insert({argument, getLocalAccess(1, 1)});
  }
  for (Operation &op : func.getBody().front())
    if (failed(visit(&op)))
      return failure();
  return success();
}
