//===- Dsv4MeshOps.td - mesh and rank coordinates -----------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_MESH_OPS_TD
#define DSV4_MESH_OPS_TD

include "Dsv4Base.td"
include "Dsv4Interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Dsv4_MeshOp : Dsv4_Op<"mesh", [Symbol]> {
  let summary = "declare the ranks and their named axes";
  let description = [{
    Ranks are numbered row-major over the axes: the last axis varies fastest.

    ```
    ranks of ["dp_shard" = 2, "cp" = 2]        cp=0   cp=1
                                 dp_shard=0      0      1
                                 dp_shard=1      2      3
    ```

    Example:

    ```mlir
    dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
    ```

    **Constraints**
    * (C1) as many sizes as names, at least zero.
    * (C2) every size is at least 1.
    * (C3) names are unique and not empty.
    * (C4) the product of the sizes is at most 65,536.
    * (C5) every axis is one of `replicate`, `dp_shard`, `cp`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes);
  let assemblyFormat = "$sym_name custom<MeshAxes>($axis_names, $axis_sizes) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Size of the axis, or nullopt when the mesh has no such axis.
    std::optional<int64_t> getAxisSize(::llvm::StringRef axis);
    /// Position of the axis in the declaration, or nullopt.
    std::optional<unsigned> getAxisIndex(::llvm::StringRef axis);
    /// Product of all sizes.
    int64_t getNumRanks();
  }];
}

def Dsv4_AxisIndexOp : Dsv4_Op<"axis_index", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "this rank's coordinate along mesh axes";
  let description = [{
    The coordinate, row-major over `axes`; 0 when `axes` is empty. It is the only
    source of values that differ between ranks.

    ```
    mesh ["dp_shard" = 2, "cp" = 2]     rank      0  1  2  3
                                        ["cp"]    0  1  0  1
                             ["dp_shard", "cp"]   0  1  2  3
    ```

    Example: `%r = dsv4.axis_index @mesh ["cp"]`

    **Constraints**
    * (C1) `mesh` names a `dsv4.mesh`.
    * (C2) every axis is declared there, and none is named twice.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh $axes attr-dict";
}

#endif // DSV4_MESH_OPS_TD
