// RUN: dsv4-opt %s -split-input-file -dsv4-shard-parameters | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-shard-parameters -dsv4-shard-parameters | FileCheck %s

// Parameters become shards of flat buffers behind all other arguments, and one
// unshard per unit makes them again.

// One unit over 4 ranks: the second parameter starts at the next 64 bytes, each
// rank owns a quarter of 40 f32, rounded up to 64 bytes. Everything else of the
// signature stays; the unshard stands right before the first use.

// CHECK-LABEL: module @one_unit
// CHECK:         dsv4.fsdp_unit @unit_0 roots ["model.norm"] on @mesh ["dp_shard", "cp"] params ["model.norm.weight", "model.norm.bias"] gather f32 reduce f32
// CHECK-SAME:      buffers [{dtype = f32, frozen = false, segments = [
// CHECK-SAME:        {name = "model.norm.weight", offset = 0 : i64, shape = array<i64: 4, 5>}
// CHECK-SAME:        {name = "model.norm.bias", offset = 32 : i64, shape = array<i64: 8>}
// CHECK-SAME:      ], shard = 16 : i64, total = 64 : i64}]
// CHECK:         func.func @forward(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<8xf32> {dsv4.batch = "x"}
// CHECK-SAME:      %[[B:[^:]*]]: tensor<8xf32> {dsv4.buffer = "rope"}
// CHECK-SAME:      %[[S:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @unit_0})
// CHECK-SAME:      -> (tensor<8xf32> {dsv4.result = "y"})
// CHECK-NEXT:    %[[V0:.*]] = arith.addf %[[X]], %[[B]]
// CHECK-NEXT:    %[[W:.*]]:2 = dsv4.unshard @unit_0(%[[S]]) on @mesh ["dp_shard", "cp"] {dsv4.path = "model.norm"} : (tensor<16xf32>) -> (tensor<4x5xf32>, tensor<8xf32>)
// CHECK-NEXT:    %[[V1:.*]] = arith.addf %[[V0]], %[[W]]#1
// CHECK-NEXT:    %[[V2:.*]] = arith.addf %[[W]]#0, %[[W]]#0
// CHECK-NEXT:    return %[[V1]]
module @one_unit {
  dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
  dsv4.fsdp_unit @unit_0 roots ["model.norm"] on @mesh ["dp_shard", "cp"]
    params ["model.norm.weight", "model.norm.bias"] gather f32 reduce f32
  func.func @forward(%x: tensor<8xf32> {dsv4.batch = "x"},
                     %w: tensor<4x5xf32> {dsv4.param = "model.norm.weight"},
                     %b: tensor<8xf32> {dsv4.buffer = "rope"},
                     %v: tensor<8xf32> {dsv4.param = "model.norm.bias"})
      -> (tensor<8xf32> {dsv4.result = "y"}) {
    %0 = arith.addf %x, %b : tensor<8xf32>
    %1 = arith.addf %0, %v : tensor<8xf32>
    %2 = arith.addf %w, %w : tensor<4x5xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// A buffer per storage dtype, frozen parameters apart. Results keep the order
// of the unit. 32 bf16, 16 f32 and 8 f64 are 64 bytes.

// CHECK-LABEL: module @several_buffers
// CHECK:         buffers [
// CHECK-SAME:      {dtype = bf16, frozen = false, segments = [{name = "m.a", offset = 0 : i64, shape = array<i64: 33>}, {name = "m.d", offset = 64 : i64, shape = array<i64: 1>}], shard = 64 : i64, total = 128 : i64}
// CHECK-SAME:      {dtype = bf16, frozen = true, segments = [{name = "m.c", offset = 0 : i64, shape = array<i64: 3>}], shard = 32 : i64, total = 64 : i64}
// CHECK-SAME:      {dtype = f32, frozen = false, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}], shard = 16 : i64, total = 32 : i64}
// CHECK-SAME:      {dtype = f64, frozen = false, segments = [{name = "m.e", offset = 0 : i64, shape = array<i64: 17>}], shard = 16 : i64, total = 32 : i64}
// CHECK-SAME:    ]
// CHECK:         func.func @forward(
// CHECK-SAME:      %[[S0:[^:]*]]: tensor<64xbf16> {dsv4.buffer_index = 0 : i64, dsv4.shard = @u}
// CHECK-SAME:      %[[S1:[^:]*]]: tensor<32xbf16> {dsv4.buffer_index = 1 : i64, dsv4.frozen, dsv4.shard = @u}
// CHECK-SAME:      %[[S2:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 2 : i64, dsv4.shard = @u}
// CHECK-SAME:      %[[S3:[^:]*]]: tensor<16xf64> {dsv4.buffer_index = 3 : i64, dsv4.shard = @u}
// CHECK-NEXT:    %[[W:.*]]:5 = dsv4.unshard @u(%[[S0]], %[[S1]], %[[S2]], %[[S3]]) on @mesh ["cp"] {dsv4.path = "m"}
// CHECK-SAME:      -> (tensor<33xbf16>, tensor<3xf32>, tensor<3xbf16>, tensor<1xbf16>, tensor<17xf64>)
// CHECK-NEXT:    return %[[W]]#2, %[[W]]#1
module @several_buffers {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"]
    params ["m.a", "m.b", "m.c", "m.d", "m.e"] gather f64 reduce f64 {dsv4.as_stored}
  func.func @forward(%a: tensor<33xbf16> {dsv4.param = "m.a"},
                     %b: tensor<3xf32> {dsv4.param = "m.b"},
                     %c: tensor<3xbf16> {dsv4.param = "m.c", dsv4.frozen},
                     %d: tensor<1xbf16> {dsv4.param = "m.d"},
                     %e: tensor<17xf64> {dsv4.param = "m.e"}) -> (tensor<3xbf16>, tensor<3xf32>) {
    return %c, %b : tensor<3xbf16>, tensor<3xf32>
  }
}

// -----

// Several units: shards in the order of units, gathers in the order of uses, two at
// one operation in the order of units. A use inside a region counts for the
// operation that holds it. A unit without uses is stored and not gathered.

// CHECK-LABEL: module @several_units
// CHECK:         func.func @forward(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<4xf32>, %[[C:[^:]*]]: i1,
// CHECK-SAME:      %[[S0:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @unit_0}
// CHECK-SAME:      %[[S1:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @unit_1}
// CHECK-SAME:      %[[S2:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @unit_2}
// CHECK-SAME:      %[[S3:[^:]*]]: tensor<16xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @unit_3}
// CHECK-NEXT:    %[[D:.*]] = dsv4.unshard @unit_3(%[[S3]])
// CHECK-NEXT:    %[[R:.*]] = scf.if %[[C]]
// CHECK-NEXT:      %[[V:.*]] = arith.addf %[[X]], %[[D]]
// CHECK:           scf.yield %[[X]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[A:.*]] = dsv4.unshard @unit_0(%[[S0]])
// CHECK-NEXT:    %[[B:.*]] = dsv4.unshard @unit_1(%[[S1]])
// CHECK-NEXT:    %[[E:.*]] = arith.addf %[[B]], %[[A]]
// CHECK-NEXT:    return %[[R]], %[[E]]
module @several_units {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @unit_0 roots ["a"] on @mesh ["cp"] params ["a.w"] gather f32 reduce f32
  dsv4.fsdp_unit @unit_1 roots ["b"] on @mesh ["cp"] params ["b.w"] gather f32 reduce f32
  dsv4.fsdp_unit @unit_2 roots ["c"] on @mesh ["cp"] params ["c.w"] gather f32 reduce f32
  dsv4.fsdp_unit @unit_3 roots ["d"] on @mesh ["cp"] params ["d.w"] gather f32 reduce f32
  func.func @forward(%d: tensor<4xf32> {dsv4.param = "d.w"}, %x: tensor<4xf32>,
                     %a: tensor<4xf32> {dsv4.param = "a.w"}, %c: i1,
                     %b: tensor<4xf32> {dsv4.param = "b.w"},
                     %n: tensor<4xf32> {dsv4.param = "c.w"}) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = scf.if %c -> tensor<4xf32> {
      %1 = arith.addf %x, %d : tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    %2 = arith.addf %b, %a : tensor<4xf32>
    return %0, %2 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// One rank: the whole buffer is the shard, padded to 64 bytes. A scalar is one
// element, an empty parameter none.

// CHECK-LABEL: module @one_rank
// CHECK:         segments = [{name = "m.a", offset = 0 : i64, shape = array<i64>}, {name = "m.b", offset = 16 : i64, shape = array<i64: 0, 4>}, {name = "m.c", offset = 16 : i64, shape = array<i64: 2>}], shard = 32 : i64, total = 32 : i64}
// CHECK:         func.func @forward(%{{.*}}: tensor<32xf32> {dsv4.buffer_index = 0 : i64, dsv4.shard = @u})
// CHECK-NEXT:    dsv4.unshard @u(%{{.*}}) on @mesh []
module @one_rank {
  dsv4.mesh @mesh []
  dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a", "m.b", "m.c"] gather f32 reduce f32
  func.func @forward(%a: tensor<f32> {dsv4.param = "m.a"},
                     %b: tensor<0x4xf32> {dsv4.param = "m.b"},
                     %c: tensor<2xf32> {dsv4.param = "m.c"}) -> tensor<f32> {
    return %a : tensor<f32>
  }
}

// -----

// The size of a stacked expert weight does not fit 32 bits; layouts that say
// "whole" are no obstacle.

// CHECK-LABEL: module @large
// CHECK:         shard = 67108864 : i64, total = 4294967296 : i64
module @large {
  dsv4.mesh @mesh ["dp_shard" = 8, "cp" = 8]
  dsv4.fsdp_unit @u roots ["m"] on @mesh ["dp_shard", "cp"] params ["m.a"] gather bf16 reduce f32
  func.func @forward(%a: tensor<256x4096x4096xbf16> {dsv4.param = "m.a", dsv4.layout = [[], [], []], dsv4.global_type = tensor<256x4096x4096xbf16>}) {
    return
  }
}

// -----

// CHECK-LABEL: module @no_parameters
// CHECK-NEXT:    func.func private @f()
module @no_parameters {
  func.func private @f()
}
