//===- GraphBuilder.h - Small pieces of model graphs ------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values have one of two float types: the activation type, in which they are
// stored between steps, and the wide type, in which everything is computed.
// They differ in a mixed graph only (bf16 and f32). Operands are widened where
// they are read, and a rounding to the activation type always has a label.
//
// Iteration spaces are written as in einsum, one letter per dimension:
// "bti,oi->bto". Loops are the dimensions of the result in order, then the
// reduced ones in order of appearance.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_FRONTEND_GRAPHBUILDER_H
#define DSV4_LIB_FRONTEND_GRAPHBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace mlir::dsv4 {

/// Scalar expressions in the body of a `linalg.generic`. Floats are of the wide
/// type.
class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location loc, Type wideType)
      : builder(builder), loc(loc), wideType(wideType) {}

  Value constant(double value);
  Value constantInt(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value max(Value a, Value b);
  Value min(Value a, Value b);
  Value neg(Value a);
  Value abs(Value a);
  Value exp(Value a);
  Value log(Value a);
  Value log1p(Value a);
  Value sqrt(Value a);
  /// 1 / (1 + exp(-a)).
  Value sigmoid(Value a);
  /// Whether two integers differ.
  Value differs(Value a, int64_t b);
  Value select(Value condition, Value a, Value b);

  /// A float in the wide type; anything else as it is.
  Value widen(Value a);
  Value round(Value a, Type type);

  OpBuilder &builder;
  Location loc;
  Type wideType;
};

class GraphBuilder {
public:
  using ScalarFn = llvm::function_ref<Value(ScalarBuilder &, ValueRange)>;
  using Shape = SmallVector<int64_t>;

  GraphBuilder(OpBuilder &builder, FloatType activationType, FloatType wideType)
      : builder(builder), activationType(activationType), wideType(wideType) {}

  OpBuilder &getBuilder() { return builder; }
  FloatType getActivationType() const { return activationType; }
  FloatType getWideType() const { return wideType; }
  bool isMixed() const { return activationType != wideType; }

  // Place in the module tree.

  /// Builds a `dsv4.module` below the current one; the function returns what
  /// the module yields.
  SmallVector<Value> inModule(const Twine &name, StringRef className,
                              llvm::function_ref<SmallVector<Value>()> build);
  /// As above, for one result.
  Value inModule1(const Twine &name, StringRef className,
                  llvm::function_ref<Value()> build);
  /// Operations from here on belong to this step of the current module.
  void setStep(StringRef name) { step = name.str(); }
  Location getLoc();

  /// Declares a parameter or buffer by its path.
  void addParameter(StringRef path, Value value);
  /// One of the current module, by its name in there.
  Value getParameter(StringRef name) const;

  // Destinations and constants.

  Value createEmpty(ArrayRef<int64_t> shape, Type type);
  Value createFilled(ArrayRef<int64_t> shape, FloatType type, double value);
  Value createIndex(int64_t value);

  /// An operation in destination style whose last operand is its init.
  template <typename Op>
  Value createInto(ArrayRef<int64_t> shape, Type type, auto... operands) {
    Value init = createEmpty(shape, type);
    return Op::create(builder, getLoc(), TypeRange(init.getType()), operands...,
                      init)
        ->getResult(0);
  }

  // Elementwise operations, contractions, reductions.

  /// One wide result per point of the result's dimensions.
  Value elementwise(StringRef spec, ValueRange inputs, ScalarFn body);
  /// As above, rounded to the activation type.
  Value elementwiseRounded(StringRef spec, ValueRange inputs, StringRef label,
                           ScalarFn body);
  /// As above, of any type.
  Value elementwiseAs(StringRef spec, ValueRange inputs, Type type,
                      ScalarFn body);
  /// Copies along one new dimension.
  Value broadcast(StringRef spec, Value input, int64_t size);
  /// Sum over the letters that the result lacks, in the wide type.
  Value contract(StringRef spec, Value a, Value b);
  Value sum(StringRef spec, ValueRange inputs, ScalarFn body);
  Value max(StringRef spec, Value input);
  /// The number of points where the body, an integer, is 1.
  Value count(StringRef spec, ValueRange inputs, ScalarFn body);
  /// A wide value in the activation type.
  Value round(Value value, StringRef label);

  // Reshapes.

  /// Splits dimension `dim` into `sizes`.
  Value split(Value value, unsigned dim, ArrayRef<int64_t> sizes);
  /// Merges dimension `dim` and the one after it.
  Value merge(Value value, unsigned dim);
  /// Part of dimension `dim`.
  Value slice(Value value, unsigned dim, int64_t offset, int64_t size);
  /// One entry of dimension `dim`, which disappears.
  Value pick(Value value, unsigned dim, int64_t index);

private:
  /// A loop nest over `inputs` and `init`; the body sees the inputs, widened if
  /// asked for, and as its last value the element of the init.
  Value createGeneric(StringRef spec, ValueRange inputs, Value init,
                      ScalarFn body, bool widens = true);
  /// A letter of the result that no input has gets `newSize`.
  Shape getResultShape(StringRef spec, ValueRange inputs,
                       int64_t newSize = 0) const;

  OpBuilder &builder;
  FloatType activationType;
  FloatType wideType;
  std::string path;
  std::string step;
  llvm::StringMap<Value> parameters;
};

inline Type getElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}
inline ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
inline int64_t getDim(Value value, unsigned dim) {
  return getShape(value)[dim];
}

} // namespace mlir::dsv4

#endif // DSV4_LIB_FRONTEND_GRAPHBUILDER_H
