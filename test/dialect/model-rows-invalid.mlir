// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of the structured operations that order and move rows.

// SinkhornOp C1: [B,T,n,n], the init has its type.
func.func @sinkhorn_c1_square(%a0: tensor<2x8x4x3xf32>, %o0: tensor<2x8x4x3xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn' op needs square matrices, got 4x3}}
  %r0 = dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%a0 : tensor<2x8x4x3xf32>) outs(%o0 : tensor<2x8x4x3xf32>) -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @sinkhorn_c1_init(%a0: tensor<2x8x4x4xf32>, %o0: tensor<2x8x4x4xf64>) {
  // expected-error@+1 {{'dsv4.sinkhorn' op operand 'init' must have element type 'f32', got 'f64'}}
  %r0 = dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%a0 : tensor<2x8x4x4xf32>) outs(%o0 : tensor<2x8x4x4xf64>) -> tensor<2x8x4x4xf64>
  return
}

// -----

func.func @sinkhorn_c1_rank(%a0: tensor<8x4x4xf32>, %o0: tensor<8x4x4xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn' op operand 'input' must be [B T I J], got rank 3}}
  %r0 = dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%a0 : tensor<8x4x4xf32>) outs(%o0 : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  return
}

// -----

// SinkhornOp C2: at least one iteration.
func.func @sinkhorn_c2(%a0: tensor<2x8x4x4xf32>, %o0: tensor<2x8x4x4xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn' op 'iterations' must be at least 1, got 0}}
  %r0 = dsv4.sinkhorn {iterations = 0 : i64, eps = 1.0e-6 : f64} ins(%a0 : tensor<2x8x4x4xf32>) outs(%o0 : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return
}

// -----

// TopkOp C1: leading shape of the operand, i64, 1 <= K <= entries.
func.func @topk_c1_many(%a0: tensor<2x8x16xf32>, %o0: tensor<2x8x17xi64>) {
  // expected-error@+1 {{'dsv4.topk' op selects 17 of 16 entries}}
  %r0 = dsv4.topk ins(%a0 : tensor<2x8x16xf32>) outs(%o0 : tensor<2x8x17xi64>) -> tensor<2x8x17xi64>
  return
}

// -----

func.func @topk_c1_none(%a0: tensor<2x8x16xf32>, %o0: tensor<2x8x0xi64>) {
  // expected-error@+1 {{'dsv4.topk' op selects 0 of 16 entries}}
  %r0 = dsv4.topk ins(%a0 : tensor<2x8x16xf32>) outs(%o0 : tensor<2x8x0xi64>) -> tensor<2x8x0xi64>
  return
}

// -----

func.func @topk_c1_element(%a0: tensor<2x8x16xf32>, %o0: tensor<2x8x2xf32>) {
  // expected-error@+1 {{'dsv4.topk' op operand 'init' must have element type i64, got 'f32'}}
  %r0 = dsv4.topk ins(%a0 : tensor<2x8x16xf32>) outs(%o0 : tensor<2x8x2xf32>) -> tensor<2x8x2xf32>
  return
}

// -----

// GatherRowsOp C1: table [V,C], ids [B,T] of i64, init [B,T,C] of the table's element type.
func.func @gather_rows_c1_size(%a0: tensor<96x64xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x32xf32>) {
  // expected-error@+1 {{'dsv4.gather_rows' op dimension 2 (C) of operand 'init' must be 64, got 32}}
  %r0 = dsv4.gather_rows ins(%a0, %a1 : tensor<96x64xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// -----

func.func @gather_rows_c1_element(%a0: tensor<96x64xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x64xbf16>) {
  // expected-error@+1 {{'dsv4.gather_rows' op operand 'init' must have element type 'f32', got 'bf16'}}
  %r0 = dsv4.gather_rows ins(%a0, %a1 : tensor<96x64xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16>
  return
}

// -----

// TakeAlongOp C1: equal leading shapes, i64 indices, the init is as the indices.
func.func @take_along_c1_size(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8x2xi64>, %o0: tensor<2x8x3xf32>) {
  // expected-error@+1 {{'dsv4.take_along' op dimension 2 (K) of operand 'init' must be 2, got 3}}
  %r0 = dsv4.take_along ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8x2xi64>) outs(%o0 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

func.func @take_along_c1_element(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8x2xi64>, %o0: tensor<2x8x2xf64>) {
  // expected-error@+1 {{'dsv4.take_along' op operand 'init' must have element type 'f32', got 'f64'}}
  %r0 = dsv4.take_along ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8x2xi64>) outs(%o0 : tensor<2x8x2xf64>) -> tensor<2x8x2xf64>
  return
}

// -----

// SortByExpertOp C1: experts [B,T,K], order [B*T*K], offsets [E+1], E >= 1.
func.func @sort_by_expert_c1_order(%a0: tensor<2x8x2xi64>, %o0: tensor<31xi64>, %o1: tensor<5xi64>) {
  // expected-error@+1 {{'dsv4.sort_by_expert' op dimension 0 (B*T*K) of operand 'order' must be 32, got 31}}
  %r0, %r1 = dsv4.sort_by_expert ins(%a0 : tensor<2x8x2xi64>) outs(%o0, %o1 : tensor<31xi64>, tensor<5xi64>) -> tensor<31xi64>, tensor<5xi64>
  return
}

// -----

func.func @sort_by_expert_c1_offsets(%a0: tensor<2x8x2xi64>, %o0: tensor<32xi64>, %o1: tensor<1xi64>) {
  // expected-error@+1 {{'dsv4.sort_by_expert' op 'offsets' needs at least 2 entries, got 1}}
  %r0, %r1 = dsv4.sort_by_expert ins(%a0 : tensor<2x8x2xi64>) outs(%o0, %o1 : tensor<32xi64>, tensor<1xi64>) -> tensor<32xi64>, tensor<1xi64>
  return
}

// -----

func.func @sort_by_expert_c0(%a0: tensor<2x8x2xi64>, %o0: tensor<32xi64>, %o1: tensor<5xi64>) {
  // expected-error@+1 {{'dsv4.sort_by_expert' op must have 2 results, got 1}}
  %r0 = dsv4.sort_by_expert ins(%a0 : tensor<2x8x2xi64>) outs(%o0, %o1 : tensor<32xi64>, tensor<5xi64>) -> tensor<32xi64>
  return
}

// -----

// DispatchRowsOp C1: tokens [B,T,C], order [R], R a multiple of B*T, init [R,C].
func.func @dispatch_rows_c1_multiple(%a0: tensor<2x8x64xf32>, %a1: tensor<33xi64>, %o0: tensor<33x64xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_rows' op dimension 0 (B*T*K) of operand 'order' must be a multiple of 16, got 33}}
  %r0 = dsv4.dispatch_rows ins(%a0, %a1 : tensor<2x8x64xf32>, tensor<33xi64>) outs(%o0 : tensor<33x64xf32>) -> tensor<33x64xf32>
  return
}

// -----

func.func @dispatch_rows_c1_no_tokens(%a0: tensor<0x8x64xf32>, %a1: tensor<32xi64>, %o0: tensor<32x64xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_rows' op dimension 0 (B*T*K) of operand 'order' must be a multiple of 0, got 32}}
  %r0 = dsv4.dispatch_rows ins(%a0, %a1 : tensor<0x8x64xf32>, tensor<32xi64>) outs(%o0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// -----

func.func @dispatch_rows_c1_init(%a0: tensor<2x8x64xf32>, %a1: tensor<32xi64>, %o0: tensor<16x64xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_rows' op dimension 0 (B*T*K) of operand 'init' must be 32, got 16}}
  %r0 = dsv4.dispatch_rows ins(%a0, %a1 : tensor<2x8x64xf32>, tensor<32xi64>) outs(%o0 : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// DispatchWeightsOp C1: weights [B,T,K], order and init [B*T*K].
func.func @dispatch_weights_c1_order(%a0: tensor<2x8x2xf32>, %a1: tensor<16xi64>, %o0: tensor<32xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_weights' op dimension 0 (B*T*K) of operand 'order' must be 32, got 16}}
  %r0 = dsv4.dispatch_weights ins(%a0, %a1 : tensor<2x8x2xf32>, tensor<16xi64>) outs(%o0 : tensor<32xf32>) -> tensor<32xf32>
  return
}

// -----

func.func @dispatch_weights_c1_element(%a0: tensor<2x8x2xf32>, %a1: tensor<32xi64>, %o0: tensor<32xf64>) {
  // expected-error@+1 {{'dsv4.dispatch_weights' op operand 'init' must have element type 'f32', got 'f64'}}
  %r0 = dsv4.dispatch_weights ins(%a0, %a1 : tensor<2x8x2xf32>, tensor<32xi64>) outs(%o0 : tensor<32xf64>) -> tensor<32xf64>
  return
}

// -----

// CombineRowsOp C1: rows [R,C], order [R], offsets [E+1], experts [B,T,K], init [B,T,C] of f32 or f64.
func.func @combine_rows_c1_rows(%a0: tensor<16x64xf32>, %a1: tensor<32xi64>, %a2: tensor<5xi64>, %a3: tensor<2x8x2xi64>, %o0: tensor<2x8x64xf32>) {
  // expected-error@+1 {{'dsv4.combine_rows' op dimension 0 (B*T*K) of operand 'rows' must be 32, got 16}}
  %r0 = dsv4.combine_rows ins(%a0, %a1, %a2, %a3 : tensor<16x64xf32>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>) outs(%o0 : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// -----

func.func @combine_rows_c1_narrow(%a0: tensor<32x64xbf16>, %a1: tensor<32xi64>, %a2: tensor<5xi64>, %a3: tensor<2x8x2xi64>, %o0: tensor<2x8x64xbf16>) {
  // expected-error@+1 {{'dsv4.combine_rows' op operand 'init' must have element type f32 or f64, got 'bf16'}}
  %r0 = dsv4.combine_rows ins(%a0, %a1, %a2, %a3 : tensor<32x64xbf16>, tensor<32xi64>, tensor<5xi64>, tensor<2x8x2xi64>) outs(%o0 : tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16>
  return
}

// -----

// GroupedMatmulOp C1: rows [R,I], weights [E,I,O], offsets [E+1], init [R,O].
func.func @grouped_matmul_c1_inner(%a0: tensor<32x64xf32>, %a1: tensor<4x63x48xf32>, %a2: tensor<5xi64>, %o0: tensor<32x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_matmul' op dimension 1 (I) of operand 'weights' must be 64, got 63}}
  %r0 = dsv4.grouped_matmul ins(%a0, %a1, %a2 : tensor<32x64xf32>, tensor<4x63x48xf32>, tensor<5xi64>) outs(%o0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  return
}

// -----

func.func @grouped_matmul_c1_offsets(%a0: tensor<32x64xf32>, %a1: tensor<4x64x48xf32>, %a2: tensor<4xi64>, %o0: tensor<32x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_matmul' op 'offsets' must have 5 entries, got 4}}
  %r0 = dsv4.grouped_matmul ins(%a0, %a1, %a2 : tensor<32x64xf32>, tensor<4x64x48xf32>, tensor<4xi64>) outs(%o0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  return
}

// -----

// GroupedMatmulOp C2: the init has the accumulator's element type.
func.func @grouped_matmul_c2_narrow(%a0: tensor<32x64xbf16>, %a1: tensor<4x64x48xbf16>, %a2: tensor<5xi64>, %o0: tensor<32x48xbf16>) {
  // expected-error@+1 {{'dsv4.grouped_matmul' op operand 'init' must have element type 'f32', got 'bf16'}}
  %r0 = dsv4.grouped_matmul ins(%a0, %a1, %a2 : tensor<32x64xbf16>, tensor<4x64x48xbf16>, tensor<5xi64>) outs(%o0 : tensor<32x48xbf16>) -> tensor<32x48xbf16>
  return
}

// -----

func.func @grouped_matmul_c2_f64(%a0: tensor<32x64xf64>, %a1: tensor<4x64x48xf64>, %a2: tensor<5xi64>, %o0: tensor<32x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_matmul' op operand 'init' must have element type 'f64', got 'f32'}}
  %r0 = dsv4.grouped_matmul ins(%a0, %a1, %a2 : tensor<32x64xf64>, tensor<4x64x48xf64>, tensor<5xi64>) outs(%o0 : tensor<32x48xf32>) -> tensor<32x48xf32>
  return
}
