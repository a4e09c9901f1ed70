// RUN: split-file %s %t
// RUN: dsv4-opt %t/plan.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=plan"
// RUN: dsv4-opt %t/precision.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=precision"
// RUN: dsv4-opt %t/sequence.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=sequence"
// RUN: dsv4-opt %t/parameters.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=parameters"
// RUN: dsv4-opt %t/schedule.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=schedule"
// RUN: dsv4-opt %t/lower.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=lower"
// RUN: dsv4-opt %t/codegen.mlir -split-input-file -verify-diagnostics -dsv4-verify-phase="phase=codegen"
// RUN: not dsv4-opt %t/codegen.mlir -dsv4-verify-phase="phase=sharded" 2>&1 | FileCheck %s
// RUN: not dsv4-opt %t/codegen.mlir -dsv4-verify-phase 2>&1 | FileCheck %s --check-prefix=EMPTY

// One broken promise per function, in the order of the phases.

// CHECK: error: 'phase' must be one of "plan", "precision", "sequence", "parameters", "backward", "schedule", "lower", "codegen", got "sharded"{{$}}
// EMPTY: error: 'phase' must be one of "plan", "precision", "sequence", "parameters", "backward", "schedule", "lower", "codegen", got ""{{$}}

//--- plan.mlir

// expected-error @below {{expected a dsv4.mesh @mesh, got none}}
module {
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
// expected-note @below {{listed here before}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.a" of another unit}}
dsv4.fsdp_unit @v roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
func.func private @forward(tensor<4xf32> {dsv4.param = "m.a"})

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.b", which is no function argument}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a", "m.b"] gather f32 reduce f32
func.func private @forward(tensor<4xf32> {dsv4.param = "m.a"})

// -----

dsv4.mesh @mesh []
// expected-error @below {{'dsv4.fsdp_unit' op lists parameter "m.b", which is no function argument}}
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.b"] gather f32 reduce f32

// -----

dsv4.mesh @mesh []
// expected-error @below {{parameter "m.a" is declared twice}}
func.func private @forward(tensor<4xf32> {dsv4.param = "m.a"}, tensor<4xf32> {dsv4.param = "m.a"})

//--- precision.mlir

func.func @module() {
  // expected-error @below {{'dsv4.module' op must be gone after phase "precision"}}
  dsv4.module "m" class "M" {
    dsv4.yield
  }
  return
}

// -----

func.func @cast_on_tensors(%x: tensor<4xf32>) -> tensor<4xbf16> {
  // expected-error @below {{'arith.truncf' op casts 'f32' to 'bf16' and must say why in 'dsv4.cast'}}
  %0 = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

func.func @cast_in_body(%x: tensor<4xbf16>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{'linalg.generic' op casts 'bf16' to 'f32' and must say why in 'dsv4.cast'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xbf16>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %1 = arith.extf %in : bf16 to f32
      linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @narrow_arithmetic(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %e = tensor.empty() : tensor<4xbf16>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xbf16>) outs(%e : tensor<4xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      // expected-error @below {{'arith.addf' op computes with floats narrower than 32 bits, expected a cast before and after}}
      %1 = arith.addf %in, %in : bf16
      linalg.yield %1 : bf16
  } -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

func.func @narrow_tensors(%x: tensor<4xf16>) -> tensor<4xf16> {
  // expected-error @below {{'math.exp' op computes with floats narrower than 32 bits, expected a cast before and after}}
  %0 = math.exp %x : tensor<4xf16>
  return %0 : tensor<4xf16>
}

//--- sequence.mlir

func.func @forward(
    %x: tensor<4xf32> {dsv4.layout = [[]]},
    // expected-error @below {{argument 1 of @forward must have 'dsv4.layout'}}
    %y: tensor<4xf32>) {
  return
}

//--- parameters.mlir

func.func @forward(
    // expected-error @below {{parameter "m.a" must be part of a shard after phase "parameters"}}
    %a: tensor<4xf32> {dsv4.param = "m.a"}) {
  return
}

// -----

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.a"] gather f32 reduce f32
  buffers [{dtype = f32, frozen = false, segments = [{name = "m.a", offset = 0 : i64, shape = array<i64: 4>}], shard = 16 : i64, total = 16 : i64}]
func.func @forward(%s: tensor<16xf32>) {
  // expected-note @below {{gathered here}}
  %0 = dsv4.unshard @u(%s) on @mesh [] : (tensor<16xf32>) -> tensor<4xf32>
  // expected-error @below {{'dsv4.unshard' op gathers @u again}}
  %1 = dsv4.unshard @u(%s) on @mesh [] : (tensor<16xf32>) -> tensor<4xf32>
  return
}

//--- schedule.mlir

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dsv4.seq_gather' op must be gone after phase "schedule"}}
  %0 = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @below {{'dsv4.all_gather_start' op starts a collective that one dsv4.wait must end, got 0 uses}}
  %0, %t = dsv4.all_gather_start sequence %x into %y on @mesh ["cp"] : tensor<4xf32> into tensor<8xf32> -> tensor<8xf32>
  return
}

//--- lower.mlir

func.func @allocates() {
  // expected-error @below {{'memref.alloc' op must be gone after phase "lower", expected launches, starts and waits, views, index arithmetic and calls}}
  %0 = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func @copies(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @below {{'memref.copy' op must be gone after phase "lower", expected launches, starts and waits, views, index arithmetic and calls}}
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @computes(%a: f32) {
  // expected-error @below {{'arith.addf' op must be gone after phase "lower", expected launches, starts and waits, views, index arithmetic and calls}}
  %0 = arith.addf %a, %a : f32
  return
}

// -----

func.func @returns_tensor(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.return' op must work on buffers after phase "lower", got a tensor}}
  return %a : tensor<4xf32>
}

//--- codegen.mlir

dsv4.mesh @mesh ["cp" = 2]
func.func @forward() {
  // expected-error @below {{'dsv4.axis_index' op must be gone after phase "codegen"}}
  %0 = dsv4.axis_index @mesh ["cp"]
  return
}
