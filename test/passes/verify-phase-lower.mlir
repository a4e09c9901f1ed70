// RUN: dsv4-opt %s -split-input-file -dsv4-verify-phase="phase=lower" | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-verify-phase="phase=schedule" | FileCheck %s --check-prefix=SCHEDULE

// Everything that may stand outside kernels; kernels themselves may hold anything.

// CHECK: module attributes {dsv4.phase = "lower"} {
// SCHEDULE: module attributes {dsv4.phase = "schedule"} {
dsv4.mesh @mesh ["cp" = 2]

func.func private @kernel_0(%a: memref<8xf32>, %b: memref<8xf32>) attributes {dsv4.kernel} {
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  return
}

func.func private @block(%a: memref<8xf32>, %b: memref<8xf32>) {
  dsv4.launch @kernel_0(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
  return
}

func.func @forward(%x: memref<8xf32>, %work: memref<4096xi8>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rank = dsv4.axis_index @mesh ["cp"]
  %first = arith.muli %rank, %c64 : index
  %v = memref.view %work[%c0][] : memref<4096xi8> to memref<16xf32>
  %s = memref.subview %v[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %e = memref.expand_shape %v [[0, 1]] output_shape [2, 8] : memref<16xf32> into memref<2x8xf32>
  %t = dsv4.all_gather_start parameter %x into %v on @mesh ["cp"] : memref<8xf32> into memref<16xf32>
  dsv4.wait %t, %v reading %x : memref<16xf32>, memref<8xf32>
  %w = memref.view %work[%c64][] : memref<4096xi8> to memref<8xf32>
  call @block(%x, %w) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
