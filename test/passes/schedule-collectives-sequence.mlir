// RUN: dsv4-opt %s -dsv4-schedule-collectives | FileCheck %s
// RUN: dsv4-opt %s -dsv4-schedule-collectives -dsv4-schedule-collectives | FileCheck %s
// RUN: dsv4-opt %s -dsv4-schedule-collectives -dsv4-verify-phase=phase=schedule -o %t

// Exchanges of sequences: each becomes a start where its operand is ready and
// a wait before its first use. The runtime moves flat buffers in rank order, so
// pieces that are not contiguous are turned around the exchange.

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]

// Rows lie before the gathered dimension: ranks arrive outermost and are turned
// in. Work between the gather and its use runs while it is in flight, and every
// new operation keeps the path.

// CHECK-LABEL: func.func @gather_rows(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x8xf32>)
// CHECK-NEXT:    %[[A:.*]] = math.absf %[[X]]
// CHECK-NEXT:    %[[I:.*]] = tensor.empty() {dsv4.path = "m.a"} : tensor<4x2x3x8xf32>
// CHECK-NEXT:    %[[F:.*]], %[[T:.*]] = dsv4.all_gather_start sequence %[[A]] into %[[I]] on @mesh ["cp"] {dsv4.path = "m.a"} : tensor<2x3x8xf32> into tensor<4x2x3x8xf32> -> tensor<4x2x3x8xf32>
// CHECK-NEXT:    %[[B:.*]] = math.ceil %[[X]]
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait %[[T]], %[[F]] reading %[[A]] {dsv4.path = "m.a"} : tensor<4x2x3x8xf32>, tensor<2x3x8xf32> -> tensor<4x2x3x8xf32>
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() {dsv4.path = "m.a"} : tensor<2x4x3x8xf32>
// CHECK-NEXT:    %[[TR:.*]] = linalg.transpose ins(%[[W]] : tensor<4x2x3x8xf32>) outs(%[[E]] : tensor<2x4x3x8xf32>) permutation = [1, 0, 2, 3] {dsv4.path = "m.a"}
// CHECK-NEXT:    %[[C:.*]] = tensor.collapse_shape %[[TR]] {{\[\[}}0], [1, 2], [3]] {dsv4.path = "m.a"} : tensor<2x4x3x8xf32> into tensor<2x12x8xf32>
// CHECK-NEXT:    %[[R:.*]] = math.absf %[[C]]
// CHECK-NEXT:    return %[[R]], %[[B]]
func.func @gather_rows(%x: tensor<2x3x8xf32>) -> (tensor<2x12x8xf32>, tensor<2x3x8xf32>) {
  %0 = math.absf %x : tensor<2x3x8xf32>
  %1 = dsv4.seq_gather %0 on @mesh ["cp"] dim 1 {dsv4.path = "m.a"} : tensor<2x3x8xf32> -> tensor<2x12x8xf32>
  %2 = math.ceil %x : tensor<2x3x8xf32>
  %3 = math.absf %1 : tensor<2x12x8xf32>
  return %3, %2 : tensor<2x12x8xf32>, tensor<2x3x8xf32>
}

// The last dimension, over both axes, of integers.

// CHECK-LABEL: func.func @gather_last_dimension(
// CHECK:         dsv4.all_gather_start sequence %{{.*}} on @mesh ["dp_shard", "cp"] : tensor<2x5x3xi64> into tensor<8x2x5x3xi64>
// CHECK:         linalg.transpose {{.*}} outs(%{{.*}} : tensor<2x5x8x3xi64>) permutation = [1, 2, 0, 3]
// CHECK-NEXT:    tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<2x5x8x3xi64> into tensor<2x5x24xi64>
func.func @gather_last_dimension(%x: tensor<2x5x3xi64>) -> tensor<2x5x24xi64> {
  %1 = dsv4.seq_gather %x on @mesh ["dp_shard", "cp"] dim 2 : tensor<2x5x3xi64> -> tensor<2x5x24xi64>
  return %1 : tensor<2x5x24xi64>
}

// Nothing before the gathered dimension, or one row: already in order, no
// transposition.

// CHECK-LABEL: func.func @gather_in_order(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<3x8xf32>, %[[Y:[^:]*]]: tensor<1x3x8xf32>)
// CHECK-NEXT:    %[[I0:.*]] = tensor.empty() : tensor<12x8xf32>
// CHECK-NEXT:    %[[F0:.*]], %[[T0:.*]] = dsv4.all_gather_start sequence %[[X]] into %[[I0]] {{.*}} : tensor<3x8xf32> into tensor<12x8xf32>
// CHECK-NEXT:    %[[I1:.*]] = tensor.empty() : tensor<1x12x8xf32>
// CHECK-NEXT:    %[[F1:.*]], %[[T1:.*]] = dsv4.all_gather_start sequence %[[Y]] into %[[I1]] {{.*}} : tensor<1x3x8xf32> into tensor<1x12x8xf32>
// CHECK-NEXT:    %[[W0:.*]] = dsv4.wait %[[T0]], %[[F0]] reading %[[X]]
// CHECK-NEXT:    %[[W1:.*]] = dsv4.wait %[[T1]], %[[F1]] reading %[[Y]]
// CHECK-NEXT:    return %[[W0]], %[[W1]]
func.func @gather_in_order(%x: tensor<3x8xf32>, %y: tensor<1x3x8xf32>) -> (tensor<12x8xf32>, tensor<1x12x8xf32>) {
  %0 = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<3x8xf32> -> tensor<12x8xf32>
  %1 = dsv4.seq_gather %y on @mesh ["cp"] dim 1 : tensor<1x3x8xf32> -> tensor<1x12x8xf32>
  return %0, %1 : tensor<12x8xf32>, tensor<1x12x8xf32>
}

// The inverse: pieces are brought into rank order before the start, and the
// wait reads what was sent, the turned copy.

// CHECK-LABEL: func.func @reduce_scatter_rows(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x12x8xf32>)
// CHECK-NEXT:    %[[S:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3]] output_shape [2, 4, 3, 8] {dsv4.path = "m.b"} : tensor<2x12x8xf32> into tensor<2x4x3x8xf32>
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() {dsv4.path = "m.b"} : tensor<4x2x3x8xf32>
// CHECK-NEXT:    %[[TR:.*]] = linalg.transpose ins(%[[S]] : tensor<2x4x3x8xf32>) outs(%[[E]] : tensor<4x2x3x8xf32>) permutation = [1, 0, 2, 3] {dsv4.path = "m.b"}
// CHECK-NEXT:    %[[I:.*]] = tensor.empty() {dsv4.path = "m.b"} : tensor<2x3x8xf32>
// CHECK-NEXT:    %[[F:.*]], %[[T:.*]] = dsv4.reduce_scatter_start sequence %[[TR]] into %[[I]] on @mesh ["cp"] {dsv4.path = "m.b"} : tensor<4x2x3x8xf32> into tensor<2x3x8xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:    %[[C:.*]] = math.ceil %[[X]]
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait %[[T]], %[[F]] reading %[[TR]] {dsv4.path = "m.b"} : tensor<2x3x8xf32>, tensor<4x2x3x8xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT:    return %[[C]], %[[W]]
func.func @reduce_scatter_rows(%x: tensor<2x12x8xf32>) -> (tensor<2x12x8xf32>, tensor<2x3x8xf32>) {
  %1 = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 1 {dsv4.path = "m.b"} : tensor<2x12x8xf32> -> tensor<2x3x8xf32>
  %2 = math.ceil %x : tensor<2x12x8xf32>
  return %2, %1 : tensor<2x12x8xf32>, tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @reduce_scatter_in_order(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<12x8xf64>)
// CHECK-NEXT:    %[[I:.*]] = tensor.empty() : tensor<3x8xf64>
// CHECK-NEXT:    %[[F:.*]], %[[T:.*]] = dsv4.reduce_scatter_start sequence %[[X]] into %[[I]] on @mesh ["cp"] : tensor<12x8xf64> into tensor<3x8xf64>
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait %[[T]], %[[F]] reading %[[X]]
// CHECK-NEXT:    return %[[W]]
func.func @reduce_scatter_in_order(%x: tensor<12x8xf64>) -> tensor<3x8xf64> {
  %1 = dsv4.seq_reduce_scatter %x on @mesh ["cp"] dim 0 : tensor<12x8xf64> -> tensor<3x8xf64>
  return %1 : tensor<3x8xf64>
}

// Reductions keep their kind; a tensor without dimensions is a scalar, another
// is sequence data even with one element. Starts keep program order although
// their results are used in the other.

// CHECK-LABEL: func.func @all_reduce(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1xf32>, %[[Y:[^:]*]]: tensor<i64>)
// CHECK-NEXT:    %[[I0:.*]] = tensor.empty() : tensor<1xf32>
// CHECK-NEXT:    %[[F0:.*]], %[[T0:.*]] = dsv4.all_reduce_start sequence sum %[[X]] into %[[I0]] on @mesh ["cp"] : tensor<1xf32> into tensor<1xf32> -> tensor<1xf32>
// CHECK-NEXT:    %[[I1:.*]] = tensor.empty() {dsv4.path = "m.loss"} : tensor<i64>
// CHECK-NEXT:    %[[F1:.*]], %[[T1:.*]] = dsv4.all_reduce_start scalar max %[[Y]] into %[[I1]] on @mesh ["dp_shard", "cp"] {dsv4.path = "m.loss"} : tensor<i64> into tensor<i64> -> tensor<i64>
// CHECK-NEXT:    %[[W1:.*]] = dsv4.wait %[[T1]], %[[F1]] reading %[[Y]] {dsv4.path = "m.loss"} : tensor<i64>, tensor<i64> -> tensor<i64>
// CHECK-NEXT:    %[[B:.*]] = arith.addi %[[W1]], %[[W1]]
// CHECK-NEXT:    %[[W0:.*]] = dsv4.wait %[[T0]], %[[F0]] reading %[[X]]
// CHECK-NEXT:    %[[A:.*]] = arith.addf %[[W0]], %[[W0]]
// CHECK-NEXT:    return %[[A]], %[[B]]
func.func @all_reduce(%x: tensor<1xf32>, %y: tensor<i64>) -> (tensor<1xf32>, tensor<i64>) {
  %0 = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<1xf32>
  %1 = dsv4.all_reduce max %y on @mesh ["dp_shard", "cp"] {dsv4.path = "m.loss"} : tensor<i64>
  %2 = arith.addi %1, %1 : tensor<i64>
  %3 = arith.addf %0, %0 : tensor<1xf32>
  return %3, %2 : tensor<1xf32>, tensor<i64>
}

// Every rank has all of it: a slice from coordinate times length, no exchange.

// CHECK-LABEL: func.func @shard(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x12xf32>)
// CHECK-NEXT:    %[[R:.*]] = dsv4.axis_index @mesh ["cp"] {dsv4.path = "m.c"}
// CHECK-NEXT:    %[[C3:.*]] = arith.constant {dsv4.path = "m.c"} 3 : index
// CHECK-NEXT:    %[[O:.*]] = arith.muli %[[R]], %[[C3]] {dsv4.path = "m.c"} : index
// CHECK-NEXT:    %[[S:.*]] = tensor.extract_slice %[[X]][0, %[[O]]] [2, 3] [1, 1] {dsv4.path = "m.c"} : tensor<2x12xf32> to tensor<2x3xf32>
// CHECK-NEXT:    return %[[S]]
func.func @shard(%x: tensor<2x12xf32>) -> tensor<2x3xf32> {
  %0 = dsv4.seq_shard %x on @mesh ["cp"] dim 1 {dsv4.path = "m.c"} : tensor<2x12xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// A use inside a region waits before the operation that holds it; one gather
// has one wait for all its uses.

// CHECK-LABEL: func.func @use_in_region(
// CHECK:         dsv4.all_gather_start
// CHECK-NEXT:    math.ceil
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      scf.yield %[[W]]
// CHECK:         arith.addf %{{.*}}, %[[W]]
func.func @use_in_region(%x: tensor<3xf32>, %y: tensor<12xf32>, %c: i1) -> tensor<12xf32> {
  %0 = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<3xf32> -> tensor<12xf32>
  %1 = math.ceil %y : tensor<12xf32>
  %2 = scf.if %c -> tensor<12xf32> {
    scf.yield %0 : tensor<12xf32>
  } else {
    scf.yield %1 : tensor<12xf32>
  }
  %3 = arith.addf %2, %0 : tensor<12xf32>
  return %3 : tensor<12xf32>
}

// An exchange inside a region that all ranks reach starts and ends there: a loop
// of constant bounds, a branch on what the group has agreed on.

// CHECK-LABEL: func.func @in_region(
// CHECK:         scf.for
// CHECK-NEXT:      tensor.empty
// CHECK-NEXT:      %[[F:.*]], %[[T:.*]] = dsv4.all_reduce_start sequence min
// CHECK-NEXT:      %[[W:.*]] = dsv4.wait %[[T]], %[[F]]
// CHECK-NEXT:      scf.yield %[[W]]
// CHECK:         dsv4.agree
// CHECK:         scf.if
// CHECK-NEXT:      tensor.empty
// CHECK-NEXT:      %[[F:.*]], %[[T:.*]] = dsv4.all_reduce_start sequence max
// CHECK-NEXT:      %[[W:.*]] = dsv4.wait %[[T]], %[[F]]
// CHECK-NEXT:      scf.yield %[[W]]
func.func @in_region(%x: tensor<3xi32>, %flag: i32) -> tensor<3xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %x) -> tensor<3xi32> {
    %1 = dsv4.all_reduce min %v on @mesh ["cp"] : tensor<3xi32>
    scf.yield %1 : tensor<3xi32>
  }
  %none = arith.constant 0 : i32
  %any = dsv4.agree %flag on @mesh ["cp"] : i32
  %some = arith.cmpi ne, %any, %none : i32
  %2 = scf.if %some -> tensor<3xi32> {
    %3 = dsv4.all_reduce max %0 on @mesh ["cp"] : tensor<3xi32>
    scf.yield %3 : tensor<3xi32>
  } else {
    scf.yield %0 : tensor<3xi32>
  }
  return %2 : tensor<3xi32>
}

// Other ranks take part in an exchange that nobody uses here: it stays.

// CHECK-LABEL: func.func @unused(
// CHECK:         dsv4.all_reduce_start
// CHECK-NEXT:    math.ceil
// CHECK-NEXT:    dsv4.wait
// CHECK-NEXT:    return
func.func @unused(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = dsv4.all_reduce sum %x on @mesh ["cp"] : tensor<3xf32>
  %1 = math.ceil %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}

//===----------------------------------------------------------------------===//
// What stays
//===----------------------------------------------------------------------===//

// An agreement is a host value and blocks.

// CHECK-LABEL: func.func @agree(
// CHECK-NEXT:    %[[R:.*]] = dsv4.agree %{{.*}} on @mesh ["cp"] : i32
// CHECK-NEXT:    return %[[R]]
func.func @agree(%f: i32) -> i32 {
  %0 = dsv4.agree %f on @mesh ["cp"] : i32
  return %0 : i32
}

// A declaration, and a function without exchanges.

// CHECK:         func.func private @declaration(tensor<3xf32>)
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    math.ceil
// CHECK-NEXT:    return
func.func private @declaration(tensor<3xf32>)
func.func @nothing(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = math.ceil %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}

//===----------------------------------------------------------------------===//
// Blocks of the model
//===----------------------------------------------------------------------===//

// Started in one block, used in the middle of the next: the wait ends the block
// of the start, so that each block stays in one piece and keeps its token.

// CHECK-LABEL: func.func @used_in_another_block(
// CHECK:         %[[F:.*]], %[[T:.*]] = dsv4.all_gather_start sequence %{{.*}} {dsv4.path = "layers.0.a"}
// CHECK-NEXT:    math.ceil %{{.*}} {dsv4.path = "layers.0.b"}
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait %[[T]], %[[F]] {{.*}}{dsv4.path = "layers.0.a"}
// CHECK-NEXT:    math.floor %{{.*}} {dsv4.path = "layers.1.a"}
// CHECK-NEXT:    math.absf %[[W]] {dsv4.path = "layers.1.b"}
func.func @used_in_another_block(%x: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<12x8xf32>) {
  %0 = dsv4.seq_gather %x on @mesh ["cp"] dim 0 {dsv4.path = "layers.0.a"} : tensor<3x8xf32> -> tensor<12x8xf32>
  %1 = math.ceil %x {dsv4.path = "layers.0.b"} : tensor<3x8xf32>
  %2 = math.floor %1 {dsv4.path = "layers.1.a"} : tensor<3x8xf32>
  %3 = math.absf %0 {dsv4.path = "layers.1.b"} : tensor<12x8xf32>
  return %2, %3 : tensor<3x8xf32>, tensor<12x8xf32>
}

// Started outside all blocks, used in the middle of one: the wait stands before
// that block, behind the others.

// CHECK-LABEL: func.func @used_inside_a_block(
// CHECK:         %[[F:.*]], %[[T:.*]] = dsv4.all_gather_start
// CHECK-NEXT:    math.ceil %{{.*}} {dsv4.path = "layers.0.a"}
// CHECK-NEXT:    %[[W:.*]] = dsv4.wait %[[T]], %[[F]]
// CHECK-NEXT:    math.floor %{{.*}} {dsv4.path = "layers.1.a"}
// CHECK-NEXT:    math.absf %[[W]] {dsv4.path = "layers.1.b"}
func.func @used_inside_a_block(%x: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<12x8xf32>) {
  %0 = dsv4.seq_gather %x on @mesh ["cp"] dim 0 : tensor<3x8xf32> -> tensor<12x8xf32>
  %1 = math.ceil %x {dsv4.path = "layers.0.a"} : tensor<3x8xf32>
  %2 = math.floor %1 {dsv4.path = "layers.1.a"} : tensor<3x8xf32>
  %3 = math.absf %0 {dsv4.path = "layers.1.b"} : tensor<12x8xf32>
  return %2, %3 : tensor<3x8xf32>, tensor<12x8xf32>
}
