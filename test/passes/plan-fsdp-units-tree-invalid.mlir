// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-plan-fsdp-units="param-dtype=bf16 reshard-after-forward=3"
// RUN: not dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="param-dtype=f31" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="reshard-after-forward=often" 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: not dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="calls=a.c" 2>&1 | FileCheck %s --check-prefix=CALLS

// The texts of all refusals are tested with the analysis; here, that they reach
// the user and that bad trees and options do not get further.

// DTYPE: error: 'param-dtype' must be "as-stored" or one of "f64", "f32", "f16", "bf16", "f8", got "f31"
// RESHARD: error: 'reshard-after-forward' must be true, false or a number of ranks, got "often"
// CALLS: error: 'calls' names module "a.c", which the tree does not have

// expected-error @+2 {{FS-E02: 'reshard-after-forward' must be true, false or a divisor of the 4 ranks of the shard axis, got 3; use true to reshard over all of them}}
// expected-error @+1 {{FS-E01: parameter "a.v" is f32, but "a.w" of the same unit is bf16, expected one dtype; store it in the dtype of the others, list it in 'ignored-params' or make a module that holds it a unit}}
module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 4]
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = bf16}, {name = "v", type = f32}]} {
    dsv4.yield
  }
}

// -----

module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 3]
  // expected-error @+1 {{tensor "a.w" is declared twice}}
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = bf16}, {name = "w", type = f32}]} {
    dsv4.yield
  }
}

// -----

module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 3]
  // expected-error @+1 {{an entry of 'dsv4.tensors' needs 'name' and 'type', got "w"}}
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = ["w"]} {
    dsv4.yield
  }
}

// -----

module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 3]
  // expected-error @+1 {{'dsv4.module' op is the same as "b", which must come before it and not contain it}}
  dsv4.module "a" class "Linear" attributes {dsv4.same_as = "b"} {
    dsv4.yield
  }
}

// -----

// expected-error @+1 {{parameter "a.w" must hold floats, got i8; declare it a buffer or list it in 'ignored-params'}}
module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 3]
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = i8}]} {
    dsv4.yield
  }
}

// -----

module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 3]
  // expected-error @+1 {{'dsv4.fsdp_unit' op exists already, expected a module tree without units}}
  dsv4.fsdp_unit @u roots ["a"] on @mesh ["dp_shard"] params ["a.w"] gather bf16 reduce f32
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = bf16}]} {
    dsv4.yield
  }
}
