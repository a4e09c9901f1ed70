// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Structured operations of the mixture of experts: the example of each
// operation's documentation, and the form on memrefs.

// CHECK-LABEL: func.func @sort_by_expert(
// CHECK: %{{.*}} = dsv4.sort_by_expert ins(%arg0 : tensor<2x8x2xi64>) outs(%arg1, %arg2 : tensor<32xi64>, tensor<5xi64>) -> tensor<32xi64>, tensor<5xi64>
func.func @sort_by_expert(%e: tensor<2x8x2xi64>, %a: tensor<32xi64>, %b: tensor<5xi64>) {
  %o, %n = dsv4.sort_by_expert ins(%e : tensor<2x8x2xi64>) outs(%a, %b : tensor<32xi64>, tensor<5xi64>) -> tensor<32xi64>, tensor<5xi64>
  return
}

// CHECK-LABEL: func.func @dispatch_rows(
// CHECK: %{{.*}} = dsv4.dispatch_rows ins(%arg0, %arg1 : tensor<2x8x64xf32>, tensor<32xi64>) outs(%arg2 : tensor<32x64xf32>) -> tensor<32x64xf32>
func.func @dispatch_rows(%t: tensor<2x8x64xf32>, %o: tensor<32xi64>, %e: tensor<32x64xf32>) {
  %x = dsv4.dispatch_rows ins(%t, %o : tensor<2x8x64xf32>, tensor<32xi64>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: func.func @dispatch_weights(
// CHECK: %{{.*}} = dsv4.dispatch_weights ins(%arg0, %arg1 : tensor<2x8x2xf32>, tensor<32xi64>) outs(%arg2 : tensor<32xf32>) -> tensor<32xf32>
func.func @dispatch_weights(%w: tensor<2x8x2xf32>, %o: tensor<32xi64>, %e: tensor<32xf32>) {
  %g = dsv4.dispatch_weights ins(%w, %o : tensor<2x8x2xf32>, tensor<32xi64>) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  return
}

// CHECK-LABEL: func.func @combine_rows(
// CHECK: %{{.*}} = dsv4.combine_rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<32x64xf32>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>) outs(%arg4 : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
func.func @combine_rows(%r: tensor<32x64xf32>, %o: tensor<32xi64>, %n: tensor<5xi64>, %x: tensor<2x8x2xi64>, %z: tensor<2x8x64xf32>) {
  %y = dsv4.combine_rows ins(%r, %o, %n, %x : tensor<32x64xf32>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>) outs(%z : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// CHECK-LABEL: func.func @grouped_matmul(
// CHECK: %{{.*}} = dsv4.grouped_matmul ins(%arg0, %arg1, %arg2 : tensor<32x64xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%arg3 : tensor<32x48xf32>) -> tensor<32x48xf32>
func.func @grouped_matmul(%x: tensor<32x64xf32>, %w: tensor<4x64x48xf32>, %n: tensor<5xi64>, %e: tensor<32x48xf32>) {
  %y = dsv4.grouped_matmul ins(%x, %w, %n : tensor<32x64xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  return
}

// CHECK-LABEL: func.func @on_memrefs(
// CHECK: dsv4.sort_by_expert ins(%arg0 : memref<2x8x2xi64>) outs(%arg1, %arg2 : memref<32xi64>, memref<5xi64>)
// CHECK: dsv4.dispatch_rows ins(%arg3, %arg1 : memref<2x8x64xbf16>, memref<32xi64>) outs(%arg4 : memref<32x64xbf16>)
// CHECK: dsv4.dispatch_weights ins(%arg5, %arg1 : memref<2x8x2xf32>, memref<32xi64>) outs(%arg6 : memref<32xf32>)
// CHECK: dsv4.grouped_matmul ins(%arg4, %arg7, %arg2 : memref<32x64xbf16>, memref<4x64x48xbf16>, memref<5xi64>) outs(%arg8 : memref<32x48xf32>)
// CHECK: dsv4.combine_rows ins(%arg4, %arg1, %arg2, %arg0 : memref<32x64xbf16>, memref<32xi64>, memref<5xi64>, memref<2x8x2xi64>) outs(%arg9 : memref<2x8x64xf32>)
func.func @on_memrefs(%e: memref<2x8x2xi64>, %o: memref<32xi64>, %n: memref<5xi64>, %t: memref<2x8x64xbf16>, %x: memref<32x64xbf16>, %g: memref<2x8x2xf32>, %p: memref<32xf32>, %w: memref<4x64x48xbf16>, %y: memref<32x48xf32>, %z: memref<2x8x64xf32>) {
  dsv4.sort_by_expert ins(%e : memref<2x8x2xi64>) outs(%o, %n : memref<32xi64>, memref<5xi64>)
  dsv4.dispatch_rows ins(%t, %o : memref<2x8x64xbf16>, memref<32xi64>) outs(%x : memref<32x64xbf16>)
  dsv4.dispatch_weights ins(%g, %o : memref<2x8x2xf32>, memref<32xi64>) outs(%p : memref<32xf32>)
  dsv4.grouped_matmul ins(%x, %w, %n : memref<32x64xbf16>, memref<4x64x48xbf16>, memref<5xi64>) outs(%y : memref<32x48xf32>)
  dsv4.combine_rows ins(%x, %o, %n, %e : memref<32x64xbf16>, memref<32xi64>, memref<5xi64>, memref<2x8x2xi64>) outs(%z : memref<2x8x64xf32>)
  return
}
