//===- TensorRules.cpp - differentiation rules of tensor ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice is transposed by insertion into zeros, an insertion by a slice, a
// reshape by its inverse.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dsv4;

static LogicalResult buildExtractSliceAdjoint(tensor::ExtractSliceOp op,
                                              AdjointBuilder &b) {
  Value zero = b.makeZero(op.getSourceType());
  b.addCotangent(op.getSource(),
                 b.create<tensor::InsertSliceOp>(
                     b.getCotangent(op.getResult()), zero, op.getMixedOffsets(),
                     op.getMixedSizes(), op.getMixedStrides()));
  return success();
}

static LogicalResult buildInsertSliceAdjoint(tensor::InsertSliceOp op,
                                             AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  if (b.needsCotangent(op.getSource()))
    b.addCotangent(op.getSource(),
                   b.create<tensor::ExtractSliceOp>(
                       op.getSourceType(), dy, op.getMixedOffsets(),
                       op.getMixedSizes(), op.getMixedStrides()));
  if (b.needsCotangent(op.getDest())) {
    Value zero = b.makeZero(op.getSourceType());
    b.addCotangent(op.getDest(), b.create<tensor::InsertSliceOp>(
                                     zero, dy, op.getMixedOffsets(),
                                     op.getMixedSizes(), op.getMixedStrides()));
  }
  return success();
}

static LogicalResult buildExpandShapeAdjoint(tensor::ExpandShapeOp op,
                                             AdjointBuilder &b) {
  b.addCotangent(op.getSrc(),
                 b.create<tensor::CollapseShapeOp>(
                     op.getSrcType(), b.getCotangent(op.getResult()),
                     op.getReassociationIndices()));
  return success();
}

static LogicalResult buildCollapseShapeAdjoint(tensor::CollapseShapeOp op,
                                               AdjointBuilder &b) {
  b.addCotangent(op.getSrc(),
                 b.create<tensor::ExpandShapeOp>(
                     op.getSrcType(), b.getCotangent(op.getResult()),
                     op.getReassociationIndices()));
  return success();
}

static LogicalResult buildPadAdjoint(tensor::PadOp op, AdjointBuilder &b) {
  SmallVector<OpFoldResult> sizes, strides;
  for (int64_t size : op.getSourceType().getShape()) {
    sizes.push_back(b.getIndexAttr(size));
    strides.push_back(b.getIndexAttr(1));
  }
  b.addCotangent(op.getSource(), b.create<tensor::ExtractSliceOp>(
                                     b.getCotangent(op.getResult()),
                                     op.getMixedLowPad(), sizes, strides));
  return success();
}

static LogicalResult buildConcatAdjoint(tensor::ConcatOp op, AdjointBuilder &b) {
  Value dy = b.getCotangent(op.getResult());
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), sizes,
        strides(type.getRank(), b.getIndexAttr(1));
    for (int64_t size : type.getShape())
      sizes.push_back(b.getIndexAttr(size));
    offsets[op.getDim()] = b.getIndexAttr(begin);
    begin += type.getDimSize(op.getDim());
    if (b.needsCotangent(input))
      b.addCotangent(input, b.create<tensor::ExtractSliceOp>(type, dy, offsets,
                                                             sizes, strides));
  }
  return success();
}

void dsv4::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachRule<tensor::ExtractSliceOp, buildExtractSliceAdjoint>(*context);
    attachRule<tensor::InsertSliceOp, buildInsertSliceAdjoint>(*context);
    attachRule<tensor::ExpandShapeOp, buildExpandShapeAdjoint>(*context);
    attachRule<tensor::CollapseShapeOp, buildCollapseShapeAdjoint>(*context);
    attachRule<tensor::PadOp, buildPadAdjoint>(*context);
    attachRule<tensor::ConcatOp, buildConcatAdjoint>(*context);
  });
}
