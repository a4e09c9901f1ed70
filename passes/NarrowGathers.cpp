//===- NarrowGathers.cpp - exchange only what is read ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before, 118,016 bytes for the last rank of TINY on two ranks:
//
//   %g = dsv4.seq_gather %k ... dim 1 : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
//   %o = dsv4.window_attention {window = 8} ins(%q, %g, %s, %t0, %c0) ...
//
// After, 13,056 bytes:
//
//   %h = dsv4.seq_halo %k ... dim 1 left 7 right 0 : ... -> tensor<2x39x8xf32>
//   %o = dsv4.window_attention {window = 8} ins(%q, %h, %s, %t0, %k0) ...
//
// where %k0 is the global position of the buffer's first row. All gathers are
// decided before any changes. Runs after -dsv4-partition-sequence.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/GatherUses.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_NARROWGATHERSPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Builds next to one gather, with its path.
class Narrower {
public:
  explicit Narrower(SeqGatherOp op) : op(op), builder(op.getLoc(), op) {}

  void apply(const GatherUses &uses);

private:
  template <typename OpT, typename... Args> OpT make(Args &&...args) {
    auto made = OpT::create(builder, std::forward<Args>(args)...);
    if (Attribute path = op->getAttr(kPathAttr))
      made->setAttr(kPathAttr, path);
    return made;
  }
  Value makeHalo(const HaloUses &halo);
  Value getFirstRow(int64_t left);

  SeqGatherOp op;
  ImplicitLocOpBuilder builder;
};

} // namespace

/// Global index of the first row of a buffer that begins `left` rows before
/// this rank's.
Value Narrower::getFirstRow(int64_t left) {
  int64_t rows = op.getInput().getType().getDimSize(op.getDim());
  Value rank = make<AxisIndexOp>(op.getMeshAttr(), op.getAxesAttr());
  Value begin = make<arith::MulIOp>(rank, make<arith::ConstantIndexOp>(rows));
  if (left == 0)
    return begin;
  return make<arith::SubIOp>(begin, make<arith::ConstantIndexOp>(left));
}

Value Narrower::makeHalo(const HaloUses &halo) {
  RankedTensorType type = op.getInput().getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[op.getDim()] += halo.left + halo.right;
  DenseI64ArrayAttr channels;
  if (halo.channels)
    channels = builder.getDenseI64ArrayAttr({halo.channels->first, halo.channels->second});
  TypedAttr fill;
  if (halo.missing != 0)
    fill = builder.getFloatAttr(type.getElementType(), halo.missing);
  return make<SeqHaloOp>(cast<RankedTensorType>(type.clone(shape)), op.getInput(),
                         op.getMeshAttr(), op.getAxesAttr(), op.getDimAttr(),
                         builder.getI64IntegerAttr(halo.left),
                         builder.getI64IntegerAttr(halo.right), channels, fill,
                         op.getDifferentiableAttr());
}

void Narrower::apply(const GatherUses &uses) {
  if (uses.needsPrefix) {
    Value prefix =
        make<SeqPrefixOp>(op.getResult().getType(), op.getInput(), op.getMeshAttr(),
                          op.getAxesAttr(), op.getDimAttr(), op.getDifferentiableAttr());
    op.replaceAllUsesWith(prefix);
  }
  for (const HaloUses &halo : uses.halos) {
    bool isOwn = halo.left == 0 && halo.right == 0;
    Value rows = isOwn ? Value(op.getInput()) : makeHalo(halo);
    for (OpOperand *use : halo.uses) {
      auto user = cast<RowAccessOpInterface>(use->getOwner());
      OpBuilder atUse(user);
      user.moveFirstRow(atUse, use->getOperandNumber(), getFirstRow(halo.left));
      use->set(rows);
    }
  }
  op.erase();
}

namespace {
struct NarrowGathers : dsv4::impl::NarrowGathersPassBase<NarrowGathers> {
  void runOnOperation() override {
    SmallVector<std::pair<SeqGatherOp, GatherUses>> gathers;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      FailureOr<SmallVector<std::pair<SeqGatherOp, GatherUses>>> found =
          findGatherUses(func);
      if (failed(found))
        return signalPassFailure();
      llvm::append_range(gathers, *found);
    }
    for (auto &[op, uses] : gathers) {
      if (!uses.isKept())
        Narrower(op).apply(uses);
      else
        op.emitRemark() << "stays: " << uses.reason;
    }
  }
};
} // namespace
