//===- Dsv4CollectiveBase.td - base of collectives ----------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels shared by the family:
//   (G1) `mesh` names a dsv4.mesh.
//   (G2) every axis of `axes` is declared there, none twice.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_COLLECTIVE_BASE_TD
#define DSV4_COLLECTIVE_BASE_TD

include "Dsv4Base.td"
include "Dsv4Interfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Dsv4_ReductionKind : I32EnumAttr<"ReductionKind", "how values of several ranks are combined",
    [I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::mlir::dsv4";
}

def Dsv4_CollectiveClass : I32EnumAttr<"CollectiveClass", "what kind of data a collective moves",
    [I32EnumAttrCase<"sequence", 0>, I32EnumAttrCase<"parameter", 1>, I32EnumAttrCase<"scalar", 2>]> {
  let cppNamespace = "::mlir::dsv4";
}

/// Every collective reads and writes the communicator: it is never dead code,
/// never moved across another collective, never speculated.
class Dsv4_Collective<string mnemonic, list<Trait> traits = []> : Dsv4_Op<mnemonic, traits # [
    DeclareOpInterfaceMethods<CollectiveOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<Dsv4_Communicator>, MemWrite<Dsv4_Communicator>]>]>;

/// A collective in destination style that returns at once. On tensors it returns the
/// started destination and a token, on memrefs the token alone.
class Dsv4_StartOp<string mnemonic> : Dsv4_Op<mnemonic, [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<CollectiveOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  code startClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let extraClassDeclaration = startClassDeclaration;
}

#endif // DSV4_COLLECTIVE_BASE_TD
