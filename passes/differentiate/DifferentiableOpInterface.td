//===- DifferentiableOpInterface.td - how cotangents pass an op -*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_DIFFERENTIABLEOPINTERFACE_TD
#define DSV4_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::dsv4";
  let description = [{
    The differentiation rule of an operation, on tensors and on the scalars of a
    `linalg` body alike. Every rule is an external model; there is one file per
    family in `passes/differentiate`.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether a result depends on this float operand with a gradient. Asked only
      for operations that have a float result.
    }], "bool", "carriesGradient", (ins "::mlir::OpOperand &":$operand), "", "return true;">,
    InterfaceMethod<[{
      Adds what the cotangents of the results contribute to the cotangents of the
      operands that need one. A case that the rule does not cover is a located
      error, never a zero.
    }], "::llvm::LogicalResult", "buildAdjoint", (ins "::mlir::dsv4::AdjointBuilder &":$builder)>
  ];
}

#endif // DSV4_DIFFERENTIABLEOPINTERFACE_TD
