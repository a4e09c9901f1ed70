// RUN: dsv4-opt %s -canonicalize -cse | FileCheck %s

// A launch writes the operands that it names and reads the others.

func.func private @kernel(memref<8xf32>, memref<8xf32>) attributes {dsv4.kernel}

// CHECK-LABEL: func.func @written_operand(
// CHECK: %[[BEFORE:.*]] = memref.load %arg1
// CHECK: dsv4.launch
// CHECK: dsv4.launch
// CHECK: %[[AFTER:.*]] = memref.load %arg1
// CHECK: return %[[BEFORE]], %[[AFTER]]
func.func @written_operand(%a: memref<8xf32>, %b: memref<8xf32>, %i: index) -> (f32, f32) {
  %before = memref.load %b[%i] : memref<8xf32>
  dsv4.launch @kernel(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
  dsv4.launch @kernel(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
  %after = memref.load %b[%i] : memref<8xf32>
  return %before, %after : f32, f32
}
