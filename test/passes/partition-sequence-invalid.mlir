// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-partition-sequence

// Everything that cannot be partitioned is a located error.

// expected-error @+1 {{needs a dsv4.mesh, which -dsv4-declare-mesh adds}}
module {
  func.func @no_mesh(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
    return
  }
}

// -----

// expected-note @+1 {{first mesh declared here}}
dsv4.mesh @a ["cp" = 2]
// expected-error @+1 {{'dsv4.mesh' op is the second mesh, expected one}}
dsv4.mesh @b ["cp" = 2]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @+1 {{'func.func' op is already partitioned: argument 0 has 'dsv4.layout'}}
func.func @twice(%x: tensor<2x4xf32> {dsv4.batch = "x", dsv4.layout = [[], ["cp"]], dsv4.global_type = tensor<2x8xf32>}) {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @+1 {{'func.func' op argument 1 needs 'dsv4.batch', 'dsv4.param' or 'dsv4.buffer'}}
func.func @unmarked(%n: index, %x: tensor<2x8xf32>) {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @+1 {{'func.func' op argument 0 has type 'tensor<?x8xf32>', expected a tensor of static shape}}
func.func @dynamic(%x: tensor<?x8xf32> {dsv4.batch = "x"}) {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @dynamic_result(%n: index) {
  // expected-error @+1 {{'tensor.empty' op result 0 has type 'tensor<?xf32>', expected a static shape}}
  %0 = tensor.empty(%n) : tensor<?xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @+1 {{'func.func' op has 2 blocks, expected one}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func private @helper(tensor<2x8xf32>) -> tensor<2x8xf32>
func.func @call(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  // expected-error @+1 {{'func.call' op cannot be partitioned, calls must be inlined before}}
  %0 = func.call @helper(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 4]
// expected-error @+1 {{'func.func' op argument 0 has 50 positions, which 4 ranks of axis "cp" do not divide; the smallest legal padded length is 52}}
func.func @length(%x: tensor<2x50xf32> {dsv4.batch = "x"}) {
  return
}

// -----

// The layer is named, and the length fits all window sizes: 4, 6 and 4 ranks.
dsv4.mesh @mesh ["cp" = 4]
func.func @windows(%x: tensor<2x48x8xf32> {dsv4.batch = "x"}, %ape: tensor<6x8xf32> {dsv4.param = "ape"}) {
  // expected-error @+1 {{'tensor.expand_shape' op of "layers.1" needs whole windows of 8 positions on each of 4 ranks of axis "cp", got 48 positions; the smallest legal padded length is 64}}
  %w = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 6, 8, 8] {dsv4.path = "layers.1"} : tensor<2x48x8xf32> into tensor<2x6x8x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 4]
func.func @pool_windows(%x: tensor<2x40x8xf32> {dsv4.batch = "x"}, %ape: tensor<4x8xf32> {dsv4.param = "ape"}, %ape6: tensor<6x8xf32> {dsv4.param = "ape"}) {
  %c0 = arith.constant 0 : index
  %w = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 10, 4, 8] : tensor<2x40x8xf32> into tensor<2x10x4x8xf32>
  %e = tensor.empty() : tensor<2x10x8xf32>
  // expected-error @+1 {{'dsv4.pool_windows' op of "layers.2" needs whole windows of 4 positions on each of 4 ranks of axis "cp", got 40 positions; the smallest legal padded length is 48}}
  %a = dsv4.pool_windows {dsv4.path = "layers.2"} ins(%w, %w, %ape, %c0 : tensor<2x10x4x8xf32>, tensor<2x10x4x8xf32>, tensor<4x8xf32>)
    outs(%e : tensor<2x10x8xf32>) -> tensor<2x10x8xf32>
  return
}

// -----

// On one rank windows must be whole, too.
dsv4.mesh @mesh []
func.func @one_rank(%q: tensor<1x9x2x4xf32> {dsv4.batch = "q"}, %k: tensor<1x2x4xf32> {dsv4.param = "k"}, %w: tensor<1x9x2xf32> {dsv4.batch = "w"}) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x9x1xi64>
  // expected-error @+1 {{'dsv4.index_topk' op needs whole windows of 4 positions on each of 1 ranks of axis "cp", got 9 positions; the smallest legal padded length is 12}}
  %s = dsv4.index_topk {ratio = 4 : i64, scale = 1.0 : f64} ins(%q, %k, %w, %c0 : tensor<1x9x2x4xf32>, tensor<1x2x4xf32>, tensor<1x9x2xf32>)
    outs(%e : tensor<1x9x1xi64>) -> tensor<1x9x1xi64>
  return
}

// -----

// Two uses that split one dimension differently.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
// expected-note @+2 {{operand 0 comes from here with layout [{"dp_shard"}, {"cp"}]}}
// expected-note @+1 {{operand 1 comes from here with layout [{"dp_shard"}, {"cp"}]}}
func.func @conflict(%x: tensor<8x8xf32> {dsv4.batch = "x"}) {
  %e = tensor.empty() : tensor<8x8xf32>
  // expected-error @+1 {{'linalg.generic' op of "layers.3" needs dimension 1 of operand 0 and dimension 0 of operand 1 split alike, got {"cp"} and {"dp_shard"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) attrs = {dsv4.path = "layers.3"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  return
}

// -----

// All pairs of positions: one of the two must be gathered, and nothing says
// which.
dsv4.mesh @mesh ["cp" = 2]
// expected-note @+2 {{operand 0 comes from here with layout [{}, {"cp"}, {}]}}
// expected-note @+1 {{operand 1 comes from here with layout [{}, {"cp"}, {}]}}
func.func @pairs(%q: tensor<2x8x4xf32> {dsv4.batch = "q"}, %k: tensor<2x8x4xf32> {dsv4.batch = "k"}) {
  %cst = arith.constant dense<0.0> : tensor<2x8x8xf32>
  // expected-error @+1 {{'linalg.generic' op combines dimension 1 of operand 0 with dimension 1 of operand 1, and both are split over {"cp"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, t, s, d) -> (b, t, d)>, affine_map<(b, t, s, d) -> (b, s, d)>, affine_map<(b, t, s, d) -> (b, t, s)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>) outs(%cst : tensor<2x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x8x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-note @+1 {{operand 0 comes from here with layout [{}, {"cp"}]}}
func.func @unknown(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  // expected-error @+1 {{'linalg.softmax' op is not known to the layout analysis and uses dimension 1 of operand 0, which is split over {"cp"}}}
  %y = linalg.softmax dimension(0) ins(%x : tensor<2x8xf32>) outs(%x : tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-note @+1 {{the tensor read in its region comes from here with layout [{}, {"cp"}]}}
func.func @unknown_region(%x: tensor<2x8xf32> {dsv4.batch = "x"}, %p: i1) {
  // expected-error @+1 {{'scf.if' op is not known to the layout analysis and uses dimension 1 of a tensor read in its region, which is split over {"cp"}}}
  scf.if %p {
    %y = arith.negf %x : tensor<2x8xf32>
  }
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @product(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  %cst = arith.constant dense<1.0> : tensor<2xf32>
  // expected-error @+1 {{'linalg.reduce' op reduces over {"cp"}, and no collective combines what the ranks have: result 0 of element type 'f32' must be a sum, maximum or minimum}}
  %y = linalg.reduce { arith.mulf } ins(%x : tensor<2x8xf32>) outs(%cst : tensor<2xf32>) dimensions = [1]
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @initial_value(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  %cst = arith.constant dense<1.0> : tensor<2xf32>
  // expected-error @+1 {{'linalg.reduce' op sums over {"cp"} into result 0, whose initial value every rank would add: expected zeros}}
  %y = linalg.reduce { arith.addf } ins(%x : tensor<2x8xf32>) outs(%cst : tensor<2xf32>) dimensions = [1]
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2]
// expected-remark @+1 {{splits 3 batch rows over 2 ranks of {"dp_shard"}: 2 on each, 1 of all are padding}}
func.func @remark_of_padding(%x: tensor<3x8xf32> {dsv4.batch = "x"}) {
  return
}

// -----

// A slice without communication needs equal parts.
dsv4.mesh @mesh ["dp_shard" = 2]
// expected-note @+1 {{the operand comes from here}}
func.func @uneven_slice(%x: tensor<3x8xf32> {dsv4.batch = "x"}, %w: tensor<3x8xf32> {dsv4.param = "w"}) {
  // expected-error @+1 {{'arith.addf' op needs dimension 0 of operand 1 split over {"dp_shard"} into unequal parts, but every rank holds all of it}}
  %y = arith.addf %x, %w : tensor<3x8xf32>
  return
}

// -----

// Rows that are not contiguous in the global order can neither be sliced nor
// gathered, and borders between ranks must stay borders.
dsv4.mesh @mesh ["cp" = 2]
// expected-note @+1 {{the operand comes from here}}
func.func @rows_of_parameter(%x: tensor<2x8xf32> {dsv4.batch = "x"}, %w: tensor<16xf32> {dsv4.param = "w"}) {
  %rows = tensor.collapse_shape %x [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
  // expected-error @+1 {{'arith.addf' op needs dimension 0 of operand 1 split over {"cp"} into parts that are not contiguous, but every rank holds all of it}}
  %y = arith.addf %rows, %w : tensor<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @gather_of_rows(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  // expected-note @+1 {{operand 0 comes from here with layout [{"cp"}]}}
  %rows = tensor.collapse_shape %x [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
  // expected-error @+1 {{'tensor.extract_slice' op cannot follow the split of dimension 0 of operand 0 over {"cp"}: it needs all of it and the parts are not contiguous}}
  %y = tensor.extract_slice %rows[0] [15] [1] : tensor<16xf32> to tensor<15xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @other_rows(%x: tensor<3x8xf32> {dsv4.batch = "x"}) {
  // expected-note @+1 {{operand 0 comes from here with layout [{"cp"}]}}
  %rows = tensor.collapse_shape %x [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  // expected-error @+1 {{'tensor.expand_shape' op cannot follow the split of dimension 0 of operand 0 over {"cp"}: the parts do not become parts of the result}}
  %y = tensor.expand_shape %rows [[0, 1]] output_shape [2, 12] : tensor<24xf32> into tensor<2x12xf32>
  return
}

// -----

// The position of a row that is not contiguous is no sum.
dsv4.mesh @mesh ["cp" = 2]
func.func @index_of_rows(%x: tensor<2x8xf32> {dsv4.batch = "x"}) {
  %rows = tensor.collapse_shape %x [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
  %e = tensor.empty() : tensor<16xi32>
  // expected-error @+1 {{'linalg.generic' op uses the index of a dimension that is split over {"cp"} into parts that are not contiguous}}
  %y = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
    ins(%rows : tensor<16xf32>) outs(%e : tensor<16xi32>) {
  ^bb0(%a: f32, %o: i32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    linalg.yield %1 : i32
  } -> tensor<16xi32>
  return
}

// -----

// Bounds of routed rows are each rank's own.
dsv4.mesh @mesh ["cp" = 2]
func.func @per_rank(%experts: tensor<2x8x2xi64> {dsv4.batch = "experts"}) -> tensor<4xi64> {
  %e0 = tensor.empty() : tensor<32xi64>
  %e1 = tensor.empty() : tensor<4xi64>
  // expected-note @+1 {{the operand comes from here}}
  %order, %offsets = dsv4.sort_by_expert ins(%experts : tensor<2x8x2xi64>) outs(%e0, %e1 : tensor<32xi64>, tensor<4xi64>) -> tensor<32xi64>, tensor<4xi64>
  // expected-error @+1 {{'func.return' op uses operand 0, whose elements differ between the ranks of {"cp"}}}
  return %offsets : tensor<4xi64>
}
