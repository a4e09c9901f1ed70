// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Collectives in blocking form and as start and wait, on tensors and on
// memrefs; the example of each operation's documentation.

// CHECK: dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// CHECK: dsv4.mesh @four ["cp" = 4]
dsv4.mesh @four ["cp" = 4]

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

// CHECK-LABEL: func.func @all_gather_start(
// CHECK: %started, %token = dsv4.all_gather_start parameter %arg0 into %arg1 on @four ["cp"] : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>
// CHECK: %{{.*}} = dsv4.wait %token, %started reading %arg0 : tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>
func.func @all_gather_start(%src: tensor<8xf32>, %dst: tensor<32xf32>) -> tensor<32xf32> {
  %s, %t = dsv4.all_gather_start parameter %src into %dst on @four ["cp"] : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>
  %r = dsv4.wait %t, %s reading %src : tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>
  return %r : tensor<32xf32>
}

// CHECK-LABEL: func.func @reduce_scatter_start(
// CHECK: %started, %token = dsv4.reduce_scatter_start parameter %arg0 into %arg1 on @four ["cp"] : tensor<32xf32> into tensor<8xf32> -> tensor<8xf32>
// CHECK: %{{.*}} = dsv4.wait %token, %started reading %arg0 : tensor<8xf32>, tensor<32xf32> -> tensor<8xf32>
func.func @reduce_scatter_start(%src: tensor<32xf32>, %dst: tensor<8xf32>) -> tensor<8xf32> {
  %s, %t = dsv4.reduce_scatter_start parameter %src into %dst on @four ["cp"] : tensor<32xf32> into tensor<8xf32> -> tensor<8xf32>
  %r = dsv4.wait %t, %s reading %src : tensor<8xf32>, tensor<32xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @all_reduce_start(
// CHECK: %started, %token = dsv4.all_reduce_start scalar sum %arg0 into %arg1 on @four ["cp"] : tensor<f32> into tensor<f32> -> tensor<f32>
// CHECK: %{{.*}} = dsv4.wait %token, %started reading %arg0 : tensor<f32>, tensor<f32> -> tensor<f32>
func.func @all_reduce_start(%src: tensor<f32>, %dst: tensor<f32>) -> tensor<f32> {
  %s, %t = dsv4.all_reduce_start scalar sum %src into %dst on @four ["cp"] : tensor<f32> into tensor<f32> -> tensor<f32>
  %r = dsv4.wait %t, %s reading %src : tensor<f32>, tensor<f32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @starts_on_memrefs(
// CHECK: %token = dsv4.all_gather_start sequence %arg0 into %arg1 on @four ["cp"] : memref<8xf32> into memref<32xf32>
// CHECK: dsv4.wait %token, %arg1 reading %arg0 : memref<32xf32>, memref<8xf32>
// CHECK: %token_0 = dsv4.reduce_scatter_start parameter %arg1 into %arg0 on @four ["cp"] : memref<32xf32> into memref<8xf32>
// CHECK: dsv4.wait %token_0, %arg0 reading %arg1 : memref<8xf32>, memref<32xf32>
// CHECK: %token_1 = dsv4.all_reduce_start scalar max %arg0 into %arg0 on @four ["cp"] : memref<8xf32> into memref<8xf32>
// CHECK: dsv4.wait %token_1, %arg0 reading %arg0 {dsv4.path = "model"} : memref<8xf32>, memref<8xf32>
func.func @starts_on_memrefs(%a: memref<8xf32>, %b: memref<32xf32>) {
  %t0 = dsv4.all_gather_start sequence %a into %b on @four ["cp"] : memref<8xf32> into memref<32xf32>
  dsv4.wait %t0, %b reading %a : memref<32xf32>, memref<8xf32>
  %t1 = dsv4.reduce_scatter_start parameter %b into %a on @four ["cp"] : memref<32xf32> into memref<8xf32>
  dsv4.wait %t1, %a reading %b : memref<8xf32>, memref<32xf32>
  %t2 = dsv4.all_reduce_start scalar max %a into %a on @four ["cp"] : memref<8xf32> into memref<8xf32>
  dsv4.wait %t2, %a reading %a {dsv4.path = "model"} : memref<8xf32>, memref<8xf32>
  return
}
