//===- Dsv4StructureOps.td - modules and FSDP units ---------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_STRUCTURE_OPS_TD
#define DSV4_STRUCTURE_OPS_TD

include "Dsv4Base.td"
include "Dsv4Interfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Dsv4_ModuleOp : Dsv4_Op<"module", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "keep the model's module structure around its operations";
  let description = [{
    The region computes what the module `path` of class `class` computes. It may
    use values from outside. Made by front ends, gone after
    `-dsv4-inline-modules`, which leaves the path on each operation.

    Example:

    ```mlir
    %y = dsv4.module "model.norm" class "DeepseekV4RMSNorm" -> tensor<2x64x64xf32> {
      dsv4.yield %x : tensor<2x64x64xf32>
    }
    ```

    **Constraints**
    * (C1) `path` is not empty and extends the path of the enclosing module.
    * (C2) the yielded types are the result types.
  }];
  let arguments = (ins StrAttr:$path, StrAttr:$class_name);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $path `class` $class_name (`->` type($results)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Dsv4_YieldOp : Dsv4_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"ModuleOp">]> {
  let summary = "end a module region with its results";
  let description = [{
    Example: `dsv4.yield %x : tensor<2x64x64xf32>`
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Dsv4_FsdpUnitOp : Dsv4_Op<"fsdp_unit", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one group of parameters that is gathered and reduced together";
  let description = [{
    Roots and parameters are ordered: the order of parameters fixes the order of
    elements in the flat buffers. `gather_dtype` is the dtype in which the module
    computes with them; an fp32 island has `island` set, `f32` (or `f64` in an
    f64 program) everywhere and does not inherit the policy of its parent.

    `buffers` is filled by `-dsv4-shard-parameters`: one dictionary per flat
    buffer with `dtype`, `frozen`, `total` and `shard` in elements, and `segments`, an array of
    dictionaries `name`, `offset`, `shape`.

    ```
    flat buffer, 2 ranks      [ p0 | p1       | p2 |pad]
    rank 0 owns               [ p0 | p1   ]
    rank 1 owns                           [   | p2 |pad]
    ```

    **Constraints**
    * (C1) `mesh` names a `dsv4.mesh` that declares every axis of `axes`.
    * (C2) parameters are unique within the unit.
    * (C3) an island gathers and reduces in at least 32-bit floats.
    * (C4) `gather_dtype` and `reduce_dtype` are floats.
    * (C5) each buffer has the five entries above, and its segments ascend within `total`.
    * (C6) the shards of the group hold at least `total` elements.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
                       StrArrayAttr:$roots, StrArrayAttr:$params,
                       TypeAttr:$gather_dtype, TypeAttr:$reduce_dtype,
                       UnitAttr:$island, OptionalAttr<BoolAttr>:$reshard_after_forward,
                       OptionalAttr<ArrayAttr>:$buffers);
  let assemblyFormat = [{
    $sym_name `roots` $roots `on` $mesh $axes `params` $params
    `gather` $gather_dtype `reduce` $reduce_dtype (`island` $island^)?
    (`reshard_after_forward` `=` $reshard_after_forward^)?
    (`buffers` $buffers^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // DSV4_STRUCTURE_OPS_TD
