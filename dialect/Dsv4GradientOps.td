//===- Dsv4GradientOps.td - gradients of sharded parameters --*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_GRADIENT_OPS_TD
#define DSV4_GRADIENT_OPS_TD

include "Dsv4CollectiveOps.td"

def Dsv4_GradReduceScatterOp : Dsv4_Collective<"grad_reduce_scatter"> {
  let summary = "add the gradients of one unit over ranks and keep this rank's shards";
  let description = [{
    The transpose of `dsv4.unshard`: one operand per parameter of the unit that is not frozen, in the order
    of the unit; one result per flat buffer that is not frozen, whose elements lie where those of its shard lie. Padding is zero.

    ```
    before   rank 0 [g0 g1 g2]      rank 1 [h0 h1 h2]
    after    rank 0 [g0+h0 (g1+h1)a]  rank 1 [(g1+h1)b g2+h2]
    ```

    Gradients are cast to the unit's `reduce_dtype`, multiplied by `scale` and added in rank order, first over `axes`, then over the axes of
    `replicas`, along which shards are held alike. It is a sum: a mean must be in `scale`. Made by `-dsv4-differentiate`, gone after `-dsv4-schedule-collectives`.

    Example:

    ```mlir
    %g = dsv4.grad_reduce_scatter @unit_0(%dw) on @mesh ["cp"] replicas [] scale 1.000000e+00 : (tensor<4x8xf32>) -> tensor<16xf32>
    ```

    **Constraints** G1, G2 and
    * (C1) `unit` names a `dsv4.fsdp_unit` that has `buffers` and the same mesh and axes.
    * (C2) one operand per parameter that is not frozen, with its shape and a float element type.
    * (C3) one result per buffer that is not frozen, with its shard size and the unit's `reduce_dtype`.
    * (C4) `replicas` are axes of the mesh, apart from `axes`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyStaticShapeTensor>:$gradients,
                       FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, StrArrayAttr:$replicas, F64Attr:$scale);
  let results = (outs Variadic<AnyStaticShapeTensor>:$shards);
  let assemblyFormat = [{
    $unit `(` $gradients `)` `on` $mesh $axes `replicas` $replicas `scale` $scale attr-dict
    `:` functional-type($gradients, $shards)
  }];
}

#endif // DSV4_GRADIENT_OPS_TD
