// RUN: dsv4-opt %s -split-input-file -dsv4-differentiate | FileCheck %s

// The gradient of each parameter behind the loss. Transposes of a contraction
// are contractions; backward operations carry the path of what they transpose.

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#x = affine_map<(b, o, i) -> (b, i)>
#w = affine_map<(b, o, i) -> (o, i)>
#y = affine_map<(b, o, i) -> (b, o)>

// CHECK-DAG: #[[$X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @contraction
// CHECK-SAME: %[[ARG_X:[^ ]*]]: tensor<3x4xf64>
// CHECK-SAME: -> (tensor<f64> {dsv4.result = "loss"}, tensor<5x4xf64> {dsv4.result = "grad/w"})
func.func @contraction(%x: tensor<3x4xf64> {dsv4.batch = "x"}, %w: tensor<5x4xf64> {dsv4.param = "w"})
    -> (tensor<f64> {dsv4.result = "loss"}) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3x5xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<3x5xf64>) -> tensor<3x5xf64>
  %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<3x4xf64>, tensor<5x4xf64>) outs(%f : tensor<3x5xf64>) attrs = {dsv4.path = "model.layers.0"} {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %p = arith.mulf %a, %b : f64
    %q = arith.addf %c, %p : f64
    linalg.yield %q : f64
  } -> tensor<3x5xf64>
  %e0 = tensor.empty() : tensor<f64>
  %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  // CHECK: %[[LOSS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
    ins(%y : tensor<3x5xf64>) outs(%f0 : tensor<f64>) {
  ^bb0(%a: f64, %c: f64):
    %n = math.exp %a : f64
    %q = arith.addf %c, %n : f64
    linalg.yield %q : f64
  } -> tensor<f64>
  // CHECK: %[[ONE:.*]] = linalg.fill
  // CHECK: %[[DY:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
  // CHECK-SAME: attrs = {dsv4.direction = "backward"}
  // CHECK: linalg.generic {indexing_maps = [#[[$X]], #[[$Y]], #[[$W]]], iterator_types = ["reduction", "parallel", "parallel"]}
  // CHECK-SAME: ins(%[[ARG_X]], %[[DY]] :
  // CHECK-SAME: attrs = {dsv4.direction = "backward", dsv4.path = "model.layers.0"}
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[G:.*]]: f64, %[[OUT:.*]]: f64):
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[A]] : f64
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[OUT]], %[[P]] : f64
  // CHECK-NEXT: linalg.yield %[[S]] : f64
  // CHECK: return %[[LOSS]], %{{.*}} : tensor<f64>, tensor<5x4xf64>
  return %l : tensor<f64>
}
