// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Kernel launches: memrefs and index scalars, no operand at all, operands at an
// offset.

// CHECK-LABEL: func.func private @kernel_0(
func.func private @kernel_0(%a: memref<8xf32>, %b: memref<8xf32>) attributes {dsv4.kernel} {
  return
}

// CHECK-LABEL: func.func private @with_scalar(
func.func private @with_scalar(%n: index, %a: memref<8xf32>) attributes {dsv4.kernel} {
  return
}

// CHECK-LABEL: func.func private @without_operands(
func.func private @without_operands() attributes {dsv4.kernel} {
  return
}

// CHECK-LABEL: func.func @launch(
// CHECK: dsv4.launch @kernel_0(%arg0, %arg1) writes [1] : memref<8xf32>, memref<8xf32>
// CHECK: dsv4.launch @kernel_0(%arg3, %arg0) writes [0, 1] {dsv4.path = "model.norm"} : memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>
// CHECK: dsv4.launch @with_scalar(%arg2, %arg0) writes [] : index, memref<8xf32>
// CHECK: dsv4.launch @without_operands() writes []
func.func @launch(%a: memref<8xf32>, %b: memref<8xf32>, %n: index, %c: memref<8xf32, strided<[1], offset: ?>>) {
  dsv4.launch @kernel_0(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
  dsv4.launch @kernel_0(%c, %a) writes [0, 1] {dsv4.path = "model.norm"} : memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>
  dsv4.launch @with_scalar(%n, %a) writes [] : index, memref<8xf32>
  dsv4.launch @without_operands() writes []
  return
}
