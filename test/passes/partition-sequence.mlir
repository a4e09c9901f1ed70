// RUN: dsv4-opt %s -split-input-file -dsv4-partition-sequence | FileCheck %s

// Local shapes and collectives around the operations of the model, and the
// loss. Upstream shape operations are in partition-sequence-shapes.mlir.

// Window attention: keys are gathered once, first_query moves with the rank,
// first_key does not; the layer's path is on everything that is inserted.
// CHECK-LABEL: func.func @window_attention(
// CHECK-SAME: %[[ARG0:.+]]: tensor<1x32xi64> {dsv4.batch = "input_ids", dsv4.global_type = tensor<2x64xi64>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"]]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<96x8xf32> {dsv4.global_type = tensor<96x8xf32>, dsv4.layout = {{\[\[}}], []], dsv4.param = "table"}
// CHECK-SAME: %[[ARG2:.+]]: tensor<4xf32> {dsv4.global_type = tensor<4xf32>, dsv4.layout = {{\[\[}}]], dsv4.param = "sink"})
// CHECK-SAME: -> (tensor<1x32x4x2xf32> {dsv4.global_type = tensor<2x64x4x2xf32>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], [], []], dsv4.result = "out"}) {
// CHECK: %[[C0:.+]] = arith.constant 0 : index
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<1x32x8xf32>
// CHECK: %[[V1:.+]] = dsv4.gather_rows ins(%[[ARG1]], %[[ARG0]] : tensor<96x8xf32>, tensor<1x32xi64>) outs(%[[V0]] : tensor<1x32x8xf32>) -> tensor<1x32x8xf32>
// CHECK: %[[EXPANDED:.+]] = tensor.expand_shape %[[V1]] {{\[\[}}0], [1], [2, 3]] output_shape [1, 32, 4, 2] : tensor<1x32x8xf32> into tensor<1x32x4x2xf32>
// CHECK: %[[EXTRACTED_SLICE:.+]] = tensor.extract_slice %[[V1]][0, 0, 0] [1, 32, 2] [1, 1, 1] : tensor<1x32x8xf32> to tensor<1x32x2xf32>
// CHECK: %[[V2:.+]] = tensor.empty() : tensor<1x32x4x2xf32>
// CHECK: %[[V3:.+]] = dsv4.seq_gather %[[EXTRACTED_SLICE]] on @mesh ["cp"] dim 1 differentiable {dsv4.path = "layers.0.attn"} : tensor<1x32x2xf32> -> tensor<1x64x2xf32>
// CHECK: %[[V4:.+]] = dsv4.axis_index @mesh ["cp"] {dsv4.path = "layers.0.attn"}
// CHECK: %[[C32:.+]] = arith.constant {dsv4.path = "layers.0.attn"} 32 : index
// CHECK: %[[V5:.+]] = arith.muli %[[V4]], %[[C32]] {dsv4.path = "layers.0.attn"} : index
// CHECK: %[[V6:.+]] = arith.addi %[[C0]], %[[V5]] {dsv4.path = "layers.0.attn"} : index
// CHECK: %[[V7:.+]] = dsv4.window_attention {dsv4.path = "layers.0.attn", ratio = 0 : i64, scale = 1.000000e+00 : f64, window = 8 : i64} ins(%[[EXPANDED]], %[[V3]], %[[ARG2]], %[[V6]], %[[C0]] : tensor<1x32x4x2xf32>, tensor<1x64x2xf32>, tensor<4xf32>) outs(%[[V2]] : tensor<1x32x4x2xf32>) -> tensor<1x32x4x2xf32>
// CHECK: return %[[V7]] : tensor<1x32x4x2xf32>
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
func.func @window_attention(%ids: tensor<2x64xi64> {dsv4.batch = "input_ids"},
                            %table: tensor<96x8xf32> {dsv4.param = "table"},
                            %sink: tensor<4xf32> {dsv4.param = "sink"})
    -> (tensor<2x64x4x2xf32> {dsv4.result = "out"}) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<2x64x8xf32>
  %x = dsv4.gather_rows ins(%table, %ids : tensor<96x8xf32>, tensor<2x64xi64>) outs(%e : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 64, 4, 2] : tensor<2x64x8xf32> into tensor<2x64x4x2xf32>
  %k = tensor.extract_slice %x[0, 0, 0] [2, 64, 2] [1, 1, 1] : tensor<2x64x8xf32> to tensor<2x64x2xf32>
  %init = tensor.empty() : tensor<2x64x4x2xf32>
  %o = dsv4.window_attention {window = 8 : i64, scale = 1.0 : f64, ratio = 0 : i64, dsv4.path = "layers.0.attn"}
    ins(%q, %k, %sink, %c0, %c0 : tensor<2x64x4x2xf32>, tensor<2x64x2xf32>, tensor<4xf32>)
    outs(%init : tensor<2x64x4x2xf32>) -> tensor<2x64x4x2xf32>
  return %o : tensor<2x64x4x2xf32>
}

// -----

// Pools: with overlap both inputs are gathered and the windows are shared out,
// without nothing moves.
// CHECK-LABEL: func.func @pools(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x16x8xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x64x8xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<4x8xf32> {dsv4.global_type = tensor<4x8xf32>, dsv4.layout = {{\[\[}}], []], dsv4.param = "ape"})
// CHECK-SAME: -> (tensor<2x4x4xf32> {dsv4.global_type = tensor<2x16x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: tensor<2x4x8xf32> {dsv4.global_type = tensor<2x16x8xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}) {
// CHECK: %[[C0:.+]] = arith.constant 0 : index
// CHECK: %[[EXPANDED:.+]] = tensor.expand_shape %[[ARG0]] {{\[\[}}0], [1, 2], [3]] output_shape [2, 4, 4, 8] : tensor<2x16x8xf32> into tensor<2x4x4x8xf32>
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<2x4x4xf32>
// CHECK: %[[V1:.+]] = dsv4.seq_gather %[[EXPANDED]] on @mesh ["cp"] dim 1 differentiable : tensor<2x4x4x8xf32> -> tensor<2x16x4x8xf32>
// CHECK: %[[V2:.+]] = dsv4.axis_index @mesh ["cp"]
// CHECK: %[[C4:.+]] = arith.constant 4 : index
// CHECK: %[[V3:.+]] = arith.muli %[[V2]], %[[C4]] : index
// CHECK: %[[V4:.+]] = arith.addi %[[C0]], %[[V3]] : index
// CHECK: %[[V5:.+]] = dsv4.pool_windows {overlap} ins(%[[V1]], %[[V1]], %[[ARG1]], %[[V4]] : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<4x8xf32>) outs(%[[V0]] : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK: %[[V6:.+]] = tensor.empty() : tensor<2x4x8xf32>
// CHECK: %[[V7:.+]] = dsv4.pool_windows ins(%[[EXPANDED]], %[[EXPANDED]], %[[ARG1]], %[[C0]] : tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<4x8xf32>) outs(%[[V6]] : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
// CHECK: return %[[V5]], %[[V7]] : tensor<2x4x4xf32>, tensor<2x4x8xf32>
dsv4.mesh @mesh ["cp" = 4]
func.func @pools(%x: tensor<2x64x8xf32> {dsv4.batch = "x"}, %ape: tensor<4x8xf32> {dsv4.param = "ape"})
    -> (tensor<2x16x4xf32>, tensor<2x16x8xf32>) {
  %c0 = arith.constant 0 : index
  %w = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 16, 4, 8] : tensor<2x64x8xf32> into tensor<2x16x4x8xf32>
  %e0 = tensor.empty() : tensor<2x16x4xf32>
  %a = dsv4.pool_windows {overlap} ins(%w, %w, %ape, %c0 : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<4x8xf32>)
    outs(%e0 : tensor<2x16x4xf32>) -> tensor<2x16x4xf32>
  %e1 = tensor.empty() : tensor<2x16x8xf32>
  %b = dsv4.pool_windows ins(%w, %w, %ape, %c0 : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<4x8xf32>)
    outs(%e1 : tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  return %a, %b : tensor<2x16x4xf32>, tensor<2x16x8xf32>
}

// -----

// Indices carry no gradient: the gather of what only they depend on is not
// differentiable.
// CHECK-LABEL: func.func @index_topk(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x4x2x4xf32> {dsv4.batch = "q", dsv4.global_type = tensor<2x8x2x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], [], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<2x4x4xf32> {dsv4.batch = "k", dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: %[[ARG2:.+]]: tensor<2x4x2xf32> {dsv4.batch = "w", dsv4.global_type = tensor<2x8x2xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]})
// CHECK-SAME: -> (tensor<2x4x4xi64> {dsv4.global_type = tensor<2x8x4xi64>, dsv4.layout = {{\[\[}}], ["cp"], []]}) {
// CHECK: %[[C0:.+]] = arith.constant 0 : index
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<2x4x4xi64>
// CHECK: %[[V1:.+]] = dsv4.seq_gather %[[ARG1]] on @mesh ["cp"] dim 1 : tensor<2x4x4xf32> -> tensor<2x8x4xf32>
// CHECK: %[[V2:.+]] = dsv4.axis_index @mesh ["cp"]
// CHECK: %[[C4:.+]] = arith.constant 4 : index
// CHECK: %[[V3:.+]] = arith.muli %[[V2]], %[[C4]] : index
// CHECK: %[[V4:.+]] = arith.addi %[[C0]], %[[V3]] : index
// CHECK: %[[V5:.+]] = dsv4.index_topk {ratio = 1 : i64, scale = 1.000000e+00 : f64} ins(%[[ARG0]], %[[V1]], %[[ARG2]], %[[V4]] : tensor<2x4x2x4xf32>, tensor<2x8x4xf32>, tensor<2x4x2xf32>) outs(%[[V0]] : tensor<2x4x4xi64>) -> tensor<2x4x4xi64>
// CHECK: return %[[V5]] : tensor<2x4x4xi64>
dsv4.mesh @mesh ["cp" = 2]
func.func @index_topk(%q: tensor<2x8x2x4xf32> {dsv4.batch = "q"}, %k: tensor<2x8x4xf32> {dsv4.batch = "k"},
                      %w: tensor<2x8x2xf32> {dsv4.batch = "w"}) -> tensor<2x8x4xi64> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<2x8x4xi64>
  %s = dsv4.index_topk {ratio = 1 : i64, scale = 1.0 : f64} ins(%q, %k, %w, %c0 : tensor<2x8x2x4xf32>, tensor<2x8x4xf32>, tensor<2x8x2xf32>)
    outs(%e : tensor<2x8x4xi64>) -> tensor<2x8x4xi64>
  return %s : tensor<2x8x4xi64>
}

// -----

// Routed rows are split wherever tokens are.
// CHECK-LABEL: func.func @moe(
// CHECK-SAME: %[[ARG0:.+]]: tensor<1x4x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<1x4x2xi64> {dsv4.batch = "experts", dsv4.global_type = tensor<2x8x2xi64>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]}
// CHECK-SAME: %[[ARG2:.+]]: tensor<3x4x4xf32> {dsv4.global_type = tensor<3x4x4xf32>, dsv4.layout = {{\[\[}}], [], []], dsv4.param = "w"})
// CHECK-SAME: -> (tensor<1x4x4xf32> {dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]}) {
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<8xi64>
// CHECK: %[[V1:.+]] = tensor.empty() : tensor<4xi64>
// CHECK: %[[V2:.+]]:2 = dsv4.sort_by_expert ins(%[[ARG1]] : tensor<1x4x2xi64>) outs(%[[V0]], %[[V1]] : tensor<8xi64>, tensor<4xi64>) -> tensor<8xi64>, tensor<4xi64>
// CHECK: %[[V3:.+]] = tensor.empty() : tensor<8x4xf32>
// CHECK: %[[V4:.+]] = dsv4.dispatch_rows ins(%[[ARG0]], %[[V2]]#0 : tensor<1x4x4xf32>, tensor<8xi64>) outs(%[[V3]] : tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[V5:.+]] = dsv4.grouped_matmul ins(%[[V4]], %[[ARG2]], %[[V2]]#1 : tensor<8x4xf32>, tensor<3x4x4xf32>, tensor<4xi64>) outs(%[[V3]] : tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[CST:.+]] = arith.constant dense<0.000000e+00> : tensor<1x4x4xf32>
// CHECK: %[[V6:.+]] = dsv4.combine_rows ins(%[[V5]], %[[V2]]#0, %[[V2]]#1, %[[ARG1]] : tensor<8x4xf32>, tensor<8xi64>, tensor<4xi64>, tensor<1x4x2xi64>) outs(%[[CST]] : tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
// CHECK: return %[[V6]] : tensor<1x4x4xf32>
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
func.func @moe(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}, %experts: tensor<2x8x2xi64> {dsv4.batch = "experts"},
               %w: tensor<3x4x4xf32> {dsv4.param = "w"}) -> tensor<2x8x4xf32> {
  %e0 = tensor.empty() : tensor<32xi64>
  %e1 = tensor.empty() : tensor<4xi64>
  %order, %offsets = dsv4.sort_by_expert ins(%experts : tensor<2x8x2xi64>) outs(%e0, %e1 : tensor<32xi64>, tensor<4xi64>) -> tensor<32xi64>, tensor<4xi64>
  %e2 = tensor.empty() : tensor<32x4xf32>
  %rows = dsv4.dispatch_rows ins(%x, %order : tensor<2x8x4xf32>, tensor<32xi64>) outs(%e2 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %y = dsv4.grouped_matmul ins(%rows, %w, %offsets : tensor<32x4xf32>, tensor<3x4x4xf32>, tensor<4xi64>) outs(%e2 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %cst = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %z = dsv4.combine_rows ins(%y, %order, %offsets, %experts : tensor<32x4xf32>, tensor<32xi64>, tensor<4xi64>, tensor<2x8x2xi64>)
    outs(%cst : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %z : tensor<2x8x4xf32>
}

// -----

// The loss: two sums over everything, each combined where it arises. A batch of
// 3 rows is padded to 4.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x2xi64> {dsv4.batch = "labels", dsv4.global_type = tensor<3x8xi64>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"]]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<2x2x5xf64> {dsv4.batch = "logits", dsv4.global_type = tensor<3x8x5xf64>, dsv4.layout = {{\[\[}}"dp_shard"], ["cp"], []]})
// CHECK-SAME: -> (tensor<f64> {dsv4.global_type = tensor<f64>, dsv4.layout = [], dsv4.result = "loss"}
// CHECK-SAME: tensor<i64> {dsv4.global_type = tensor<i64>, dsv4.layout = []}) {
// CHECK: %[[CST:.+]] = arith.constant 0.000000e+00 : f64
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<f64>
// CHECK: %[[V1:.+]] = linalg.fill ins(%[[CST]] : f64) outs(%[[V0]] : tensor<f64>) -> tensor<f64>
// CHECK: %[[V2:.+]] = linalg.generic {{.*}} ins(%[[ARG1]] : tensor<2x2x5xf64>) outs(%[[V1]] : tensor<f64>) {
// CHECK: %[[V3:.+]] = dsv4.all_reduce sum %[[V2]] on @mesh ["dp_shard", "cp"] : tensor<f64>
// CHECK: %[[CST_0:.+]] = arith.constant dense<-9> : tensor<i64>
// CHECK: %[[REDUCED:.+]] = linalg.reduce ins(%[[ARG0]] : tensor<2x2xi64>) outs(%[[CST_0]] : tensor<i64>) dimensions = [0, 1]
// CHECK: %[[V4:.+]] = dsv4.all_reduce max %[[REDUCED]] on @mesh ["dp_shard", "cp"] : tensor<i64>
// CHECK: return %[[V3]], %[[V4]] : tensor<f64>, tensor<i64>
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
func.func @loss(%labels: tensor<3x8xi64> {dsv4.batch = "labels"}, %logits: tensor<3x8x5xf64> {dsv4.batch = "logits"})
    -> (tensor<f64> {dsv4.result = "loss"}, tensor<i64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %init = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, s, v) -> (b, s, v)>, affine_map<(b, s, v) -> ()>],
                         iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%logits : tensor<3x8x5xf64>) outs(%init : tensor<f64>) {
  ^bb0(%a: f64, %acc: f64):
    %0 = arith.addf %a, %acc : f64
    linalg.yield %0 : f64
  } -> tensor<f64>
  %low = arith.constant dense<-9> : tensor<i64>
  %max = linalg.reduce ins(%labels : tensor<3x8xi64>) outs(%low : tensor<i64>) dimensions = [0, 1]
    (%a: i64, %acc: i64) {
      %0 = arith.maxsi %a, %acc : i64
      linalg.yield %0 : i64
    }
  return %sum, %max : tensor<f64>, tensor<i64>
}

// -----

// Positions from an iota: index plus offset. The same iota is needed whole
// elsewhere, and is made again for that use.
// CHECK-LABEL: func.func @iota(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x4x4xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: %[[ARG1:.+]]: tensor<8xi64> {dsv4.global_type = tensor<8xi64>, dsv4.layout = {{\[\[}}]], dsv4.param = "w"})
// CHECK-SAME: -> (tensor<2x4x4xf32> {dsv4.global_type = tensor<2x8x4xf32>, dsv4.layout = {{\[\[}}], ["cp"], []]}
// CHECK-SAME: tensor<8xi64> {dsv4.global_type = tensor<8xi64>, dsv4.layout = {{\[\[}}]]}) {
// CHECK: %[[V0:.+]] = tensor.empty() : tensor<8xi64>
// CHECK: %[[V1:.+]] = tensor.empty() : tensor<4xi64>
// CHECK: %[[V2:.+]] = linalg.generic {{.*}} outs(%[[V0]] : tensor<8xi64>) {
// CHECK: %[[V10:.+]] = linalg.index 0 : index
// CHECK: %[[V11:.+]] = arith.index_cast %[[V10]] : index to i64
// CHECK: %[[V3:.+]] = dsv4.axis_index @mesh ["cp"]
// CHECK: %[[C4:.+]] = arith.constant 4 : index
// CHECK: %[[V4:.+]] = arith.muli %[[V3]], %[[C4]] : index
// CHECK: %[[V5:.+]] = linalg.generic {{.*}} outs(%[[V1]] : tensor<4xi64>) {
// CHECK: %[[V10:.+]] = linalg.index 0 : index
// CHECK: %[[V11:.+]] = arith.addi %[[V10]], %[[V4]] : index
// CHECK: %[[V12:.+]] = arith.index_cast %[[V11]] : index to i64
// CHECK: %[[V6:.+]] = tensor.empty() : tensor<2x4xi64>
// CHECK: %[[BROADCASTED:.+]] = linalg.broadcast ins(%[[V5]] : tensor<4xi64>) outs(%[[V6]] : tensor<2x4xi64>) dimensions = [0]
// CHECK: %[[V7:.+]] = tensor.empty() : tensor<2x4x4xf32>
// CHECK: %[[V8:.+]] = dsv4.rope {inv_freq = array<f64: 1.000000e+00>} ins(%[[ARG0]], %[[BROADCASTED]] : tensor<2x4x4xf32>, tensor<2x4xi64>) outs(%[[V7]] : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK: %[[V9:.+]] = arith.addi %[[V2]], %[[ARG1]] : tensor<8xi64>
// CHECK: return %[[V8]], %[[V9]] : tensor<2x4x4xf32>, tensor<8xi64>
dsv4.mesh @mesh ["cp" = 2]
func.func @iota(%x: tensor<2x8x4xf32> {dsv4.batch = "x"}, %w: tensor<8xi64> {dsv4.param = "w"}) -> (tensor<2x8x4xf32>, tensor<8xi64>) {
  %e = tensor.empty() : tensor<8xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  } -> tensor<8xi64>
  %e2 = tensor.empty() : tensor<2x8xi64>
  %p = linalg.broadcast ins(%i : tensor<8xi64>) outs(%e2 : tensor<2x8xi64>) dimensions = [0]
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %r = dsv4.rope {inv_freq = array<f64: 1.0>} ins(%x, %p : tensor<2x8x4xf32>, tensor<2x8xi64>) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %y = arith.addi %i, %w : tensor<8xi64>
  return %r, %y : tensor<2x8x4xf32>, tensor<8xi64>
}

// -----

// One rank: only attributes are added.
// CHECK-LABEL: func.func @one_rank(
// CHECK-SAME: %[[ARG0:.+]]: tensor<2x7xf32> {dsv4.batch = "x", dsv4.global_type = tensor<2x7xf32>, dsv4.layout = {{\[\[}}], []]}
// CHECK-SAME: %[[ARG1:.+]]: index) -> (tensor<2x7xf32> {dsv4.global_type = tensor<2x7xf32>, dsv4.layout = {{\[\[}}], []], dsv4.result = "y"}) {
// CHECK: %[[V0:.+]] = math.exp %[[ARG0]] : tensor<2x7xf32>
// CHECK: return %[[V0]] : tensor<2x7xf32>
dsv4.mesh @mesh ["cp" = 1]
func.func @one_rank(%x: tensor<2x7xf32> {dsv4.batch = "x"}, %n: index) -> (tensor<2x7xf32> {dsv4.result = "y"}) {
  %y = math.exp %x : tensor<2x7xf32>
  return %y : tensor<2x7xf32>
}
