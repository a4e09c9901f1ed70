// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-plan-fsdp-units

// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-plan-fsdp-units="fsdp-axes=replicate" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-plan-fsdp-units="fsdp-axes=cp,cp" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-plan-fsdp-units="fsdp-axes=cp," 2>&1 | FileCheck %s --check-prefix=PIECE
// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-plan-fsdp-units="param-dtype=i8" 2>&1 | FileCheck %s --check-prefix=DTYPE

// AXIS: error: 'fsdp-axes' must list "dp_shard" and "cp", got "replicate"{{$}}
// TWICE: error: 'fsdp-axes' lists axis "cp" twice{{$}}
// PIECE: error: 'fsdp-axes' must list "dp_shard" and "cp", got ""{{$}}
// DTYPE: error: 'param-dtype' must be one of "as-stored", "bf16", "f32", "f64", got "i8"{{$}}

// expected-error @below {{expected a dsv4.mesh @mesh, got none}}
module {
}

// -----

// expected-error @below {{symbol @mesh must be a dsv4.mesh, got 'func.func'}}
func.func private @mesh()

// -----

dsv4.mesh @mesh []
func.func @forward(
    // expected-error @below {{parameter "weight" is in no module, expected a path of at least two components}}
    %p: tensor<4xf32> {dsv4.param = "weight"}) {
  return
}

// -----

dsv4.mesh @mesh []
func.func @forward(
    // expected-error @below {{parameter "model..weight" has an empty path component}}
    %p: tensor<4xf32> {dsv4.param = "model..weight"}) {
  return
}

// -----

dsv4.mesh @mesh []
func.func @forward(
    // expected-error @below {{parameter ".weight" has an empty path component}}
    %p: tensor<4xf32> {dsv4.param = ".weight"}) {
  return
}

// -----

dsv4.mesh @mesh []
func.func @forward(
    %p0: tensor<4xf32> {dsv4.param = "model.norm.weight"},
    // expected-error @below {{parameter "model.norm.weight" is declared twice, as number 0 and 1}}
    %p1: tensor<4xf32> {dsv4.param = "model.norm.weight"}) {
  return
}

// -----

dsv4.mesh @mesh []
func.func @forward(
    // expected-error @below {{parameter "model.table" must hold floats, got 'i64'}}
    %p: tensor<4xi64> {dsv4.param = "model.table"}) {
  return
}

// -----

dsv4.mesh @mesh []
// expected-note @below {{parameters are also here}}
func.func private @a(tensor<4xf32> {dsv4.param = "model.norm.weight"})
// expected-error @below {{'func.func' op has parameters, expected them in one function}}
func.func private @b(tensor<4xf32> {dsv4.param = "model.norm.weight"})

// -----

dsv4.mesh @mesh []
// expected-error @below {{symbol @unit_0 must be free for an FSDP unit, got 'func.func'}}
func.func private @unit_0()
func.func private @forward(tensor<4xf32> {dsv4.param = "model.norm.weight"})

// -----

// Units that exist are never replaced.

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op differs from the planned unit with roots ["model"] and parameters ["model.norm.weight"]}}
dsv4.fsdp_unit @unit_0 roots ["model"] on @mesh [] params ["model.norm.bias"] gather f32 reduce f32
func.func private @forward(tensor<4xf32> {dsv4.param = "model.norm.weight"})

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op is one of 2 units, expected 1}}
dsv4.fsdp_unit @unit_0 roots ["model"] on @mesh [] params ["model.norm.weight"] gather f32 reduce f32
dsv4.fsdp_unit @unit_1 roots ["other"] on @mesh [] params ["other.weight"] gather f32 reduce f32
func.func private @forward(tensor<4xf32> {dsv4.param = "model.norm.weight"})
