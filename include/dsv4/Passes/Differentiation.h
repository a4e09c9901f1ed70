//===- Differentiation.h - reverse mode, rule by rule ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// -dsv4-differentiate visits operations from the last to the first and asks each
// that has a cotangent for its rule. A rule is a function; a file of rules looks
// like this (passes/differentiate/RopeRules.cpp):
//
//   /// A rotation is undone by its inverse.
//   static LogicalResult buildRopeAdjoint(RopeOp op, AdjointBuilder &builder) {
//     Value gradient = builder.getCotangent(op.getResult().front());
//     if (builder.needsCotangent(op.getInput()))
//       builder.addCotangent(op.getInput(), rotateBack(op, gradient, builder));
//     return success();
//   }
//
//   void dsv4::registerRopeRules(DialectRegistry &registry) {
//     registry.addExtension(+[](MLIRContext *context, Dsv4Dialect *) {
//       attachRule<RopeOp, buildRopeAdjoint>(*context);
//     });
//   }
//
// and its register function is declared in Rules.h and called in Rules.cpp.
//
// * `getCotangent(result)` is null when nothing depends on that result; at least
//   one result of the operation has one. It has the type of the result.
// * A contribution has the type of the operand. It may share values with the
//   forward program: `op.getQuery()` is simply used again.
// * Operations that `builder` makes get the module path of the operation and the
//   direction `backward`.
// * A float operand without influence (scores of a selection) is declared by a
//   model of its own with `carriesGradient`; integers never carry a gradient.
// * A collective that changes over which ranks a cotangent is a partial sum uses
//   `getPartialAxes` and `addCotangent(value, contribution, wholeOver)`.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_DIFFERENTIATION_H
#define DSV4_PASSES_DIFFERENTIATION_H

#include "dsv4/Analysis/Replication.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dsv4 {
class AdjointBuilder;
} // namespace mlir::dsv4

#include "dsv4/Passes/DifferentiableOpInterface.h.inc"

namespace mlir::dsv4 {

/// True for floats and tensors of floats: what can have a cotangent.
bool isDifferentiableType(Type type);

/// Builds the backward operations of one block and keeps its cotangents.
class AdjointBuilder : public ImplicitLocOpBuilder {
public:
  /// Backward operations go to `insertion`; `active` are the values that need a
  /// cotangent. Without `replication` there is one rank.
  AdjointBuilder(Location loc, OpBuilder insertion,
                 const llvm::DenseSet<Value> &active,
                 const Replication *replication = nullptr);

  //===--------------------------------------------------------------------===//
  // For rules
  //===--------------------------------------------------------------------===//

  /// The cotangent of a result; null for zero.
  Value getCotangent(Value value) const;
  bool needsCotangent(Value value) const { return active.contains(value); }
  /// Adds to the cotangent of a value that needs one. Every rank adds the share
  /// of its own uses, so the cotangent of a value that ranks hold alike becomes
  /// a partial sum, except over `wholeOver`.
  void addCotangent(Value value, Value contribution, ArrayAttr wholeOver = {});

  /// Those of `axes` over which the cotangent of a value is a partial sum. Over
  /// the others every rank holds all of it.
  ArrayAttr getPartialAxes(Value value, ArrayAttr axes) const;

  /// Whether ranks along this axis hold different batches or parameters at all:
  /// it has more than one.
  bool isAxisSplit(Attribute axis) const;

  /// The gradient of a shard, in the type in which it was reduced.
  void setGradient(Value shard, Value gradient) {
    cotangents[shard] = {gradient, 0};
  }

  /// A float constant of a scalar or tensor type.
  Value makeConstant(Type type, double value);
  Value makeEmpty(Type type);
  Value makeZero(Type type);
  /// Elementwise `lhs + rhs`; narrow floats are added in f32.
  Value makeSum(Value lhs, Value rhs);

  //===--------------------------------------------------------------------===//
  // For the driver
  //===--------------------------------------------------------------------===//

  /// A cotangent from outside, whole on every rank.
  void seed(Value value, Value cotangent) { cotangents[value] = {cotangent, 0}; }
  /// Seeds the loss, a tensor of one element, with 1.
  void seedOne(Value loss);
  /// Visits operations of one block, given in program order, backwards.
  LogicalResult visit(ArrayRef<Operation *> ops);

private:
  struct Cotangent {
    Value value;
    /// Axes over which it is a partial sum.
    Replication::Axes partial = 0;
  };

  /// Marks what is built.
  struct Marker : OpBuilder::Listener {
    void notifyOperationInserted(Operation *op, InsertPoint previous) override;
    Operation *origin = nullptr;
  };

  Replication::Axes getDefaultPartial() const;

  const llvm::DenseSet<Value> &active;
  const Replication *replication;
  llvm::DenseMap<Value, Cotangent> cotangents;
  Marker marker;
  Operation *current = nullptr;
  bool isUndecided = false;
};

namespace detail {
template <typename OpT,
          LogicalResult (*buildFn)(OpT, AdjointBuilder &)>
struct RuleModel
    : DifferentiableOpInterface::ExternalModel<RuleModel<OpT, buildFn>, OpT> {
  LogicalResult buildAdjoint(Operation *op, AdjointBuilder &builder) const {
    return buildFn(cast<OpT>(op), builder);
  }
};
} // namespace detail

/// Makes `buildFn` the rule of `OpT`.
template <typename OpT, LogicalResult (*buildFn)(OpT, AdjointBuilder &)>
void attachRule(MLIRContext &context) {
  OpT::template attachInterface<detail::RuleModel<OpT, buildFn>>(context);
}

/// The rules of all operations.
void registerDifferentiationRules(DialectRegistry &registry);

} // namespace mlir::dsv4

#endif // DSV4_PASSES_DIFFERENTIATION_H
