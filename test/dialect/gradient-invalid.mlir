// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_g1(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %g = dsv4.grad_reduce_scatter @unit(%x) on @nowhere ["cp"] replicas [] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_g2(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op axis "ep" is not declared by @mesh}}
  %g = dsv4.grad_reduce_scatter @unit(%x) on @mesh ["cp"] replicas ["ep"] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c1_unit(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op 'unit' must name a dsv4.fsdp_unit with buffers, got @mesh}}
  %g = dsv4.grad_reduce_scatter @mesh(%x) on @mesh ["cp"] replicas [] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c1_axes(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op reduces over ["replicate"], expected ["cp"] of its unit}}
  %g = dsv4.grad_reduce_scatter @unit(%x) on @mesh ["replicate"] replicas [] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c2_count(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op has 2 gradients, expected one per parameter of @unit that is not frozen, 1}}
  %g = dsv4.grad_reduce_scatter @unit(%x, %x) on @mesh ["cp"] replicas [] scale 1.0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c2_shape(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op gradient of parameter "m.w" has type 'tensor<8x4xf32>', expected floats of shape [4, 8]}}
  %g = dsv4.grad_reduce_scatter @unit(%y) on @mesh ["cp"] replicas [] scale 1.0 : (tensor<8x4xf32>) -> tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c3(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op returns ('tensor<16xf64>'), expected the shards ('tensor<16xf32>')}}
  %g = dsv4.grad_reduce_scatter @unit(%x) on @mesh ["cp"] replicas [] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf64>
  return
}

// -----

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.b"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.b", offset = 0 : i64, shape = array<i64: 3>}]}]

func.func @grad_reduce_scatter_c4(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'dsv4.grad_reduce_scatter' op has axis "cp" in both 'axes' and 'replicas'}}
  %g = dsv4.grad_reduce_scatter @unit(%x) on @mesh ["cp"] replicas ["cp"] scale 1.0 : (tensor<4x8xf32>) -> tensor<16xf32>
  return
}
