//===- Dsv4ExchangeOps.td - messages between neighbours -----*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is left of a gather when its uses read less than everything: rows of
// neighbours (halo) or rows of lower ranks (prefix), and their transposes. G1
// and G2 are those of Dsv4CollectiveBase.td. L is the size of `dim` on one rank.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXCHANGE_OPS_TD
#define DSV4_EXCHANGE_OPS_TD

include "Dsv4CollectiveBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

def Dsv4_SeqHaloOp : Dsv4_Collective<"seq_halo"> {
  let summary = "extend a dimension by rows of neighbouring ranks";
  let description = [{
    Result row i is row i - `left` of this rank's part in the global order. Rows before the first and after the
    last rank's part hold `fill`, zero by default. A halo wider than a part comes from several neighbours.

    ```
    left 1, right 0
    before   rank 0 [a b]        rank 1 [c d]
    after    rank 0 [fill a b]   rank 1 [b c d]
    ```

    With `channels [c, n]` only elements c..c+n-1 of the last dimension of halo rows are received; the others hold `fill`.
    The gradient is a `seq_halo_add`, or none exists without `differentiable`.

    Example:

    ```mlir
    %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 7 right 0 differentiable : tensor<2x32x8xf32> -> tensor<2x39x8xf32>
    %w = dsv4.seq_halo %g on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 4] fill 0xFF800000 : f32 : tensor<2x8x4x8xf32> -> tensor<2x9x4x8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand, not the last one with `channels`.
    * (C2) the result has the operand's shape, `dim` plus `left` plus `right`, both at least 0.
    * (C3) `differentiable` needs a float element type.
    * (C4) `channels` is a begin and a positive size inside the last dimension.
    * (C5) `fill` has the element type.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim,
                       I64Attr:$left, I64Attr:$right, OptionalAttr<DenseI64ArrayAttr>:$channels,
                       OptionalAttr<TypedAttrInterface>:$fill, UnitAttr:$differentiable);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input `on` $mesh $axes `dim` $dim `left` $left `right` $right (`channels` $channels^)? (`fill` $fill^)?
    (`differentiable` $differentiable^)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Dsv4_SeqHaloAddOp : Dsv4_Collective<"seq_halo_add"> {
  let summary = "add halo rows to the ranks that own them";
  let description = [{
    The transpose of `seq_halo`: each rank's part plus the halo rows that other ranks hold of it. Contributions are added in rank order in f32
    (f64 for f64) and rounded once. Halo rows that no rank owns are dropped, and with `channels` the other channels of halo rows.

    ```
    left 1, right 0
    before   rank 0 [x a b]   rank 1 [y c d]
    after    rank 0 [a b+y]   rank 1 [c d]
    ```

    Example:

    ```mlir
    %g = dsv4.seq_halo_add %h on @mesh ["cp"] dim 1 left 7 right 0 : tensor<2x39x8xf32> -> tensor<2x32x8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand, not the last one with `channels`.
    * (C2) the result has the operand's shape, `dim` minus `left` minus `right`, both at least 0, and is not empty.
    * (C3) the element type is one that the runtime adds: i32, i64 or a float.
    * (C4) `channels` is a begin and a positive size inside the last dimension.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim,
                       I64Attr:$left, I64Attr:$right, OptionalAttr<DenseI64ArrayAttr>:$channels);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $input `on` $mesh $axes `dim` $dim `left` $left `right` $right (`channels` $channels^)?
    attr-dict `:` type($input) `->` type($result)
  }];
}

def Dsv4_SeqPrefixOp : Dsv4_Collective<"seq_prefix"> {
  let summary = "concatenate a dimension over this rank and all lower ones";
  let description = [{
    The buffer has its full length on every rank; rows of higher ranks are zero.

    ```
    before   rank 0 [a b]       rank 1 [c d]
    after    rank 0 [a b 0 0]   rank 1 [a b c d]
    ```

    Example:

    ```mlir
    %p = dsv4.seq_prefix %x on @mesh ["cp"] dim 1 differentiable : tensor<2x8x16xf32> -> tensor<2x16x16xf32>
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
}

def Dsv4_SeqPrefixAddOp : Dsv4_Collective<"seq_prefix_add"> {
  let summary = "add what this rank and all higher ones hold of this rank's rows";
  let description = [{
    The transpose of `seq_prefix`. Contributions are added in rank order in f32 (f64 for f64) and rounded once;
    rows of higher ranks are not read.

    ```
    before   rank 0 [a b x y]   rank 1 [c d e f]
    after    rank 0 [a+c b+d]   rank 1 [e f]
    ```

    Example:

    ```mlir
    %g = dsv4.seq_prefix_add %p on @mesh ["cp"] dim 1 : tensor<2x16x16xf32> -> tensor<2x8x16xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `dim` is a dimension of the operand.
    * (C2) the result has the operand's shape, `dim` divided by the group's size.
    * (C3) the element type is one that the runtime adds: i32, i64 or a float.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `on` $mesh $axes `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

def Dsv4_ExchangeScheme : I32EnumAttr<"ExchangeScheme", "who sends what to whom",
    [I32EnumAttrCase<"shift", 0>, I32EnumAttrCase<"prefix", 1>, I32EnumAttrCase<"prefix_add", 2>]> {
  let cppNamespace = "::mlir::dsv4";
}

def Dsv4_ExchangeStartOp : Dsv4_StartOp<"exchange_start"> {
  let summary = "start to send parts of a flat buffer to some ranks of a group";
  let description = [{
    * `shift`: elements `offsets[m]`..+`counts[m]` go to the rank `shifts[m]` higher and arrive at the same offset there,
      where both ranks exist.
    * `prefix`: the destination is the rank-major concatenation of the sources of this rank and all lower ones.
    * `prefix_add`: source and destination have one part per rank; part q goes to rank q, if that is not higher,
      and arrives as part r, if r is the sender. No sum is taken.

    Elements of the destination that nobody sends keep their value.

    ```
    shift [1]        rank 0 [a]     rank 1 [b]     ->  rank 0 [.]       rank 1 [a]
    prefix           rank 0 [a]     rank 1 [b]     ->  rank 0 [a .]     rank 1 [a b]
    prefix_add       rank 0 [a b]   rank 1 [c d]   ->  rank 0 [a c]     rank 1 [. d]
    ```

    Example:

    ```mlir
    %s, %t = dsv4.exchange_start sequence shift %src into %dst on @mesh ["cp"] shifts [1] offsets [0] counts [8]
      : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `shift`: source and destination have as many elements; `prefix`: the destination has the group's size times those of
      the source; `prefix_add`: both have as many, a multiple of the group's size.
    * (C2) as for `all_gather_start`.
    * (C3) `shift` lists as many non-zero `shifts`, `offsets` and positive `counts`, parts ascending without overlap inside the buffer; the
      other schemes list none.
  }];
  let arguments = (ins Dsv4_CollectiveClass:$collective_class, Dsv4_ExchangeScheme:$scheme, AnyType:$input, AnyType:$init,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shifts,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$offsets, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$counts);
  let results = (outs Variadic<AnyType>:$started, Dsv4_TokenType:$token);
  let assemblyFormat = [{
    $collective_class $scheme $input `into` $init `on` $mesh $axes
    (`shifts` $shifts^ `offsets` $offsets `counts` $counts)? attr-dict
    `:` type($input) `into` type($init) (`->` type($started)^)?
  }];
}

class Dsv4_MessageOp<string mnemonic> : Dsv4_Op<mnemonic, [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let results = (outs Variadic<AnyStaticShapeTensor>:$result);
  let hasVerifier = 1;
  code messageClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let extraClassDeclaration = messageClassDeclaration;
}

def Dsv4_Buffer : AnyTypeOf<[AnyStaticShapeTensor, AnyStaticShapeMemRef]>;

def Dsv4_PackMessageOp : Dsv4_MessageOp<"pack_message"> {
  let summary = "copy rows of several types into one buffer of bytes";
  let description = [{
    Operand i is written row-major at byte `offsets[i]`; other bytes keep their value.

    Example:

    ```mlir
    %m = dsv4.pack_message offsets [0, 32] ins(%a, %b : tensor<2x4xf32>, tensor<3xbf16>) outs(%e : tensor<38xi8>) -> tensor<38xi8>
    ```

    **Constraints**
    * (C1) one offset per operand, each a multiple of the operand's element size; operands lie inside the buffer and do not overlap.
    * (C2) the init is a vector of i8; on tensors there is one result of its type, on memrefs none.
  }];
  let arguments = (ins Variadic<Dsv4_Buffer>:$inputs, Dsv4_Buffer:$init, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = [{
    `offsets` $offsets attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_UnpackMessageOp : Dsv4_MessageOp<"unpack_message"> {
  let summary = "copy rows out of a buffer of bytes";
  let description = [{
    The init is read row-major from byte `offset` on.

    Example:

    ```mlir
    %r = dsv4.unpack_message offset 32 ins(%m : tensor<38xi8>) outs(%e : tensor<3xbf16>) -> tensor<3xbf16>
    ```

    **Constraints**
    * (C1) `offset` is a multiple of the init's element size, and the init lies inside the buffer.
    * (C2) the operand is a vector of i8; on tensors there is one result of the init's type, on memrefs none.
  }];
  let arguments = (ins Dsv4_Buffer:$input, Dsv4_Buffer:$init, I64Attr:$offset);
  let assemblyFormat = [{
    `offset` $offset attr-dict `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

#endif // DSV4_EXCHANGE_OPS_TD
