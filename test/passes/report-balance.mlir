// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-report-balance | FileCheck %s

// Numbers were counted pair by pair: query t sees keys t-W+1..t, and window w
// when its last token is not after t.

dsv4.mesh @mesh ["dp_shard" = 3, "cp" = 2]

// Queries 0..7 see 1, 2, 3, 3, ... keys. Keys have 16 bytes.
// CHECK-LABEL: func.func @window(
func.func @window(%q: tensor<1x16x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>) -> tensor<1x16x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x16x2x4xf32>
  // expected-remark @+3 {{window, 1 layer, most over mean; area 1.07 -> 1.07; halo bytes of all ranks 32 -> 64}}
  // expected-note @+2 {{rank 0; area 21 -> 21; halo bytes 0 -> 32}}
  // expected-note @+1 {{rank 1; area 24 -> 24; halo bytes 32 -> 32}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x16x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32>
  return %o : tensor<1x16x2x4xf32>
}

// -----

// A window longer than a chunk: its keys come from several neighbours, and
// those that this rank holds itself are not received.
dsv4.mesh @mesh ["cp" = 4]

func.func @reach_over_chunks(%q: tensor<1x16x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>) -> tensor<1x16x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x16x2x4xf32>
  // expected-remark @+5 {{window, 1 layer, most over mean; area 1.19 -> 1.19; halo bytes of all ranks 224 -> 400}}
  // expected-note @+4 {{rank 0; area 10 -> 15; halo bytes 0 -> 80}}
  // expected-note @+3 {{rank 1; area 23 -> 19; halo bytes 64 -> 112}}
  // expected-note @+2 {{rank 2; area 24 -> 23; halo bytes 80 -> 128}}
  // expected-note @+1 {{rank 3; area 24 -> 24; halo bytes 80 -> 80}}
  %o = dsv4.window_attention {window = 6 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x16x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32>
  return %o : tensor<1x16x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

// The indexer scores all windows that are visible, the attention reads two. The
// halo is 2 keys of 16 bytes and the first half of one window of values and
// gate: 2 * 2 * 4 * 4 bytes.
func.func @selected(%q: tensor<1x16x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>, %v: tensor<1x8x2x8xf32>,
                    %a: tensor<2x8xf32>, %iq: tensor<1x16x1x4xf32>, %iw: tensor<1x16x1xf32>) -> tensor<1x16x2x4xf32> {
  %c0 = arith.constant 0 : index
  %ep = tensor.empty() : tensor<1x8x4xf32>
  %p = dsv4.pool_windows {overlap} ins(%v, %v, %a, %c0 : tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<2x8xf32>)
    outs(%ep : tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %ei = tensor.empty() : tensor<1x16x2xi64>
  %i = dsv4.index_topk {ratio = 2 : i64, scale = 0.5 : f64}
    ins(%iq, %p, %iw, %c0 : tensor<1x16x1x4xf32>, tensor<1x8x4xf32>, tensor<1x16x1xf32>)
    outs(%ei : tensor<1x16x2xi64>) -> tensor<1x16x2xi64>
  %e = tensor.empty() : tensor<1x16x2x4xf32>
  // expected-remark @+3 {{CSA, 1 layer, most over mean; area 1.10 -> 1.10; scores 1.50 -> 1.00; halo bytes of all ranks 96 -> 192}}
  // expected-note @+2 {{rank 0; area 33 -> 33; scores 16 -> 32; halo bytes 0 -> 96}}
  // expected-note @+1 {{rank 1; area 40 -> 40; scores 48 -> 32; halo bytes 96 -> 96}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 2 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x16x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    pool(%p : tensor<1x8x4xf32>) selected(%i : tensor<1x16x2xi64>)
    outs(%e : tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32>
  return %o : tensor<1x16x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

// Chunks of 4 positions are no whole windows of 8.
func.func @no_zig_zag(%q: tensor<1x16x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>, %p: tensor<1x2x4xf32>) -> tensor<1x16x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x16x2x4xf32>
  // expected-remark @+4 {{no zig-zag split: 16 positions cannot be cut into 4 chunks of whole windows, expected 32}}
  // expected-remark @+3 {{HCA, 1 layer, most over mean; area 1.20; halo bytes of all ranks 32}}
  // expected-note @+2 {{rank 0; area 22; halo bytes 0}}
  // expected-note @+1 {{rank 1; area 33; halo bytes 32}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 8 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x16x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    pool(%p : tensor<1x2x4xf32>) outs(%e : tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32>
  return %o : tensor<1x16x2x4xf32>
}

// -----

// Without an axis of that name one rank holds all.
dsv4.mesh @mesh ["dp_shard" = 2]

func.func @one_rank(%q: tensor<1x4x2x4xf32>, %k: tensor<1x4x4xf32>, %s: tensor<2xf32>) -> tensor<1x4x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x4x2x4xf32>
  // expected-remark @+2 {{window, 1 layer, most over mean; area 1.00 -> 1.00; halo bytes of all ranks 0 -> 0}}
  // expected-note @+1 {{rank 0; area 9 -> 9; halo bytes 0 -> 0}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
  return %o : tensor<1x4x2x4xf32>
}
