// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Adjoints of structured operations: the example of each operation's
// documentation, optional parts absent, and forms on memrefs.

// CHECK-LABEL: func.func @window_attention_grad(
// CHECK: %{{.*}}:4 = dsv4.window_attention_grad {ratio = 4 : i64, scale = 2.500000e-01 : f64, window = 8 : i64}
// CHECK-SAME: ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>)
// CHECK-SAME: pool(%arg6 : tensor<2x4x32xf32>) selected(%arg7 : tensor<2x8x4xi64>)
// CHECK-SAME: outs(%arg8, %arg9, %arg10 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%arg11 : tensor<2x4x32xf32>)
// CHECK-SAME: -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x4x32xf32>
func.func @window_attention_grad(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %sink: tensor<4xf32>, %do: tensor<2x8x4x32xf32>, %q0: index, %k0: index,
                                 %c: tensor<2x4x32xf32>, %s: tensor<2x8x4xi64>, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>,
                                 %dc: tensor<2x4x32xf32>) {
  %g:4 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64}
    ins(%q, %k, %sink, %do, %q0, %k0 : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>)
    pool(%c : tensor<2x4x32xf32>) selected(%s : tensor<2x8x4xi64>)
    outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%dc : tensor<2x4x32xf32>)
    -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x4x32xf32>
  return
}

// CHECK-LABEL: func.func @window_attention_grad_window_only(
// CHECK: %{{.*}}:3 = dsv4.window_attention_grad
// CHECK-SAME: ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg4 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>, tensor<2x8x4x32xbf16>)
// CHECK-SAME: outs(%arg5, %arg6, %arg7 : tensor<2x8x4x32xbf16>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xbf16>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
func.func @window_attention_grad_window_only(%q: tensor<2x8x4x32xbf16>, %k: tensor<2x16x32xbf16>, %sink: tensor<4xf32>, %do: tensor<2x8x4x32xbf16>, %q0: index,
                                             %dq: tensor<2x8x4x32xbf16>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>) {
  %g:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64}
    ins(%q, %k, %sink, %do, %q0, %q0 : tensor<2x8x4x32xbf16>, tensor<2x16x32xbf16>, tensor<4xf32>, tensor<2x8x4x32xbf16>)
    outs(%dq, %dk, %ds : tensor<2x8x4x32xbf16>, tensor<2x16x32xf32>, tensor<2x8x4xf32>)
    -> tensor<2x8x4x32xbf16>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// CHECK-LABEL: func.func @window_attention_grad_memref(
// CHECK: dsv4.window_attention_grad
// CHECK-SAME: pool(%arg5 : memref<2x4x32xf32>) outs(%arg6, %arg7, %arg8 : memref<2x8x4x32xf32>, memref<2x16x32xf32>, memref<2x8x4xf32>) pool_grad(%arg9 : memref<2x4x32xf32>){{$}}
func.func @window_attention_grad_memref(%q: memref<2x8x4x32xf32>, %k: memref<2x16x32xf32>, %sink: memref<4xf32>, %do: memref<2x8x4x32xf32>, %q0: index,
                                        %c: memref<2x4x32xf32>, %dq: memref<2x8x4x32xf32>, %dk: memref<2x16x32xf32>, %ds: memref<2x8x4xf32>,
                                        %dc: memref<2x4x32xf32>) {
  dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64}
    ins(%q, %k, %sink, %do, %q0, %q0 : memref<2x8x4x32xf32>, memref<2x16x32xf32>, memref<4xf32>, memref<2x8x4x32xf32>)
    pool(%c : memref<2x4x32xf32>)
    outs(%dq, %dk, %ds : memref<2x8x4x32xf32>, memref<2x16x32xf32>, memref<2x8x4xf32>) pool_grad(%dc : memref<2x4x32xf32>)
  return
}

// CHECK-LABEL: func.func @pool_windows_grad(
// CHECK: %{{.*}}:2 = dsv4.pool_windows_grad {overlap}
// CHECK-SAME: ins(%arg0, %arg1, %arg2, %arg3, %arg4 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x8x32xf32>)
// CHECK-SAME: outs(%arg5, %arg6 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>
func.func @pool_windows_grad(%kv: tensor<2x16x4x64xf32>, %gate: tensor<2x16x4x64xf32>, %ape: tensor<4x64xf32>, %g: tensor<2x8x32xf32>, %w0: index,
                             %dkv: tensor<2x16x4x64xf32>, %dgate: tensor<2x16x4x64xf32>) {
  %d:2 = dsv4.pool_windows_grad {overlap}
    ins(%kv, %gate, %ape, %g, %w0 : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x8x32xf32>)
    outs(%dkv, %dgate : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>
  return
}

// CHECK-LABEL: func.func @pool_windows_grad_plain(
// CHECK: dsv4.pool_windows_grad ins(%arg0, %arg0, %arg1, %arg2, %arg3 : memref<2x8x16x32xf64>, memref<2x8x16x32xf64>, memref<16x32xf64>, memref<2x8x32xf64>)
// CHECK-SAME: outs(%arg4, %arg5 : memref<2x8x16x32xf64>, memref<2x8x16x32xf64>){{$}}
func.func @pool_windows_grad_plain(%kv: memref<2x8x16x32xf64>, %ape: memref<16x32xf64>, %g: memref<2x8x32xf64>, %w0: index,
                                   %dkv: memref<2x8x16x32xf64>, %dgate: memref<2x8x16x32xf64>) {
  dsv4.pool_windows_grad ins(%kv, %kv, %ape, %g, %w0 : memref<2x8x16x32xf64>, memref<2x8x16x32xf64>, memref<16x32xf64>, memref<2x8x32xf64>)
    outs(%dkv, %dgate : memref<2x8x16x32xf64>, memref<2x8x16x32xf64>)
  return
}

// CHECK-LABEL: func.func @sinkhorn_grad(
// CHECK: %{{.*}} = dsv4.sinkhorn_grad {eps = 9.9999999999999995E-7 : f64, iterations = 20 : i64} ins(%arg0, %arg1 : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) outs(%arg2 : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
func.func @sinkhorn_grad(%x: tensor<2x8x4x4xf32>, %g: tensor<2x8x4x4xf32>, %e: tensor<2x8x4x4xf32>) {
  %d = dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>)
    outs(%e : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return
}

// CHECK-LABEL: func.func @scatter_add(
// CHECK: %{{.*}} = dsv4.scatter_add ins(%arg0, %arg1 : tensor<2x8x64xf32>, tensor<2x8xi64>) outs(%arg2 : tensor<96x64xf32>) -> tensor<96x64xf32>
func.func @scatter_add(%g: tensor<2x8x64xf32>, %ids: tensor<2x8xi64>, %e: tensor<96x64xf32>) {
  %d = dsv4.scatter_add ins(%g, %ids : tensor<2x8x64xf32>, tensor<2x8xi64>) outs(%e : tensor<96x64xf32>) -> tensor<96x64xf32>
  return
}

// CHECK-LABEL: func.func @scatter_along(
// CHECK: %{{.*}} = dsv4.scatter_along ins(%arg0, %arg1 : tensor<2x8x2xf32>, tensor<2x8x2xi64>) outs(%arg2 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
func.func @scatter_along(%g: tensor<2x8x2xf32>, %i: tensor<2x8x2xi64>, %e: tensor<2x8x16xf32>) {
  %d = dsv4.scatter_along ins(%g, %i : tensor<2x8x2xf32>, tensor<2x8x2xi64>) outs(%e : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// CHECK-LABEL: func.func @dispatch_rows_grad(
// CHECK: %{{.*}} = dsv4.dispatch_rows_grad ins(%arg0, %arg1 : tensor<32x64xf32>, tensor<32xi64>) outs(%arg2 : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
func.func @dispatch_rows_grad(%g: tensor<32x64xf32>, %o: tensor<32xi64>, %e: tensor<2x8x64xf32>) {
  %d = dsv4.dispatch_rows_grad ins(%g, %o : tensor<32x64xf32>, tensor<32xi64>) outs(%e : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// CHECK-LABEL: func.func @dispatch_weights_grad(
// CHECK: %{{.*}} = dsv4.dispatch_weights_grad ins(%arg0, %arg1 : tensor<32xf32>, tensor<32xi64>) outs(%arg2 : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
func.func @dispatch_weights_grad(%g: tensor<32xf32>, %o: tensor<32xi64>, %e: tensor<2x8x2xf32>) {
  %d = dsv4.dispatch_weights_grad ins(%g, %o : tensor<32xf32>, tensor<32xi64>) outs(%e : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
  return
}

// CHECK-LABEL: func.func @combine_rows_grad(
// CHECK: %{{.*}} = dsv4.combine_rows_grad ins(%arg0, %arg1, %arg2 : tensor<2x8x64xf32>, tensor<32xi64>, tensor<5xi64>) outs(%arg3 : tensor<32x64xf32>) -> tensor<32x64xf32>
func.func @combine_rows_grad(%g: tensor<2x8x64xf32>, %o: tensor<32xi64>, %n: tensor<5xi64>, %e: tensor<32x64xf32>) {
  %d = dsv4.combine_rows_grad ins(%g, %o, %n : tensor<2x8x64xf32>, tensor<32xi64>, tensor<5xi64>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: func.func @grouped_outer(
// CHECK: %{{.*}} = dsv4.grouped_outer ins(%arg0, %arg1, %arg2 : tensor<32x64xf32>, tensor<32x48xf32>, tensor<5xi64>) outs(%arg3 : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
func.func @grouped_outer(%x: tensor<32x64xf32>, %g: tensor<32x48xf32>, %n: tensor<5xi64>, %e: tensor<4x64x48xf32>) {
  %d = dsv4.grouped_outer ins(%x, %g, %n : tensor<32x64xf32>, tensor<32x48xf32>, tensor<5xi64>) outs(%e : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// CHECK-LABEL: func.func @grouped_matmul_transposed(
// CHECK: %{{.*}} = dsv4.grouped_matmul {transposed} ins(%arg0, %arg1, %arg2 : tensor<32x48xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%arg3 : tensor<32x64xf32>) -> tensor<32x64xf32>
func.func @grouped_matmul_transposed(%x: tensor<32x48xf32>, %w: tensor<4x64x48xf32>, %n: tensor<5xi64>, %e: tensor<32x64xf32>) {
  %y = dsv4.grouped_matmul {transposed} ins(%x, %w, %n : tensor<32x48xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: func.func @on_memrefs(
// CHECK: dsv4.sinkhorn_grad {{.*}} outs(%arg0 : memref<2x8x4x4xf32>){{$}}
// CHECK: dsv4.scatter_add {{.*}} outs(%arg3 : memref<96x64xf32>){{$}}
// CHECK: dsv4.grouped_outer {{.*}} outs(%arg6 : memref<4x64x64xf32>){{$}}
func.func @on_memrefs(%x: memref<2x8x4x4xf32>, %g: memref<2x8x64xbf16>, %ids: memref<2x8xi64>, %t: memref<96x64xf32>, %r: memref<32x64xf32>, %n: memref<5xi64>,
                      %w: memref<4x64x64xf32>) {
  dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %x : memref<2x8x4x4xf32>, memref<2x8x4x4xf32>) outs(%x : memref<2x8x4x4xf32>)
  dsv4.scatter_add ins(%g, %ids : memref<2x8x64xbf16>, memref<2x8xi64>) outs(%t : memref<96x64xf32>)
  dsv4.grouped_outer ins(%r, %r, %n : memref<32x64xf32>, memref<32x64xf32>, memref<5xi64>) outs(%w : memref<4x64x64xf32>)
  return
}
