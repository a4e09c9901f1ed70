// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Structured operations: the example of each operation's documentation, every
// optional part, other element types, and the form on memrefs.

// CHECK-LABEL: func.func @rope(
// CHECK: %{{.*}} = dsv4.rope {inv_freq = array<f64: 1.000000e+00, 1.000000e-01>} ins(%arg0, %arg1 : tensor<2x8x4x16xf32>, tensor<2x8xi64>) outs(%arg2 : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
func.func @rope(%x: tensor<2x8x4x16xf32>, %pos: tensor<2x8xi64>, %e: tensor<2x8x4x16xf32>) {
  %q = dsv4.rope {inv_freq = array<f64: 1.0, 0.1>} ins(%x, %pos : tensor<2x8x4x16xf32>, tensor<2x8xi64>) outs(%e : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// CHECK-LABEL: func.func @rope_inverse_trig(
// CHECK: %{{.*}} = dsv4.rope {inv_freq = array<f64: 1.000000e+00>, inverse, trig = bf16} ins(%arg0, %arg1 : tensor<2x8x16xbf16>, tensor<2x8xi64>) outs(%arg2 : tensor<2x8x16xbf16>) -> tensor<2x8x16xbf16>
func.func @rope_inverse_trig(%x: tensor<2x8x16xbf16>, %pos: tensor<2x8xi64>, %e: tensor<2x8x16xbf16>) {
  %q = dsv4.rope {inv_freq = array<f64: 1.0>, inverse, trig = bf16} ins(%x, %pos : tensor<2x8x16xbf16>, tensor<2x8xi64>) outs(%e : tensor<2x8x16xbf16>) -> tensor<2x8x16xbf16>
  return
}

// CHECK-LABEL: func.func @rope_memref(
// CHECK: dsv4.rope {inv_freq = array<f64: 1.000000e+00>} ins(%arg0, %arg1 : memref<2x8x4x16xf64>, memref<2x8xi64>) outs(%arg2 : memref<2x8x4x16xf64>)
func.func @rope_memref(%x: memref<2x8x4x16xf64>, %pos: memref<2x8xi64>, %e: memref<2x8x4x16xf64>) {
  dsv4.rope {inv_freq = array<f64: 1.0>} ins(%x, %pos : memref<2x8x4x16xf64>, memref<2x8xi64>) outs(%e : memref<2x8x4x16xf64>)
  return
}

// CHECK-LABEL: func.func @pool_windows(
// CHECK: %{{.*}} = dsv4.pool_windows {overlap} ins(%arg0, %arg1, %arg2, %arg3 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>) outs(%arg4 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
func.func @pool_windows(%kv: tensor<2x16x4x64xf32>, %gate: tensor<2x16x4x64xf32>, %ape: tensor<4x64xf32>, %w0: index, %e: tensor<2x8x32xf32>) {
  %c = dsv4.pool_windows {overlap} ins(%kv, %gate, %ape, %w0 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>) outs(%e : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// CHECK-LABEL: func.func @pool_windows_apart(
// CHECK: %{{.*}} = dsv4.pool_windows ins(%arg0, %arg0, %arg1, %arg2 : tensor<2x8x4x32xf64>, tensor<2x8x4x32xf64>, tensor<4x32xf64>) outs(%arg3 : tensor<2x8x32xf64>) -> tensor<2x8x32xf64>
func.func @pool_windows_apart(%kv: tensor<2x8x4x32xf64>, %ape: tensor<4x32xf64>, %w0: index, %e: tensor<2x8x32xf64>) {
  %c = dsv4.pool_windows ins(%kv, %kv, %ape, %w0 : tensor<2x8x4x32xf64>, tensor<2x8x4x32xf64>, tensor<4x32xf64>) outs(%e : tensor<2x8x32xf64>) -> tensor<2x8x32xf64>
  return
}

// CHECK-LABEL: func.func @pool_windows_memref(
// CHECK: dsv4.pool_windows ins(%arg0, %arg0, %arg1, %arg2 : memref<2x8x4x32xf32>, memref<2x8x4x32xf32>, memref<4x32xf32>) outs(%arg3 : memref<2x8x32xf32>)
func.func @pool_windows_memref(%kv: memref<2x8x4x32xf32>, %ape: memref<4x32xf32>, %w0: index, %e: memref<2x8x32xf32>) {
  dsv4.pool_windows ins(%kv, %kv, %ape, %w0 : memref<2x8x4x32xf32>, memref<2x8x4x32xf32>, memref<4x32xf32>) outs(%e : memref<2x8x32xf32>)
  return
}

// CHECK-LABEL: func.func @index_topk(
// CHECK: %{{.*}} = dsv4.index_topk {ratio = 4 : i64, scale = 2.500000e-01 : f64} ins(%arg0, %arg1, %arg2, %arg3 : tensor<2x8x2x16xf32>, tensor<2x16x16xf32>, tensor<2x8x2xf32>) outs(%arg4 : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
func.func @index_topk(%q: tensor<2x8x2x16xf32>, %k: tensor<2x16x16xf32>, %w: tensor<2x8x2xf32>, %t0: index, %e: tensor<2x8x4xi64>) {
  %s = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%q, %k, %w, %t0 : tensor<2x8x2x16xf32>, tensor<2x16x16xf32>, tensor<2x8x2xf32>) outs(%e : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
  return
}

// CHECK-LABEL: func.func @index_topk_memref(
// CHECK: dsv4.index_topk {ratio = 4 : i64, scale = 2.500000e-01 : f64} ins(%arg0, %arg1, %arg2, %arg3 : memref<2x8x2x16xbf16>, memref<2x16x16xbf16>, memref<2x8x2xf32>) outs(%arg4 : memref<2x8x4xi64>)
func.func @index_topk_memref(%q: memref<2x8x2x16xbf16>, %k: memref<2x16x16xbf16>, %w: memref<2x8x2xf32>, %t0: index, %e: memref<2x8x4xi64>) {
  dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%q, %k, %w, %t0 : memref<2x8x2x16xbf16>, memref<2x16x16xbf16>, memref<2x8x2xf32>) outs(%e : memref<2x8x4xi64>)
  return
}

// CHECK-LABEL: func.func @window_attention(
// CHECK: %{{.*}} = dsv4.window_attention {ratio = 4 : i64, scale = 2.500000e-01 : f64, window = 8 : i64} ins(%arg0, %arg1, %arg2, %arg3, %arg4 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) pool(%arg5 : tensor<2x4x32xf32>) selected(%arg6 : tensor<2x8x4xi64>) outs(%arg7 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
func.func @window_attention(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %sink: tensor<4xf32>, %q0: index, %k0: index, %c: tensor<2x4x32xf32>, %s: tensor<2x8x4xi64>, %e: tensor<2x8x4x32xf32>) {
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %sink, %q0, %k0 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) pool(%c : tensor<2x4x32xf32>) selected(%s : tensor<2x8x4xi64>) outs(%e : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// CHECK-LABEL: func.func @window_attention_pool_or_nothing(
// CHECK: %{{.*}} = dsv4.window_attention {ratio = 128 : i64, scale = 2.500000e-01 : f64, window = 8 : i64} ins(%arg0, %arg1, %arg2, %arg3, %arg3 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>) pool(%arg4 : tensor<2x4x32xbf16>) outs(%arg0 : tensor<2x8x4x32xbf16>) -> tensor<2x8x4x32xbf16>
// CHECK: %{{.*}} = dsv4.window_attention {ratio = 0 : i64, scale = 1.000000e+00 : f64, window = 1 : i64} ins(%arg0, %arg1, %arg2, %arg3, %arg3 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>) outs(%arg0 : tensor<2x8x4x32xbf16>) -> tensor<2x8x4x32xbf16>
func.func @window_attention_pool_or_nothing(%q: tensor<2x8x4x32xbf16>, %k: tensor<2x16x32xbf16>, %sink: tensor<4xf32>, %q0: index, %c: tensor<2x4x32xbf16>) {
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 128 : i64} ins(%q, %k, %sink, %q0, %q0 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>) pool(%c : tensor<2x4x32xbf16>) outs(%q : tensor<2x8x4x32xbf16>) -> tensor<2x8x4x32xbf16>
  %p = dsv4.window_attention {window = 1 : i64, scale = 1.0 : f64, ratio = 0 : i64} ins(%q, %k, %sink, %q0, %q0 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>) outs(%q : tensor<2x8x4x32xbf16>) -> tensor<2x8x4x32xbf16>
  return
}

// CHECK-LABEL: func.func @window_attention_memref(
// CHECK: dsv4.window_attention {ratio = 4 : i64, scale = 2.500000e-01 : f64, window = 8 : i64} ins(%arg0, %arg1, %arg2, %arg3, %arg3 : memref<2x8x4x32xf32>, memref<2x16x32xf32>, memref<4xf32>) pool(%arg4 : memref<2x4x32xf32>) selected(%arg5 : memref<2x8x4xi64>) outs(%arg6 : memref<2x8x4x32xf32>)
func.func @window_attention_memref(%q: memref<2x8x4x32xf32>, %k: memref<2x16x32xf32>, %sink: memref<4xf32>, %q0: index, %c: memref<2x4x32xf32>, %s: memref<2x8x4xi64>, %e: memref<2x8x4x32xf32>) {
  dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %sink, %q0, %q0 : memref<2x8x4x32xf32>, memref<2x16x32xf32>, memref<4xf32>) pool(%c : memref<2x4x32xf32>) selected(%s : memref<2x8x4xi64>) outs(%e : memref<2x8x4x32xf32>)
  return
}

// CHECK-LABEL: func.func @sinkhorn(
// CHECK: %{{.*}} = dsv4.sinkhorn {eps = 9.9999999999999995E-7 : f64, iterations = 20 : i64} ins(%arg0 : tensor<2x8x4x4xf32>) outs(%arg1 : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
// CHECK: dsv4.sinkhorn {eps = 0.000000e+00 : f64, iterations = 1 : i64} ins(%arg2 : memref<2x8x2x2xf64>) outs(%arg2 : memref<2x8x2x2xf64>)
func.func @sinkhorn(%x: tensor<2x8x4x4xf32>, %e: tensor<2x8x4x4xf32>, %y: memref<2x8x2x2xf64>) {
  %m = dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x : tensor<2x8x4x4xf32>) outs(%e : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  dsv4.sinkhorn {iterations = 1 : i64, eps = 0.0 : f64} ins(%y : memref<2x8x2x2xf64>) outs(%y : memref<2x8x2x2xf64>)
  return
}

// CHECK-LABEL: func.func @topk(
// CHECK: %{{.*}} = dsv4.topk ins(%arg0 : tensor<2x8x16xf32>) outs(%arg1 : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
// CHECK: dsv4.topk ins(%arg2 : memref<2x8x16xf64>) outs(%arg3 : memref<2x8x16xi64>)
func.func @topk(%s: tensor<2x8x16xf32>, %e: tensor<2x8x2xi64>, %t: memref<2x8x16xf64>, %f: memref<2x8x16xi64>) {
  %i = dsv4.topk ins(%s : tensor<2x8x16xf32>) outs(%e : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
  dsv4.topk ins(%t : memref<2x8x16xf64>) outs(%f : memref<2x8x16xi64>)
  return
}

// CHECK-LABEL: func.func @gather_rows(
// CHECK: %{{.*}} = dsv4.gather_rows ins(%arg0, %arg1 : tensor<96x64xf32>, tensor<2x8xi64>) outs(%arg2 : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
// CHECK: dsv4.gather_rows ins(%arg3, %arg4 : memref<96x6xi64>, memref<2x8xi64>) outs(%arg5 : memref<2x8x6xi64>)
func.func @gather_rows(%w: tensor<96x64xf32>, %ids: tensor<2x8xi64>, %e: tensor<2x8x64xf32>, %t: memref<96x6xi64>, %i: memref<2x8xi64>, %f: memref<2x8x6xi64>) {
  %x = dsv4.gather_rows ins(%w, %ids : tensor<96x64xf32>, tensor<2x8xi64>) outs(%e : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  dsv4.gather_rows ins(%t, %i : memref<96x6xi64>, memref<2x8xi64>) outs(%f : memref<2x8x6xi64>)
  return
}

// CHECK-LABEL: func.func @take_along(
// CHECK: %{{.*}} = dsv4.take_along ins(%arg0, %arg1 : tensor<2x8x16xf32>, tensor<2x8x2xi64>) outs(%arg2 : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
// CHECK: dsv4.take_along ins(%arg3, %arg4 : memref<2x8x16xi64>, memref<2x8x2xi64>) outs(%arg4 : memref<2x8x2xi64>)
func.func @take_along(%s: tensor<2x8x16xf32>, %i: tensor<2x8x2xi64>, %e: tensor<2x8x2xf32>, %t: memref<2x8x16xi64>, %j: memref<2x8x2xi64>) {
  %g = dsv4.take_along ins(%s, %i : tensor<2x8x16xf32>, tensor<2x8x2xi64>) outs(%e : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
  dsv4.take_along ins(%t, %j : memref<2x8x16xi64>, memref<2x8x2xi64>) outs(%j : memref<2x8x2xi64>)
  return
}
