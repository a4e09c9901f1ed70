// RUN: dsv4-opt %s -split-input-file -dsv4-outline-kernels | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-outline-kernels -dsv4-outline-kernels | FileCheck %s

// Each distinct operation on buffers becomes one kernel; what stays computes
// addresses, starts and waits.

// Equal operations share a kernel, paths apart; the launch keeps the path. A copy
// is a kernel too.

// CHECK-LABEL: module @equal
// CHECK:       func.func @forward(%[[A:[^:]*]]: memref<8xf32>, %[[B:[^:]*]]: memref<8xf32>, %[[C:[^:]*]]: memref<8xf32>) {
// CHECK-NEXT:    dsv4.launch @kernel(%[[A]], %[[B]]) writes [1] {dsv4.path = "m.0.x"} : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel(%[[B]], %[[C]]) writes [1] {dsv4.path = "m.1.x"} : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_0(%[[A]], %[[B]]) writes [1] : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    return
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @kernel(%[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>) attributes {dsv4.kernel} {
// CHECK-NEXT:    linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK-NEXT:    return
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @kernel_0(%[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>) attributes {dsv4.kernel} {
// CHECK-NEXT:    memref.copy %[[X]], %[[Y]]
// CHECK-NEXT:    return
// CHECK-NEXT:  }
// CHECK-NEXT:  }
module @equal {
  func.func @forward(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
    linalg.exp {dsv4.path = "m.0.x"} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.exp {dsv4.path = "m.1.x"} ins(%b : memref<8xf32>) outs(%c : memref<8xf32>)
    memref.copy %a, %b : memref<8xf32> to memref<8xf32>
    return
  }
}

// -----

// Not equal: another operation, type, attribute or region.

// CHECK-LABEL: module @different
// CHECK:         dsv4.launch @kernel(
// CHECK-NEXT:    dsv4.launch @kernel_0(
// CHECK-NEXT:    dsv4.launch @kernel_1(
// CHECK-NEXT:    dsv4.launch @kernel_2(
// CHECK-NEXT:    dsv4.launch @kernel_3(
// CHECK-NEXT:    dsv4.launch @kernel_4(
// CHECK-NEXT:    return
module @different {
  func.func @forward(%a: memref<8xf32>, %b: memref<8xf32>, %m: memref<4x4xf32>, %n: memref<4x4xf32>) {
    linalg.exp ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.log ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.exp ins(%m : memref<4x4xf32>) outs(%n : memref<4x4xf32>)
    linalg.transpose ins(%m : memref<4x4xf32>) outs(%n : memref<4x4xf32>) permutation = [1, 0]
    linalg.map ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) (%x : f32, %y : f32) {
      %0 = arith.addf %x, %x : f32
      linalg.yield %0 : f32
    }
    linalg.map ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) (%x : f32, %y : f32) {
      %0 = arith.subf %x, %x : f32
      linalg.yield %0 : f32
    }
    return
  }
}

// -----

// The offset of a view is not part of the kernel: the launch adds it to the
// pointer. Other strides are another kernel.

// CHECK-LABEL: module @views
// CHECK:       func.func @forward(%{{[^:]*}}: memref<64xf32>, %[[B:[^:]*]]: memref<8xf32>
// CHECK:         dsv4.launch @kernel(%{{.*}}, %[[B]]) writes [1] : memref<8xf32, strided<[1], offset: 8>>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %[[B]]) writes [1] : memref<8xf32, strided<[1], offset: 16>>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %[[B]]) writes [1] : memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %[[B]]) writes [1] : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_0(%{{.*}}, %[[B]]) writes [1] : memref<8xf32, strided<[2], offset: 8>>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_0(%{{.*}}, %[[B]]) writes [1] : memref<8xf32, strided<[2], offset: 16>>, memref<8xf32>
// CHECK:       func.func private @kernel(%{{[^:]*}}: memref<8xf32>, %{{[^:]*}}: memref<8xf32>)
// CHECK:       func.func private @kernel_0(%{{[^:]*}}: memref<8xf32, strided<[2]>>, %{{[^:]*}}: memref<8xf32>)
// CHECK-NOT:   func.func private
module @views {
  func.func @forward(%a: memref<64xf32>, %b: memref<8xf32>, %i: index, %c: memref<8xf32>) {
    %0 = memref.subview %a[8] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: 8>>
    %1 = memref.subview %a[16] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: 16>>
    %2 = memref.subview %a[%i] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %3 = memref.subview %a[8] [8] [2] : memref<64xf32> to memref<8xf32, strided<[2], offset: 8>>
    %4 = memref.subview %a[16] [8] [2] : memref<64xf32> to memref<8xf32, strided<[2], offset: 16>>
    linalg.exp ins(%0 : memref<8xf32, strided<[1], offset: 8>>) outs(%b : memref<8xf32>)
    linalg.exp ins(%1 : memref<8xf32, strided<[1], offset: 16>>) outs(%b : memref<8xf32>)
    linalg.exp ins(%2 : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32>)
    linalg.exp ins(%c : memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.exp ins(%3 : memref<8xf32, strided<[2], offset: 8>>) outs(%b : memref<8xf32>)
    linalg.exp ins(%4 : memref<8xf32, strided<[2], offset: 16>>) outs(%b : memref<8xf32>)
    return
  }
}

// -----

// One buffer in several places is one argument, so that no two arguments
// overlap; such kernels are their own.

// CHECK-LABEL: module @same_buffer
// CHECK:       func.func @forward(%[[A:[^:]*]]: memref<8xf32>, %[[B:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    dsv4.launch @kernel(%[[A]], %[[B]]) writes [1] : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_0(%[[A]], %[[B]]) writes [1] : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_1(%[[A]]) writes [0] : memref<8xf32>
// CHECK:       func.func private @kernel(%[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    linalg.add ins(%[[X]], %[[X]] : memref<8xf32>, memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK:       func.func private @kernel_0(%[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    linalg.add ins(%[[X]], %[[Y]] : memref<8xf32>, memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK:       func.func private @kernel_1(%[[X:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[X]] : memref<8xf32>)
module @same_buffer {
  func.func @forward(%a: memref<8xf32>, %b: memref<8xf32>) {
    linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.add ins(%a, %b : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.exp ins(%a : memref<8xf32>) outs(%a : memref<8xf32>)
    return
  }
}

// -----

// An index that the region uses becomes an argument, constants are copied and
// gone outside; a constant that something else uses stays. Two values of the
// constant are two kernels, two values of the index are one.

// CHECK-LABEL: module @scalars
// CHECK:       func.func @forward(%[[A:[^:]*]]: memref<8xindex>, %[[B:[^:]*]]: memref<8xf32>, %[[I:[^:]*]]: index)
// CHECK-NEXT:    %[[C5:.*]] = arith.constant 5 : index
// CHECK-NEXT:    %[[J:.*]] = arith.addi %[[I]], %[[C5]]
// CHECK-NEXT:    dsv4.launch @kernel(%[[A]], %[[I]]) writes [0] : memref<8xindex>, index
// CHECK-NEXT:    dsv4.launch @kernel(%[[A]], %[[J]]) writes [0] : memref<8xindex>, index
// CHECK-NEXT:    dsv4.launch @kernel_0(%[[B]]) writes [0] : memref<8xf32>
// CHECK-NEXT:    dsv4.launch @kernel_1(%[[B]]) writes [0] : memref<8xf32>
// CHECK-NEXT:    return
// CHECK:       func.func private @kernel(%[[X:[^:]*]]: memref<8xindex>, %[[I:[^:]*]]: index)
// CHECK-NEXT:    %[[C5:.*]] = arith.constant 5 : index
// CHECK-NEXT:    linalg.generic {{.*}} outs(%[[X]] : memref<8xindex>)
// CHECK:           %[[N:.*]] = linalg.index 0 : index
// CHECK-NEXT:      %[[S:.*]] = arith.addi %[[N]], %[[I]]
// CHECK-NEXT:      arith.addi %[[S]], %[[C5]]
// CHECK:       func.func private @kernel_0(
// CHECK-NEXT:    %[[C:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    linalg.fill ins(%[[C]] : f32)
// CHECK:       func.func private @kernel_1(
// CHECK-NEXT:    %[[C:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:    linalg.fill ins(%[[C]] : f32)
#id = affine_map<(d0) -> (d0)>
module @scalars {
  func.func @forward(%a: memref<8xindex>, %b: memref<8xf32>, %i: index) {
    %c5 = arith.constant 5 : index
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %j = arith.addi %i, %c5 : index
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<8xindex>) {
    ^bb0(%o: index):
      %0 = linalg.index 0 : index
      %1 = arith.addi %0, %i : index
      %2 = arith.addi %1, %c5 : index
      linalg.yield %2 : index
    }
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<8xindex>) {
    ^bb0(%o: index):
      %0 = linalg.index 0 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.addi %1, %c5 : index
      linalg.yield %2 : index
    }
    linalg.fill ins(%one : f32) outs(%b : memref<8xf32>)
    linalg.fill ins(%two : f32) outs(%b : memref<8xf32>)
    return
  }
}

// -----

// Scratch of a kernel: its last operand, written, allocated here; the size comes
// from the operation. Two operands that are written.

// CHECK-LABEL: module @workspace
// CHECK:         %[[W:.*]] = memref.alloc() : memref<[[BYTES:[0-9]+]]xi8>
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %{{.*}}, %[[W]]) writes [1, 2] : memref<2x8x4x4xf32>, memref<2x8x4x4xf32>, memref<[[BYTES]]xi8>
// CHECK-NEXT:    dsv4.launch @kernel_0(%{{.*}}, %{{.*}}, %{{.*}}) writes [1, 2] : memref<2x8x2xi64>, memref<32xi64>, memref<5xi64>
// CHECK:       func.func private @kernel(%{{[^,]*}}, %{{[^,]*}}, %{{[^:]*}}: memref<[[BYTES]]xi8> {dsv4.workspace}) attributes {dsv4.kernel}
module @workspace {
  func.func @forward(%x: memref<2x8x4x4xf32>, %y: memref<2x8x4x4xf32>, %e: memref<2x8x2xi64>, %o: memref<32xi64>, %n: memref<5xi64>) {
    dsv4.sinkhorn {iterations = 2 : i64, eps = 0.5 : f64} ins(%x : memref<2x8x4x4xf32>) outs(%y : memref<2x8x4x4xf32>)
    dsv4.sort_by_expert ins(%e : memref<2x8x2xi64>) outs(%o, %n : memref<32xi64>, memref<5xi64>)
    return
  }
}

// -----

// Blocks and nested regions are searched, kernels share over functions; the
// name of a function that exists is not taken.

// CHECK-LABEL: module @functions
// CHECK:       func.func private @kernel()
// CHECK:       func.func private @block(
// CHECK-NEXT:    dsv4.launch @kernel_0(
// CHECK:       func.func @forward(
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      dsv4.launch @kernel_0(
// CHECK-NEXT:    }
module @functions {
  func.func private @kernel()
  func.func private @block(%a: memref<8xf32>) {
    linalg.exp ins(%a : memref<8xf32>) outs(%a : memref<8xf32>)
    return
  }
  func.func @forward(%a: memref<8xf32>, %n: index) {
    scf.for %i = %n to %n step %n {
      linalg.exp ins(%a : memref<8xf32>) outs(%a : memref<8xf32>)
    }
    return
  }
}

// -----

//===----------------------------------------------------------------------===//
// What stays
//===----------------------------------------------------------------------===//

// Starts and waits, addresses, allocations and operations on tensors. A function
// that already is a kernel keeps its operation.

// CHECK-LABEL: func.func @stays(
// CHECK-NEXT:    memref.alloc
// CHECK-NEXT:    memref.subview
// CHECK-NEXT:    dsv4.all_gather_start
// CHECK-NEXT:    dsv4.wait
// CHECK-NEXT:    linalg.exp ins(%{{.*}} : tensor<8xf32>)
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @is_kernel(
// CHECK-NEXT:    linalg.exp
// CHECK-NEXT:    return
// CHECK-NOT:   func.func
dsv4.mesh @mesh ["cp" = 2]
func.func @stays(%a: memref<16xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %g = memref.alloc() : memref<16xf32>
  %v = memref.subview %a[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %s = dsv4.all_gather_start sequence %v into %g on @mesh ["cp"] : memref<8xf32, strided<[1], offset: 8>> into memref<16xf32>
  dsv4.wait %s, %g reading %v : memref<16xf32>, memref<8xf32, strided<[1], offset: 8>>
  %0 = linalg.exp ins(%t : tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @is_kernel(%a: memref<8xf32>) attributes {dsv4.kernel} {
  linalg.exp ins(%a : memref<8xf32>) outs(%a : memref<8xf32>)
  return
}
