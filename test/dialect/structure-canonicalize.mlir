// RUN: dsv4-opt %s -canonicalize -cse | FileCheck %s

// Modules have the effects of their operations: an unused one without effects
// goes, one with a collective stays. Units are symbols and stay.

// CHECK: dsv4.mesh @mesh
dsv4.mesh @mesh ["cp" = 2]

// CHECK: dsv4.fsdp_unit @unit
dsv4.fsdp_unit @unit roots [] on @mesh ["cp"] params [] gather bf16 reduce f32

// CHECK-LABEL: func.func @unused_module(
// CHECK-NEXT: return
func.func @unused_module(%x: tensor<4xf32>) {
  %y = dsv4.module "model" class "Model" -> tensor<4xf32> {
    dsv4.yield %x : tensor<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @module_with_collective(
// CHECK-NEXT: dsv4.module "model"
// CHECK-NEXT: dsv4.all_reduce
func.func @module_with_collective(%x: tensor<4xf32>) {
  %y = dsv4.module "model" class "Model" -> tensor<4xf32> {
    %s = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<4xf32>
    dsv4.yield %s : tensor<4xf32>
  }
  return
}
