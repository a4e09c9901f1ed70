//===- BufferizationModels.cpp - bufferization of dsv4 operations ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structured operations and starts are in destination style. A wait takes the
// started value, which it completes in place, and the source, which it reads:
// so nobody may write to the source of a collective in flight.
//
//===----------------------------------------------------------------------===//

#include "dsv4/IR/Dsv4Ops.h"
#include "dsv4/Passes/Pipelines.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::dsv4;
using namespace mlir::bufferization;

namespace {

/// Operands as buffers; operands that are no tensors stay.
FailureOr<SmallVector<Value>> getBuffers(RewriterBase &rewriter, Operation *op,
                                         const BufferizationOptions &options,
                                         BufferizationState &state) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  return operands;
}

/// The same operation on buffers: results that are tensors disappear.
Operation *cloneOnBuffers(RewriterBase &rewriter, Operation *op,
                          ArrayRef<Value> operands) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  for (Type type : op->getResultTypes())
    if (!isa<TensorType>(type))
      state.addTypes(type);
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return rewriter.create(state);
}

/// Structured operations, and starts (whose token stays a value).
template <typename OpT>
struct DestinationStyleModel
    : public DstBufferizableOpInterfaceExternalModel<
          DestinationStyleModel<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    bool isInit = cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
    return !isInit || isa<CombineRowsOp>(op);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    if (dps.hasPureBufferSemantics())
      return success();
    FailureOr<SmallVector<Value>> operands =
        getBuffers(rewriter, op, options, state);
    if (failed(operands))
      return failure();
    Operation *onBuffers = cloneOnBuffers(rewriter, op, *operands);
    SmallVector<Value> replacements;
    unsigned nextInit = 0, nextResult = 0;
    for (Value result : op->getResults()) {
      if (!isa<TensorType>(result.getType())) {
        replacements.push_back(onBuffers->getResult(nextResult++));
        continue;
      }
      OpOperand *init = dps.getDpsInitOperand(nextInit++);
      replacements.push_back((*operands)[init->getOperandNumber()]);
    }
    replaceOpWithBufferizedValues(rewriter, op, replacements);
    return success();
  }
};

struct WaitModel
    : public BufferizableOpInterface::ExternalModel<WaitModel, WaitOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return operand.get() == cast<WaitOp>(op).getStarted();
  }
  bool mustBufferizeInPlace(Operation *op, OpOperand &operand,
                            const AnalysisState &) const {
    return operand.get() == cast<WaitOp>(op).getStarted();
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    auto wait = cast<WaitOp>(op);
    if (operand.get() != wait.getStarted() || wait.getResult().empty())
      return {};
    return {{wait.getResult().front(), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<SmallVector<Value>> operands =
        getBuffers(rewriter, op, options, state);
    if (failed(operands))
      return failure();
    cloneOnBuffers(rewriter, op, *operands);
    replaceOpWithBufferizedValues(rewriter, op, (*operands)[1]);
    return success();
  }
};

/// Attaches the destination style model to each operation.
template <typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<DestinationStyleModel<OpTs>>(*context), ...);
}

} // namespace

void dsv4::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
    attach<RopeOp, PoolWindowsOp, IndexTopkOp, WindowAttentionOp, SinkhornOp,
           TopkOp, GatherRowsOp, TakeAlongOp, SortByExpertOp, DispatchRowsOp,
           DispatchWeightsOp, CombineRowsOp, GroupedMatmulOp,
           WindowAttentionGradOp, PoolWindowsGradOp, SinkhornGradOp,
           ScatterAddOp, ScatterAlongOp, DispatchRowsGradOp,
           DispatchWeightsGradOp, CombineRowsGradOp, GroupedOuterOp,
           AllGatherStartOp, ReduceScatterStartOp, AllReduceStartOp>(context);
    WaitOp::attachInterface<WaitModel>(*context);
  });
}
