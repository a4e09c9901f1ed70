//===- Dsv4ModelOps.td - structured operations of the model -*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all of them have in common, and the names of dimensions, is in
// Dsv4ModelOpBase.td.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_MODEL_OPS_TD
#define DSV4_MODEL_OPS_TD

include "Dsv4ModelOpBase.td"

def Dsv4_RopeOp : Dsv4_OneInitOp<"rope"> {
  let summary = "rotate the last channels by their position";
  let description = [{
    Rotates the last `2 * size(inv_freq)` channels of `input` in adjacent pairs: (a, b) becomes
    (a cos - b sin, a sin + b cos) with the angle `positions[b, t] * inv_freq[i]`; other channels are
    copied. `inverse` negates the sine. Angles, cosine and sine are f64; they are rounded to
    `trig` before use, if given, and then the rotation is in f32 (f64). The error of cosine and sine is at most 1e-7 up
    to position 2^20.

    Source: rotary embeddings, spec of the model 2.3.

    Example:

    ```mlir
    %q = dsv4.rope {inv_freq = array<f64: 1.0, 0.1>} ins(%x, %pos : tensor<2x8x4x16xf32>, tensor<2x8xi64>)
      outs(%e : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
    ```

    **Constraints**
    * (C1) `input` is [B,T,D] or [B,T,H,D], `positions` is [B,T], the init has the shape and type of `input`.
    * (C2) 1 <= 2 * size(inv_freq) <= D.
    * (C3) `trig` is a float.
  }];
  let arguments = (ins Dsv4_Shaped:$input, Dsv4_Shaped:$positions, Dsv4_Shaped:$init,
                       DenseF64ArrayAttr:$inv_freq, UnitAttr:$inverse, OptionalAttr<TypeAttr>:$trig);
  let assemblyFormat = [{
    attr-dict `ins` `(` $input `,` $positions `:` type($input) `,` type($positions) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_PoolWindowsOp : Dsv4_OneInitOp<"pool_windows"> {
  let summary = "compress each window of tokens into one row";
  let description = [{
    For each window w and channel d: softmax over the window's tokens of `gate + ape`, then the weighted sum
    of `values`. With `overlap`, rows are 2D wide: window w reads the first half of window
    w-1 and the second half of window w, 2r tokens in all; the window before the first has weight 0.
    `first_window` is the index, within `values`, of the window that makes result row 0 (0 unless the values were gathered).

    ```
    overlap, r = 2    tokens of window w-1     tokens of window w
                      [first half ]            [second half]      -> row w
    ```

    Source: compressor, spec of the model 2.5 C2 to C5.

    Example:

    ```mlir
    %c = dsv4.pool_windows {overlap} ins(%kv, %gate, %ape, %w0 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>)
      outs(%e : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    ```

    **Constraints**
    * (C1) `values` and `gate` are [B,M,r,F], `ape` is [r,F], the init is [B,N,D], M >= N.
    * (C2) F = 2D with `overlap`, else F = D.
    * (C3) all element types are equal floats of at least 32 bits.
  }];
  let arguments = (ins Dsv4_Shaped:$values, Dsv4_Shaped:$gate, Dsv4_Shaped:$ape, Index:$first_window,
                       Dsv4_Shaped:$init, UnitAttr:$overlap);
  let assemblyFormat = [{
    attr-dict `ins` `(` $values `,` $gate `,` $ape `,` $first_window `:` type($values) `,` type($gate) `,` type($ape) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_IndexTopkOp : Dsv4_OneInitOp<"index_topk"> {
  let summary = "select compressed windows for each query";
  let description = [{
    score[t, w] = sum over a of weights[t, a] * scale * relu(sum over d of query[t, a, d] * keys[w, d]), for
    w < (position + 1) div ratio with position = first_query + t. The best min(K, N) windows by
    (score, lowest w) are written in ascending order of w; free slots are -1. No gradient.

    Source: indexer, spec of the model 2.6.

    Example:

    ```mlir
    %s = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%q, %k, %w, %t0 : tensor<2x8x2x16xf32>, tensor<2x16x16xf32>, tensor<2x8x2xf32>)
      outs(%e : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
    ```

    **Constraints**
    * (C1) `query` is [B,T,A,D], `keys` [B,N,D], `weights` [B,T,A], the init [B,T,K] of i64.
    * (C2) `ratio` >= 1.
  }];
  let arguments = (ins Dsv4_Shaped:$query, Dsv4_Shaped:$keys, Dsv4_Shaped:$weights, Index:$first_query,
                       Dsv4_Shaped:$init, I64Attr:$ratio, F64Attr:$scale);
  let assemblyFormat = [{
    attr-dict `ins` `(` $query `,` $keys `,` $weights `,` $first_query `:` type($query) `,` type($keys) `,` type($weights) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_WindowAttentionOp : Dsv4_OneInitOp<"window_attention", [AttrSizedOperandSegments]> {
  let summary = "attend to a window of keys and to compressed rows, with a sink";
  let description = [{
    Keys are also the values. The slots of query t (global position p = first_query + t) are, in this order: the raw keys
    p-window+1..p (key row s of the buffer has global position first_key + s; missing ones are
    masked), then pooled rows by ascending window: those of `selected` (-1 = none), or without `selected` all w with w < (p + 1) div ratio.
    The sink of each head is one more score in the denominator, with value 0. All sums run over
    slots, never over buffer positions, so a gathered and a halo buffer give equal bits.

    ```
    slots of query p    [p-W+1 ... p | w0 w1 ... | sink]
    ```

    Source: attention core, spec of the model 2.7.

    Example:

    ```mlir
    %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64}
      ins(%q, %k, %sink, %q0, %k0 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>)
      pool(%c : tensor<2x4x32xf32>) selected(%s : tensor<2x8x4xi64>)
      outs(%e : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
    ```

    **Constraints**
    * (C1) `query` and the init are [B,T,H,D], `keys` [B,S,D], `sink` [H].
    * (C2) `pool` is [B,N,D], `selected` [B,T,K] of i64; `selected` needs `pool`.
    * (C3) `window` >= 1; `ratio` >= 1 with `pool`, 0 without.
  }];
  let arguments = (ins Dsv4_Shaped:$query, Dsv4_Shaped:$keys, Dsv4_Shaped:$sink, Index:$first_query, Index:$first_key,
                       Optional<Dsv4_Shaped>:$pool, Optional<Dsv4_Shaped>:$selected, Dsv4_Shaped:$init,
                       I64Attr:$window, F64Attr:$scale, I64Attr:$ratio);
  let assemblyFormat = [{
    attr-dict `ins` `(` $query `,` $keys `,` $sink `,` $first_query `,` $first_key `:` type($query) `,` type($keys) `,` type($sink) `)`
    (`pool` `(` $pool^ `:` type($pool) `)`)? (`selected` `(` $selected^ `:` type($selected) `)`)?
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$keys, "::mlir::Value":$sink,
      "::mlir::Value":$firstQuery, "::mlir::Value":$firstKey, "::mlir::Value":$pool, "::mlir::Value":$selected,
      "::mlir::Value":$init, "int64_t":$window, "double":$scale, "int64_t":$ratio)>];
}

def Dsv4_SinkhornOp : Dsv4_OneInitOp<"sinkhorn"> {
  let summary = "make small matrices doubly stochastic by alternating scaling";
  let description = [{
    Per [n,n] matrix: softmax over the last axis plus eps, divide by (sum over axis -2 + eps), then iterations - 1 times
    divide by (sum over the last axis + eps) and by (sum over axis -2 + eps). Ends on columns.
    Sums ascend.

    Source: hyper-connection maps, spec of the model 2.1 H7 to H9.

    Example:

    ```mlir
    %m = dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x : tensor<2x8x4x4xf32>)
      outs(%e : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
    ```

    **Constraints**
    * (C1) the operand is [..,n,n] with n >= 1, the init has its type.
    * (C2) `iterations` >= 1.
  }];
  let arguments = (ins Dsv4_Shaped:$input, Dsv4_Shaped:$init, I64Attr:$iterations, F64Attr:$eps);
  let assemblyFormat = [{
    attr-dict `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_TopkOp : Dsv4_OneInitOp<"topk"> {
  let summary = "indices of the largest entries of each row";
  let description = [{
    Order: largest score, then lowest index; -0 equals +0; NaN sorts last. No gradient.

    Example:

    ```mlir
    %i = dsv4.topk ins(%s : tensor<2x8x16xf32>) outs(%e : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
    ```

    **Constraints**
    * (C1) the init has the operand's leading shape, i64 elements, and 1 <= K <= size of the last dimension.
  }];
  let arguments = (ins Dsv4_Shaped:$scores, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $scores `:` type($scores) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_GatherRowsOp : Dsv4_OneInitOp<"gather_rows"> {
  let summary = "read rows of a table by id";
  let description = [{
    result[b, t, ...] = table[ids[b, t], ...]. An id outside the table reads a row of zeros.

    Example:

    ```mlir
    %x = dsv4.gather_rows ins(%w, %ids : tensor<96x64xf32>, tensor<2x8xi64>) outs(%e : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    **Constraints**
    * (C1) `table` is [V,C], `ids` of i64, the init has the shape of `ids` followed by C, and the table's element type.
  }];
  let arguments = (ins Dsv4_Shaped:$table, Dsv4_Shaped:$ids, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $table `,` $ids `:` type($table) `,` type($ids) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_TakeAlongOp : Dsv4_OneInitOp<"take_along"> {
  let summary = "pick entries of the last dimension by index";
  let description = [{
    result[.., j] = input[.., indices[.., j]]; an index outside the row reads zero.

    Example:

    ```mlir
    %g = dsv4.take_along ins(%s, %i : tensor<2x8x16xf32>, tensor<2x8x2xi64>) outs(%e : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
    ```

    **Constraints**
    * (C1) operands and init have equal leading shapes; indices are i64; the init has the shape of the indices.
  }];
  let arguments = (ins Dsv4_Shaped:$input, Dsv4_Shaped:$indices, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $input `,` $indices `:` type($input) `,` type($indices) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

def Dsv4_SortByExpertOp : Dsv4_ModelOp<"sort_by_expert"> {
  let summary = "order routed rows by expert";
  let description = [{
    `experts[b, t, j]` is the j-th expert of token (b, t), -1 for none. Row r of the sorted order is slot
    `order[r] = (b*T + t)*K + j`; rows ascend by expert, then by slot; slots without expert come last. Rows of expert e
    are `offsets[e]..offsets[e+1]-1`. Rows are local to the rank: their number is split wherever tokens are.

    Example:

    ```mlir
    %o, %n = dsv4.sort_by_expert ins(%e : tensor<2x8x2xi64>) outs(%a, %b : tensor<32xi64>, tensor<5xi64>) -> tensor<32xi64>, tensor<5xi64>
    ```

    **Constraints**
    * (C1) `experts` is [B,T,K], `order` [B*T*K], `offsets` [E+1], all i64, E >= 1.
  }];
  let arguments = (ins Dsv4_Shaped:$experts, Dsv4_Shaped:$order, Dsv4_Shaped:$offsets);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $experts `:` type($experts) `)` `outs` `(` $order `,` $offsets `:` type($order) `,` type($offsets) `)`
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 1, 2);
    }
  }];
}

def Dsv4_DispatchRowsOp : Dsv4_OneInitOp<"dispatch_rows"> {
  let summary = "copy each token's row to its routed rows";
  let description = [{
    result[r] = tokens[order[r] div K] with K = R / (B*T).

    Example:

    ```mlir
    %x = dsv4.dispatch_rows ins(%t, %o : tensor<2x8x64xf32>, tensor<32xi64>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
    ```

    **Constraints**
    * (C1) `tokens` is [B,T,C], `order` [R] of i64 with R a multiple of B*T, the init [R,C] of the tokens' element type.
  }];
  let arguments = (ins Dsv4_Shaped:$tokens, Dsv4_Shaped:$order, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $tokens `,` $order `:` type($tokens) `,` type($order) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_DispatchWeightsOp : Dsv4_OneInitOp<"dispatch_weights"> {
  let summary = "copy routing weights to their routed rows";
  let description = [{
    result[r] = weights[slot order[r]].

    Example:

    ```mlir
    %g = dsv4.dispatch_weights ins(%w, %o : tensor<2x8x2xf32>, tensor<32xi64>) outs(%e : tensor<32xf32>) -> tensor<32xf32>
    ```

    **Constraints**
    * (C1) `weights` is [B,T,K], `order` [B*T*K] of i64, the init [B*T*K] of the weights' element type.
  }];
  let arguments = (ins Dsv4_Shaped:$weights, Dsv4_Shaped:$order, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $weights `,` $order `:` type($weights) `,` type($order) `)` `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_CombineRowsOp : Dsv4_OneInitOp<"combine_rows"> {
  let summary = "add routed rows to their tokens";
  let description = [{
    init[order[r] div K] += rows[r] for r ascending, so a token's contributions are added in ascending expert id. `offsets` bounds the rows that
    have an expert; others are not read. `experts` ties tokens to rows (its values are not read).

    Example:

    ```mlir
    %y = dsv4.combine_rows ins(%r, %o, %n, %x : tensor<32x64xf32>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>)
      outs(%z : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    **Constraints**
    * (C1) `rows` is [R,C], `order` [R], `offsets` [E+1], `experts` [B,T,K] with R = B*T*K; the init is [B,T,C] of f32 or f64.
  }];
  let arguments = (ins Dsv4_Shaped:$rows, Dsv4_Shaped:$order, Dsv4_Shaped:$offsets, Dsv4_Shaped:$experts, Dsv4_Shaped:$init);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $order `,` $offsets `,` $experts `:` type($rows) `,` type($order) `,` type($offsets) `,` type($experts) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

def Dsv4_GroupedMatmulOp : Dsv4_OneInitOp<"grouped_matmul"> {
  let summary = "multiply each group of rows by its own matrix";
  let description = [{
    result[r] = rows[r] . weights[e] for offsets[e] <= r < offsets[e+1]; rows without expert become zero. Offsets are
    read inside the kernel; work does not grow with the number of experts. With `transposed`, matrices are read as [E,O,I], as
    the gradient of the rows needs them.

    Example:

    ```mlir
    %y = dsv4.grouped_matmul ins(%x, %w, %n : tensor<32x64xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
    ```

    **Constraints**
    * (C1) `rows` is [R,I], `weights` [E,I,O] ([E,O,I] if `transposed`), `offsets` [E+1] of i64, the init [R,O].
    * (C2) the init has the accumulator's element type: f64 for f64, else f32.
  }];
  let arguments = (ins Dsv4_Shaped:$rows, Dsv4_Shaped:$weights, Dsv4_Shaped:$offsets, Dsv4_Shaped:$init, UnitAttr:$transposed);
  let assemblyFormat = [{
    attr-dict `ins` `(` $rows `,` $weights `,` $offsets `:` type($rows) `,` type($weights) `,` type($offsets) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
}

#endif // DSV4_MODEL_OPS_TD
