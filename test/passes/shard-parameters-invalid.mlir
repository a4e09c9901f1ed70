// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-shard-parameters

dsv4.mesh @mesh []
// expected-error @below {{'func.func' op has parameters and must have one block, got 0}}
func.func private @forward(tensor<4xf32> {dsv4.param = "m.a"})

// -----

dsv4.mesh @mesh []
// expected-error @below {{'func.func' op has parameters and must have one block, got 2}}
func.func @forward(%a: tensor<4xf32> {dsv4.param = "m.a"}) {
  cf.br ^end
^end:
  return
}

// -----

dsv4.mesh @mesh []
// expected-error @below {{'func.func' op has parameters and must have no callers, expected all of them inlined}}
func.func private @forward(%a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}
func.func @main(%a: tensor<4xf32>) {
  call @forward(%a) : (tensor<4xf32>) -> ()
  return
}

// -----

dsv4.mesh @mesh []
func.func @forward(
    // expected-error @below {{parameter "m.a" is in no unit, expected one dsv4.fsdp_unit that lists it}}
    %a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.b", which is no function argument}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a", "m.b"] gather f32 reduce f32
func.func @forward(%a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.a", which is no function argument}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32

// -----

dsv4.mesh @mesh []
// expected-note @below {{listed here before}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.a" of another unit}}
dsv4.fsdp_unit @v roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
func.func @forward(%a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op has 'buffers' already, expected parameters to be sharded once}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32 buffers []
func.func @forward(%a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

func.func @forward(
    %a: tensor<4xf32> {dsv4.param = "m.a"},
    // expected-error @below {{parameter "m.a" is declared twice}}
    %b: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

func.func @forward(
    // expected-error @below {{parameter "m.a" must be a tensor of static shape, got 'tensor<?xf32>'}}
    %a: tensor<?xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

func.func @forward(
    // expected-error @below {{parameter "m.a" must be whole on every rank, got 'tensor<4xf32>' of 'tensor<8xf32>'}}
    %a: tensor<4xf32> {dsv4.param = "m.a", dsv4.global_type = tensor<8xf32>}) {
  return
}

// -----

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
func.func @forward(
    // expected-error @below {{parameter "m.a" must hold floats of 8, 16, 32 or 64 bits, got 'i64'}}
    %a: tensor<4xi64> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
func.func @forward(
    // expected-error @below {{parameter "m.a" must hold floats of 8, 16, 32 or 64 bits, got 'tf32'}}
    %a: tensor<4xtf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
func.func @forward(
    // expected-error @below {{parameter "m.a" of type 'tensor<8589934592x8589934592xf32>' does not fit a buffer of 2^63 bytes}}
    %a: tensor<8589934592x8589934592xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 65536]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["m.a"] gather f32 reduce f32
func.func @forward(
    // expected-error @below {{a buffer of 4611686018427387904 elements over 65536 ranks exceeds 2^63 bytes}}
    %a: tensor<4611686018427387904xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

// Two functions with parameters.

// expected-note @below {{parameters are also here}}
func.func private @a(tensor<4xf32> {dsv4.param = "m.a"})
// expected-error @below {{'func.func' op has parameters, expected them in one function}}
func.func private @b(tensor<4xf32> {dsv4.param = "m.b"})
