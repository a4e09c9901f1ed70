// RUN: dsv4-opt %s -dsv4-schedule-collectives | FileCheck %s

// Gradients are packed in the run that computes them, in the dtype of the reduction, padding zero; the reductions of one run travel
// together behind it, and wait a block later; replicas are added behind that.

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @a roots ["m.0"] on @mesh ["cp"] params ["m.0.w", "m.0.v"] gather bf16 reduce f32 buffers [{dtype = bf16, frozen = false, total = 64 : i64, shard = 32 : i64, segments = [{name = "m.0.w", offset = 0 : i64, shape = array<i64: 2, 4>}, {name = "m.0.v", offset = 32 : i64, shape = array<i64: 3>}]}]
dsv4.fsdp_unit @b roots ["m.0.x"] on @mesh ["cp"] params ["m.0.x.u"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.0.x.u", offset = 0 : i64, shape = array<i64: 3>}]}]

// CHECK-LABEL: func.func @gradients
// CHECK-SAME: (%[[DW:.*]]: tensor<2x4xbf16>, %[[DV:.*]]: tensor<3xbf16>, %[[DU:.*]]: tensor<3xf32>
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<64xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[DW]]
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[FLAT]] : tensor<8xbf16>){{.*}} attrs = {dsv4.cast = "reduce dtype", dsv4.direction = "backward", dsv4.path = "m.0"}
// CHECK: arith.extf
// CHECK: tensor.insert_slice %[[WIDE]] into %[[ZERO]][0] [8] [1]
// CHECK: %[[A:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[32] [3] [1]
// CHECK: %[[B:.*]] = tensor.insert_slice %[[DU]] into %{{.*}}[0] [3] [1]
// CHECK: dsv4.reduce_scatter_start parameter %[[A]] into %{{.*}} on @mesh ["cp"] {dsv4.launch = [[L:.*]] : i64, unit = @a} : tensor<64xf32> into tensor<32xf32>
// CHECK: dsv4.reduce_scatter_start parameter %[[B]] into %{{.*}} on @mesh ["cp"] {dsv4.launch = [[L]] : i64, unit = @b} : tensor<32xf32> into tensor<16xf32>
// CHECK: tensor.empty() {dsv4.direction = "backward", dsv4.path = "m.1"}
// CHECK: %[[SA:.*]] = dsv4.wait %{{.*}} reading %[[A]]
// CHECK: dsv4.wait %{{.*}} reading %[[B]]
// CHECK: %{{.*}} = dsv4.all_reduce_start parameter sum %[[SA]] into %{{.*}} on @mesh ["replicate"]
// CHECK: %[[GA:.*]] = dsv4.wait %{{.*}} reading %[[SA]]
// CHECK: return %[[GA]],
func.func @gradients(%dw: tensor<2x4xbf16>, %dv: tensor<3xbf16>, %du: tensor<3xf32>) -> (tensor<32xf32>, tensor<16xf32>, tensor<f32>) {
  %ga = dsv4.grad_reduce_scatter @a(%dw, %dv) on @mesh ["cp"] replicas ["replicate"] scale 1.0 {dsv4.path = "m.0", dsv4.direction = "backward"}
    : (tensor<2x4xbf16>, tensor<3xbf16>) -> tensor<32xf32>
  %gb = dsv4.grad_reduce_scatter @b(%du) on @mesh ["cp"] replicas [] scale 1.0 {dsv4.path = "m.0.x", dsv4.direction = "backward"}
    : (tensor<3xf32>) -> tensor<16xf32>
  %next = tensor.empty() {dsv4.path = "m.1", dsv4.direction = "backward"} : tensor<f32>
  return %ga, %gb, %next : tensor<32xf32>, tensor<16xf32>, tensor<f32>
}
