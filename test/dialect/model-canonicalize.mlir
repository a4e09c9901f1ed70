// RUN: dsv4-opt %s -canonicalize -cse | FileCheck %s

// On tensors structured operations are pure; on memrefs they read their inputs
// and write their inits, and `combine_rows` reads its init as well.

// CHECK-LABEL: func.func @on_tensors(
// CHECK-NEXT: %[[A:.*]] = dsv4.topk
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @on_tensors(%s: tensor<2x8x16xf32>, %e: tensor<2x8x2xi64>) -> (tensor<2x8x2xi64>, tensor<2x8x2xi64>) {
  %a = dsv4.topk ins(%s : tensor<2x8x16xf32>) outs(%e : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
  %b = dsv4.topk ins(%s : tensor<2x8x16xf32>) outs(%e : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
  %unused = dsv4.topk ins(%s : tensor<2x8x16xf32>) outs(%a : tensor<2x8x2xi64>) -> tensor<2x8x2xi64>
  return %a, %b : tensor<2x8x2xi64>, tensor<2x8x2xi64>
}

// CHECK-LABEL: func.func @other_attribute(
// CHECK-NEXT: dsv4.sinkhorn {eps = 5.000000e-01 : f64, iterations = 20 : i64}
// CHECK-NEXT: dsv4.sinkhorn {eps = 5.000000e-01 : f64, iterations = 19 : i64}
func.func @other_attribute(%x: tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) {
  %a = dsv4.sinkhorn {iterations = 20 : i64, eps = 0.5 : f64} ins(%x : tensor<2x8x4x4xf32>) outs(%x : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %b = dsv4.sinkhorn {iterations = 19 : i64, eps = 0.5 : f64} ins(%x : tensor<2x8x4x4xf32>) outs(%x : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return %a, %b : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
}

// CHECK-LABEL: func.func @on_memrefs(
// CHECK: %[[BEFORE:.*]] = memref.load
// CHECK: dsv4.topk
// CHECK: dsv4.topk
// CHECK: %[[AFTER:.*]] = memref.load
// CHECK: return %[[BEFORE]], %[[AFTER]]
func.func @on_memrefs(%s: memref<2x8x16xf32>, %e: memref<2x8x2xi64>, %i: index) -> (i64, i64) {
  %before = memref.load %e[%i, %i, %i] : memref<2x8x2xi64>
  dsv4.topk ins(%s : memref<2x8x16xf32>) outs(%e : memref<2x8x2xi64>)
  dsv4.topk ins(%s : memref<2x8x16xf32>) outs(%e : memref<2x8x2xi64>)
  %after = memref.load %e[%i, %i, %i] : memref<2x8x2xi64>
  return %before, %after : i64, i64
}
