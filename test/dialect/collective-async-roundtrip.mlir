// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Start and wait, on tensors and on memrefs; the example of each operation's
// documentation.

// CHECK: dsv4.mesh @mesh ["cp" = 4]
dsv4.mesh @mesh ["cp" = 4]

// CHECK-LABEL: func.func @all_gather_start(
// CHECK: %[[STARTED:.*]], %[[TOKEN:.*]] = dsv4.all_gather_start parameter %arg0 into %arg1 on @mesh ["cp"] : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>
// CHECK: %{{.*}} = dsv4.wait %[[TOKEN]], %[[STARTED]] reading %arg0 : tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>
func.func @all_gather_start(%src: tensor<8xf32>, %dst: tensor<32xf32>) -> tensor<32xf32> {
  %s, %t = dsv4.all_gather_start parameter %src into %dst on @mesh ["cp"] : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>
  %r = dsv4.wait %t, %s reading %src : tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>
  return %r : tensor<32xf32>
}

// CHECK-LABEL: func.func @reduce_scatter_start(
// CHECK: %[[STARTED:.*]], %[[TOKEN:.*]] = dsv4.reduce_scatter_start parameter %arg0 into %arg1 on @mesh ["cp"] : tensor<32xf32> into tensor<8xf32> -> tensor<8xf32>
// CHECK: %{{.*}} = dsv4.wait %[[TOKEN]], %[[STARTED]] reading %arg0 : tensor<8xf32>, tensor<32xf32> -> tensor<8xf32>
func.func @reduce_scatter_start(%src: tensor<32xf32>, %dst: tensor<8xf32>) -> tensor<8xf32> {
  %s, %t = dsv4.reduce_scatter_start parameter %src into %dst on @mesh ["cp"] : tensor<32xf32> into tensor<8xf32> -> tensor<8xf32>
  %r = dsv4.wait %t, %s reading %src : tensor<8xf32>, tensor<32xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @all_reduce_start(
// CHECK: %[[STARTED:.*]], %[[TOKEN:.*]] = dsv4.all_reduce_start scalar sum %arg0 into %arg1 on @mesh ["cp"] : tensor<f32> into tensor<f32> -> tensor<f32>
// CHECK: %{{.*}} = dsv4.wait %[[TOKEN]], %[[STARTED]] reading %arg0 : tensor<f32>, tensor<f32> -> tensor<f32>
func.func @all_reduce_start(%src: tensor<f32>, %dst: tensor<f32>) -> tensor<f32> {
  %s, %t = dsv4.all_reduce_start scalar sum %src into %dst on @mesh ["cp"] : tensor<f32> into tensor<f32> -> tensor<f32>
  %r = dsv4.wait %t, %s reading %src : tensor<f32>, tensor<f32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @starts_on_memrefs(
// CHECK: %[[T:.*]] = dsv4.all_gather_start sequence %arg0 into %arg1 on @mesh ["cp"] : memref<8xf32> into memref<32xf32>
// CHECK: dsv4.wait %[[T]], %arg1 reading %arg0 : memref<32xf32>, memref<8xf32>
// CHECK: %[[T_0:.*]] = dsv4.reduce_scatter_start parameter %arg1 into %arg0 on @mesh ["cp"] : memref<32xf32> into memref<8xf32>
// CHECK: dsv4.wait %[[T_0]], %arg0 reading %arg1 : memref<8xf32>, memref<32xf32>
// CHECK: %[[T_1:.*]] = dsv4.all_reduce_start scalar max %arg0 into %arg0 on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
// CHECK: dsv4.wait %[[T_1]], %arg0 reading %arg0 {dsv4.path = "model"} : memref<8xf32>, memref<8xf32>
func.func @starts_on_memrefs(%a: memref<8xf32>, %b: memref<32xf32>) {
  %t0 = dsv4.all_gather_start sequence %a into %b on @mesh ["cp"] : memref<8xf32> into memref<32xf32>
  dsv4.wait %t0, %b reading %a : memref<32xf32>, memref<8xf32>
  %t1 = dsv4.reduce_scatter_start parameter %b into %a on @mesh ["cp"] : memref<32xf32> into memref<8xf32>
  dsv4.wait %t1, %a reading %b : memref<8xf32>, memref<32xf32>
  %t2 = dsv4.all_reduce_start scalar max %a into %a on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
  dsv4.wait %t2, %a reading %a {dsv4.path = "model"} : memref<8xf32>, memref<8xf32>
  return
}
