//===- Dsv4AdjointOps.td - adjoints of structured operations --*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What -dsv4-differentiate needs beyond the operations of the model: the
// adjoint of each structured operation that is not one of them already. (The
// adjoint of `dsv4.rope` is its inverse, that of `dsv4.grouped_matmul` in its
// rows is the same operation with transposed matrices.)
//
// Style, names of dimensions and accumulation are those of Dsv4ModelOpBase.td.
// Inits are overwritten. `gradient` is the cotangent of the forward result g;
// the init X_grad receives the cotangent of X. Sums that meet in memory are f32
// or f64, and the order of their terms is part of the operation.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ADJOINT_OPS_TD
#define DSV4_ADJOINT_OPS_TD

include "Dsv4ModelOpBase.td"

//===----------------------------------------------------------------------===//
// Attention and its compressor
//===----------------------------------------------------------------------===//

def Dsv4_WindowAttentionGradOp : Dsv4_ModelOp<"window_attention_grad", [AttrSizedOperandSegments]> {
  let summary = "adjoint of attention to a window and to compressed rows";
  let description = [{
    Slots j, probabilities p and the sink's share q are those of `dsv4.window_attention`, computed again. With x[j] the key of slot j and g the gradient of
    the output of query t and head h:

    ```
    u[j] = g . x[j]        m = sum over j of p[j] u[j]        s[j] = scale * p[j] * (u[j] - m)
    query_grad = sum over j of s[j] x[j]        sink_grad[b, t, h] = -q m
    keys_grad or pool_grad of slot j += s[j] query + p[j] g
    ```

    Keys are also values, so a key row collects from scores and outputs of all heads and of every query that saw it: queries ascend, then heads. `sink_grad` is
    per query; the gradient of the sink is its sum over B and T. Gradients of keys that several ranks hold are partial sums, added where the keys were gathered
    from. No buffer spans queries and keys of more than one query.

    Source: spec of the model 2.7 and 2.14.

    Example:

    ```mlir
    %g:4 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64}
      ins(%q, %k, %sink, %do, %q0, %k0 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>)
      pool(%c : tensor<2x4x32xf32>) selected(%s : tensor<2x8x4xi64>)
      outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%dc : tensor<2x4x32xf32>)
      -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x4x32xf32>
    ```

    **Constraints**
    * (C1) `query`, `gradient` and `query_grad` are [B,T,H,D], `keys` and `keys_grad` [B,S,D], `sink` [H], `sink_grad` [B,T,H], `pool` and `pool_grad` [B,N,D], `selected` [B,T,K] of i64.
    * (C2) `selected` needs `pool`; `pool_grad` is present with `pool` only.
    * (C3) `window` >= 1; `ratio` >= 1 with `pool`, 0 without.
    * (C4) `keys_grad`, `sink_grad` and `pool_grad` have the accumulator's element type: f64 for f64 queries, else f32.
  }];
  let arguments = (ins Dsv4_Shaped:$query, Dsv4_Shaped:$keys, Dsv4_Shaped:$sink, Dsv4_Shaped:$gradient,
                       Index:$first_query, Index:$first_key, Optional<Dsv4_Shaped>:$pool, Optional<Dsv4_Shaped>:$selected,
                       Dsv4_Shaped:$query_grad, Dsv4_Shaped:$keys_grad, Dsv4_Shaped:$sink_grad, Optional<Dsv4_Shaped>:$pool_grad,
                       I64Attr:$window, F64Attr:$scale, I64Attr:$ratio);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $query `,` $keys `,` $sink `,` $gradient `,` $first_query `,` $first_key `:`
      type($query) `,` type($keys) `,` type($sink) `,` type($gradient) `)`
    (`pool` `(` $pool^ `:` type($pool) `)`)? (`selected` `(` $selected^ `:` type($selected) `)`)?
    `outs` `(` $query_grad `,` $keys_grad `,` $sink_grad `:` type($query_grad) `,` type($keys_grad) `,` type($sink_grad) `)`
    (`pool_grad` `(` $pool_grad^ `:` type($pool_grad) `)`)? (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      unsigned count = getPoolGrad() ? 4 : 3;
      return ::mlir::MutableOperandRange(getOperation(), getNumOperands() - count, count);
    }
  }];
}

def Dsv4_PoolWindowsGradOp : Dsv4_ModelOp<"pool_windows_grad"> {
  let summary = "adjoint of compressing each window of tokens";
  let description = [{
    With p the softmax of `dsv4.pool_windows` over the tokens j of row w in channel d, computed again, and u = sum over j of p[j] values[j]:

    ```
    values_grad[j] += p[j] g        gate_grad[j] += p[j] (values[j] - u) g
    ```

    With `overlap` the gradient of the first half of window w-1 comes from row w. Rows ascend; what no row reads gets 0. The gradient of `ape` is the sum of
    `gate_grad` over B and M.

    Source: spec of the model 2.5 and 2.14.

    Example:

    ```mlir
    %d:2 = dsv4.pool_windows_grad {overlap}
      ins(%kv, %gate, %ape, %g, %w0 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x8x32xf32>)
      outs(%dkv, %dgate : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>
    ```

    **Constraints**
    * (C1) `values`, `gate`, `values_grad` and `gate_grad` are [B,M,r,F], `ape` is [r,F], `gradient` [B,N,D], M >= N.
    * (C2) F = 2D with `overlap`, else F = D.
    * (C3) all element types are equal floats of at least 32 bits.
  }];
  let arguments = (ins Dsv4_Shaped:$values, Dsv4_Shaped:$gate, Dsv4_Shaped:$ape, Dsv4_Shaped:$gradient, Index:$first_window,
                       Dsv4_Shaped:$values_grad, Dsv4_Shaped:$gate_grad, UnitAttr:$overlap);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $values `,` $gate `,` $ape `,` $gradient `,` $first_window `:` type($values) `,` type($gate) `,` type($ape) `,` type($gradient) `)`
    `outs` `(` $values_grad `,` $gate_grad `:` type($values_grad) `,` type($gate_grad) `)` (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 5, 2);
    }
  }];
}

def Dsv4_SinkhornGradOp : Dsv4_OneInitOp<"sinkhorn_grad"> {
  let summary = "adjoint of making small matrices doubly stochastic";
  let description = [{
    Computes the matrices of all steps of `dsv4.sinkhorn` again and goes back through them. Dividing a line x by d = sum x + eps gives y; its adjoint is
    (g - sum over the line of g y) / d. The softmax y has y (g - sum over the row of g y). Sums ascend.

    Source: spec of the model 2.1 H7 to H9 and 2.14.

    Example:

    ```mlir
    %d = dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>)
      outs(%e : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
    ```

    **Constraints**
    * (C1) `input` and `gradient` are [B,T,n,n] with n >= 1, all types are equal.
    * (C2) `iterations` >= 1.
  }];
  let arguments = (ins Dsv4_Shaped:$input, Dsv4_Shaped:$gradient, Dsv4_Shaped:$init, I64Attr:$iterations, F64Attr:$eps);
  let assemblyFormat = [{
    attr-dict `ins` `(` $input `,` $gradient `:` type($input) `,` type($gradient) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Reads by index
//===----------------------------------------------------------------------===//

def Dsv4_ScatterAddOp : Dsv4_OneInitOp<"scatter_add"> {
  let summary = "add rows into a table by id";
  let description = [{
    result[v, c] = sum of rows[b, t, c] over all (b, t), ascending, with ids[b, t] = v. Rows whose id is outside the table are left out. The adjoint of
    `dsv4.gather_rows`.

    Source: embedding, spec of the model 2.14.

    Example:

    ```mlir
    %d = dsv4.scatter_add ins(%g, %ids : tensor<2x8x64xf32>, tensor<2x8xi64>) outs(%e : tensor<96x64xf32>) -> tensor<96x64xf32>
    ```

    **Constraints**
    * (C1) `rows` is [B,T,C], `ids` [B,T] of i64, the init [V,C].
    * (C2) the init has the accumulator's element type: f64 for f64, else f32.
  }];
  let arguments = (ins Dsv4_Shaped:$rows, Dsv4_Shaped:$ids, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $ids `:` type($rows) `,` type($ids) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_ScatterAlongOp : Dsv4_OneInitOp<"scatter_along"> {
  let summary = "put entries back where they were picked in the last dimension";
  let description = [{
    result[.., i] = sum of input[.., j] over j, ascending, with indices[.., j] = i. The adjoint of `dsv4.take_along`.

    Example:

    ```mlir
    %d = dsv4.scatter_along ins(%g, %i : tensor<2x8x2xf32>, tensor<2x8x2xi64>) outs(%e : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    ```

    **Constraints**
    * (C1) `input` and `indices` are [B,T,K], indices of i64, the init is [B,T,E] of the input's element type.
  }];
  let arguments = (ins Dsv4_Shaped:$input, Dsv4_Shaped:$indices, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $input `,` $indices `:` type($input) `,` type($indices) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

def Dsv4_DispatchRowsGradOp : Dsv4_OneInitOp<"dispatch_rows_grad"> {
  let summary = "add the gradients of routed rows to their tokens";
  let description = [{
    result[b, t] = sum of rows[r] over r, ascending, with order[r] div K = b*T + t. Rows without expert count too, as `dsv4.dispatch_rows` copies to them.

    Example:

    ```mlir
    %d = dsv4.dispatch_rows_grad ins(%g, %o : tensor<32x64xf32>, tensor<32xi64>) outs(%e : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    **Constraints**
    * (C1) `rows` is [R,C], `order` [R] of i64, the init [B,T,C] with R a multiple of B*T.
    * (C2) the init has the accumulator's element type: f64 for f64, else f32.
  }];
  let arguments = (ins Dsv4_Shaped:$rows, Dsv4_Shaped:$order, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $order `:` type($rows) `,` type($order) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_DispatchWeightsGradOp : Dsv4_OneInitOp<"dispatch_weights_grad"> {
  let summary = "put the gradients of routed weights back to their slots";
  let description = [{
    result[slot order[r]] = gradient[r]; a slot that `order` does not name gets 0.

    Example:

    ```mlir
    %d = dsv4.dispatch_weights_grad ins(%g, %o : tensor<32xf32>, tensor<32xi64>) outs(%e : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
    ```

    **Constraints**
    * (C1) `gradient` is [B*T*K], `order` [B*T*K] of i64 without repetition, the init [B,T,K] of the gradient's element type.
  }];
  let arguments = (ins Dsv4_Shaped:$gradient, Dsv4_Shaped:$order, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $gradient `,` $order `:` type($gradient) `,` type($order) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_CombineRowsGradOp : Dsv4_OneInitOp<"combine_rows_grad"> {
  let summary = "copy each token's gradient to its routed rows";
  let description = [{
    result[r] = tokens[order[r] div K] for rows with an expert; others, which `dsv4.combine_rows` does not read, get 0.

    Example:

    ```mlir
    %d = dsv4.combine_rows_grad ins(%g, %o, %n : tensor<2x8x64xf32>, tensor<32xi64>, tensor<5xi64>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
    ```

    **Constraints**
    * (C1) `tokens` is [B,T,C], `order` [R] of i64 with R a multiple of B*T, `offsets` [E+1] of i64, the init [R,C] of a float.
  }];
  let arguments = (ins Dsv4_Shaped:$tokens, Dsv4_Shaped:$order, Dsv4_Shaped:$offsets, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $tokens `,` $order `,` $offsets `:` type($tokens) `,` type($order) `,` type($offsets) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_GroupedOuterOp : Dsv4_OneInitOp<"grouped_outer"> {
  let summary = "multiply the rows of each group with their gradients";
  let description = [{
    result[e, i, o] = sum of rows[r, i] * gradient[r, o] over r, ascending, with offsets[e] <= r < offsets[e+1]: one chain of fused multiply-adds; a group
    without rows gets 0. The adjoint of `dsv4.grouped_matmul` in its matrices.

    Example:

    ```mlir
    %d = dsv4.grouped_outer ins(%x, %g, %n : tensor<32x64xf32>, tensor<32x48xf32>, tensor<5xi64>) outs(%e : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
    ```

    **Constraints**
    * (C1) `rows` is [R,I], `gradient` [R,O], `offsets` [E+1] of i64, the init [E,I,O] of a float.
  }];
  let arguments = (ins Dsv4_Shaped:$rows, Dsv4_Shaped:$gradient, Dsv4_Shaped:$offsets, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $gradient `,` $offsets `:` type($rows) `,` type($gradient) `,` type($offsets) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

#endif // DSV4_ADJOINT_OPS_TD
