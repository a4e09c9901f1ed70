// RUN: dsv4-opt %s -dsv4-lower-kernels | FileCheck %s
// The form of a kernel as LLVM function: bare pointers without aliases, i64 for
// index, never inlined; polynomials in place of mathematics; integers in place
// of bf16 conversions. Other functions are left alone.

// CHECK-DAG: llvm.func @log(f64) -> f64

// CHECK-LABEL: llvm.func @scalars_and_pointers(
// CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK-SAME: passthrough = ["noinline"]
// CHECK-NOT: math.
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.intr.fma
// CHECK-NOT: bf16 to f32
// CHECK: llvm.call @log(
// CHECK: llvm.return
func.func private @scalars_and_pointers(%a: memref<4xf32>, %i: index, %b: memref<4xbf16>) attributes {dsv4.kernel} {
  %x = memref.load %a[%i] : memref<4xf32>
  %e = math.exp %x : f32
  %w = arith.extf %e : f32 to f64
  %l = math.log %w : f64
  %n = arith.truncf %l : f64 to f32
  %t = arith.truncf %n : f32 to bf16
  memref.store %t, %b[%i] : memref<4xbf16>
  return
}

// A strided argument is a pointer too.
// CHECK-LABEL: llvm.func @strided(%{{.*}}: !llvm.ptr {llvm.noalias})
func.func private @strided(%a: memref<4x4xf32, strided<[16, 2]>>) attributes {dsv4.kernel} {
  %c = arith.constant 1 : index
  %x = memref.load %a[%c, %c] : memref<4x4xf32, strided<[16, 2]>>
  memref.store %x, %a[%c, %c] : memref<4x4xf32, strided<[16, 2]>>
  return
}

//===----------------------------------------------------------------------===//
// Not kernels
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @not_a_kernel(%{{.*}}: f32) -> f32
// CHECK: math.exp
func.func @not_a_kernel(%x: f32) -> f32 {
  %e = math.exp %x : f32
  return %e : f32
}

// CHECK-LABEL: llvm.func @main_already_lowered(
// CHECK-NEXT: llvm.return
llvm.func @main_already_lowered(%a: !llvm.ptr) {
  llvm.return
}
