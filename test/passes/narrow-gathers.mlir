// RUN: dsv4-opt %s -dsv4-narrow-gathers -split-input-file | FileCheck %s

// Gathers of which uses read less than everything become halos and prefixes.

dsv4.mesh @mesh ["cp" = 4]

// The window reaches 7 rows back; the buffer begins 7 rows before this rank's.
// CHECK-LABEL: func.func @window(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x16x4x8xf32>, %[[K:[a-z0-9]+]]: tensor<2x16x8xf32>
// CHECK: %[[H:.*]] = dsv4.seq_halo %[[K]] on @mesh ["cp"] dim 1 left 7 right 0 differentiable {dsv4.path = "m.0"} : tensor<2x16x8xf32> -> tensor<2x23x8xf32>
// CHECK: %[[R:.*]] = dsv4.axis_index @mesh ["cp"] {dsv4.path = "m.0"}
// CHECK: %[[L:.*]] = arith.constant {dsv4.path = "m.0"} 16 : index
// CHECK: %[[B:.*]] = arith.muli %[[R]], %[[L]] {dsv4.path = "m.0"} : index
// CHECK: %[[W:.*]] = arith.constant {dsv4.path = "m.0"} 7 : index
// CHECK: %[[F:.*]] = arith.subi %[[B]], %[[W]] {dsv4.path = "m.0"} : index
// CHECK: %[[K0:.*]] = arith.addi %{{.*}}, %[[F]] {dsv4.path = "m.0"} : index
// CHECK: dsv4.window_attention {{.*}} ins(%[[Q]], %[[H]], %{{.*}}, %{{.*}}, %[[K0]] : tensor<2x16x4x8xf32>, tensor<2x23x8xf32>, tensor<4xf32>)
// CHECK-NOT: dsv4.seq_gather
func.func @window(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 differentiable {dsv4.path = "m.0"} : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64, dsv4.path = "m.0"} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// A window wider than a part: rows of several neighbours.
// CHECK-LABEL: func.func @wide_window(
// CHECK: dsv4.seq_halo %{{.*}} on @mesh ["cp"] dim 1 left 39 right 0 : tensor<2x16x8xf32> -> tensor<2x55x8xf32>
func.func @wide_window(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 40 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// A window that reaches the first rank from the last: all lower rows.
// CHECK-LABEL: func.func @whole_window(
// CHECK: %[[P:.*]] = dsv4.seq_prefix %{{.*}} on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
// CHECK: dsv4.window_attention {{.*}} ins(%{{.*}}, %[[P]], %{{.*}}, %{{.*}}, %{{.*}} :
func.func @whole_window(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 49 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// A window of one row reads nothing of others.
// CHECK-LABEL: func.func @own_row(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x16x4x8xf32>, %[[K:[a-z0-9]+]]: tensor<2x16x8xf32>
// CHECK-NOT: dsv4.seq_
// CHECK: dsv4.window_attention {{.*}} ins(%[[Q]], %[[K]],
func.func @own_row(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 1 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// Overlapping windows read the first half of the channels of one window before;
// a missing one counts as gate -inf. Row 0 of the result is window 1 of the buffer.
// CHECK-LABEL: func.func @overlap(
// CHECK: %[[V:.*]] = dsv4.seq_halo %arg0 on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 8] differentiable : tensor<2x4x4x16xf32> -> tensor<2x5x4x16xf32>
// CHECK: %[[G:.*]] = dsv4.seq_halo %arg1 on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 8] fill 0xFF800000 : f32 differentiable : tensor<2x4x4x16xf32> -> tensor<2x5x4x16xf32>
// CHECK: %[[W:.*]] = arith.subi %arg3, %{{.*}} : index
// CHECK: dsv4.pool_windows {overlap} ins(%[[V]], %[[G]], %arg2, %[[W]] : tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>, tensor<4x16xf32>)
func.func @overlap(%v: tensor<2x4x4x16xf32>, %g: tensor<2x4x4x16xf32>, %a: tensor<4x16xf32>, %w0: index) -> tensor<2x4x8xf32> {
  %0 = dsv4.seq_gather %v on @mesh ["cp"] dim 1 differentiable : tensor<2x4x4x16xf32> -> tensor<2x16x4x16xf32>
  %1 = dsv4.seq_gather %g on @mesh ["cp"] dim 1 differentiable : tensor<2x4x4x16xf32> -> tensor<2x16x4x16xf32>
  %e = tensor.empty() : tensor<2x4x8xf32>
  %o = dsv4.pool_windows {overlap} ins(%0, %1, %a, %w0 : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<4x16xf32>)
    outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// Pooled rows and index keys: those of lower ranks. One prefix serves two uses.
// CHECK-LABEL: func.func @pooled(
// CHECK: %[[C:.*]] = dsv4.seq_prefix %{{.*}} on @mesh ["cp"] dim 1 differentiable : tensor<2x4x8xf32> -> tensor<2x16x8xf32>
// CHECK: dsv4.index_topk {{.*}} ins(%{{.*}}, %[[C]],
// CHECK: dsv4.window_attention {{.*}} pool(%[[C]] : tensor<2x16x8xf32>)
func.func @pooled(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %c: tensor<2x4x8xf32>, %w: tensor<2x16x4xf32>, %t0: index) -> tensor<2x16x4x8xf32> {
  %g = dsv4.seq_gather %c on @mesh ["cp"] dim 1 differentiable : tensor<2x4x8xf32> -> tensor<2x16x8xf32>
  %ei = tensor.empty() : tensor<2x16x2xi64>
  %i = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%q, %g, %w, %t0 : tensor<2x16x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x4xf32>)
    outs(%ei : tensor<2x16x2xi64>) -> tensor<2x16x2xi64>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 1 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %s, %t0, %t0 : tensor<2x16x4x8xf32>, tensor<2x16x8xf32>, tensor<4xf32>)
    pool(%g : tensor<2x16x8xf32>) selected(%i : tensor<2x16x2xi64>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// Two windows of one buffer: the wider one decides.
// CHECK-LABEL: func.func @two_windows(
// CHECK: dsv4.seq_halo %{{.*}} left 9 right 0
// CHECK-NOT: dsv4.seq_
// CHECK: return
func.func @two_windows(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) {
  %c0 = arith.constant 0 : index
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  %p = dsv4.window_attention {window = 10 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  return %o, %p : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>
}

// Nothing reads it.
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: return
func.func @unused(%k: tensor<2x16x8xf32>) {
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  return
}
