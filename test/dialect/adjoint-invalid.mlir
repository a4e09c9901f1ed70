// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of the adjoints of structured operations.

// WindowAttentionGradOp C0: one result per init.
func.func @window_attention_grad_c0(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op must have 3 results, got 2}}
  %r:2 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>
  return
}

// -----

// WindowAttentionGradOp C1: shapes.
func.func @window_attention_grad_c1_gradient(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x5x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op dimension 2 (H) of operand 'gradient' must be 4, got 5}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x5x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @window_attention_grad_c1_keys(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x15x32xf32>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op dimension 1 (S) of operand 'keys_grad' must be 16, got 15}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x15x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x15x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @window_attention_grad_c1_sink(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op operand 'sink_grad' must be [B T H], got rank 1}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>
  return
}

// -----

func.func @window_attention_grad_c1_pool(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>, %c: tensor<2x4x32xf32>, %dc: tensor<2x3x32xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op dimension 1 (N) of operand 'pool_grad' must be 4, got 3}}
  %r:4 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) pool(%c : tensor<2x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%dc : tensor<2x3x32xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x3x32xf32>
  return
}

// -----

// WindowAttentionGradOp C2: 'selected' needs 'pool', 'pool' and 'pool_grad' need each other.
func.func @window_attention_grad_c2_selected(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>, %sel: tensor<2x8x4xi64>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op 'selected' needs 'pool'}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) selected(%sel : tensor<2x8x4xi64>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @window_attention_grad_c2_no_pool(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>, %dc: tensor<2x4x32xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op 'pool_grad' needs 'pool'}}
  %r:4 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%dc : tensor<2x4x32xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x4x32xf32>
  return
}

// -----

func.func @window_attention_grad_c2_no_pool_grad(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>, %c: tensor<2x4x32xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op 'pool' needs 'pool_grad'}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) pool(%c : tensor<2x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

// WindowAttentionGradOp C3: 'window' and 'ratio'.
func.func @window_attention_grad_c3_window(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op needs 'window' >= 1 and 'ratio' = 0, got 0 and 0}}
  %r:3 = dsv4.window_attention_grad {window = 0 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @window_attention_grad_c3_ratio(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>, %c: tensor<2x4x32xf32>, %dc: tensor<2x4x32xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op needs 'window' >= 1 and 'ratio' >= 1, got 8 and 0}}
  %r:4 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) pool(%c : tensor<2x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) pool_grad(%dc : tensor<2x4x32xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>, tensor<2x4x32xf32>
  return
}

// -----

// WindowAttentionGradOp C4: sums in memory are wide.
func.func @window_attention_grad_c4_keys(%q: tensor<2x8x4x32xf64>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xf32>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op operand 'keys_grad' must have element type 'f64', got 'f32'}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf64>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @window_attention_grad_c4_narrow(%q: tensor<2x8x4x32xf32>, %k: tensor<2x16x32xf32>, %s: tensor<4xf32>, %g: tensor<2x8x4x32xf32>, %i: index, %dq: tensor<2x8x4x32xf32>, %dk: tensor<2x16x32xbf16>, %ds: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.window_attention_grad' op operand 'keys_grad' must have element type f32 or f64, got 'bf16'}}
  %r:3 = dsv4.window_attention_grad {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %g, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>, tensor<2x8x4x32xf32>) outs(%dq, %dk, %ds : tensor<2x8x4x32xf32>, tensor<2x16x32xbf16>, tensor<2x8x4xf32>) -> tensor<2x8x4x32xf32>, tensor<2x16x32xbf16>, tensor<2x8x4xf32>
  return
}

// -----

// PoolWindowsGradOp C1: shapes, at most M rows.
func.func @pool_windows_grad_c1_values(%v: tensor<2x16x4x64xf32>, %a: tensor<4x64xf32>, %g: tensor<2x8x32xf32>, %w: index, %dv: tensor<2x15x4x64xf32>, %dg: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'dsv4.pool_windows_grad' op dimension 1 (M) of operand 'values_grad' must be 16, got 15}}
  %r:2 = dsv4.pool_windows_grad {overlap} ins(%v, %v, %a, %g, %w : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x8x32xf32>) outs(%dv, %dg : tensor<2x15x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x15x4x64xf32>, tensor<2x16x4x64xf32>
  return
}

// -----

func.func @pool_windows_grad_c1_rows(%v: tensor<2x16x4x64xf32>, %a: tensor<4x64xf32>, %g: tensor<2x17x32xf32>, %w: index, %dv: tensor<2x16x4x64xf32>, %dg: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'dsv4.pool_windows_grad' op pools 17 windows of 16}}
  %r:2 = dsv4.pool_windows_grad {overlap} ins(%v, %v, %a, %g, %w : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x17x32xf32>) outs(%dv, %dg : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>
  return
}

// -----

// PoolWindowsGradOp C2: two halves with overlap.
func.func @pool_windows_grad_c2(%v: tensor<2x16x4x66xf32>, %a: tensor<4x66xf32>, %g: tensor<2x8x32xf32>, %w: index, %dv: tensor<2x16x4x66xf32>, %dg: tensor<2x16x4x66xf32>) {
  // expected-error@+1 {{'dsv4.pool_windows_grad' op with 'overlap' needs rows of 64 channels, got 66}}
  %r:2 = dsv4.pool_windows_grad {overlap} ins(%v, %v, %a, %g, %w : tensor<2x16x4x66xf32>, tensor<2x16x4x66xf32>, tensor<4x66xf32>, tensor<2x8x32xf32>) outs(%dv, %dg : tensor<2x16x4x66xf32>, tensor<2x16x4x66xf32>) -> tensor<2x16x4x66xf32>, tensor<2x16x4x66xf32>
  return
}

// -----

func.func @pool_windows_grad_c2_plain(%v: tensor<2x16x4x64xf32>, %a: tensor<4x64xf32>, %g: tensor<2x16x32xf32>, %w: index, %dv: tensor<2x16x4x64xf32>, %dg: tensor<2x16x4x64xf32>) {
  // expected-error@+1 {{'dsv4.pool_windows_grad' op dimension 2 (F) of operand 'gradient' must be 64, got 32}}
  %r:2 = dsv4.pool_windows_grad ins(%v, %v, %a, %g, %w : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x16x32xf32>) outs(%dv, %dg : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>
  return
}

// -----

// PoolWindowsGradOp C3: one element type.
func.func @pool_windows_grad_c3(%v: tensor<2x16x4x64xf32>, %a: tensor<4x64xf32>, %g: tensor<2x8x32xf32>, %w: index, %dv: tensor<2x16x4x64xf32>, %dg: tensor<2x16x4x64xf64>) {
  // expected-error@+1 {{'dsv4.pool_windows_grad' op operand 'gate_grad' must have element type 'f32', got 'f64'}}
  %r:2 = dsv4.pool_windows_grad {overlap} ins(%v, %v, %a, %g, %w : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf32>, tensor<4x64xf32>, tensor<2x8x32xf32>) outs(%dv, %dg : tensor<2x16x4x64xf32>, tensor<2x16x4x64xf64>) -> tensor<2x16x4x64xf32>, tensor<2x16x4x64xf64>
  return
}

// -----

// SinkhornGradOp C1: square matrices of one type.
func.func @sinkhorn_grad_c1_square(%x: tensor<2x8x4x3xf32>, %g: tensor<2x8x4x3xf32>, %o: tensor<2x8x4x3xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn_grad' op needs square matrices, got 4x3}}
  %r = dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x3xf32>, tensor<2x8x4x3xf32>) outs(%o : tensor<2x8x4x3xf32>) -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @sinkhorn_grad_c1_gradient(%x: tensor<2x8x4x4xf32>, %g: tensor<2x8x4x4xf64>, %o: tensor<2x8x4x4xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn_grad' op operand 'gradient' must have element type 'f32', got 'f64'}}
  %r = dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf64>) outs(%o : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return
}

// -----

func.func @sinkhorn_grad_c1_init(%x: tensor<2x8x4x4xf32>, %g: tensor<2x8x4x4xf32>, %o: tensor<2x7x4x4xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn_grad' op dimension 1 (T) of operand 'init' must be 8, got 7}}
  %r = dsv4.sinkhorn_grad {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) outs(%o : tensor<2x7x4x4xf32>) -> tensor<2x7x4x4xf32>
  return
}

// -----

// SinkhornGradOp C2: at least one iteration.
func.func @sinkhorn_grad_c2(%x: tensor<2x8x4x4xf32>, %g: tensor<2x8x4x4xf32>, %o: tensor<2x8x4x4xf32>) {
  // expected-error@+1 {{'dsv4.sinkhorn_grad' op 'iterations' must be at least 1, got 0}}
  %r = dsv4.sinkhorn_grad {iterations = 0 : i64, eps = 1.0e-6 : f64} ins(%x, %g : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) outs(%o : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return
}

// -----

// ScatterAddOp C1: shapes.
func.func @scatter_add_c1_ids(%a0: tensor<2x8x64xf32>, %a1: tensor<2x7xi64>, %o: tensor<96x64xf32>) {
  // expected-error@+1 {{'dsv4.scatter_add' op dimension 1 (T) of operand 'ids' must be 8, got 7}}
  %r = dsv4.scatter_add ins(%a0, %a1 : tensor<2x8x64xf32>, tensor<2x7xi64>) outs(%o : tensor<96x64xf32>) -> tensor<96x64xf32>
  return
}

// -----

func.func @scatter_add_c1_init(%a0: tensor<2x8x64xf32>, %a1: tensor<2x8xi64>, %o: tensor<96x63xf32>) {
  // expected-error@+1 {{'dsv4.scatter_add' op dimension 1 (C) of operand 'init' must be 64, got 63}}
  %r = dsv4.scatter_add ins(%a0, %a1 : tensor<2x8x64xf32>, tensor<2x8xi64>) outs(%o : tensor<96x63xf32>) -> tensor<96x63xf32>
  return
}

// -----

// ScatterAddOp C2: sums in memory are wide.
func.func @scatter_add_c2(%a0: tensor<2x8x64xf64>, %a1: tensor<2x8xi64>, %o: tensor<96x64xf32>) {
  // expected-error@+1 {{'dsv4.scatter_add' op operand 'init' must have element type 'f64', got 'f32'}}
  %r = dsv4.scatter_add ins(%a0, %a1 : tensor<2x8x64xf64>, tensor<2x8xi64>) outs(%o : tensor<96x64xf32>) -> tensor<96x64xf32>
  return
}

// -----

// ScatterAlongOp C1: shapes, one element type.
func.func @scatter_along_c1_indices(%a0: tensor<2x8x2xf32>, %a1: tensor<2x8x3xi64>, %o: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.scatter_along' op dimension 2 (K) of operand 'indices' must be 2, got 3}}
  %r = dsv4.scatter_along ins(%a0, %a1 : tensor<2x8x2xf32>, tensor<2x8x3xi64>) outs(%o : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @scatter_along_c1_init(%a0: tensor<2x8x2xf32>, %a1: tensor<2x8x2xi64>, %o: tensor<2x8x16xf64>) {
  // expected-error@+1 {{'dsv4.scatter_along' op operand 'init' must have element type 'f32', got 'f64'}}
  %r = dsv4.scatter_along ins(%a0, %a1 : tensor<2x8x2xf32>, tensor<2x8x2xi64>) outs(%o : tensor<2x8x16xf64>) -> tensor<2x8x16xf64>
  return
}

// -----

// DispatchRowsGradOp C1: R is a multiple of B*T.
func.func @dispatch_rows_grad_c1_rows(%a0: tensor<33x64xf32>, %a1: tensor<33xi64>, %o: tensor<2x8x64xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_rows_grad' op dimension 0 (B*T*K) of operand 'rows' must be a multiple of 16, got 33}}
  %r = dsv4.dispatch_rows_grad ins(%a0, %a1 : tensor<33x64xf32>, tensor<33xi64>) outs(%o : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// -----

func.func @dispatch_rows_grad_c1_order(%a0: tensor<32x64xf32>, %a1: tensor<16xi64>, %o: tensor<2x8x64xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_rows_grad' op dimension 0 (B*T*K) of operand 'order' must be 32, got 16}}
  %r = dsv4.dispatch_rows_grad ins(%a0, %a1 : tensor<32x64xf32>, tensor<16xi64>) outs(%o : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// -----

// DispatchRowsGradOp C2: sums in memory are wide.
func.func @dispatch_rows_grad_c2(%a0: tensor<32x64xbf16>, %a1: tensor<32xi64>, %o: tensor<2x8x64xbf16>) {
  // expected-error@+1 {{'dsv4.dispatch_rows_grad' op operand 'init' must have element type f32 or f64, got 'bf16'}}
  %r = dsv4.dispatch_rows_grad ins(%a0, %a1 : tensor<32x64xbf16>, tensor<32xi64>) outs(%o : tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16>
  return
}

// -----

// DispatchWeightsGradOp C1: shapes, one element type.
func.func @dispatch_weights_grad_c1_init(%a0: tensor<32xf32>, %a1: tensor<32xi64>, %o: tensor<2x8x3xf32>) {
  // expected-error@+1 {{'dsv4.dispatch_weights_grad' op dimension 0 (B*T*K) of operand 'gradient' must be 48, got 32}}
  %r = dsv4.dispatch_weights_grad ins(%a0, %a1 : tensor<32xf32>, tensor<32xi64>) outs(%o : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

func.func @dispatch_weights_grad_c1_element(%a0: tensor<32xf32>, %a1: tensor<32xi64>, %o: tensor<2x8x2xbf16>) {
  // expected-error@+1 {{'dsv4.dispatch_weights_grad' op operand 'init' must have element type 'f32', got 'bf16'}}
  %r = dsv4.dispatch_weights_grad ins(%a0, %a1 : tensor<32xf32>, tensor<32xi64>) outs(%o : tensor<2x8x2xbf16>) -> tensor<2x8x2xbf16>
  return
}

// -----

// CombineRowsGradOp C1: shapes.
func.func @combine_rows_grad_c1_init(%a0: tensor<2x8x64xf32>, %a1: tensor<32xi64>, %a2: tensor<5xi64>, %o: tensor<31x64xf32>) {
  // expected-error@+1 {{'dsv4.combine_rows_grad' op dimension 0 (B*T*K) of operand 'init' must be 32, got 31}}
  %r = dsv4.combine_rows_grad ins(%a0, %a1, %a2 : tensor<2x8x64xf32>, tensor<32xi64>, tensor<5xi64>) outs(%o : tensor<31x64xf32>) -> tensor<31x64xf32>
  return
}

// -----

func.func @combine_rows_grad_c1_order(%a0: tensor<2x8x64xf32>, %a1: tensor<32xi32>, %a2: tensor<5xi64>, %o: tensor<32x64xf32>) {
  // expected-error@+1 {{'dsv4.combine_rows_grad' op operand 'order' must have element type i64, got 'i32'}}
  %r = dsv4.combine_rows_grad ins(%a0, %a1, %a2 : tensor<2x8x64xf32>, tensor<32xi32>, tensor<5xi64>) outs(%o : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// -----

// GroupedOuterOp C1: shapes, one offset more than groups.
func.func @grouped_outer_c1_rows(%a0: tensor<32x64xf32>, %a1: tensor<31x48xf32>, %a2: tensor<5xi64>, %o: tensor<4x64x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_outer' op dimension 0 (R) of operand 'gradient' must be 32, got 31}}
  %r = dsv4.grouped_outer ins(%a0, %a1, %a2 : tensor<32x64xf32>, tensor<31x48xf32>, tensor<5xi64>) outs(%o : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----

func.func @grouped_outer_c1_offsets(%a0: tensor<32x64xf32>, %a1: tensor<32x48xf32>, %a2: tensor<4xi64>, %o: tensor<4x64x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_outer' op 'offsets' must have 5 entries, got 4}}
  %r = dsv4.grouped_outer ins(%a0, %a1, %a2 : tensor<32x64xf32>, tensor<32x48xf32>, tensor<4xi64>) outs(%o : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return
}

// -----

// GroupedMatmulOp C1: matrices are [E,O,I] with 'transposed'.
func.func @grouped_matmul_c1_transposed(%a0: tensor<32x64xf32>, %a1: tensor<4x64x48xf32>, %a2: tensor<5xi64>, %o: tensor<32x48xf32>) {
  // expected-error@+1 {{'dsv4.grouped_matmul' op dimension 2 (I) of operand 'weights' must be 64, got 48}}
  %r = dsv4.grouped_matmul {transposed} ins(%a0, %a1, %a2 : tensor<32x64xf32>, tensor<4x64x48xf32>, tensor<5xi64>) outs(%o : tensor<32x48xf32>) -> tensor<32x48xf32>
  return
}
