// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-differentiate | FileCheck %s

// Structured operations: sums are wide and are rounded once, to the type of the
// operand; keys that ranks gathered get their gradients from all of them.

#all = affine_map<(b, t, h, d) -> (b, t, h, d)>
#none = affine_map<(b, t, h, d) -> ()>

dsv4.mesh @mesh ["cp" = 2]

// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[X:[^ ]*]]: tensor<1x4x6xbf16>
// CHECK-SAME: %[[SINK:[^ ]*]]: tensor<2xf32>
func.func @attention(%x: tensor<1x4x6xbf16> {dsv4.batch = "x", dsv4.layout = [[], ["cp"], []], dsv4.global_type = tensor<1x8x6xbf16>},
                     %sink: tensor<2xf32> {dsv4.param = "m.sink"}, %w: tensor<3xbf16> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %r = dsv4.axis_index @mesh ["cp"]
  %q0 = arith.muli %r, %c4 : index
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 4, 2, 3] : tensor<1x4x6xbf16> into tensor<1x4x2x3xbf16>
  %ke = tensor.empty() : tensor<1x4x3xbf16>
  %local = linalg.generic {indexing_maps = [affine_map<(b, t, d) -> (d)>, affine_map<(b, t, d) -> (b, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%w : tensor<3xbf16>) outs(%ke : tensor<1x4x3xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    linalg.yield %a : bf16
  } -> tensor<1x4x3xbf16>
  // CHECK: %[[KEYS:.*]] = dsv4.seq_gather
  %keys = dsv4.seq_gather %local on @mesh ["cp"] dim 1 differentiable : tensor<1x4x3xbf16> -> tensor<1x8x3xbf16>
  %e = tensor.empty() : tensor<1x4x2x3xbf16>
  // CHECK: dsv4.window_attention {{.*}} ins(%[[Q:.*]], %[[KEYS]], %[[SINK]], %[[Q0:[^ ,]*]], %[[K0:[^ ,]*]] :
  %y = dsv4.window_attention {window = 3 : i64, scale = 1.0 : f64, ratio = 0 : i64} ins(%q, %keys, %sink, %q0, %c0 : tensor<1x4x2x3xbf16>, tensor<1x8x3xbf16>, tensor<2xf32>)
    outs(%e : tensor<1x4x2x3xbf16>) -> tensor<1x4x2x3xbf16>
  %f = tensor.empty() : tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>
  %part = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
    ins(%y : tensor<1x4x2x3xbf16>) outs(%g : tensor<f32>) {
  ^bb0(%a: bf16, %s: f32):
    %v = arith.extf %a : bf16 to f32
    %n = arith.addf %s, %v : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  %loss = dsv4.all_reduce sum %part on @mesh ["cp"] : tensor<f32>
  // CHECK: %[[G:.*]]:3 = dsv4.window_attention_grad {dsv4.direction = "backward", ratio = 0 : i64, scale = 1.000000e+00 : f64, window = 3 : i64}
  // CHECK-SAME: ins(%[[Q]], %[[KEYS]], %[[SINK]], %{{.*}}, %[[Q0]], %[[K0]] : tensor<1x4x2x3xbf16>, tensor<1x8x3xbf16>, tensor<2xf32>, tensor<1x4x2x3xbf16>)
  // CHECK-SAME: -> tensor<1x4x2x3xbf16>, tensor<1x8x3xf32>, tensor<1x4x2xf32>
  // CHECK: %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[G]]#1 : tensor<1x8x3xf32>) {{.*}} attrs = {dsv4.cast = "sum of cotangents", dsv4.direction = "backward"}
  // CHECK: arith.truncf
  // CHECK: %[[DSINK:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[G]]#2 : tensor<1x4x2xf32>)
  // CHECK: dsv4.seq_reduce_scatter %[[NARROW]] {{.*}} : tensor<1x8x3xbf16> -> tensor<1x4x3xbf16>
  // CHECK: return %{{.*}}, %[[DSINK]], %{{.*}} : tensor<f32>, tensor<2xf32>, tensor<3xbf16>
  return %loss : tensor<f32>
}

// -----

// A table of a narrow type: its gradient is summed wide.

// CHECK-LABEL: func.func @embedding
// CHECK-SAME: %[[TABLE:[^ ]*]]: tensor<5x3xbf16> {{.*}}, %[[IDS:[^ ]*]]: tensor<1x4xi64>
func.func @embedding(%table: tensor<5x3xbf16> {dsv4.param = "m.table"}, %ids: tensor<1x4xi64> {dsv4.batch = "ids"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x3xbf16>
  %x = dsv4.gather_rows ins(%table, %ids : tensor<5x3xbf16>, tensor<1x4xi64>) outs(%e : tensor<1x4x3xbf16>) -> tensor<1x4x3xbf16>
  %f = tensor.empty() : tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%x : tensor<1x4x3xbf16>) outs(%g : tensor<f32>) {
  ^bb0(%a: bf16, %s: f32):
    %v = arith.extf %a : bf16 to f32
    %n = arith.addf %s, %v : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  // CHECK: %[[SUM:.*]] = dsv4.scatter_add {dsv4.direction = "backward"} ins(%{{.*}}, %[[IDS]] : tensor<1x4x3xbf16>, tensor<1x4xi64>) outs(%{{.*}} : tensor<5x3xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<5x3xf32>) outs(%{{.*}} : tensor<5x3xbf16>) attrs = {dsv4.cast = "sum of cotangents"
  return %loss : tensor<f32>
}

// -----

// What a structured operation overwrites does not count.

// expected-error@+1 {{parameter "m.w" is not marked 'dsv4.frozen', but every path from it to the loss ends in an edge without gradient}}
func.func @overwritten(%w: tensor<2x2x3xf32> {dsv4.param = "m.w"}, %t: tensor<5x3xf32> {dsv4.param = "m.t"}, %ids: tensor<2x2xi64> {dsv4.batch = "ids"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant 0.0 : f32
  // expected-note@+1 {{operand 2 of 'dsv4.gather_rows' has no gradient because of its rule}}
  %x = dsv4.gather_rows ins(%t, %ids : tensor<5x3xf32>, tensor<2x2xi64>) outs(%w : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  %f = tensor.empty() : tensor<f32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(b, t, c) -> (b, t, c)>, affine_map<(b, t, c) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%x : tensor<2x2x3xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %n = arith.addf %s, %a : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
