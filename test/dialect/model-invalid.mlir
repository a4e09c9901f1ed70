// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of the structured operations. Those that order and
// move rows are in model-rows-invalid.mlir.

// C0 of the family: results repeat the inits, and tensors and memrefs do not mix.
func.func @c0_mixed(%a0: memref<2x8x16xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op mixes tensors and memrefs}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : memref<2x8x16xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @c0_no_result(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op must have 1 results, got 0}}
  dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x16xf32>)
  return
}

// -----

func.func @c0_result_on_memrefs(%a0: memref<2x8x16xf32>, %a1: memref<2x8xi64>, %o0: memref<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op must have 0 results, got 1}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : memref<2x8x16xf32>, memref<2x8xi64>) outs(%o0 : memref<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @c0_result_type(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op expected type of operand #2 ('tensor<2x8x16xf32>') to match type of corresponding result ('tensor<2x8x16xf64>')}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf64>
  return
}

// -----

// RopeOp C1: input [B,T,D] or [B,T,H,D], positions [B,T] of i64, the init like the input.
func.func @rope_c1_rank(%a0: tensor<2x8xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.rope' op operand 'input' must be [B T D], got rank 2}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @rope_c1_positions(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8xi32>, %o0: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op operand 'positions' must have element type i64, got 'i32'}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8xi32>) outs(%o0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @rope_c1_size(%a0: tensor<2x8x16xf32>, %a1: tensor<2x9xi64>, %o0: tensor<2x8x16xf32>) {
  // expected-error@+1 {{'dsv4.rope' op dimension 1 (T) of operand 'positions' must be 8, got 9}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x9xi64>) outs(%o0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @rope_c1_init(%a0: tensor<2x8x16xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x16xf64>) {
  // expected-error@+1 {{'dsv4.rope' op operand 'init' must have element type 'f32', got 'f64'}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x16xf64>) -> tensor<2x8x16xf64>
  return
}

// -----

func.func @rope_c1_integer(%a0: tensor<2x8x16xi64>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x16xi64>) {
  // expected-error@+1 {{'dsv4.rope' op operand 'input' must have element type a float, got 'i64'}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%a0, %a1 : tensor<2x8x16xi64>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x16xi64>) -> tensor<2x8x16xi64>
  return
}

// -----

// RopeOp C2: at least one pair is rotated, and no more than there are.
func.func @rope_c2_many(%a0: tensor<2x8x3xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x3xf32>) {
  // expected-error@+1 {{'dsv4.rope' op rotates 4 channels of 3}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0, 0.1>} ins(%a0, %a1 : tensor<2x8x3xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

func.func @rope_c2_none(%a0: tensor<2x8x3xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x3xf32>) {
  // expected-error@+1 {{'dsv4.rope' op rotates 0 channels of 3}}
  %r0 = dsv4.rope {inv_freq = array<f64>} ins(%a0, %a1 : tensor<2x8x3xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

// RopeOp C3: trig is a float.
func.func @rope_c3(%a0: tensor<2x8x3xf32>, %a1: tensor<2x8xi64>, %o0: tensor<2x8x3xf32>) {
  // expected-error@+1 {{'dsv4.rope' op 'trig' must be a float type, got 'i32'}}
  %r0 = dsv4.rope {inv_freq = array<f64: 1.0>, trig = i32} ins(%a0, %a1 : tensor<2x8x3xf32>, tensor<2x8xi64>) outs(%o0 : tensor<2x8x3xf32>) -> tensor<2x8x3xf32>
  return
}

// -----

// PoolWindowsOp C1: values and gate [B,M,r,F], ape [r,F], init [B,N,D], M >= N.
func.func @pool_windows_c1_gate(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x5x32xf32>, %a2: tensor<4x32xf32>, %o0: tensor<2x8x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op dimension 2 (r) of operand 'gate' must be 4, got 5}}
  %r0 = dsv4.pool_windows ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x5x32xf32>, tensor<4x32xf32>) outs(%o0 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// -----

func.func @pool_windows_c1_windows(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x4x32xf32>, %a2: tensor<4x32xf32>, %o0: tensor<2x9x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op dimension 1 (N) of operand 'init' must be 8, got 9}}
  %r0 = dsv4.pool_windows ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32>, tensor<4x32xf32>) outs(%o0 : tensor<2x9x32xf32>) -> tensor<2x9x32xf32>
  return
}

// -----

func.func @pool_windows_c1_overlap_windows(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x4x32xf32>, %a2: tensor<4x32xf32>, %o0: tensor<2x9x16xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op pools 9 windows of 8}}
  %r0 = dsv4.pool_windows {overlap} ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32>, tensor<4x32xf32>) outs(%o0 : tensor<2x9x16xf32>) -> tensor<2x9x16xf32>
  return
}

// -----

// PoolWindowsOp C2: rows are 2D wide with overlap, else D.
func.func @pool_windows_c2_overlap(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x4x32xf32>, %a2: tensor<4x32xf32>, %o0: tensor<2x8x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op with 'overlap' needs rows of 64 channels, got 32}}
  %r0 = dsv4.pool_windows {overlap} ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32>, tensor<4x32xf32>) outs(%o0 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// -----

func.func @pool_windows_c2_apart(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x4x32xf32>, %a2: tensor<4x32xf32>, %o0: tensor<2x8x16xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op dimension 2 (F) of operand 'init' must be 32, got 16}}
  %r0 = dsv4.pool_windows ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32>, tensor<4x32xf32>) outs(%o0 : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

// PoolWindowsOp C3: equal floats of at least 32 bits.
func.func @pool_windows_c3_narrow(%a0: tensor<2x8x4x32xbf16>, %a1: tensor<2x8x4x32xbf16>, %a2: tensor<4x32xbf16>, %o0: tensor<2x8x32xbf16>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op operand 'values' must have element type f32 or f64, got 'bf16'}}
  %r0 = dsv4.pool_windows ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xbf16>, tensor<2x8x4x32xbf16>, tensor<4x32xbf16>) outs(%o0 : tensor<2x8x32xbf16>) -> tensor<2x8x32xbf16>
  return
}

// -----

func.func @pool_windows_c3_unequal(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x8x4x32xf32>, %a2: tensor<4x32xf64>, %o0: tensor<2x8x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.pool_windows' op operand 'ape' must have element type 'f32', got 'f64'}}
  %r0 = dsv4.pool_windows ins(%a0, %a1, %a2, %i : tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32>, tensor<4x32xf64>) outs(%o0 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return
}

// -----

// IndexTopkOp C1: query [B,T,A,D], keys [B,N,D], weights [B,T,A], init [B,T,K] of i64.
func.func @index_topk_c1_keys(%a0: tensor<2x8x2x16xf32>, %a1: tensor<2x16x8xf32>, %a2: tensor<2x8x2xf32>, %o0: tensor<2x8x4xi64>, %i: index) {
  // expected-error@+1 {{'dsv4.index_topk' op dimension 2 (D) of operand 'keys' must be 16, got 8}}
  %r0 = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%a0, %a1, %a2, %i : tensor<2x8x2x16xf32>, tensor<2x16x8xf32>, tensor<2x8x2xf32>) outs(%o0 : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
  return
}

// -----

func.func @index_topk_c1_init(%a0: tensor<2x8x2x16xf32>, %a1: tensor<2x16x16xf32>, %a2: tensor<2x8x2xf32>, %o0: tensor<2x8x4xi32>, %i: index) {
  // expected-error@+1 {{'dsv4.index_topk' op operand 'init' must have element type i64, got 'i32'}}
  %r0 = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%a0, %a1, %a2, %i : tensor<2x8x2x16xf32>, tensor<2x16x16xf32>, tensor<2x8x2xf32>) outs(%o0 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  return
}

// -----

func.func @index_topk_c1_weights(%a0: tensor<2x8x2x16xbf16>, %a1: tensor<2x16x16xbf16>, %a2: tensor<2x8x2xbf16>, %o0: tensor<2x8x4xi64>, %i: index) {
  // expected-error@+1 {{'dsv4.index_topk' op operand 'weights' must have element type f32 or f64, got 'bf16'}}
  %r0 = dsv4.index_topk {ratio = 4 : i64, scale = 0.25 : f64} ins(%a0, %a1, %a2, %i : tensor<2x8x2x16xbf16>, tensor<2x16x16xbf16>, tensor<2x8x2xbf16>) outs(%o0 : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
  return
}

// -----

// IndexTopkOp C2: ratio is at least 1.
func.func @index_topk_c2(%a0: tensor<2x8x2x16xf32>, %a1: tensor<2x16x16xf32>, %a2: tensor<2x8x2xf32>, %o0: tensor<2x8x4xi64>, %i: index) {
  // expected-error@+1 {{'dsv4.index_topk' op 'ratio' must be at least 1, got 0}}
  %r0 = dsv4.index_topk {ratio = 0 : i64, scale = 0.25 : f64} ins(%a0, %a1, %a2, %i : tensor<2x8x2x16xf32>, tensor<2x16x16xf32>, tensor<2x8x2xf32>) outs(%o0 : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
  return
}

// -----

// WindowAttentionOp C1: query and init [B,T,H,D], keys [B,S,D], sink [H].
func.func @window_attention_c1_keys(%a0: tensor<2x8x4x32xf32>, %a1: tensor<3x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.window_attention' op dimension 0 (B) of operand 'keys' must be 2, got 3}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<3x16x32xf32>, tensor<4xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

func.func @window_attention_c1_sink(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<5xf32>, %o0: tensor<2x8x4x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.window_attention' op dimension 0 (H) of operand 'sink' must be 4, got 5}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<5xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

// WindowAttentionOp C2: pool [B,N,D], selected [B,T,K] of i64, which needs pool.
func.func @window_attention_c2_pool(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index, %p: tensor<2x4x16xf32>) {
  // expected-error@+1 {{'dsv4.window_attention' op dimension 2 (D) of operand 'pool' must be 32, got 16}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) pool(%p : tensor<2x4x16xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

func.func @window_attention_c2_selected(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index, %p: tensor<2x4x32xf32>, %s: tensor<2x8x4xi32>) {
  // expected-error@+1 {{'dsv4.window_attention' op operand 'selected' must have element type i64, got 'i32'}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) pool(%p : tensor<2x4x32xf32>) selected(%s : tensor<2x8x4xi32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

func.func @window_attention_c2_selected_alone(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index, %s: tensor<2x8x4xi64>) {
  // expected-error@+1 {{'dsv4.window_attention' op 'selected' needs 'pool'}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) selected(%s : tensor<2x8x4xi64>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

// WindowAttentionOp C3: window >= 1, ratio >= 1 with pool and 0 without.
func.func @window_attention_c3_window(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.window_attention' op needs 'window' >= 1 and 'ratio' = 0, got 0 and 0}}
  %r0 = dsv4.window_attention {window = 0 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

func.func @window_attention_c3_pool(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index, %p: tensor<2x4x32xf32>) {
  // expected-error@+1 {{'dsv4.window_attention' op needs 'window' >= 1 and 'ratio' >= 1, got 8 and 0}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) pool(%p : tensor<2x4x32xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}

// -----

func.func @window_attention_c3_no_pool(%a0: tensor<2x8x4x32xf32>, %a1: tensor<2x16x32xf32>, %a2: tensor<4xf32>, %o0: tensor<2x8x4x32xf32>, %i: index) {
  // expected-error@+1 {{'dsv4.window_attention' op needs 'window' >= 1 and 'ratio' = 0, got 8 and 4}}
  %r0 = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%a0, %a1, %a2, %i, %i : tensor<2x8x4x32xf32>, tensor<2x16x32xf32>, tensor<4xf32>) outs(%o0 : tensor<2x8x4x32xf32>) -> tensor<2x8x4x32xf32>
  return
}
