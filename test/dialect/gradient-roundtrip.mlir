// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

// Two buffers reduced in another type than stored, and one frozen.
dsv4.fsdp_unit @unit_1 roots ["m"] on @mesh ["cp"] params ["m.a", "m.b", "m.c"] gather bf16 reduce f32 buffers [
  {dtype = bf16, frozen = false, total = 32 : i64, shard = 32 : i64, segments = [{name = "m.a", offset = 0 : i64, shape = array<i64: 3>}]},
  {dtype = bf16, frozen = true, total = 32 : i64, shard = 32 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 5>}]},
  {dtype = f32, frozen = false, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.c", offset = 0 : i64, shape = array<i64: 2>}]}]

// CHECK-LABEL: func.func @one_parameter(
// CHECK: %{{.*}} = dsv4.grad_reduce_scatter @unit_0(%arg0) on @mesh ["cp"] replicas [] scale 1.000000e+00 : (tensor<4x8xf32>) -> tensor<16xf32>
func.func @one_parameter(%dw: tensor<4x8xf32>) -> tensor<16xf32> {
  %g = dsv4.grad_reduce_scatter @unit_0(%dw) on @mesh ["cp"] replicas [] scale 1.000000e+00 : (tensor<4x8xf32>) -> tensor<16xf32>
  return %g : tensor<16xf32>
}

// CHECK-LABEL: func.func @two_buffers(
// CHECK: %{{.*}}:2 = dsv4.grad_reduce_scatter @unit_1(%arg0, %arg1) on @mesh ["cp"] replicas ["replicate"] scale 5.000000e-01 : (tensor<3xbf16>, tensor<2xf32>) -> (tensor<32xf32>, tensor<16xf32>)
func.func @two_buffers(%da: tensor<3xbf16>, %dc: tensor<2xf32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %g:2 = dsv4.grad_reduce_scatter @unit_1(%da, %dc) on @mesh ["cp"] replicas ["replicate"] scale 5.0e-01
    : (tensor<3xbf16>, tensor<2xf32>) -> (tensor<32xf32>, tensor<16xf32>)
  return %g#0, %g#1 : tensor<32xf32>, tensor<16xf32>
}
