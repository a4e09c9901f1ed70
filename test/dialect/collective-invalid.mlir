// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of the blocking collectives. G1 and G2 are in
// collective-group-invalid.mlir, start and wait in collective-async-invalid.mlir.

// SeqShardOp C1: dim is a dimension of the operand.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_shard_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op 'dim' must be in [0, 2), got 2}}
  %r = dsv4.seq_shard %x on @mesh ["cp"] dim 2 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// SeqShardOp C2: the group divides the dimension.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_shard_c2(%x: tensor<4x7xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op dimension 1 has size 7, which 2 ranks do not divide}}
  %r = dsv4.seq_shard %x on @mesh ["cp"] dim 1 : tensor<4x7xf32> -> tensor<4x3xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_shard_c2_element(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op has result type 'tensor<4x4xf64>', expected 'tensor<4x4xf32>'}}
  %r = dsv4.seq_shard %x on @mesh ["cp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf64>
  return
}

// -----

// SeqGatherOp C1.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op 'dim' must be in [0, 2), got -1}}
  %r = dsv4.seq_gather %x on @mesh ["cp"] dim -1 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

// SeqGatherOp C2: the result is as long as all ranks together.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op has result type 'tensor<4x16xf32>', expected 'tensor<4x32xf32>'}}
  %r = dsv4.seq_gather %x on @mesh ["dp_shard", "cp"] dim 1 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_c2_overflow(%x: tensor<4x8000000000000000000xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op dimension 1 has size 8000000000000000000, too large for 2 ranks}}
  %r = dsv4.seq_gather %x on @mesh ["cp"] dim 1 : tensor<4x8000000000000000000xf32> -> tensor<4x16xf32>
  return
}

// -----

// SeqGatherOp C3: only floats are differentiable.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_c3(%x: tensor<4x8xi64>) {
  // expected-error@+1 {{'dsv4.seq_gather' op is differentiable and needs a float element type, got 'i64'}}
  %r = dsv4.seq_gather %x on @mesh ["cp"] dim 1 differentiable : tensor<4x8xi64> -> tensor<4x16xi64>
  return
}

// -----

// SeqReduceScatterOp C1.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_reduce_scatter_c1(%x: tensor<f32>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op 'dim' must be in [0, 0), got 0}}
  %r = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 0 : tensor<f32> -> tensor<f32>
  return
}

// -----

// SeqReduceScatterOp C2.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_reduce_scatter_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op has result type 'tensor<4x8xf32>', expected 'tensor<4x4xf32>'}}
  %r = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// SeqReduceScatterOp C3: the element type can be added.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_reduce_scatter_c3(%x: tensor<4x8xi1>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op adds i32, i64 or floats, got 'i1'}}
  %r = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 1 : tensor<4x8xi1> -> tensor<4x4xi1>
  return
}

// -----

// AllReduceOp C1: sums need i32, i64 or a float, others integers or floats.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_c1_sum(%x: tensor<4xi8>) {
  // expected-error@+1 {{'dsv4.all_reduce' op adds i32, i64 or floats, got 'i8'}}
  %r = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<4xi8>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_c1_max(%x: tensor<4xindex>) {
  // expected-error@+1 {{'dsv4.all_reduce' op compares integers or floats, got 'index'}}
  %r = dsv4.all_reduce max %x on @mesh ["cp"] : tensor<4xindex>
  return
}

// -----

// UnshardOp C1: the unit exists and has buffers.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @unshard_c1(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op 'unit' must name a dsv4.fsdp_unit with buffers, got @nowhere}}
  %r = dsv4.unshard @nowhere(%x) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32

func.func @unshard_c1_no_buffers(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op 'unit' must name a dsv4.fsdp_unit with buffers, got @unit}}
  %r = dsv4.unshard @unit(%x) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

// UnshardOp C2: one shard per buffer.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_c2_number(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op has 2 shards, expected one per buffer of @unit, 1}}
  %r = dsv4.unshard @unit(%x, %x) on @mesh ["cp"] : (tensor<16xf32>, tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_c2_size(%x: tensor<17xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op shard 0 has type 'tensor<17xf32>', expected 'tensor<16xf32>'}}
  %r = dsv4.unshard @unit(%x) on @mesh ["cp"] : (tensor<17xf32>) -> tensor<4x8xf32>
  return
}

// -----

// UnshardOp C3: one result per parameter.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_c3_number(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op has 0 results, expected one per parameter, 1}}
  dsv4.unshard @unit(%x) on @mesh ["cp"] : (tensor<16xf32>) -> ()
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_c3_type(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op parameter "m.w" has type 'tensor<8x4xf32>', expected 'tensor<4x8xf32>'}}
  %r = dsv4.unshard @unit(%x) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8x4xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = []}]

func.func @unshard_c3_no_segment(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op parameter "m.w" is in no buffer of @unit}}
  %r = dsv4.unshard @unit(%x) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}
