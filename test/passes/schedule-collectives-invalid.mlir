// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-schedule-collectives
// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-schedule-collectives=prefetch-depth=-1 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: not dsv4-opt %S/Inputs/one-parameter.mlir -dsv4-schedule-collectives=prefetch-depth=next 2>&1 | FileCheck %s --check-prefix=WORD

// DEPTH: error: 'prefetch-depth' must be at least 0, got -1{{$}}
// WORD: 'next' value invalid for long argument!

// The gather moves to the front, where a value of the function does not exist.

dsv4.mesh @mesh ["cp" = 2]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
  buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
func.func @computed(%s: tensor<16xf32>) -> tensor<8xf32> {
  %0 = math.absf %s : tensor<16xf32>
  // expected-error @below {{'dsv4.unshard' op must read function arguments, got a value computed in the function}}
  %1 = dsv4.unshard @u(%0) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Blocks are ranges of one flat function.

dsv4.mesh @mesh ["cp" = 2]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
  buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
func.func @in_region(%s: tensor<16xf32>, %x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %0 = scf.if %c -> tensor<8xf32> {
    // expected-error @below {{'dsv4.unshard' op must stand in the body of its function, got 'scf.if' around it}}
    %1 = dsv4.unshard @u(%s) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
  buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
func.func @several_blocks(%s: tensor<16xf32>) -> tensor<8xf32> {
  // expected-error @below {{'dsv4.unshard' op must stand in a function of one block, got 2}}
  %0 = dsv4.unshard @u(%s) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
  cf.br ^end
^end:
  return %0 : tensor<8xf32>
}

// -----

// An exchange that a part of its group may not reach would never end.

dsv4.mesh @mesh ["cp" = 2]
func.func @undecided(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  // expected-note @below {{decided here}}
  %0 = scf.for %i = %c0 to %n step %n iter_args(%v = %x) -> tensor<8xf32> {
    // expected-error @below {{'dsv4.all_reduce' op stands under 'scf.for', which ranks along ["cp"] may decide differently, expected all ranks of its group to reach it}}
    %1 = dsv4.all_reduce sum %v on @mesh ["cp"] : tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
