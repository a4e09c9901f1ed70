// RUN: dsv4-opt %s -split-input-file -dsv4-partition-sequence | FileCheck %s

// Local shapes of upstream operations: contractions, slices, pads, reshapes,
// tensors that an operation reads inside its region.


// A parameter with one row per position: every rank keeps its rows. An index
// tensor that disagrees is sliced as well.
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x4x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<8x4xf32> {dsv4.global_type = tensor<8x4xf32>, dsv4.layout = {{\[\[}}], []], dsv4.param = "t"})
// CHECK-SAME: -> (tensor<2x4x4xf32> {dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: tensor<2x4x4xf32> {dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}) {
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<2x4x4xf32>
// CHECK: %[[V1:.+]] = dsv4.seq_shard %[[ARG1]] on @mesh ["cp"] dim 0 {dsv4.path = "a"} : tensor<8x4xf32> -> tensor<4x4xf32>
// CHECK: %[[V2:.+]] = linalg.generic {{.*}} ins(%[[ARG0]], %[[V1]] : tensor<2x4x4xf32>, tensor<4x4xf32>) outs(%[[V0]] : tensor<2x4x4xf32>) attrs = {dsv4.path = "a"} {
// CHECK: %[[V3:.+]] = linalg.generic {{.*}} ins(%[[V2]], %[[V1]] : tensor<2x4x4xf32>, tensor<4x4xf32>) outs(%[[V0]] : tensor<2x4x4xf32>) {
// CHECK: return %[[V2]], %[[V3]] : tensor<2x4x4xf32>, tensor<2x4x4xf32>
dsv4.mesh @mesh ["cp" = 2]
func.func @slice(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}, %table: tensor<8x4xf32> {dsv4.param = "t"}) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %e = tensor.empty() : tensor<2x8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, c) -> (b, s, c)>, affine_map<(b, s, c) -> (s, c)>, affine_map<(b, s, c) -> (b, s, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %table : tensor<2x8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<2x8x4xf32>) attrs = {dsv4.path = "a"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(b, s, c) -> (b, s, c)>, affine_map<(b, s, c) -> (s, c)>, affine_map<(b, s, c) -> (b, s, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%y, %table : tensor<2x8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<2x8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x4xf32>
  return %y, %z : tensor<2x8x4xf32>, tensor<2x8x4xf32>
}

// -----

// Contractions, and slices, pads and joins of dimensions that are not split.
// CHECK-LABEL: func.func @shapes(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x8x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<3x8x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], [], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<6x4xf32> {dsv4.global_type = tensor<6x4xf32>, dsv4.layout = {{\[\[}}], []], dsv4.param = "w"})
// CHECK-SAME: -> (tensor<2x8x5xf32> {dsv4.global_type = tensor<3x8x5xf32>, dsv4.layout = {{\[\[}}"dp_shard"], [], []]}) {
// CHECK: %[[CST:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<2x8x6xf32>
// CHECK: %[[V1:.+]] = linalg.fill ins(%[[CST]] : f32) outs(%[[V0]] : tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
// CHECK: %[[V2:.+]] = linalg.generic {{.*}} ins(%[[ARG0]], %[[ARG1]] : tensor<2x8x4xf32>, tensor<6x4xf32>) outs(%[[V1]] : tensor<2x8x6xf32>) {
// CHECK: %[[EXTRACTED_SLICE:.+]] = tensor.extract_slice %[[V2]][0, 0, 0] [2, 8, 3] [1, 1, 2] : tensor<2x8x6xf32> to tensor<2x8x3xf32>
// CHECK: %[[EXTRACTED_SLICE_0:.+]] = tensor.extract_slice %[[V2]][0, 0, 5] [2, 8, 1] [1, 1, 1] : tensor<2x8x6xf32> to tensor<2x8xf32>
// CHECK: %[[INSERTED_SLICE:.+]] = tensor.insert_slice %[[EXTRACTED_SLICE_0]] into %[[EXTRACTED_SLICE]][0, 0, 1] [2, 8, 1] [1, 1, 1] : tensor<2x8xf32> into tensor<2x8x3xf32>
// CHECK: %[[PADDED:.+]] = tensor.pad %[[INSERTED_SLICE]] low[0, 0, 1] high[0, 0, 0] {
// CHECK: %[[EXPANDED:.+]] = tensor.expand_shape %[[EXTRACTED_SLICE_0]] {{\[\[}}0], [1, 2]] output_shape [2, 8, 1] : tensor<2x8xf32> into tensor<2x8x1xf32>
// CHECK: %[[CONCAT:.+]] = tensor.concat dim(2) %[[PADDED]], %[[EXPANDED]] : (tensor<2x8x4xf32>, tensor<2x8x1xf32>) -> tensor<2x8x5xf32>
// CHECK: return %[[CONCAT]] : tensor<2x8x5xf32>
dsv4.mesh @mesh ["dp_shard" = 2]
func.func @shapes(%x: tensor<3x8x4xf32> {dsv4.batch = "x"}, %w: tensor<6x4xf32> {dsv4.param = "w"}) -> tensor<3x8x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<3x8x6xf32>) -> tensor<3x8x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, t, o, i) -> (b, t, i)>, affine_map<(b, t, o, i) -> (o, i)>, affine_map<(b, t, o, i) -> (b, t, o)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<3x8x4xf32>, tensor<6x4xf32>) outs(%init : tensor<3x8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x8x6xf32>
  %even = tensor.extract_slice %y[0, 0, 0] [3, 8, 3] [1, 1, 2] : tensor<3x8x6xf32> to tensor<3x8x3xf32>
  %col = tensor.extract_slice %y[0, 0, 5] [3, 8, 1] [1, 1, 1] : tensor<3x8x6xf32> to tensor<3x8xf32>
  %back = tensor.insert_slice %col into %even[0, 0, 1] [3, 8, 1] [1, 1, 1] : tensor<3x8xf32> into tensor<3x8x3xf32>
  %pad = tensor.pad %back low[0, 0, 1] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<3x8x3xf32> to tensor<3x8x4xf32>
  %one = tensor.expand_shape %col [[0], [1, 2]] output_shape [3, 8, 1] : tensor<3x8xf32> into tensor<3x8x1xf32>
  %cat = tensor.concat dim(2) %pad, %one : (tensor<3x8x4xf32>, tensor<3x8x1xf32>) -> tensor<3x8x5xf32>
  return %cat : tensor<3x8x5xf32>
}

// -----

// A dimension read at one index is needed whole; the gather of an uneven batch
// drops the padding.
// CHECK-LABEL: func.func @uneven_gather(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<3x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], []]})
// CHECK-SAME: -> (tensor<4xf32> {dsv4.global_type = tensor<4xf32>, dsv4.layout = {{\[\[}}]]}) {
// CHECK: %[[V0:.+]] = dsv4.seq_gather %[[ARG0]] on @mesh ["dp_shard"] dim 0 differentiable : tensor<2x4xf32> -> tensor<4x4xf32>
// CHECK: %[[EXTRACTED_SLICE:.+]] = tensor.extract_slice %[[V0]][0, 0] [3, 4] [1, 1] : tensor<4x4xf32> to tensor<3x4xf32>
// CHECK: %[[EXTRACTED_SLICE_0:.+]] = tensor.extract_slice %[[EXTRACTED_SLICE]][1, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
// CHECK: return %[[EXTRACTED_SLICE_0]] : tensor<4xf32>
dsv4.mesh @mesh ["dp_shard" = 2]
func.func @uneven_gather(%x: tensor<3x4xf32> {dsv4.batch = "x"}) -> tensor<4xf32> {
  %0 = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Batch and sequence as one dimension: rows are local to the rank.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[ARG0:.+]]: tensor<1x4x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<4x4xf32> {dsv4.global_type = tensor<4x4xf32>, dsv4.layout = {{\[\[}}], []], dsv4.param = "w"})
// CHECK-SAME: -> (tensor<1x4x4xf32> {dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]}) {
// CHECK: %[[COLLAPSED:.+]] = tensor.collapse_shape %[[ARG0]] {{\[\[}}0, 1], [2]] : tensor<1x4x4xf32> into tensor<4x4xf32>
// CHECK: %[[CST:.+]] = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
// CHECK: %[[V0:.+]] = linalg.matmul ins(%[[COLLAPSED]], %[[ARG1]] : tensor<4x4xf32>, tensor<4x4xf32>) outs(%[[CST]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[EXPANDED:.+]] = tensor.expand_shape %[[V0]] {{\[\[}}0, 1], [2]] output_shape [1, 4, 4] : tensor<4x4xf32> into tensor<1x4x4xf32>
// CHECK: return %[[EXPANDED]] : tensor<1x4x4xf32>
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
func.func @rows(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}, %w: tensor<4x4xf32> {dsv4.param = "w"}) -> tensor<2x8x4xf32> {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x8x4xf32> into tensor<16x4xf32>
  %zero = arith.constant dense<0.0> : tensor<16x4xf32>
  %y = linalg.matmul ins(%rows, %w : tensor<16x4xf32>, tensor<4x4xf32>) outs(%zero : tensor<16x4xf32>) -> tensor<16x4xf32>
  %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 8, 4] : tensor<16x4xf32> into tensor<2x8x4xf32>
  return %z : tensor<2x8x4xf32>
}

// -----

// A tensor read inside a region is needed whole; one gather serves both uses.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x8xf32>, dsv4.layout = {{\[\[}}], ["cp"]]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<2x4xi64> {dsv4.batch = "ids", dsv4.global_type = tensor<2x8xi64>, dsv4.layout = {{\[\[}}], ["cp"]]})
// CHECK-SAME: -> (tensor<2x4xf32> {dsv4.global_type = tensor<2x8xf32>, dsv4.layout = {{\[\[}}], ["cp"]]}
// CHECK-SAME: tensor<2x4xf32> {dsv4.global_type = tensor<2x8xf32>, dsv4.layout = {{\[\[}}], ["cp"]]}) {
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<2x4xf32>
// CHECK: %[[V1:.+]] = dsv4.seq_gather %[[ARG0]] on @mesh ["cp"] dim 1 differentiable : tensor<2x4xf32> -> tensor<2x8xf32>
// CHECK: %[[V2:.+]] = linalg.generic {{.*}} ins(%[[ARG1]] : tensor<2x4xi64>) outs(%[[V0]] : tensor<2x4xf32>) {
// CHECK: %[[V7:.+]] = linalg.index 0 : index
// CHECK: %[[V8:.+]] = arith.index_cast %[[IN:.+]] : i64 to index
// CHECK: %[[EXTRACTED:.+]] = tensor.extract %[[V1]][%[[V7]], %[[V8]]] : tensor<2x8xf32>
// CHECK: %[[V3:.+]] = dsv4.axis_index @mesh ["cp"]
// CHECK: %[[C4:.+]] = arith.constant 4 : index
// CHECK: %[[V4:.+]] = arith.muli %[[V3]], %[[C4]] : index
// CHECK: %[[V5:.+]] = linalg.generic {{.*}} outs(%[[V0]] : tensor<2x4xf32>) {
// CHECK: %[[V7:.+]] = linalg.index 0 : index
// CHECK: %[[V8:.+]] = linalg.index 1 : index
// CHECK: %[[V9:.+]] = arith.addi %[[V8]], %[[V4]] : index
// CHECK: %[[EXTRACTED:.+]] = tensor.extract %[[V1]][%[[V7]], %[[V9]]] : tensor<2x8xf32>
// CHECK: return %[[V2]], %[[V6:.+]] : tensor<2x4xf32>, tensor<2x4xf32>
dsv4.mesh @mesh ["cp" = 2]
func.func @captured(%x: tensor<2x8xf32> {dsv4.batch = "x"}, %ids: tensor<2x8xi64> {dsv4.batch = "ids"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %e = tensor.empty() : tensor<2x8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]}
    ins(%ids : tensor<2x8xi64>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%id: i64, %o: f32):
    %b = linalg.index 0 : index
    %s = arith.index_cast %id : i64 to index
    %v = tensor.extract %x[%b, %s] : tensor<2x8xf32>
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x8xf32>) {
  ^bb0(%o: f32):
    %b = linalg.index 0 : index
    %s = linalg.index 1 : index
    %v = tensor.extract %x[%b, %s] : tensor<2x8xf32>
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %d = arith.addf %c, %a : tensor<2x8xf32>
  return %a, %d : tensor<2x8xf32>, tensor<2x8xf32>
}

