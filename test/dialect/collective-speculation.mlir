// RUN: dsv4-opt %s -split-input-file -loop-invariant-code-motion | FileCheck %s

// A loop may run zero times: hoisting a collective out of it would make this
// rank start an operation that its peers never start.

dsv4.mesh @mesh ["cp" = 2]

// CHECK-LABEL: func @gather_stays_in_its_loop
func.func @gather_stays_in_its_loop(%x: tensor<2x4xf32>, %n: index, %out: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: dsv4.seq_gather
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %out) -> tensor<2x8xf32> {
    %g = dsv4.seq_gather %x on @mesh ["cp"] dim 1 : tensor<2x4xf32> -> tensor<2x8xf32>
    scf.yield %g : tensor<2x8xf32>
  }
  return %r : tensor<2x8xf32>
}

// -----

// The counterpart: an operation without effects does move.

// CHECK-LABEL: func @structured_operation_is_hoisted
func.func @structured_operation_is_hoisted(%x: tensor<2x8x4xf32>, %n: index, %out: tensor<2x8x2xi64>) -> tensor<2x8x2xi64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: dsv4.topk
  // CHECK: scf.for
  // CHECK-NEXT: scf.yield
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %out) -> tensor<2x8x2xi64> {
    %e = tensor.empty() : tensor<2x8x2xi64>
    %t = dsv4.topk ins(%x : tensor<2x8x4xf32>) outs(%e : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
    scf.yield %t : tensor<2x8x2xi64>
  }
  return %r : tensor<2x8x2xi64>
}
