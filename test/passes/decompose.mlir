// RUN: dsv4-opt %s -dsv4-decompose -canonicalize | FileCheck %s
// Which loops each kind of operation becomes. That their values are right is
// tested by running them, in test/unit/kernels_jit.

// Descriptors are constants; the two equal products share one.
// CHECK-DAG: llvm.mlir.global internal constant @dsv4_contract_0(
// CHECK-DAG: llvm.func @dsv4rt_contract(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @dsv4rt_grouped_contract(!llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: @dsv4_contract_2

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

// Loops that all operands walk as one become one.
// CHECK-LABEL: func.func private @elementwise_merges(
// CHECK: %[[SIZE:.*]] = arith.constant 1024 : index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[SIZE]]
// CHECK-NOT: scf.for
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: memref.store %[[Y]], %{{.*}}[%[[I]]]
func.func private @elementwise_merges(%a: memref<8x128xf32>, %r: memref<8x128xf32>) attributes {dsv4.kernel} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<8x128xf32>) outs(%r : memref<8x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %x : f32
    linalg.yield %y : f32
  }
  return
}

// The output's contiguous loop is innermost.
// CHECK-LABEL: func.func private @transpose(
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[NINE:.*]] = arith.constant 9 : index
// CHECK: scf.for {{.*}} to %[[NINE]]
// CHECK: scf.for {{.*}} to %[[FOUR]]
func.func private @transpose(%a: memref<4x9xf32>, %r: memref<9x4xf32>) attributes {dsv4.kernel} {
  linalg.transpose ins(%a : memref<4x9xf32>) outs(%r : memref<9x4xf32>) permutation = [1, 0]
  return
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// Full chunks, a masked chunk, the tree of halves, the init last.
// CHECK-LABEL: func.func private @row_sum(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<32xf32>
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[ZERO]]) -> (vector<32xf32>)
// CHECK: %[[X:.*]] = vector.load {{.*}} vector<32xf32>
// CHECK: %[[N:.*]] = arith.addf %[[S]], %[[X]] : vector<32xf32>
// CHECK: scf.yield %[[N]]
// CHECK: vector.maskedload
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[ACC]] : vector<32xi1>, vector<32xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: %[[SUM:.*]] = arith.addf {{.*}} : f32
// CHECK: %[[INIT:.*]] = memref.load
// CHECK: arith.addf %[[INIT]], %[[SUM]] : f32
func.func private @row_sum(%a: memref<8x100xf32>, %r: memref<8xf32>) attributes {dsv4.kernel} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x100xf32>) outs(%r : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  }
  return
}

// Not contiguous: 16 columns at a time, the same order inside each.
// CHECK-LABEL: func.func private @column_sum(
// CHECK: memref.alloca() {{.*}}: memref<512xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>)
func.func private @column_sum(%a: memref<100x48xf32>, %r: memref<48xf32>) attributes {dsv4.kernel} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
    ins(%a : memref<100x48xf32>) outs(%r : memref<48xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  }
  return
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func private @large_contraction(
// CHECK-NOT: scf.for
// CHECK: %[[D:.*]] = llvm.mlir.addressof @dsv4_contract_0
// CHECK: llvm.call @dsv4rt_contract(%[[D]],
func.func private @large_contraction(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %r: memref<64x64xf32>) attributes {dsv4.kernel} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x64xbf16>, memref<64x64xbf16>) outs(%r : memref<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %s = arith.mulf %u, %v : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  }
  return
}

// The batch dimensions are one m: the same descriptor.
// CHECK-LABEL: func.func private @large_contraction_of_batches(
// CHECK: llvm.mlir.addressof @dsv4_contract_0
func.func private @large_contraction_of_batches(%a: memref<2x32x64xbf16>, %b: memref<64x64xbf16>, %r: memref<2x32x64xf32>) attributes {dsv4.kernel} {
  linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<2x32x64xbf16>, memref<64x64xbf16>) outs(%r : memref<2x32x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %s = arith.mulf %u, %v : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  }
  return
}

// CHECK-LABEL: func.func private @small_contraction(
// CHECK-NOT: llvm.call
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[S]] : vector<8xf32>
func.func private @small_contraction(%a: memref<4x4xf32>, %b: memref<4x8xf32>, %r: memref<4x8xf32>) attributes {dsv4.kernel} {
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x8xf32>) outs(%r : memref<4x8xf32>)
  return
}

// CHECK-LABEL: func.func private @grouped(
// CHECK: llvm.call @dsv4rt_grouped_contract(
func.func private @grouped(%x: memref<32x64xf32>, %w: memref<4x64x48xf32>, %n: memref<5xi64>, %r: memref<32x48xf32>) attributes {dsv4.kernel} {
  dsv4.grouped_matmul ins(%x, %w, %n : memref<32x64xf32>, memref<4x64x48xf32>, memref<5xi64>) outs(%r : memref<32x48xf32>)
  return
}

//===----------------------------------------------------------------------===//
// Model operations
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func private @copy(
// CHECK-NOT: memref.copy
// CHECK: scf.for
func.func private @copy(%a: memref<8xf32>, %r: memref<8xf32>) attributes {dsv4.kernel} {
  memref.copy %a, %r : memref<8xf32> to memref<8xf32>
  return
}

// Angles are f64 and come from positions.
// CHECK-LABEL: func.func private @rope(
// CHECK: %[[F:.*]] = arith.constant dense<[1.000000e+00, 1.000000e-01]> : vector<2xf64>
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK: %[[ANGLE:.*]] = arith.mulf %{{.*}}, %[[F]] : vector<2xf64>
// CHECK: math.cos %[[ANGLE]] : vector<2xf64>
// CHECK: math.sin %[[ANGLE]] : vector<2xf64>
func.func private @rope(%x: memref<2x8x6xf32>, %p: memref<2x8xi64>, %r: memref<2x8x6xf32>) attributes {dsv4.kernel} {
  dsv4.rope {inv_freq = array<f64: 1.0, 0.1>} ins(%x, %p : memref<2x8x6xf32>, memref<2x8xi64>) outs(%r : memref<2x8x6xf32>)
  return
}

// The parts of the workspace that this form uses are carved; no other buffer is made but one value per head.
// CHECK-LABEL: func.func private @attention(
// CHECK: memref.alloca() {{.*}}: memref<4xf32>
// CHECK-COUNT-3: memref.view %arg6
// CHECK-NOT: memref.alloc
// CHECK: return
func.func private @attention(%q: memref<1x8x4x32xf32>, %k: memref<1x8x32xf32>, %s: memref<4xf32>, %r: memref<1x8x4x32xf32>,
                             %q0: index, %k0: index, %w: memref<16384xi8> {dsv4.workspace}) attributes {dsv4.kernel} {
  dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %q0, %k0 : memref<1x8x4x32xf32>, memref<1x8x32xf32>, memref<4xf32>)
    outs(%r : memref<1x8x4x32xf32>)
  return
}

//===----------------------------------------------------------------------===//
// Not kernels
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @not_a_kernel(
// CHECK: linalg.fill
func.func @not_a_kernel(%a: memref<8xf32>) {
  %c = arith.constant 0.0 : f32
  linalg.fill ins(%c : f32) outs(%a : memref<8xf32>)
  return
}
