// RUN: dsv4-opt %s -split-input-file -dsv4-bufferize | FileCheck %s

// Tensors become buffers: the caller owns arguments and results, everything in
// between is allocated here and never freed.

// Attributes of arguments and results move to the arguments; results are written
// where the caller wants them, so that neither allocation nor copy is left. The
// other destination is an allocation.

// CHECK-LABEL: func.func @signature(
// CHECK-SAME:    %[[X:[^:]*]]: memref<8xf32> {dsv4.batch = "x"}, %[[Y:[^:]*]]: memref<8xf32> {dsv4.result = "y"}, %[[Z:[^:]*]]: memref<8xf32>) {
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    linalg.exp {dsv4.path = "m"} ins(%[[X]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK-NEXT:    linalg.log ins(%[[A]] : memref<8xf32>) outs(%[[Z]] : memref<8xf32>)
// CHECK-NEXT:    linalg.add ins(%[[A]], %[[Z]] : memref<8xf32>, memref<8xf32>) outs(%[[Y]] : memref<8xf32>)
// CHECK-NEXT:    return
func.func @signature(%x: tensor<8xf32> {dsv4.batch = "x"}) -> (tensor<8xf32> {dsv4.result = "y"}, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp {dsv4.path = "m"} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.log ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.add ins(%0, %1 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %2, %1 : tensor<8xf32>, tensor<8xf32>
}

// Arguments are never written, not even by an operation that says so; a
// destination that is written whole is not copied first.

// CHECK-LABEL: func.func @writes_argument(
// CHECK-SAME:    %[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK-NEXT:    memref.copy %[[A]], %[[Y]]
// CHECK-NEXT:    return
func.func @writes_argument(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A destination that is read is copied: rows are combined into what is there.

// CHECK-LABEL: func.func @updates_argument(
// CHECK-SAME:    %[[R:[^:]*]]: memref<32x64xf32>, %[[O:[^:]*]]: memref<32xi64>, %[[N:[^:]*]]: memref<5xi64>, %[[I:[^:]*]]: memref<2x8x2xi64>, %[[Z:[^:]*]]: memref<2x8x64xf32>, %[[Y:[^:]*]]: memref<2x8x64xf32>)
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<2x8x64xf32>
// CHECK-NEXT:    memref.copy %[[Z]], %[[A]]
// CHECK-NEXT:    dsv4.combine_rows ins(%[[R]], %[[O]], %[[N]], %[[I]] : {{.*}}) outs(%[[A]] : memref<2x8x64xf32>)
// CHECK-NEXT:    memref.copy %[[A]], %[[Y]]
func.func @updates_argument(%r: tensor<32x64xf32>, %o: tensor<32xi64>, %n: tensor<5xi64>, %i: tensor<2x8x2xi64>, %z: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %0 = dsv4.combine_rows ins(%r, %o, %n, %i : tensor<32x64xf32>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>) outs(%z : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return %0 : tensor<2x8x64xf32>
}

// Other structured operations write their destination whole.

// CHECK-LABEL: func.func @structured(
// CHECK-SAME:    %[[X:[^:]*]]: memref<2x8x4x4xf32>, %[[Y:[^:]*]]: memref<2x8x4x4xf32>)
// CHECK-NEXT:    %[[A:.*]] = memref.alloc()
// CHECK-NEXT:    dsv4.sinkhorn {dsv4.path = "m", eps = 5.000000e-01 : f64, iterations = 2 : i64} ins(%[[X]] : memref<2x8x4x4xf32>) outs(%[[A]] : memref<2x8x4x4xf32>)
// CHECK-NEXT:    memref.copy %[[A]], %[[Y]]
func.func @structured(%x: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %0 = dsv4.sinkhorn {dsv4.path = "m", iterations = 2 : i64, eps = 0.5 : f64} ins(%x : tensor<2x8x4x4xf32>) outs(%x : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return %0 : tensor<2x8x4x4xf32>
}

// A result that is an argument, and one value returned twice.

// CHECK-LABEL: func.func @copies(
// CHECK-SAME:    %[[X:[^:]*]]: memref<8xf32>, %[[A:[^:]*]]: memref<8xf32>, %[[B:[^:]*]]: memref<8xf32>, %[[C:[^:]*]]: memref<8xf32>)
// CHECK-DAG:     memref.copy %[[X]], %[[A]]
// CHECK-DAG:     linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[B]] : memref<8xf32>)
// CHECK-DAG:     memref.copy %[[B]], %[[C]]
// CHECK:         return
func.func @copies(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %x, %0, %0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// One fill that two sums start from is made twice: with one, the second sum
// would need a copy of it.

// CHECK-LABEL: func.func @equal_fills(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4x8xf32>, %[[Y:[^:]*]]: memref<4xf32>, %[[Z:[^:]*]]: memref<4xf32>)
// CHECK-NEXT:    %[[C:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     linalg.fill ins(%[[C]] : f32) outs(%[[Y]] : memref<4xf32>)
// CHECK-DAG:     linalg.fill ins(%[[C]] : f32) outs(%[[Z]] : memref<4xf32>)
// CHECK:         linalg.reduce {{.*}} ins(%[[X]] : memref<4x8xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK-NEXT:    linalg.reduce {{.*}} ins(%[[X]] : memref<4x8xf32>) outs(%[[Z]] : memref<4xf32>)
// CHECK-NEXT:    return
func.func @equal_fills(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce {arith.maximumf} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A collective in flight: nobody writes its source before the wait. The
// operation that would reuse the source gets its own buffer while the exchange
// runs, and may have it afterwards.

// CHECK-LABEL: func.func @writer_in_flight(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4xf32>, %[[R:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<4xf32>)
// CHECK:         linalg.exp ins(%[[X]] : memref<4xf32>) outs(%[[S:.*]] : memref<4xf32>)
// CHECK-NEXT:    %[[T:.*]] = dsv4.all_gather_start sequence %[[S]] into %[[R]] on @mesh ["cp"] {dsv4.path = "m"} : memref<4xf32> into memref<8xf32>
// CHECK-NEXT:    %[[OWN:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT:    linalg.log ins(%[[X]] : memref<4xf32>) outs(%[[OWN]] : memref<4xf32>)
// CHECK-NEXT:    dsv4.wait %[[T]], %[[R]] reading %[[S]] {dsv4.path = "m"} : memref<8xf32>, memref<4xf32>
// CHECK:         return

// CHECK-LABEL: func.func @writer_after_wait(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4xf32>, %[[R:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<4xf32>)
// CHECK:         linalg.exp ins(%[[X]] : memref<4xf32>) outs(%[[S:.*]] : memref<4xf32>)
// CHECK-NEXT:    %[[T:.*]] = dsv4.all_gather_start sequence %[[S]] into %[[R]]
// CHECK-NEXT:    dsv4.wait %[[T]], %[[R]] reading %[[S]]
// CHECK-NEXT:    linalg.log ins(%[[X]] : memref<4xf32>) outs(%[[S]] : memref<4xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         return
dsv4.mesh @mesh ["cp" = 2]
func.func @writer_in_flight(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %i = tensor.empty() : tensor<8xf32>
  %s, %t = dsv4.all_gather_start sequence %0 into %i on @mesh ["cp"] {dsv4.path = "m"} : tensor<4xf32> into tensor<8xf32> -> tensor<8xf32>
  %1 = linalg.log ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %r = dsv4.wait %t, %s reading %0 {dsv4.path = "m"} : tensor<8xf32>, tensor<4xf32> -> tensor<8xf32>
  return %r, %1 : tensor<8xf32>, tensor<4xf32>
}
func.func @writer_after_wait(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %i = tensor.empty() : tensor<8xf32>
  %s, %t = dsv4.all_gather_start sequence %0 into %i on @mesh ["cp"] : tensor<4xf32> into tensor<8xf32> -> tensor<8xf32>
  %r = dsv4.wait %t, %s reading %0 : tensor<8xf32>, tensor<4xf32> -> tensor<8xf32>
  %1 = linalg.log ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return %r, %1 : tensor<8xf32>, tensor<4xf32>
}

// The destination is completed in place: what follows the wait may write there.
// The source is an argument, and its start needs no copy.

// CHECK-LABEL: func.func @reductions(
// CHECK-SAME:    %[[X:[^:]*]]: memref<f32>, %[[V:[^:]*]]: memref<8xf64>, %[[Y:[^:]*]]: memref<f32>, %[[W:[^:]*]]: memref<4xf64>)
// CHECK-NEXT:    %[[T0:.*]] = dsv4.all_reduce_start scalar max %[[X]] into %[[Y]] on @mesh ["cp"] : memref<f32> into memref<f32>
// CHECK-NEXT:    %[[T1:.*]] = dsv4.reduce_scatter_start sequence %[[V]] into %[[W]] on @mesh ["cp"] : memref<8xf64> into memref<4xf64>
// CHECK-NEXT:    dsv4.wait %[[T0]], %[[Y]] reading %[[X]]
// CHECK-NEXT:    dsv4.wait %[[T1]], %[[W]] reading %[[V]]
// CHECK-NEXT:    linalg.exp ins(%[[Y]] : memref<f32>) outs(%[[Y]] : memref<f32>)
// CHECK-NEXT:    return
func.func @reductions(%x: tensor<f32>, %v: tensor<8xf64>) -> (tensor<f32>, tensor<4xf64>) {
  %e = tensor.empty() : tensor<f32>
  %s, %t = dsv4.all_reduce_start scalar max %x into %e on @mesh ["cp"] : tensor<f32> into tensor<f32> -> tensor<f32>
  %f = tensor.empty() : tensor<4xf64>
  %s1, %t1 = dsv4.reduce_scatter_start sequence %v into %f on @mesh ["cp"] : tensor<8xf64> into tensor<4xf64> -> tensor<4xf64>
  %r = dsv4.wait %t, %s reading %x : tensor<f32>, tensor<f32> -> tensor<f32>
  %r1 = dsv4.wait %t1, %s1 reading %v : tensor<4xf64>, tensor<8xf64> -> tensor<4xf64>
  %0 = linalg.exp ins(%r : tensor<f32>) outs(%r : tensor<f32>) -> tensor<f32>
  return %0, %r1 : tensor<f32>, tensor<4xf64>
}

// -----

// Calls of outlined blocks: their results go to the destination that the caller
// gave, without a copy on either side, and are dropped from the signature. The
// same destination twice is two. Inputs that must not be written are not.

// CHECK-LABEL: func.func @calls(
// CHECK-SAME:    %[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>)
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    call @block(%[[X]], %[[A]]) : (memref<8xf32>, memref<8xf32>) -> ()
// CHECK-NEXT:    call @block(%[[A]], %[[Y]]) : (memref<8xf32>, memref<8xf32>) -> ()
// CHECK-NEXT:    return
// CHECK:       func.func private @block(%[[X:[^:]*]]: memref<8xf32>, %[[OUT:[^:]*]]: memref<8xf32>) {
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK-NEXT:    linalg.add ins(%[[A]], %[[X]] : memref<8xf32>, memref<8xf32>) outs(%[[OUT]] : memref<8xf32>)
// CHECK-NEXT:    return
func.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @block(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = call @block(%0, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @block(%x: tensor<8xf32> {bufferization.writable = false}, %out: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %1 = linalg.add ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Parameters are views of the flat buffer, and a shape change moves nothing.

// CHECK-LABEL: func.func @views(
// CHECK-SAME:    %[[F:[^:]*]]: memref<16xf32>, %[[X:[^:]*]]: memref<2x4xf32>, %[[Y:[^:]*]]: memref<2x4xf32>)
// CHECK-NEXT:    %[[S:.*]] = memref.subview %[[F]][8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
// CHECK-NEXT:    %[[W:.*]] = memref.expand_shape %[[S]] {{\[\[}}0, 1]] output_shape [2, 4]
// CHECK-NEXT:    linalg.add ins(%[[W]], %[[X]] : memref<2x4xf32, strided<[4, 1], offset: 8>>, memref<2x4xf32>) outs(%[[Y]] : memref<2x4xf32>)
// CHECK-NEXT:    return
func.func @views(%f: tensor<16xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = tensor.extract_slice %f[8] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %2 = linalg.add ins(%1, %x : tensor<2x4xf32>, tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
