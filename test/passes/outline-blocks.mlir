// RUN: dsv4-opt %s -split-input-file -dsv4-outline-blocks | FileCheck %s

// The operations of one block become a call; equal blocks call one function.

// Two blocks that differ in the number of their path only. Values that a block
// reads become arguments, its result gets a destination behind them. The
// operation between both blocks stays. Inside the function paths are relative.

// CHECK-LABEL: module @equal
// CHECK:       func.func @forward(%[[X:[^:]*]]: tensor<4xf32>, %[[F:[^:]*]]: tensor<16xf32>, %[[G:[^:]*]]: tensor<16xf32>)
// CHECK-NEXT:    %[[E1:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[A:.*]] = call @block(%[[F]], %[[X]], %[[E1]]) {dsv4.path = "m.layers.1"} : (tensor<16xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = math.ceil %[[A]] : tensor<4xf32>
// CHECK-NEXT:    %[[E2:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = call @block(%[[G]], %[[B]], %[[E2]]) {dsv4.path = "m.layers.13"}
// CHECK-NEXT:    return %[[C]]
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @block(%[[P:[^:]*]]: tensor<16xf32> {bufferization.writable = false}, %[[Y:[^:]*]]: tensor<4xf32> {bufferization.writable = false}, %[[OUT:[^:]*]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %[[W:.*]] = tensor.extract_slice %[[P]][0] [4] [1] {dsv4.path = "norm"}
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[Y]], %[[W]] {dsv4.path = "norm.sum"} : tensor<4xf32>
// CHECK-NEXT:    %[[T:.*]] = math.absf %[[S]] : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = bufferization.materialize_in_destination %[[T]] in %[[OUT]]
// CHECK-NEXT:    return %[[R]]
// CHECK-NEXT:  }
// CHECK-NEXT:  }
module @equal {
  func.func @forward(%x: tensor<4xf32>, %f: tensor<16xf32>, %g: tensor<16xf32>) -> tensor<4xf32> {
    %0 = tensor.extract_slice %f[0] [4] [1] {dsv4.path = "m.layers.1.norm"} : tensor<16xf32> to tensor<4xf32>
    %1 = arith.addf %x, %0 {dsv4.path = "m.layers.1.norm.sum"} : tensor<4xf32>
    %2 = math.absf %1 {dsv4.path = "m.layers.1"} : tensor<4xf32>
    %3 = math.ceil %2 : tensor<4xf32>
    %4 = tensor.extract_slice %g[0] [4] [1] {dsv4.path = "m.layers.13.norm"} : tensor<16xf32> to tensor<4xf32>
    %5 = arith.addf %3, %4 {dsv4.path = "m.layers.13.norm.sum"} : tensor<4xf32>
    %6 = math.absf %5 {dsv4.path = "m.layers.13"} : tensor<4xf32>
    return %6 : tensor<4xf32>
  }
}

// -----

// Constants are copied into the function: the same value is the same function
// wherever it stands, another value is another function. A constant with a path
// is not a result of its block.

// CHECK-LABEL: module @constants
// CHECK:       func.func @forward(
// CHECK:         %[[A:.*]] = call @block(%{{.*}}, %{{.*}}) {dsv4.path = "m.layers.0"}
// CHECK:         %[[B:.*]] = call @block_0(%[[A]], %{{.*}}) {dsv4.path = "m.layers.1"}
// CHECK:         %[[C:.*]] = call @block(%[[B]], %{{.*}}) {dsv4.path = "m.layers.2"}
// CHECK:         return %[[C]], %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CHECK:       func.func private @block(%{{[^,]*}}, %{{[^,]*}}) -> tensor<4xf32> {
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:    arith.addf %{{.*}}, %[[ONE]]
// CHECK:       func.func private @block_0(%{{[^,]*}}, %{{[^,]*}}) -> tensor<4xf32> {
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT:    arith.addf %{{.*}}, %[[TWO]]
// CHECK-NOT:   func.func private
module @constants {
  func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %one = arith.constant dense<1.0> : tensor<4xf32>
    %0 = arith.addf %x, %one {dsv4.path = "m.layers.0"} : tensor<4xf32>
    %two = arith.constant {dsv4.path = "m.layers.1"} dense<2.0> : tensor<4xf32>
    %1 = arith.addf %0, %two {dsv4.path = "m.layers.1"} : tensor<4xf32>
    %uno = arith.constant {dsv4.path = "m.layers.2"} dense<1.0> : tensor<4xf32>
    %2 = arith.addf %1, %uno {dsv4.path = "m.layers.2"} : tensor<4xf32>
    return %2, %uno : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Not equal: another type, another attribute, another order of operands, another
// path inside the block.

// CHECK-LABEL: module @different
// CHECK:         call @block(%{{.*}}"m.layers.0"
// CHECK:         call @block_0(%{{.*}}"m.layers.1"
// CHECK:         call @block_1(%{{.*}}"m.layers.2"
// CHECK:         call @block_2(%{{.*}}"m.layers.3"
// CHECK:         call @block_3(%{{.*}}"m.layers.4"
// CHECK:         call @block_0(%{{.*}}"m.layers.5"
module @different {
  func.func @forward(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = arith.subf %y, %y {dsv4.path = "m.layers.0"} : tensor<8xf32>
    %1 = arith.subf %x, %x {dsv4.path = "m.layers.1"} : tensor<4xf32>
    %2 = arith.subf %1, %1 fastmath<nnan> {dsv4.path = "m.layers.2"} : tensor<4xf32>
    %3 = arith.subf %2, %1 {dsv4.path = "m.layers.3"} : tensor<4xf32>
    %4 = arith.subf %3, %3 {dsv4.path = "m.layers.4.norm"} : tensor<4xf32>
    %5 = arith.subf %4, %4 {dsv4.path = "m.layers.5"} : tensor<4xf32>
    return %5, %0 : tensor<4xf32>, tensor<8xf32>
  }
}

// -----

// Several results, one used by the next block and by the terminator; a value
// only used inside is no result. A block whose result nobody uses takes no
// destination. Index inputs are arguments. The name of a function that exists
// is not taken.

// CHECK-LABEL: module @border
// CHECK:       func.func @forward(%[[X:[^:]*]]: tensor<4xf32>, %[[I:[^:]*]]: index)
// CHECK-NEXT:    %[[E0:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[E1:.*]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT:    %[[R:.*]]:2 = call @block_0(%[[X]], %[[I]], %[[E0]], %[[E1]]) {dsv4.path = "m.0"} : (tensor<4xf32>, index, tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
// CHECK-NEXT:    call @block_1(%[[R]]#0) {dsv4.path = "m.1"} : (tensor<4xf32>) -> ()
// CHECK-NEXT:    return %[[R]]#0, %[[R]]#1
// CHECK:       func.func private @block()
// CHECK:       func.func private @block_0(
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32> {bufferization.writable = false}, %{{[^:]*}}: index, %{{[^:]*}}: tensor<4xf32>, %{{[^:]*}}: tensor<2xf32>)
// CHECK:       func.func private @block_1(
module @border {
  func.func @forward(%x: tensor<4xf32>, %i: index) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = math.absf %x {dsv4.path = "m.0"} : tensor<4xf32>
    %1 = math.ceil %0 {dsv4.path = "m.0"} : tensor<4xf32>
    %2 = tensor.extract_slice %1[%i] [2] [1] {dsv4.path = "m.0"} : tensor<4xf32> to tensor<2xf32>
    %3 = math.absf %0 {dsv4.path = "m.1"} : tensor<4xf32>
    return %0, %2 : tensor<4xf32>, tensor<2xf32>
  }
  func.func private @block()
}

// -----

// Uses inside regions count; block arguments of a region inside are no inputs.

// CHECK-LABEL: module @regions
// CHECK:       func.func @forward(%[[X:[^:]*]]: tensor<4xf32>, %[[Y:[^:]*]]: tensor<4xf32>, %[[FROM:[^:]*]]: index, %[[TO:[^:]*]]: index)
// CHECK:         call @block(%[[Y]], %[[FROM]], %[[TO]], %[[X]], %{{.*}}) {dsv4.path = "m.0"} : (tensor<4xf32>, index, index, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:       func.func private @block(
// CHECK-SAME:    %[[Y:[^:]*]]: tensor<4xf32> {bufferization.writable = false}, %[[FROM:[^:]*]]: index, %[[TO:[^:]*]]: index, %[[X:[^:]*]]: tensor<4xf32> {bufferization.writable = false}, %{{[^:]*}}: tensor<4xf32>)
// CHECK-NEXT:    scf.for %{{.*}} = %[[FROM]] to %[[TO]] step %[[TO]] iter_args(%[[V:.*]] = %[[X]])
// CHECK-NEXT:      arith.addf %[[V]], %[[Y]] {dsv4.path = "inner"}
module @regions {
  func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>, %from: index, %to: index) -> tensor<4xf32> {
    %0 = scf.for %i = %from to %to step %to iter_args(%v = %x) -> tensor<4xf32> {
      %1 = arith.addf %v, %y {dsv4.path = "m.0.inner"} : tensor<4xf32>
      scf.yield %1 : tensor<4xf32>
    } {dsv4.path = "m.0"}
    return %0 : tensor<4xf32>
  }
}

// -----

//===----------------------------------------------------------------------===//
// What stays
//===----------------------------------------------------------------------===//

// A run whose result is no static tensor: an index, a dynamic tensor, a token.
// Other runs of the same function are outlined.

// CHECK-LABEL: func.func @not_a_static_tensor(
// CHECK:         tensor.extract %{{.*}} {dsv4.path = "m.0"} : tensor<4xindex>
// CHECK:         tensor.extract_slice %{{.*}} {dsv4.path = "m.1"} : tensor<8xf32> to tensor<?xf32>
// CHECK:         dsv4.all_gather_start {{.*}} {dsv4.path = "m.2"}
// CHECK-NEXT:    dsv4.wait
// CHECK:         call @block(
dsv4.mesh @mesh ["cp" = 2]
func.func @not_a_static_tensor(%x: tensor<4xindex>, %y: tensor<8xf32>, %e: tensor<16xf32>) -> (tensor<?xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0] {dsv4.path = "m.0"} : tensor<4xindex>
  %1 = tensor.extract_slice %y[0] [%0] [1] {dsv4.path = "m.1"} : tensor<8xf32> to tensor<?xf32>
  %s, %t = dsv4.all_gather_start sequence %y into %e on @mesh ["cp"] {dsv4.path = "m.2"} : tensor<8xf32> into tensor<16xf32> -> tensor<16xf32>
  %2 = dsv4.wait %t, %s reading %y : tensor<16xf32>, tensor<8xf32> -> tensor<16xf32>
  %3 = math.absf %2 {dsv4.path = "m.3"} : tensor<16xf32>
  return %1, %3 : tensor<?xf32>, tensor<16xf32>
}

// A path without number is no block; a private function, a declaration and a
// function of several blocks are left alone.

// CHECK-LABEL: func.func @no_block(
// CHECK-NEXT:    math.absf %{{.*}} {dsv4.path = "m.norm"}
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @private(
// CHECK-NEXT:    math.absf %{{.*}} {dsv4.path = "m.0"}
// CHECK-NEXT:    return
// CHECK:       func.func private @declaration()
// CHECK-LABEL: func.func @several_blocks(
// CHECK-NEXT:    math.absf %{{.*}} {dsv4.path = "m.0"}
// CHECK-NEXT:    cf.br
func.func @no_block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.absf %x {dsv4.path = "m.norm"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @private(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.absf %x {dsv4.path = "m.0"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @declaration()
func.func @several_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.absf %x {dsv4.path = "m.0"} : tensor<4xf32>
  cf.br ^end
^end:
  return %0 : tensor<4xf32>
}
