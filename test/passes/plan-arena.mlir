// RUN: dsv4-opt %s -split-input-file -dsv4-plan-arena | FileCheck %s

// Allocations become views of one arena. A buffer occupies its place from its
// first to its last use; every place starts at 64 bytes.

// Four buffers in a chain, of which two live at a time: the third lies where
// the first was. One that nobody uses is gone. The peak is the lower bound.

// CHECK-LABEL: func.func @reuse(
// CHECK-SAME:    %[[X:[^:]*]]: memref<16xf32>, %[[Y:[^:]*]]: memref<16xf32> {dsv4.result = "y"}, %[[WORK:[^:]*]]: memref<128xi8> {dsv4.work})
// CHECK-SAME:    attributes {dsv4.work_buffers = array<i64: 0, 64, 64, 64>, dsv4.work_bytes = 128 : i64, dsv4.work_bytes_lower_bound = 128 : i64}
// CHECK-NEXT:    %[[OA:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[A:.*]] = memref.view %[[WORK]][%[[OA]]][] : memref<128xi8> to memref<16xf32>
// CHECK-NEXT:    %[[OB:.*]] = arith.constant 64 : index
// CHECK-NEXT:    %[[B:.*]] = memref.view %[[WORK]][%[[OB]]][] : memref<128xi8> to memref<16xf32>
// CHECK-NEXT:    %[[OC:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[C:.*]] = memref.view %[[WORK]][%[[OC]]][] : memref<128xi8> to memref<4x4xf32>
// CHECK-NEXT:    %[[CC:.*]] = memref.collapse_shape %[[C]]
// CHECK-NEXT:    dsv4.launch @kernel(%[[X]], %[[A]])
// CHECK-NEXT:    dsv4.launch @kernel(%[[A]], %[[B]])
// CHECK-NEXT:    dsv4.launch @kernel(%[[B]], %[[CC]])
// CHECK-NEXT:    dsv4.launch @kernel(%[[CC]], %[[Y]])
// CHECK-NEXT:    return
func.func private @kernel(%a: memref<16xf32>, %b: memref<16xf32>) attributes {dsv4.kernel} {
  return
}
func.func @reuse(%x: memref<16xf32>, %y: memref<16xf32> {dsv4.result = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<4x4xf32>
  %unused = memref.alloc() : memref<4096xf32>
  %cc = memref.collapse_shape %c [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  dsv4.launch @kernel(%x, %a) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%a, %b) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%b, %cc) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%cc, %y) writes [1] : memref<16xf32>, memref<16xf32>
  return
}

// -----

// A view keeps its buffer alive, through several views: the last launch reads
// the first buffer, so nothing may lie there.

// CHECK-LABEL: func.func @views(
// CHECK-SAME:    dsv4.work_buffers = array<i64: 0, 64, 64, 64, 128, 64>, dsv4.work_bytes = 192 : i64, dsv4.work_bytes_lower_bound = 192 : i64
// CHECK:         %[[OA:.*]] = arith.constant 0 : index
// CHECK-NEXT:    memref.view %{{.*}}[%[[OA]]]
// CHECK:         %[[OB:.*]] = arith.constant 64 : index
// CHECK-NEXT:    memref.view %{{.*}}[%[[OB]]]
// CHECK:         %[[OC:.*]] = arith.constant 128 : index
// CHECK-NEXT:    memref.view %{{.*}}[%[[OC]]]
func.func private @kernel(%a: memref<16xf32>, %b: memref<16xf32>) attributes {dsv4.kernel} {
  return
}
func.func @views(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  %e = memref.expand_shape %a [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  %v = memref.collapse_shape %e [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  dsv4.launch @kernel(%x, %a) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%a, %b) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%b, %c) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%v, %c) writes [1] : memref<16xf32>, memref<16xf32>
  return
}

// -----

// A collective in flight: source and destination live until the wait. What is
// made meanwhile lies elsewhere, what is made afterwards where the source was.

// CHECK-LABEL: func.func @in_flight(
// CHECK-SAME:    dsv4.work_buffers = array<i64: 0, 128, 128, 64, 192, 64>, dsv4.work_bytes = 256 : i64, dsv4.work_bytes_lower_bound = 256 : i64
// CHECK:         %[[OS:.*]] = arith.constant 128 : index
// CHECK-NEXT:    %[[S:.*]] = memref.view %{{.*}}[%[[OS]]][]
// CHECK:         %[[OG:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[G:.*]] = memref.view %{{.*}}[%[[OG]]][]
// CHECK:         %[[T:.*]] = dsv4.all_gather_start sequence %[[S]] into %[[G]]
// CHECK:         %[[OM:.*]] = arith.constant 192 : index
// CHECK-NEXT:    %[[M:.*]] = memref.view %{{.*}}[%[[OM]]][]
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %[[M]])
// CHECK-NEXT:    dsv4.wait %[[T]], %[[G]] reading %[[S]]
// CHECK-NEXT:    %[[OL:.*]] = arith.constant 128 : index
// CHECK-NEXT:    %[[L:.*]] = memref.view %{{.*}}[%[[OL]]][]
// CHECK-NEXT:    memref.subview %[[G]]
// CHECK-NEXT:    dsv4.launch @kernel(%{{.*}}, %[[L]])
dsv4.mesh @mesh ["cp" = 2]
func.func private @kernel(%a: memref<16xf32>, %b: memref<16xf32>) attributes {dsv4.kernel} {
  return
}
func.func @in_flight(%x: memref<16xf32>) {
  %s = memref.alloc() : memref<16xf32>
  %g = memref.alloc() : memref<32xf32>
  dsv4.launch @kernel(%x, %s) writes [1] : memref<16xf32>, memref<16xf32>
  %t = dsv4.all_gather_start sequence %s into %g on @mesh ["cp"] : memref<16xf32> into memref<32xf32>
  %m = memref.alloc() : memref<16xf32>
  dsv4.launch @kernel(%x, %m) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.wait %t, %g reading %s : memref<32xf32>, memref<16xf32>
  %l = memref.alloc() : memref<16xf32>
  %v = memref.subview %g[16] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1], offset: 16>>
  dsv4.launch @kernel(%v, %l) writes [1] : memref<16xf32, strided<[1], offset: 16>>, memref<16xf32>
  return
}

// -----

// A private function takes its buffers as a scratch argument, each call gives
// it one that is occupied during the call: both calls use the same place. A
// function without buffers gets none. Callees may stand behind their callers,
// and scratch of a nested call is part of its caller's. The list of buffers has
// those of the callees, once.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: memref<16xf32>, %[[WORK:[^:]*]]: memref<256xi8> {dsv4.work})
// CHECK-SAME:    attributes {dsv4.work_buffers = array<i64: 0, 64, 64, 64, 128, 64, 192, 64>, dsv4.work_bytes = 256 : i64, dsv4.work_bytes_lower_bound = 256 : i64}
// CHECK:         %[[OA:.*]] = arith.constant 192 : index
// CHECK-NEXT:    %[[A:.*]] = memref.view %[[WORK]][%[[OA]]][] : memref<256xi8> to memref<16xf32>
// CHECK-NEXT:    %[[O1:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[S1:.*]] = memref.view %[[WORK]][%[[O1]]][] : memref<256xi8> to memref<192xi8>
// CHECK-NEXT:    call @outer(%[[X]], %[[A]], %[[S1]]) : (memref<16xf32>, memref<16xf32>, memref<192xi8>) -> ()
// CHECK-NEXT:    %[[O2:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[S2:.*]] = memref.view %[[WORK]][%[[O2]]][] : memref<256xi8> to memref<192xi8>
// CHECK-NEXT:    call @outer(%[[A]], %[[X]], %[[S2]])
// CHECK-NEXT:    call @none(%[[X]]) : (memref<16xf32>) -> ()
// CHECK-NEXT:    return
// CHECK:       func.func private @outer(%{{[^:]*}}: memref<16xf32>, %{{[^:]*}}: memref<16xf32>, %[[S:[^:]*]]: memref<192xi8> {dsv4.scratch}) {
// CHECK-NOT:     memref.alloc
// CHECK:         %[[IN:.*]] = memref.view %[[S]][%{{.*}}][] : memref<192xi8> to memref<128xi8>
// CHECK-NEXT:    call @inner(%{{.*}}, %{{.*}}, %[[IN]]) : (memref<16xf32>, memref<16xf32>, memref<128xi8>) -> ()
// CHECK:       func.func private @inner(%{{[^:]*}}: memref<16xf32>, %{{[^:]*}}: memref<16xf32>, %[[S:[^:]*]]: memref<128xi8> {dsv4.scratch}) {
// CHECK:         memref.view %[[S]]
// CHECK:       func.func private @none(%{{[^:]*}}: memref<16xf32>) {
func.func private @kernel(%a: memref<16xf32>, %b: memref<16xf32>) attributes {dsv4.kernel} {
  return
}
func.func @main(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  call @outer(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  call @outer(%a, %x) : (memref<16xf32>, memref<16xf32>) -> ()
  call @none(%x) : (memref<16xf32>) -> ()
  return
}
func.func private @outer(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  dsv4.launch @kernel(%x, %a) writes [1] : memref<16xf32>, memref<16xf32>
  call @inner(%a, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  return
}
func.func private @inner(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  dsv4.launch @kernel(%x, %a) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%a, %b) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%b, %y) writes [1] : memref<16xf32>, memref<16xf32>
  return
}
func.func private @none(%x: memref<16xf32>) {
  return
}

// -----

// Sizes: i1 and i8 take a byte, bf16 two; a buffer of nothing takes no place. A
// use inside a region counts for the operation that holds it: both buffers live
// in the whole loop.

// CHECK-LABEL: func.func @sizes(
// CHECK-SAME:    %{{[^:]*}}: memref<384xi8> {dsv4.work}) attributes {dsv4.work_buffers = array<i64: 0, 0, 0, 130, 192, 65, 320, 8>, dsv4.work_bytes = 384 : i64, dsv4.work_bytes_lower_bound = 384 : i64}
// CHECK:         memref.view %{{.*}} : memref<384xi8> to memref<65xi1>
// CHECK:         memref.view %{{.*}} : memref<384xi8> to memref<65xbf16>
// CHECK:         memref.view %{{.*}} : memref<384xi8> to memref<0xf64>
// CHECK:         memref.view %{{.*}} : memref<384xi8> to memref<1xf64>
// CHECK-NOT:     memref.alloc
func.func private @k0(%a: memref<65xi1>) attributes {dsv4.kernel} {
  return
}
func.func private @k1(%a: memref<65xbf16>, %b: memref<0xf64>) attributes {dsv4.kernel} {
  return
}
func.func private @k2(%a: memref<1xf64>) attributes {dsv4.kernel} {
  return
}
func.func @sizes(%n: index) {
  %a = memref.alloc() : memref<65xi1>
  %b = memref.alloc() : memref<65xbf16>
  %c = memref.alloc() : memref<0xf64>
  %d = memref.alloc() : memref<1xf64>
  scf.for %i = %n to %n step %n {
    dsv4.launch @k0(%a) writes [0] : memref<65xi1>
    dsv4.launch @k1(%b, %c) writes [0] : memref<65xbf16>, memref<0xf64>
    dsv4.launch @k2(%d) writes [0] : memref<1xf64>
  }
  return
}

// -----

// A call inside a region has its scratch there, for as long as the operation
// that holds it: the buffer of the loop lies elsewhere.

// CHECK-LABEL: func.func @nested_call(
// CHECK-SAME:    %[[WORK:[^:]*]]: memref<128xi8> {dsv4.work})
// CHECK:         %[[OA:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[A:.*]] = memref.view %[[WORK]][%[[OA]]][] : memref<128xi8> to memref<16xf32>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[OS:.*]] = arith.constant 64 : index
// CHECK-NEXT:      %[[S:.*]] = memref.view %[[WORK]][%[[OS]]][] : memref<128xi8> to memref<64xi8>
// CHECK-NEXT:      func.call @block(%[[A]], %[[S]]) : (memref<16xf32>, memref<64xi8>) -> ()
func.func private @kernel(%a: memref<16xf32>, %b: memref<16xf32>) attributes {dsv4.kernel} {
  return
}
func.func private @block(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  dsv4.launch @kernel(%x, %a) writes [1] : memref<16xf32>, memref<16xf32>
  dsv4.launch @kernel(%a, %x) writes [1] : memref<16xf32>, memref<16xf32>
  return
}
func.func @nested_call(%n: index) {
  %a = memref.alloc() : memref<16xf32>
  scf.for %i = %n to %n step %n {
    func.call @block(%a) : (memref<16xf32>) -> ()
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// What stays
//===----------------------------------------------------------------------===//

// Kernels have no arena, declarations nothing to place. A public function gets
// an arena even if it is empty.

// CHECK:       func.func private @declaration()
// CHECK:       func.func private @kernel(%{{[^,]*}}: memref<16xf32>) attributes {dsv4.kernel} {
// CHECK-NEXT:    memref.alloc
// CHECK:       func.func @empty(%{{[^,]*}}: memref<0xi8> {dsv4.work}) attributes {dsv4.work_buffers = array<i64>, dsv4.work_bytes = 0 : i64, dsv4.work_bytes_lower_bound = 0 : i64} {
// CHECK-NEXT:    return
func.func private @declaration()
func.func private @kernel(%a: memref<16xf32>) attributes {dsv4.kernel} {
  %0 = memref.alloc() : memref<16xf32>
  memref.copy %a, %0 : memref<16xf32> to memref<16xf32>
  return
}
func.func @empty() {
  return
}
