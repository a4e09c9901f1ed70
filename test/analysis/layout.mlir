// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-print-layout -o /dev/null

// Layouts that follow from operands, from uses, and from both.

// Axes of one rank split nothing; data axes are ordered, whatever the mesh is.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 1, "replicate" = 2]
// expected-remark @+1 {{argument 0: layout [{"replicate", "dp_shard"}, {}]}}
func.func @axes(%x: tensor<8x4xf32> {dsv4.batch = "x"}) {
  return
}

// -----

// Elementwise operations, contractions, and the tensors that they overwrite.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
// expected-remark @+2 {{argument 0: layout [{"dp_shard"}, {"cp"}, {}]}}
// expected-remark @+1 {{argument 1: layout [{}, {}]}}
func.func @forward(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}, %w: tensor<6x4xf32> {dsv4.param = "w"}) -> tensor<2x8x6xf32> {
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %a = math.exp %x : tensor<2x8x4xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %cst = arith.constant dense<0.0> : tensor<2x8x6xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, t, o, i) -> (b, t, i)>, affine_map<(b, t, o, i) -> (o, i)>, affine_map<(b, t, o, i) -> (b, t, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %w : tensor<2x8x4xf32>, tensor<6x4xf32>) outs(%cst : tensor<2x8x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x8x6xf32>
  return %y : tensor<2x8x6xf32>
}

// -----

// A scalar of the whole program, spread over positions: nothing on the way
// there says how they lie, the use does.
dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+1 {{argument 0: layout [{}, {"cp"}]}}
func.func @backward(%x: tensor<2x8xf32> {dsv4.batch = "x"}) -> tensor<2x8xf32> {
  // expected-remark @+1 {{layout []}}
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-remark @+1 {{layout [] partial {"cp"}: all_reduce sum}}
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<2x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %e = tensor.empty() : tensor<2x8xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %all = linalg.broadcast ins(%sum : tensor<f32>) outs(%e : tensor<2x8xf32>) dimensions = [0, 1]
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %y = arith.divf %x, %all : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Uses that disagree: whole, and sliced where a part is enough. Nothing moves.
dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+2 {{argument 0: layout [{}, {"cp"}]}}
// expected-remark @+1 {{argument 1: layout [{}, {}]}}
func.func @dispute(%x: tensor<2x8xf32> {dsv4.batch = "x"}, %w: tensor<2x8xf32> {dsv4.param = "w"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  // expected-remark @+1 {{layout [{}, {}]}}
  %cst = arith.constant dense<2.0> : tensor<2x8xf32>
  // expected-remark @+1 {{layout [{}, {}]}}
  %r = math.sqrt %cst : tensor<2x8xf32>
  // expected-remark @+2 {{layout [{}, {"cp"}]}}
  // expected-remark @+1 {{operand 1: slice dimension 1 over {"cp"}}}
  %a = arith.mulf %x, %r : tensor<2x8xf32>
  // expected-remark @+1 {{layout [{}, {}]}}
  %b = arith.mulf %w, %r : tensor<2x8xf32>
  return %a, %b : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Dimensions of size 1 are read at index 0, scalars without index; loops that
// occur in a sum or twice in one operand run whole.
dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+3 {{argument 0: layout [{}, {"cp"}]}}
// expected-remark @+2 {{argument 1: layout [{}, {}]}}
// expected-remark @+1 {{argument 2: layout []}}
func.func @constant_map(%x: tensor<2x8xf32> {dsv4.batch = "x"}, %one: tensor<2x1xf32> {dsv4.param = "one"}, %s: tensor<f32> {dsv4.param = "s"}) -> tensor<2x8xf32> {
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %e = tensor.empty() : tensor<2x8xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, 0)>, affine_map<(b, s) -> ()>, affine_map<(b, s) -> (b, s)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%x, %one, %s : tensor<2x8xf32>, tensor<2x1xf32>, tensor<f32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+1 {{argument 0: layout [{}, {"cp"}]}}
func.func @window_map(%x: tensor<2x8xf32> {dsv4.batch = "x"}) -> tensor<2x7xf32> {
  // expected-remark @+1 {{layout [{}, {}]}}
  %zero = arith.constant dense<0.0> : tensor<2x7xf32>
  // expected-remark @+1 {{layout [{}]}}
  %two = tensor.empty() : tensor<2xf32>
  // expected-remark @+2 {{layout [{}, {}]}}
  // expected-remark @+1 {{operand 0: gather dimension 1 over {"cp"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, w, k) -> (b, w + k)>, affine_map<(b, w, k) -> (k)>, affine_map<(b, w, k) -> (b, w)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %two : tensor<2x8xf32>, tensor<2xf32>) outs(%zero : tensor<2x7xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2x7xf32>
  return %y : tensor<2x7xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+1 {{argument 0: layout [{}, {"cp"}, {}]}}
func.func @diagonal(%x: tensor<2x8x8xf32> {dsv4.batch = "x"}) -> tensor<2x8xf32> {
  // expected-remark @+1 {{layout [{}, {}]}}
  %e = tensor.empty() : tensor<2x8xf32>
  // expected-remark @+2 {{layout [{}, {}]}}
  // expected-remark @+1 {{operand 0: gather dimension 1 over {"cp"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s, s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<2x8x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// The halo of a convolution along the sequence, as other front ends write it:
// pad, slice, join. The split dimension is gathered, others follow.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
// expected-remark @+1 {{argument 0: layout [{"dp_shard"}, {"cp"}, {}]}}
func.func @shift(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}) -> (tensor<2x8x4xf32>, tensor<2x16x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @+2 {{layout [{"dp_shard"}, {}, {}]}}
  // expected-remark @+1 {{operand 0: gather dimension 1 over {"cp"}}}
  %pad = tensor.pad %x low[0, 1, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x8x4xf32> to tensor<2x9x4xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {}, {}]}}
  %left = tensor.extract_slice %pad[0, 0, 0] [2, 8, 4] [1, 1, 1] : tensor<2x9x4xf32> to tensor<2x8x4xf32>
  // expected-remark @+2 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  // expected-remark @+1 {{operand 1: slice dimension 1 over {"cp"}}}
  %y = arith.subf %x, %left : tensor<2x8x4xf32>
  // expected-remark @+3 {{layout [{"dp_shard"}, {}, {}]}}
  // expected-remark @+2 {{operand 0: gather dimension 1 over {"cp"}}}
  // expected-remark @+1 {{operand 1: gather dimension 1 over {"cp"}}}
  %z = tensor.concat dim(1) %x, %y : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x16x4xf32>
  return %y, %z : tensor<2x8x4xf32>, tensor<2x16x4xf32>
}

// -----

// Windows of positions that only an index tensor gives.
dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+1 {{argument 0: layout [{}, {"cp"}, {}]}}
func.func @windows(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}) -> tensor<2x2x4xf32> {
  // expected-remark @+1 {{layout [{}, {"cp"}, {}, {}]}}
  %w = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 2, 4, 4] : tensor<2x8x4xf32> into tensor<2x2x4x4xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}, {}]}}
  %first = tensor.extract_slice %w[0, 0, 0, 0] [2, 2, 1, 4] [1, 1, 1, 1] : tensor<2x2x4x4xf32> to tensor<2x2x4xf32>
  // expected-remark @+1 {{layout [{"cp"}]}}
  %e = tensor.empty() : tensor<8xi64>
  // expected-remark @+2 {{layout [{"cp"}]}}
  // expected-remark @+1 {{index of loop 0: add 4 per rank of {"cp"}}}
  %i = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%o: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  } -> tensor<8xi64>
  // expected-remark @+1 {{layout [{"cp"}, {}]}}
  %iw = tensor.expand_shape %i [[0, 1]] output_shape [2, 4] : tensor<8xi64> into tensor<2x4xi64>
  // expected-remark @+1 {{layout [{"cp"}]}}
  %p = tensor.extract_slice %iw[0, 0] [2, 1] [1, 1] : tensor<2x4xi64> to tensor<2xi64>
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %e2 = tensor.empty() : tensor<2x2xi64>
  // expected-remark @+1 {{layout [{}, {"cp"}]}}
  %pb = linalg.broadcast ins(%p : tensor<2xi64>) outs(%e2 : tensor<2x2xi64>) dimensions = [0]
  // expected-remark @+1 {{layout [{}, {"cp"}, {}]}}
  %e3 = tensor.empty() : tensor<2x2x4xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}, {}]}}
  %r = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%first, %pb : tensor<2x2x4xf32>, tensor<2x2xi64>) outs(%e3 : tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  return %r : tensor<2x2x4xf32>
}

// -----

// Without a batch nothing is split, and any operation may stand there.
dsv4.mesh @mesh ["cp" = 2]
// expected-remark @+1 {{argument 0: layout [{}]}}
func.func @no_batch(%x: tensor<8xf32> {dsv4.param = "x"}, %p: i1) -> tensor<8xf32> {
  // expected-remark @+1 {{layout [{}]}}
  %y = scf.if %p -> tensor<8xf32> {
    scf.yield %x : tensor<8xf32>
  } else {
    %z = math.exp %x : tensor<8xf32>
    scf.yield %z : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
