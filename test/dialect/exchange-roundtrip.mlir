// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Halos, prefixes, their transposes and messages; the example of each
// operation's documentation.

// CHECK: dsv4.mesh @mesh ["cp" = 2]
dsv4.mesh @mesh ["cp" = 2]

// CHECK-LABEL: func.func @seq_halo(
// CHECK: %{{.*}} = dsv4.seq_halo %arg0 on @mesh ["cp"] dim 1 left 7 right 0 differentiable : tensor<2x32x8xf32> -> tensor<2x39x8xf32>
// CHECK: %{{.*}} = dsv4.seq_halo %arg1 on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 4] fill 0xFF800000 : f32 : tensor<2x8x4x8xf32> -> tensor<2x9x4x8xf32>
// CHECK: %{{.*}} = dsv4.seq_halo %arg2 on @mesh ["cp"] dim 1 left 0 right 1 fill -100 : i64 : tensor<2x32xi64> -> tensor<2x33xi64>
func.func @seq_halo(%x: tensor<2x32x8xf32>, %g: tensor<2x8x4x8xf32>, %ids: tensor<2x32xi64>) {
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 7 right 0 differentiable : tensor<2x32x8xf32> -> tensor<2x39x8xf32>
  %w = dsv4.seq_halo %g on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 4] fill 0xFF800000 : f32 : tensor<2x8x4x8xf32> -> tensor<2x9x4x8xf32>
  %i = dsv4.seq_halo %ids on @mesh ["cp"] dim 1 left 0 right 1 fill -100 : i64 : tensor<2x32xi64> -> tensor<2x33xi64>
  return
}

// CHECK-LABEL: func.func @seq_halo_add(
// CHECK: %{{.*}} = dsv4.seq_halo_add %arg0 on @mesh ["cp"] dim 1 left 7 right 0 : tensor<2x39x8xf32> -> tensor<2x32x8xf32>
// CHECK: %{{.*}} = dsv4.seq_halo_add %arg0 on @mesh ["cp"] dim 1 left 7 right 0 channels [0, 4] : tensor<2x39x8xf32> -> tensor<2x32x8xf32>
func.func @seq_halo_add(%h: tensor<2x39x8xf32>) {
  %g = dsv4.seq_halo_add %h on @mesh ["cp"] dim 1 left 7 right 0 : tensor<2x39x8xf32> -> tensor<2x32x8xf32>
  %c = dsv4.seq_halo_add %h on @mesh ["cp"] dim 1 left 7 right 0 channels [0, 4] : tensor<2x39x8xf32> -> tensor<2x32x8xf32>
  return
}

// CHECK-LABEL: func.func @seq_prefix(
// CHECK: %{{.*}} = dsv4.seq_prefix %arg0 on @mesh ["cp"] dim 1 differentiable : tensor<2x8x16xf32> -> tensor<2x16x16xf32>
func.func @seq_prefix(%x: tensor<2x8x16xf32>) {
  %p = dsv4.seq_prefix %x on @mesh ["cp"] dim 1 differentiable : tensor<2x8x16xf32> -> tensor<2x16x16xf32>
  return
}

// CHECK-LABEL: func.func @seq_prefix_add(
// CHECK: %{{.*}} = dsv4.seq_prefix_add %arg0 on @mesh ["cp"] dim 1 : tensor<2x16x16xf32> -> tensor<2x8x16xf32>
func.func @seq_prefix_add(%p: tensor<2x16x16xf32>) {
  %g = dsv4.seq_prefix_add %p on @mesh ["cp"] dim 1 : tensor<2x16x16xf32> -> tensor<2x8x16xf32>
  return
}

// CHECK-LABEL: func.func @exchange_start(
// CHECK: %[[STARTED:.*]], %[[TOKEN:.*]] = dsv4.exchange_start sequence shift %arg0 into %arg1 on @mesh ["cp"] shifts [1] offsets [0] counts [8] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
// CHECK: dsv4.wait %[[TOKEN]], %[[STARTED]] reading %arg0
// CHECK: dsv4.exchange_start sequence prefix %arg0 into %arg2 on @mesh ["cp"] : tensor<8xf32> into tensor<16xf32> -> tensor<16xf32>
func.func @exchange_start(%src: tensor<8xf32>, %dst: tensor<8xf32>, %full: tensor<16xf32>) {
  %s, %t = dsv4.exchange_start sequence shift %src into %dst on @mesh ["cp"] shifts [1] offsets [0] counts [8]
    : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  %r = dsv4.wait %t, %s reading %src : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %s1, %t1 = dsv4.exchange_start sequence prefix %src into %full on @mesh ["cp"] : tensor<8xf32> into tensor<16xf32> -> tensor<16xf32>
  %r1 = dsv4.wait %t1, %s1 reading %src : tensor<16xf32>, tensor<8xf32> -> tensor<16xf32>
  return
}

// CHECK-LABEL: func.func @exchange_start_buffers(
// CHECK: %[[TOKEN:.*]] = dsv4.exchange_start sequence prefix_add %arg0 into %arg1 on @mesh ["cp"] : memref<16xf32> into memref<16xf32>
func.func @exchange_start_buffers(%src: memref<16xf32>, %dst: memref<16xf32>) {
  %t = dsv4.exchange_start sequence prefix_add %src into %dst on @mesh ["cp"] : memref<16xf32> into memref<16xf32>
  dsv4.wait %t, %dst reading %src : memref<16xf32>, memref<16xf32>
  return
}

// CHECK-LABEL: func.func @messages(
// CHECK: %[[M:.*]] = dsv4.pack_message offsets [0, 32] ins(%arg0, %arg1 : tensor<2x4xf32>, tensor<3xbf16>) outs(%arg2 : tensor<38xi8>) -> tensor<38xi8>
// CHECK: %{{.*}} = dsv4.unpack_message offset 32 ins(%[[M]] : tensor<38xi8>) outs(%arg1 : tensor<3xbf16>) -> tensor<3xbf16>
func.func @messages(%a: tensor<2x4xf32>, %b: tensor<3xbf16>, %e: tensor<38xi8>) {
  %m = dsv4.pack_message offsets [0, 32] ins(%a, %b : tensor<2x4xf32>, tensor<3xbf16>) outs(%e : tensor<38xi8>) -> tensor<38xi8>
  %r = dsv4.unpack_message offset 32 ins(%m : tensor<38xi8>) outs(%b : tensor<3xbf16>) -> tensor<3xbf16>
  return
}

// CHECK-LABEL: func.func @message_example(
func.func @message_example(%m: tensor<38xi8>, %e: tensor<3xbf16>) {
  // CHECK: dsv4.unpack_message offset 32 ins(%arg0 : tensor<38xi8>) outs(%arg1 : tensor<3xbf16>) -> tensor<3xbf16>
  %r = dsv4.unpack_message offset 32 ins(%m : tensor<38xi8>) outs(%e : tensor<3xbf16>) -> tensor<3xbf16>
  return
}
