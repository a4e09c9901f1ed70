// RUN: dsv4-opt %s -split-input-file -convert-dsv4-to-runtime | FileCheck %s

// Views of buffers are pointer arithmetic in bytes; indices are i64.

// A view starts at its byte shift. Static offsets of a subview are one constant,
// (4 * 16 + 3) * 4 bytes; its own strides move nothing. A subview of a subview
// counts from there with those strides, (1 * 32 + 1 * 2) * 4 bytes. No offset
// is the same pointer, and so is another shape.

// CHECK-LABEL: module @views
// CHECK:       llvm.func @dsv4_step(
// CHECK-SAME:    %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %[[WORK:[^:]*]]: !llvm.ptr)
// CHECK:         %[[C64:.*]] = llvm.mlir.constant(64 : i64) : i64
// CHECK-NEXT:    %[[V:.*]] = llvm.getelementptr %[[WORK]][%[[C64]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT:    %[[C268:.*]] = llvm.mlir.constant(268 : i64) : i64
// CHECK-NEXT:    %[[S:.*]] = llvm.getelementptr %[[V]][%[[C268]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT:    llvm.call @matrix(%[[S]]) : (!llvm.ptr) -> ()
// CHECK-NEXT:    %[[C136:.*]] = llvm.mlir.constant(136 : i64) : i64
// CHECK-NEXT:    %[[SS:.*]] = llvm.getelementptr %[[S]][%[[C136]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT:    llvm.call @column(%[[SS]]) : (!llvm.ptr) -> ()
// CHECK-NEXT:    llvm.call @matrix(%[[V]]) : (!llvm.ptr) -> ()
// CHECK-NEXT:    llvm.call @flat(%[[V]]) : (!llvm.ptr) -> ()
// CHECK-NEXT:    llvm.call @dsv4rt_step_end
module @views {
  dsv4.mesh @mesh []
  func.func private @matrix(%a: memref<4x2xf32, strided<[32, 2]>>) attributes {dsv4.kernel} {
    return
  }
  func.func private @column(%a: memref<2x1xf32, strided<[32, 2]>>) attributes {dsv4.kernel} {
    return
  }
  func.func private @flat(%a: memref<256xf32>) attributes {dsv4.kernel} {
    return
  }
  func.func @forward(%work: memref<4096xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 4096>, dsv4.work_bytes = 4096 : i64, dsv4.work_bytes_lower_bound = 4096 : i64} {
    %c64 = arith.constant 64 : index
    %v = memref.view %work[%c64][] : memref<4096xi8> to memref<16x16xf32>
    %s = memref.subview %v[4, 3] [4, 2] [2, 2] : memref<16x16xf32> to memref<4x2xf32, strided<[32, 2], offset: 67>>
    dsv4.launch @matrix(%s) writes [0] : memref<4x2xf32, strided<[32, 2], offset: 67>>
    %ss = memref.subview %s[1, 1] [2, 1] [1, 1] : memref<4x2xf32, strided<[32, 2], offset: 67>> to memref<2x1xf32, strided<[32, 2], offset: 101>>
    dsv4.launch @column(%ss) writes [0] : memref<2x1xf32, strided<[32, 2], offset: 101>>
    %z = memref.subview %v[0, 0] [4, 2] [2, 2] : memref<16x16xf32> to memref<4x2xf32, strided<[32, 2]>>
    dsv4.launch @matrix(%z) writes [0] : memref<4x2xf32, strided<[32, 2]>>
    %f = memref.collapse_shape %v [[0, 1]] : memref<16x16xf32> into memref<256xf32>
    dsv4.launch @flat(%f) writes [0] : memref<256xf32>
    return
  }
}

// -----

// Dynamic offsets are scaled by stride and bytes of an element and added, two of
// them together, behind the static ones: 5 * 2 bytes, %i * 160 and %j * 20.

// CHECK-LABEL: module @dynamic
// CHECK:       llvm.func @block(
// CHECK-SAME:    %{{[^:]*}}: !llvm.ptr, %[[X:[^:]*]]: !llvm.ptr, %[[I:[^:]*]]: i64, %[[J:[^:]*]]: i64) -> i32 {
// CHECK-NEXT:    %[[C160:.*]] = llvm.mlir.constant(160 : i64) : i64
// CHECK-NEXT:    %[[A:.*]] = llvm.mul %[[I]], %[[C160]] : i64
// CHECK-NEXT:    %[[C20:.*]] = llvm.mlir.constant(20 : i64) : i64
// CHECK-NEXT:    %[[B:.*]] = llvm.mul %[[J]], %[[C20]] : i64
// CHECK-NEXT:    %[[AB:.*]] = llvm.add %[[A]], %[[B]] : i64
// CHECK-NEXT:    %[[C10:.*]] = llvm.mlir.constant(10 : i64) : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[X]][%[[C10]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT:    %[[Q:.*]] = llvm.getelementptr %[[P]][%[[AB]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT:    llvm.call @kernel(%[[Q]])
module @dynamic {
  dsv4.mesh @mesh []
  func.func private @kernel(%a: memref<1x1x5xbf16, strided<[80, 10, 1]>>) attributes {dsv4.kernel} {
    return
  }
  func.func private @block(%x: memref<4x8x10xbf16>, %i: index, %j: index) {
    %s = memref.subview %x[%i, %j, 5] [1, 1, 5] [1, 1, 1] : memref<4x8x10xbf16> to memref<1x1x5xbf16, strided<[80, 10, 1], offset: ?>>
    dsv4.launch @kernel(%s) writes [0] : memref<1x1x5xbf16, strided<[80, 10, 1], offset: ?>>
    return
  }
  func.func @forward(%work: memref<640xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 640>, dsv4.work_bytes = 640 : i64, dsv4.work_bytes_lower_bound = 640 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.view %work[%c0][] : memref<640xi8> to memref<4x8x10xbf16>
    call @block(%x, %c0, %c1) : (memref<4x8x10xbf16>, index, index) -> ()
    return
  }
}

// -----

// The coordinate over two axes is row-major in the order that the operation
// names them, here cp before dp_shard: (0 * 4 + cp) * 2 + dp_shard. Without axes it is
// zero. Index arithmetic is arithmetic of i64.

// CHECK-LABEL: module @axes
// CHECK:       llvm.func @dsv4_step(
// CHECK-SAME:    %[[M:[^:]*]]: !llvm.ptr,
// CHECK:         %[[ZERO:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-NEXT:    %[[CP:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK-NEXT:    %[[I:.*]] = llvm.call @dsv4rt_axis_index(%[[M]], %[[CP]]) : (!llvm.ptr, i32) -> i32
// CHECK-NEXT:    %[[I64:.*]] = llvm.sext %[[I]] : i32 to i64
// CHECK-NEXT:    %[[N4:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-NEXT:    %[[S:.*]] = llvm.mul %[[ZERO]], %[[N4]] : i64
// CHECK-NEXT:    %[[A:.*]] = llvm.add %[[S]], %[[I64]] : i64
// CHECK-NEXT:    %[[DP:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    %[[J:.*]] = llvm.call @dsv4rt_axis_index(%[[M]], %[[DP]]) : (!llvm.ptr, i32) -> i32
// CHECK-NEXT:    %[[J64:.*]] = llvm.sext %[[J]] : i32 to i64
// CHECK-NEXT:    %[[N2:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK-NEXT:    %[[T:.*]] = llvm.mul %[[A]], %[[N2]] : i64
// CHECK-NEXT:    %[[BOTH:.*]] = llvm.add %[[T]], %[[J64]] : i64
// CHECK-NEXT:    %[[NONE:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-NEXT:    %[[ADD:.*]] = llvm.add %[[BOTH]], %[[NONE]] : i64
// CHECK-NEXT:    %[[SUB:.*]] = llvm.sub %[[ADD]], %[[NONE]] : i64
// CHECK-NEXT:    %[[MUL:.*]] = llvm.mul %[[SUB]], %[[BOTH]] : i64
// CHECK-NEXT:    llvm.call @kernel(%[[MUL]]) : (i64) -> ()
module @axes {
  dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
  func.func private @kernel(%i: index) attributes {dsv4.kernel} {
    return
  }
  func.func @forward(%work: memref<64xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
    %0 = dsv4.axis_index @mesh ["cp", "dp_shard"]
    %1 = dsv4.axis_index @mesh []
    %2 = arith.addi %0, %1 : index
    %3 = arith.subi %2, %1 : index
    %4 = arith.muli %3, %0 : index
    dsv4.launch @kernel(%4) writes [] : index
    return
  }
}
