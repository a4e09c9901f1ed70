// RUN: dsv4-opt %s -canonicalize -cse | FileCheck %s

// Collectives over a group of one rank are their operand. Others are neither
// dead code nor equal to each other, whatever happens to their results, and
// they keep their order.

dsv4.mesh @mesh ["replicate" = 1, "dp_shard" = 2, "cp" = 2]

dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}], shard = 16 : i64, total = 32 : i64}]

// CHECK-LABEL: func.func @one_rank(
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>, %[[FLAG:.*]]: i32)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[FLAG]]
func.func @one_rank(%x: tensor<2x8xf32>, %flag: i32) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, i32) {
  %a = dsv4.seq_shard %x on @mesh ["replicate"] dim 1 : tensor<2x8xf32> -> tensor<2x8xf32>
  %b = dsv4.seq_gather %x on @mesh ["replicate"] dim 1 differentiable : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = dsv4.seq_reduce_scatter %x on @mesh [] dim 0 : tensor<2x8xf32> -> tensor<2x8xf32>
  %d = dsv4.all_reduce max %x on @mesh ["replicate"] : tensor<2x8xf32>
  %e = dsv4.agree %flag on @mesh [] : i32
  return %a, %b, %c, %d, %e : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, i32
}

// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: dsv4.seq_gather
// CHECK-NEXT: dsv4.seq_reduce_scatter
// CHECK-NEXT: dsv4.all_reduce
// CHECK-NEXT: dsv4.agree
// CHECK-NEXT: dsv4.unshard
// CHECK-NEXT: dsv4.all_reduce_start
// CHECK-NEXT: dsv4.wait
// CHECK-NEXT: dsv4.all_gather_start
// CHECK-NEXT: dsv4.wait
// CHECK-NEXT: dsv4.reduce_scatter_start
// CHECK-NEXT: dsv4.wait
// CHECK-NEXT: return
func.func @unused(%x: tensor<16xf32>, %half: tensor<8xf32>, %flag: i32) {
  %a = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<32xf32>
  %b = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<8xf32>
  %c = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<16xf32>
  %d = dsv4.agree %flag on @mesh ["cp"] : i32
  %e = dsv4.unshard @unit_0(%x) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<16xf32> into tensor<16xf32> -> tensor<16xf32>
  %f = dsv4.wait %t, %s reading %x : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  %s1, %t1 = dsv4.all_gather_start sequence %half into %x on @mesh ["cp"] : tensor<8xf32> into tensor<16xf32> -> tensor<16xf32>
  %g = dsv4.wait %t1, %s1 reading %half : tensor<16xf32>, tensor<8xf32> -> tensor<16xf32>
  %s2, %t2 = dsv4.reduce_scatter_start sequence %x into %half on @mesh ["cp"] : tensor<16xf32> into tensor<8xf32> -> tensor<8xf32>
  %h = dsv4.wait %t2, %s2 reading %x : tensor<8xf32>, tensor<16xf32> -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: %[[A:.*]] = dsv4.seq_gather
// CHECK-NEXT: %[[B:.*]] = dsv4.seq_gather
// CHECK-NEXT: %[[C:.*]] = dsv4.agree
// CHECK-NEXT: %[[D:.*]] = dsv4.agree
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @equal(%x: tensor<16xf32>, %flag: i32) -> (tensor<32xf32>, tensor<32xf32>, i32, i32) {
  %a = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<32xf32>
  %b = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<32xf32>
  %c = dsv4.agree %flag on @mesh ["cp"] : i32
  %d = dsv4.agree %flag on @mesh ["cp"] : i32
  return %a, %b, %c, %d : tensor<32xf32>, tensor<32xf32>, i32, i32
}

// Starts on memrefs write their destination: they are not dead, and a load
// after the wait is not the load before the start.
// CHECK-LABEL: func.func @starts_on_memrefs(
// CHECK: %[[BEFORE:.*]] = memref.load
// CHECK: dsv4.all_gather_start
// CHECK: dsv4.wait
// CHECK: %[[AFTER:.*]] = memref.load
// CHECK: return %[[BEFORE]], %[[AFTER]]
func.func @starts_on_memrefs(%a: memref<8xf32>, %b: memref<16xf32>, %i: index) -> (f32, f32) {
  %before = memref.load %b[%i] : memref<16xf32>
  %t = dsv4.all_gather_start sequence %a into %b on @mesh ["cp"] : memref<8xf32> into memref<16xf32>
  dsv4.wait %t, %b reading %a : memref<16xf32>, memref<8xf32>
  %after = memref.load %b[%i] : memref<16xf32>
  return %before, %after : f32, f32
}

// A slice of this rank has no communication: it is pure.
// CHECK-LABEL: func.func @seq_shard_is_pure(
// CHECK-NEXT: %[[A:.*]] = dsv4.seq_shard
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @seq_shard_is_pure(%x: tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = dsv4.seq_shard %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<8xf32>
  %b = dsv4.seq_shard %x on @mesh ["cp"] dim 0 : tensor<16xf32> -> tensor<8xf32>
  %unused = dsv4.seq_shard %x on @mesh ["dp_shard"] dim 0 : tensor<16xf32> -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// A branch without effects besides collectives stays a branch.
// CHECK-LABEL: func.func @not_speculated(
// CHECK: scf.if
// CHECK: dsv4.all_reduce
// CHECK: scf.yield
func.func @not_speculated(%c: i1, %x: tensor<16xf32>) -> tensor<16xf32> {
  %r = scf.if %c -> tensor<16xf32> {
    %a = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<16xf32>
    scf.yield %a : tensor<16xf32>
  } else {
    scf.yield %x : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}
