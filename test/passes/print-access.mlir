// RUN: dsv4-opt %s -dsv4-print-access -split-input-file -verify-diagnostics

// Which rows each operation reads, and through all before it, of the batch.

#copy = affine_map<(b, t) -> (b, t)>

// A shift of one token: the label of row t is token t + 1, the last has none.
func.func @shift_left(%ids: tensor<2x64xi64> {dsv4.batch = "ids"}) -> tensor<2x64xi64> {
  %c = arith.constant -100 : i64
  // expected-remark@+2 {{operand 0 dimension 1: halo(-1, 1)}}
  // expected-remark@+1 {{reads "ids": halo(-1, 1)}}
  %s = tensor.extract_slice %ids[0, 1] [2, 63] [1, 1] : tensor<2x64xi64> to tensor<2x63xi64>
  // expected-remark@+2 {{operand 0 dimension 1: local}}
  // expected-remark@+1 {{reads "ids": halo(-1, 1)}}
  %p = tensor.pad %s low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : i64
  } : tensor<2x63xi64> to tensor<2x64xi64>
  return %p : tensor<2x64xi64>
}

// -----

// Three taps to the left, as a padded convolution.
func.func @taps(%x: tensor<2x64xf32> {dsv4.batch = "x"}, %w: tensor<4xf32>, %z: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %c = arith.constant 0.0 : f32
  // expected-remark@+2 {{operand 0 dimension 1: halo(3, -3)}}
  // expected-remark@+1 {{reads "x": halo(3, -3)}}
  %p = tensor.pad %x low[0, 3] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<2x64xf32> to tensor<2x67xf32>
  // expected-remark@+2 {{operand 0 dimension 1: halo(0, 3)}}
  // expected-remark@+1 {{reads "x": halo(3, 0)}}
  %r = linalg.generic {indexing_maps = [affine_map<(b, t, j) -> (b, t + j)>, affine_map<(b, t, j) -> (j)>, affine_map<(b, t, j) -> (b, t)>],
    iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<2x67xf32>, tensor<4xf32>) outs(%z : tensor<2x64xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %m = arith.mulf %a, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x64xf32>
  return %r : tensor<2x64xf32>
}

// -----

// Windows of four tokens, pooled with overlap, read by a query: what a pooled row
// reads reaches one window back, with half of the channels; what a query reads is
// all tokens before the end of its window.
func.func @pooled(%x: tensor<2x64x16xf32> {dsv4.batch = "x"}, %q: tensor<2x64x4x8xf32> {dsv4.batch = "q"}, %a: tensor<4x16xf32>, %s: tensor<4xf32>, %k: tensor<2x64x8xf32> {dsv4.batch = "k"},
    %e0: tensor<2x16x8xf32>, %e1: tensor<2x64x4x8xf32>) -> tensor<2x64x4x8xf32> {
  %c0 = arith.constant 0 : index
  // expected-remark@+2 {{operand 0 dimension 1: windows of 4}}
  // expected-remark@+1 {{reads "x": windows of 4}}
  %v = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 16, 4, 16] : tensor<2x64x16xf32> into tensor<2x16x4x16xf32>
  // expected-remark@+3 {{operand 0 dimension 1: halo(1, 0) channels [0, 8]}}
  // expected-remark@+2 {{operand 1 dimension 1: halo(1, 0) channels [0, 8]}}
  // expected-remark@+1 {{reads "x": windows of 4 with halo(4, 0)}}
  %p = dsv4.pool_windows {overlap} ins(%v, %v, %a, %c0 : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<4x16xf32>)
    outs(%e0 : tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  // expected-remark@+6 {{operand 0 dimension 1: local}}
  // expected-remark@+5 {{operand 1 dimension 1: halo(7, 0)}}
  // expected-remark@+4 {{operand 5 dimension 1: prefix of ratio 4}}
  // expected-remark@+3 {{reads "q": local}}
  // expected-remark@+2 {{reads "k": halo(7, 0)}}
  // expected-remark@+1 {{reads "x": prefix and 3 more}}
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 4 : i64} ins(%q, %k, %s, %c0, %c0 : tensor<2x64x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    pool(%p : tensor<2x16x8xf32>) outs(%e1 : tensor<2x64x4x8xf32>) -> tensor<2x64x4x8xf32>
  return %o : tensor<2x64x4x8xf32>
}

// -----

// Two windows in a row reach twice as far; a transposition moves positions to
// another dimension; merging heads leaves them; windows collapse to tokens.
func.func @chains(%q: tensor<2x64x4x8xf32> {dsv4.batch = "q"}, %k: tensor<2x64x8xf32> {dsv4.batch = "k"}, %s: tensor<4xf32>, %e: tensor<2x64x4x8xf32>, %e2: tensor<64x2x32xf32>) -> tensor<2x4x16x32xf32> {
  %c0 = arith.constant 0 : index
  // expected-remark@+4 {{operand 0 dimension 1: local}}
  // expected-remark@+3 {{operand 1 dimension 1: halo(7, 0)}}
  // expected-remark@+2 {{reads "q": local}}
  // expected-remark@+1 {{reads "k": halo(7, 0)}}
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %k, %s, %c0, %c0 : tensor<2x64x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x64x4x8xf32>) -> tensor<2x64x4x8xf32>
  // expected-remark@+3 {{operand 0 dimension 1: local}}
  // expected-remark@+2 {{reads "q": local}}
  // expected-remark@+1 {{reads "k": halo(7, 0)}}
  %m = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x64x4x8xf32> into tensor<2x64x32xf32>
  // expected-remark@+3 {{operand 0 dimension 1: local}}
  // expected-remark@+2 {{reads "q": local}}
  // expected-remark@+1 {{reads "k": halo(7, 0)}}
  %t = linalg.transpose ins(%m : tensor<2x64x32xf32>) outs(%e2 : tensor<64x2x32xf32>) permutation = [1, 0, 2]
  // expected-remark@+3 {{operand 0 dimension 0: windows of 16}}
  // expected-remark@+2 {{reads "q": windows of 16}}
  // expected-remark@+1 {{reads "k": windows of 16 with halo(7, 0)}}
  %w = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [4, 16, 2, 32] : tensor<64x2x32xf32> into tensor<4x16x2x32xf32>
  // expected-remark@+3 {{operand 0 dimension 0: rows of ratio 16}}
  // expected-remark@+2 {{reads "q": halo(15, 15)}}
  // expected-remark@+1 {{reads "k": halo(22, 15)}}
  %b = tensor.collapse_shape %w [[0, 1], [2], [3]] : tensor<4x16x2x32xf32> into tensor<64x2x32xf32>
  // expected-remark@+3 {{operand 0 dimension 0: windows of 16}}
  // expected-remark@+2 {{reads "q": windows of 16 with halo(15, 15)}}
  // expected-remark@+1 {{reads "k": windows of 16 with halo(22, 15)}}
  %r = tensor.expand_shape %b [[0, 1], [2], [3]] output_shape [4, 16, 2, 32] : tensor<64x2x32xf32> into tensor<4x16x2x32xf32>
  %f = tensor.empty() : tensor<2x4x16x32xf32>
  // expected-remark@+3 {{operand 0 dimension 0: local}}
  // expected-remark@+2 {{reads "q": windows of 16 with halo(15, 15)}}
  // expected-remark@+1 {{reads "k": windows of 16 with halo(22, 15)}}
  %x = linalg.transpose ins(%r : tensor<4x16x2x32xf32>) outs(%f : tensor<2x4x16x32xf32>) permutation = [2, 0, 1, 3]
  return %x : tensor<2x4x16x32xf32>
}

// -----

// Inserted and concatenated rows.
func.func @joined(%x: tensor<2x64xf32> {dsv4.batch = "x"}, %y: tensor<2x16xf32> {dsv4.batch = "y"}) -> tensor<2x80xf32> {
  // expected-remark@+4 {{operand 0 dimension 1: halo(8, -8)}}
  // expected-remark@+3 {{operand 1 dimension 1: local}}
  // expected-remark@+2 {{reads "y": halo(8, -8)}}
  // expected-remark@+1 {{reads "x": local}}
  %i = tensor.insert_slice %y into %x[0, 8] [2, 16] [1, 1] : tensor<2x16xf32> into tensor<2x64xf32>
  // expected-remark@+4 {{operand 0 dimension 1: local}}
  // expected-remark@+3 {{operand 1 dimension 1: halo(16, -16)}}
  // expected-remark@+2 {{reads "y": halo(24, 0)}}
  // expected-remark@+1 {{reads "x": halo(16, -16)}}
  %c = tensor.concat dim(1) %y, %i : (tensor<2x16xf32>, tensor<2x64xf32>) -> tensor<2x80xf32>
  return %c : tensor<2x80xf32>
}

// -----

func.func @unknown(%x: tensor<2x64xf32> {dsv4.batch = "x"}, %i: index) -> f32 {
  // expected-error@+1 {{'tensor.extract' op reads operand 0 in a way that is not known}}
  %r = tensor.extract %x[%i, %i] : tensor<2x64xf32>
  return %r : f32
}
