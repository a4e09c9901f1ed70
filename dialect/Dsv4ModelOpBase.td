//===- Dsv4ModelOpBase.td - base of structured operations -*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Destination style, like linalg: on tensors one result per init, on memrefs
// none. Names of dimensions: B batch row, T local query position, H head,
// D channel, S key row, N compressed window, K selection slot, E expert,
// R = B*T*K routed row.
//
// Accumulation is in f32 (f64 when an operand is f64); bf16 operands are widened
// exactly; there is one rounding, when the result is stored. Positions and ids
// are i64.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_MODEL_OP_BASE_TD
#define DSV4_MODEL_OP_BASE_TD

include "Dsv4Base.td"
include "Dsv4Interfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def Dsv4_Shaped : AnyTypeOf<[AnyStaticShapeTensor, AnyStaticShapeMemRef]>;

/// Base of the family: `ins(...)`, `outs(...)`, effects of linalg operations.
class Dsv4_ModelOp<string mnemonic, list<Trait> traits = []> : Dsv4_Op<mnemonic, traits # [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<LayoutOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let hasVerifier = 1;
}

class Dsv4_OneInitOp<string mnemonic, list<Trait> traits = []> : Dsv4_ModelOp<mnemonic, traits> {
  let results = (outs Variadic<AnyStaticShapeTensor>:$result);
  code initDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let extraClassDeclaration = initDeclaration;
}

#endif // DSV4_MODEL_OP_BASE_TD
