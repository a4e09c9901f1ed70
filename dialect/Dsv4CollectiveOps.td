//===- Dsv4CollectiveOps.td - collectives over mesh groups --*- tablegen -*-===//
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

#ifndef DSV4_COLLECTIVE_OPS_TD
#define DSV4_COLLECTIVE_OPS_TD

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

def Dsv4_SeqShardOp : Dsv4_Op<"seq_shard", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "keep this rank's slice of a dimension";
  let description = [{
    No communication: every rank holds the whole and keeps its contiguous part.

    ```
    before   rank 0 [a b c d]   rank 1 [a b c d]
    after    rank 0 [a b]       rank 1 [c d]
    ```

    Example:

    ```mlir
    %l = dsv4.seq_shard %x on @mesh ["cp"] dim 1 : tensor<2x64xi64> -> tensor<2x32xi64>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand.
    * (C2) the result has the operand's shape, `dim` divided by the group's size.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `on` $mesh $axes `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasCanonicalizeMethod = 1;
}

def Dsv4_SeqGatherOp : Dsv4_Collective<"seq_gather"> {
  let summary = "concatenate a dimension over the ranks of a group";
  let description = [{
    ```
    before   rank 0 [a b]       rank 1 [c d]
    after    rank 0 [a b c d]   rank 1 [a b c d]
    ```

    `differentiable` is static, so ranks cannot disagree about it: the gradient
    is a `seq_reduce_scatter` of all uses, or none exists.

    Example:

    ```mlir
    %k = dsv4.seq_gather %x on @mesh ["cp"] dim 1 differentiable : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand.
    * (C2) the result has the operand's shape, `dim` multiplied by the group's size.
    * (C3) `differentiable` needs a float element type.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim,
                       UnitAttr:$differentiable);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input `on` $mesh $axes `dim` $dim (`differentiable` $differentiable^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasCanonicalizeMethod = 1;
}

def Dsv4_SeqReduceScatterOp : Dsv4_Collective<"seq_reduce_scatter"> {
  let summary = "add over the ranks of a group and keep one slice";
  let description = [{
    ```
    before   rank 0 [a b c d]       rank 1 [e f g h]
    after    rank 0 [a+e b+f]       rank 1 [c+g d+h]
    ```

    Contributions are added in rank order in f32 (f64 for f64).

    Example:

    ```mlir
    %g = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 1 : tensor<2x64x8xf32> -> tensor<2x32x8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand.
    * (C2) the result has the operand's shape, `dim` divided by the group's size.
    * (C3) the element type is one that the runtime adds: i32, i64 or a float.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `on` $mesh $axes `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasCanonicalizeMethod = 1;
}

def Dsv4_AllReduceOp : Dsv4_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "combine values of all ranks of a group";
  let description = [{
    ```
    before   rank 0 [a]     rank 1 [b]
    after    rank 0 [a+b]   rank 1 [a+b]
    ```

    Example: `%s = dsv4.all_reduce sum %x on @mesh ["dp_shard", "cp"] : tensor<f32>`

    **Constraints** G1, G2 and
    * (C1) `sum` needs i32, i64 or a float; `max` and `min` an integer or a float.
  }];
  let arguments = (ins Dsv4_ReductionKind:$kind, AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$kind $input `on` $mesh $axes attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Dsv4_AgreeOp : Dsv4_Collective<"agree", [SameOperandsAndResultType]> {
  let summary = "the largest flag of a group, as a host value";
  let description = [{
    Goes over the control plane and blocks; the result may steer a branch,
    because it is equal on all ranks of the group.

    ```
    before   rank 0 0    rank 1 1
    after    rank 0 1    rank 1 1
    ```

    Example: `%any = dsv4.agree %flag on @mesh ["cp"] : i32`

    **Constraints** G1, G2.
  }];
  let arguments = (ins I32:$flag, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs I32:$result);
  let assemblyFormat = "$flag `on` $mesh $axes attr-dict `:` type($flag)";
  let hasCanonicalizeMethod = 1;
}

def Dsv4_UnshardOp : Dsv4_Collective<"unshard"> {
  let summary = "gather the parameters of one unit";
  let description = [{
    One operand per flat buffer of the unit: this rank's shard; one result per parameter, in
    the order of the unit. Made by `-dsv4-shard-parameters`, gone after
    `-dsv4-schedule-collectives`.

    ```
    before   rank 0 [p0 p1a]     rank 1 [p1b p2]
    after    both   p0, p1, p2
    ```

    Example:

    ```mlir
    %w = dsv4.unshard @unit_0(%shard) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `unit` names a `dsv4.fsdp_unit` that has `buffers`.
    * (C2) one operand per buffer with its dtype and shard size.
    * (C3) one result per parameter with its shape and dtype.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyStaticShapeTensor>:$shards,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    $unit `(` $shards `)` `on` $mesh $axes attr-dict `:` functional-type($shards, $results)
  }];
}

//===----------------------------------------------------------------------===//
// Start and wait
//===----------------------------------------------------------------------===//

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

def Dsv4_AllGatherStartOp : Dsv4_StartOp<"all_gather_start"> {
  let summary = "start to concatenate flat buffers of a group in rank order";
  let description = [{
    The destination is the rank-major concatenation of the sources. It may be read only after
    its `dsv4.wait`, and the source must not change before.

    Example:

    ```mlir
    %s, %t = dsv4.all_gather_start parameter %src into %dst on @mesh ["cp"]
      : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) the destination has the group's size times the elements of the source, of the same type.
    * (C2) on tensors, result 0 has the type of the destination; on memrefs there is only the token.
  }];
  let arguments = (ins Dsv4_CollectiveClass:$collective_class, AnyType:$input, AnyType:$init,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Variadic<AnyType>:$started, Dsv4_TokenType:$token);
  let assemblyFormat = [{
    $collective_class $input `into` $init `on` $mesh $axes attr-dict
    `:` type($input) `into` type($init) (`->` type($started)^)?
  }];
}

def Dsv4_ReduceScatterStartOp : Dsv4_StartOp<"reduce_scatter_start"> {
  let summary = "start to add flat buffers of a group and keep one slice";
  let description = [{
    The destination of rank r is slice r of the sum of all sources.

    Example:

    ```mlir
    %s, %t = dsv4.reduce_scatter_start parameter %src into %dst on @mesh ["cp"]
      : tensor<32xf32> into tensor<8xf32> -> tensor<8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) the source has the group's size times the elements of the destination, of the same type.
    * (C2) as for `all_gather_start`.
  }];
  let arguments = (ins Dsv4_CollectiveClass:$collective_class, AnyType:$input, AnyType:$init,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Variadic<AnyType>:$started, Dsv4_TokenType:$token);
  let assemblyFormat = [{
    $collective_class $input `into` $init `on` $mesh $axes attr-dict
    `:` type($input) `into` type($init) (`->` type($started)^)?
  }];
}

def Dsv4_AllReduceStartOp : Dsv4_StartOp<"all_reduce_start"> {
  let summary = "start to combine buffers of a group";
  let description = [{
    Example:

    ```mlir
    %s, %t = dsv4.all_reduce_start scalar sum %src into %dst on @mesh ["cp"]
      : tensor<f32> into tensor<f32> -> tensor<f32>
    ```

    **Constraints** G1, G2 and
    * (C1) source and destination have the same shape and element type.
    * (C2) as for `all_gather_start`.
  }];
  let arguments = (ins Dsv4_CollectiveClass:$collective_class, Dsv4_ReductionKind:$kind, AnyType:$input, AnyType:$init,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Variadic<AnyType>:$started, Dsv4_TokenType:$token);
  let assemblyFormat = [{
    $collective_class $kind $input `into` $init `on` $mesh $axes attr-dict
    `:` type($input) `into` type($init) (`->` type($started)^)?
  }];
}

def Dsv4_WaitOp : Dsv4_Op<"wait", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "wait for a collective in flight";
  let description = [{
    Returns when the destination is complete and every peer has read this rank's source. It
    takes the source again, so that no one writes to it in between.

    Example: `%r = dsv4.wait %t, %s reading %src : tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>`

    **Constraints**
    * (C1) the token comes from a `start`; on tensors that start made `started` and read `source`.
    * (C2) the token and, on tensors, the started value have this one use.
    * (C3) on tensors the result has the type of `started`; on memrefs there is none.
  }];
  let arguments = (ins Dsv4_TokenType:$token, AnyType:$started, AnyType:$source);
  let results = (outs Variadic<AnyType>:$result);
  let assemblyFormat = [{
    $token `,` $started `reading` $source attr-dict `:` type($started) `,` type($source)
    (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

#endif // DSV4_COLLECTIVE_OPS_TD
