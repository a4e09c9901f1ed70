// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Module regions and FSDP units: every optional part present and absent.

// CHECK: dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// CHECK: dsv4.fsdp_unit @bare roots [] on @mesh [] params [] gather bf16 reduce f32
dsv4.fsdp_unit @bare roots [] on @mesh [] params [] gather bf16 reduce f32

// CHECK: dsv4.fsdp_unit @block roots ["model.layers.0"] on @mesh ["dp_shard", "cp"] params ["model.layers.0.a.weight", "model.layers.0.b.weight"] gather bf16 reduce f32 reshard_after_forward = true
dsv4.fsdp_unit @block roots ["model.layers.0"] on @mesh ["dp_shard", "cp"] params ["model.layers.0.a.weight", "model.layers.0.b.weight"] gather bf16 reduce f32 reshard_after_forward = true

// CHECK: dsv4.fsdp_unit @island roots ["model.layers.0.attn_hc"] on @mesh ["cp"] params ["model.layers.0.attn_hc.base"] gather f32 reduce f32 island reshard_after_forward = false buffers [{dtype = f32, frozen = false, segments = [{name = "model.layers.0.attn_hc.base", offset = 0 : i64, shape = array<i64: 8, 3>}], shard = 16 : i64, total = 24 : i64}] {dsv4.path = "model"}
dsv4.fsdp_unit @island roots ["model.layers.0.attn_hc"] on @mesh ["cp"] params ["model.layers.0.attn_hc.base"] gather f32 reduce f32 island reshard_after_forward = false buffers [{dtype = f32, frozen = false, segments = [{name = "model.layers.0.attn_hc.base", offset = 0 : i64, shape = array<i64: 8, 3>}], shard = 16 : i64, total = 24 : i64}] {dsv4.path = "model"}

// CHECK-LABEL: func.func @module(
// CHECK: %{{.*}} = dsv4.module "model.norm" class "DeepseekV4RMSNorm" -> tensor<2x64x64xf32> {
// CHECK: dsv4.yield %arg0 : tensor<2x64x64xf32>
func.func @module(%x: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  %y = dsv4.module "model.norm" class "DeepseekV4RMSNorm" -> tensor<2x64x64xf32> {
    dsv4.yield %x : tensor<2x64x64xf32>
  }
  return %y : tensor<2x64x64xf32>
}

// CHECK-LABEL: func.func @nested_modules(
// CHECK: %{{.*}} = dsv4.module "model" class "Model" -> tensor<2xf32>, index attributes {dsv4.cast = "M5"} {
// CHECK: dsv4.module "model.empty" class "" {
// CHECK: dsv4.yield
// CHECK: dsv4.yield {dsv4.path = "model"} %arg0, %arg1 : tensor<2xf32>, index
func.func @nested_modules(%x: tensor<2xf32>, %i: index) {
  %y:2 = dsv4.module "model" class "Model" -> tensor<2xf32>, index attributes {dsv4.cast = "M5"} {
    dsv4.module "model.empty" class "" {
      dsv4.yield
    }
    dsv4.yield {dsv4.path = "model"} %x, %i : tensor<2xf32>, index
  }
  return
}
