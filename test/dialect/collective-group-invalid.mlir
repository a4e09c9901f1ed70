// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// G1 (the mesh exists) and G2 (its axes are declared, none twice), for every
// collective.

// G1 and G2 of seq_shard.
func.func @seq_shard_g1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.seq_shard %x on @nowhere ["cp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_shard_g2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.seq_shard %x on @mesh ["replicate"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_shard_g2_twice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_shard' op axis "cp" is named twice}}
  %r = dsv4.seq_shard %x on @mesh ["cp", "cp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// G1 and G2 of seq_gather.
func.func @seq_gather_g1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.seq_gather %x on @nowhere ["cp"] dim 1 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_g2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.seq_gather %x on @mesh ["replicate"] dim 1 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_gather_g2_twice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_gather' op axis "cp" is named twice}}
  %r = dsv4.seq_gather %x on @mesh ["cp", "cp"] dim 1 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

// G1 and G2 of seq_reduce_scatter.
func.func @seq_reduce_scatter_g1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.seq_reduce_scatter %x on @nowhere ["cp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_reduce_scatter_g2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.seq_reduce_scatter %x on @mesh ["replicate"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @seq_reduce_scatter_g2_twice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_reduce_scatter' op axis "cp" is named twice}}
  %r = dsv4.seq_reduce_scatter %x on @mesh ["cp", "cp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// G1 and G2 of all_reduce.
func.func @all_reduce_g1(%x: tensor<f32>) {
  // expected-error@+1 {{'dsv4.all_reduce' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.all_reduce sum %x on @nowhere ["cp"] : tensor<f32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_g2(%x: tensor<f32>) {
  // expected-error@+1 {{'dsv4.all_reduce' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.all_reduce sum %x on @mesh ["replicate"] : tensor<f32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_g2_twice(%x: tensor<f32>) {
  // expected-error@+1 {{'dsv4.all_reduce' op axis "cp" is named twice}}
  %r = dsv4.all_reduce sum %x on @mesh ["cp", "cp"] : tensor<f32>
  return
}

// -----

// G1 and G2 of agree.
func.func @agree_g1(%x: i32) {
  // expected-error@+1 {{'dsv4.agree' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.agree %x on @nowhere ["cp"] : i32
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @agree_g2(%x: i32) {
  // expected-error@+1 {{'dsv4.agree' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.agree %x on @mesh ["replicate"] : i32
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @agree_g2_twice(%x: i32) {
  // expected-error@+1 {{'dsv4.agree' op axis "cp" is named twice}}
  %r = dsv4.agree %x on @mesh ["cp", "cp"] : i32
  return
}

// -----

// G1 and G2 of unshard.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_g1(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.unshard @unit(%x) on @nowhere ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_g2(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op axis "replicate" is not declared by @mesh}}
  %r = dsv4.unshard @unit(%x) on @mesh ["replicate"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @unshard_g2_twice(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dsv4.unshard' op axis "cp" is named twice}}
  %r = dsv4.unshard @unit(%x) on @mesh ["cp", "cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  return
}

// -----

// G1 and G2 of all_gather_start.
func.func @all_gather_start_g1(%x: memref<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %t = dsv4.all_gather_start sequence %x into %d on @nowhere ["cp"] : memref<8xf32> into memref<16xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_g2(%x: memref<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op axis "replicate" is not declared by @mesh}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["replicate"] : memref<8xf32> into memref<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_g2_twice(%x: memref<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op axis "cp" is named twice}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp", "cp"] : memref<8xf32> into memref<16xf32>
  return
}

// -----

// G1 and G2 of reduce_scatter_start.
func.func @reduce_scatter_start_g1(%x: memref<16xf32>, %d: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.reduce_scatter_start' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %t = dsv4.reduce_scatter_start sequence %x into %d on @nowhere ["cp"] : memref<16xf32> into memref<8xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @reduce_scatter_start_g2(%x: memref<16xf32>, %d: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.reduce_scatter_start' op axis "replicate" is not declared by @mesh}}
  %t = dsv4.reduce_scatter_start sequence %x into %d on @mesh ["replicate"] : memref<16xf32> into memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @reduce_scatter_start_g2_twice(%x: memref<16xf32>, %d: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.reduce_scatter_start' op axis "cp" is named twice}}
  %t = dsv4.reduce_scatter_start sequence %x into %d on @mesh ["cp", "cp"] : memref<16xf32> into memref<8xf32>
  return
}

// -----

// G1 and G2 of all_reduce_start.
func.func @all_reduce_start_g1(%x: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %t = dsv4.all_reduce_start sequence sum %x into %x on @nowhere ["cp"] : memref<8xf32> into memref<8xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_start_g2(%x: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op axis "replicate" is not declared by @mesh}}
  %t = dsv4.all_reduce_start sequence sum %x into %x on @mesh ["replicate"] : memref<8xf32> into memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_start_g2_twice(%x: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op axis "cp" is named twice}}
  %t = dsv4.all_reduce_start sequence sum %x into %x on @mesh ["cp", "cp"] : memref<8xf32> into memref<8xf32>
  return
}
