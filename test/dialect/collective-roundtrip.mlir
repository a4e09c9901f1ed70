// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Collectives in blocking form; the example of each operation's documentation.

// CHECK: dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// CHECK: dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}], shard = 16 : i64, total = 32 : i64}]
dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}], shard = 16 : i64, total = 32 : i64}]

// CHECK-LABEL: func.func @seq_shard(
// CHECK: %{{.*}} = dsv4.seq_shard %arg0 on @mesh ["cp"] dim 1 : tensor<2x64xi64> -> tensor<2x32xi64>
func.func @seq_shard(%x: tensor<2x64xi64>) -> tensor<2x32xi64> {
  %l = dsv4.seq_shard %x on @mesh ["cp"] dim 1 : tensor<2x64xi64> -> tensor<2x32xi64>
  return %l : tensor<2x32xi64>
}

// CHECK-LABEL: func.func @seq_gather(
// CHECK: %{{.*}} = dsv4.seq_gather %arg0 on @mesh ["cp"] dim 1 differentiable : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
// CHECK: %{{.*}} = dsv4.seq_gather %arg1 on @mesh ["dp_shard", "cp"] dim 1 {dsv4.path = "model"} : tensor<2x16xi64> -> tensor<2x64xi64>
func.func @seq_gather(%x: tensor<2x32x8xf32>, %ids: tensor<2x16xi64>) {
  %k = dsv4.seq_gather %x on @mesh ["cp"] dim 1 differentiable : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
  %i = dsv4.seq_gather %ids on @mesh ["dp_shard", "cp"] dim 1 {dsv4.path = "model"} : tensor<2x16xi64> -> tensor<2x64xi64>
  return
}

// CHECK-LABEL: func.func @seq_reduce_scatter(
// CHECK: %{{.*}} = dsv4.seq_reduce_scatter %arg0 on @mesh ["cp"] dim 1 : tensor<2x64x8xf32> -> tensor<2x32x8xf32>
func.func @seq_reduce_scatter(%x: tensor<2x64x8xf32>) -> tensor<2x32x8xf32> {
  %g = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 1 : tensor<2x64x8xf32> -> tensor<2x32x8xf32>
  return %g : tensor<2x32x8xf32>
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK: %{{.*}} = dsv4.all_reduce sum %arg0 on @mesh ["dp_shard", "cp"] : tensor<f32>
// CHECK: %{{.*}} = dsv4.all_reduce max %arg1 on @mesh ["cp"] : tensor<4xi1>
// CHECK: %{{.*}} = dsv4.all_reduce min %arg0 on @mesh [] : tensor<f32>
func.func @all_reduce(%x: tensor<f32>, %flags: tensor<4xi1>) {
  %s = dsv4.all_reduce sum %x on @mesh ["dp_shard", "cp"] : tensor<f32>
  %m = dsv4.all_reduce max %flags on @mesh ["cp"] : tensor<4xi1>
  %n = dsv4.all_reduce min %x on @mesh [] : tensor<f32>
  return
}

// CHECK-LABEL: func.func @agree(
// CHECK: %{{.*}} = dsv4.agree %arg0 on @mesh ["cp"] : i32
func.func @agree(%flag: i32) -> i32 {
  %any = dsv4.agree %flag on @mesh ["cp"] : i32
  return %any : i32
}

// CHECK-LABEL: func.func @unshard(
// CHECK: %{{.*}} = dsv4.unshard @unit_0(%arg0) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
func.func @unshard(%shard: tensor<16xf32>) -> tensor<4x8xf32> {
  %w = dsv4.unshard @unit_0(%shard) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}
