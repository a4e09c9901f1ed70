// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-print-layout | FileCheck %s

// Adjoints of structured operations: what follows the queries, rows or tokens
// keeps their split; what all of them contribute to is a partial sum.

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// expected-remark @+3 {{argument 0: layout [{"dp_shard"}, {"cp"}, {}]}}
// expected-remark @+3 {{argument 1: layout [{}]}}
// CHECK-LABEL: func.func @attention(
func.func @attention(%x: tensor<2x8x6xf32> {dsv4.batch = "x"},
                     %sink: tensor<2xf32> {dsv4.param = "sink"}, %i: index)
    -> (tensor<2x8x2x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>) {
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}, {}]}}
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 8, 2, 3] : tensor<2x8x6xf32> into tensor<2x8x2x3xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %k = tensor.extract_slice %x[0, 0, 0] [2, 8, 3] [1, 1, 1] : tensor<2x8x6xf32> to tensor<2x8x3xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}, {}]}}
  %dq = tensor.empty() : tensor<2x8x2x3xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {}, {}]}}
  %dk = tensor.empty() : tensor<2x8x3xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %ds = tensor.empty() : tensor<2x8x2xf32>
  // expected-remark @+5 {{result 0: layout [{"dp_shard"}, {"cp"}, {}, {}]}}
  // expected-remark @+4 {{result 1: layout [{"dp_shard"}, {}, {}] partial {"cp"}: all_reduce sum}}
  // expected-remark @+3 {{result 2: layout [{"dp_shard"}, {"cp"}, {}]}}
  // expected-remark @+2 {{operand 1: gather dimension 1 over {"cp"}}}
  // expected-remark @+1 {{operand 4: add 4 per rank of {"cp"}}}
  %g:3 = dsv4.window_attention_grad {window = 3 : i64, scale = 1.0 : f64, ratio = 0 : i64}
    ins(%q, %k, %sink, %q, %i, %i : tensor<2x8x2x3xf32>, tensor<2x8x3xf32>, tensor<2xf32>, tensor<2x8x2x3xf32>)
    outs(%dq, %dk, %ds : tensor<2x8x2x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>)
    -> tensor<2x8x2x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>
  return %g#0, %g#1, %g#2 : tensor<2x8x2x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

// With overlap a row also reads its left neighbour, so windows are gathered and
// their gradients are sums; without, all stays where it is.

// expected-remark @+3 {{argument 0: layout [{}, {"cp"}, {}]}}
// expected-remark @+3 {{argument 1: layout [{}, {}]}}
// CHECK-LABEL: func.func @pool(
func.func @pool(%x: tensor<2x16x6xf32> {dsv4.batch = "x"},
                %ape: tensor<4x6xf32> {dsv4.param = "ape"}, %i: index) {
  // expected-remark @+1 {{layout [{}, {"cp"}, {}, {}]}}
  %v = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 4, 4, 6] : tensor<2x16x6xf32> into tensor<2x4x4x6xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}, {}]}}
  %g = tensor.extract_slice %v[0, 0, 0, 0] [2, 4, 1, 3] [1, 1, 1, 1] : tensor<2x4x4x6xf32> to tensor<2x4x3xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}, {}]}}
  %h = tensor.extract_slice %v[0, 0, 0, 0] [2, 4, 1, 6] [1, 1, 1, 1] : tensor<2x4x4x6xf32> to tensor<2x4x6xf32>
  // expected-remark @+1 {{layout [{}, {}, {}, {}]}}
  %e0 = tensor.empty() : tensor<2x4x4x6xf32>
  // expected-remark @+5 {{result 0: layout [{}, {}, {}, {}] partial {"cp"}: all_reduce sum}}
  // expected-remark @+4 {{result 1: layout [{}, {}, {}, {}] partial {"cp"}: all_reduce sum}}
  // expected-remark @+3 {{operand 0: gather dimension 1 over {"cp"}}}
  // expected-remark @+2 {{operand 1: gather dimension 1 over {"cp"}}}
  // expected-remark @+1 {{operand 4: add 2 per rank of {"cp"}}}
  %o:2 = dsv4.pool_windows_grad {overlap} ins(%v, %v, %ape, %g, %i : tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>, tensor<4x6xf32>, tensor<2x4x3xf32>)
    outs(%e0, %e0 : tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>
  // expected-remark @+1 {{layout [{}, {"cp"}, {}, {}]}}
  %e1 = tensor.empty() : tensor<2x4x4x6xf32>
  // expected-remark @+2 {{result 0: layout [{}, {"cp"}, {}, {}]}}
  // expected-remark @+1 {{result 1: layout [{}, {"cp"}, {}, {}]}}
  %p:2 = dsv4.pool_windows_grad ins(%v, %v, %ape, %h, %i : tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>)
    outs(%e1, %e1 : tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>, tensor<2x4x4x6xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// Rows of routed tokens are split as tokens are; tables and matrices collect
// from all of them.

// expected-remark @+4 {{argument 0: layout [{"dp_shard"}, {"cp"}, {}]}}
// expected-remark @+4 {{argument 1: layout [{"dp_shard"}, {"cp"}]}}
// expected-remark @+4 {{argument 2: layout [{"dp_shard"}, {"cp"}, {}]}}
// CHECK-LABEL: func.func @rows(
func.func @rows(%x: tensor<2x8x6xf32> {dsv4.batch = "x"},
                %ids: tensor<2x8xi64> {dsv4.batch = "ids"},
                %experts: tensor<2x8x2xi64> {dsv4.batch = "experts"}) {
  // expected-remark @+1 {{layout [{}, {}]}}
  %t = tensor.empty() : tensor<96x6xf32>
  // expected-remark @+1 {{layout [{}, {}] partial {"dp_shard", "cp"}: all_reduce sum}}
  %s = dsv4.scatter_add ins(%x, %ids : tensor<2x8x6xf32>, tensor<2x8xi64>) outs(%t : tensor<96x6xf32>) -> tensor<96x6xf32>
  // expected-remark @+1 {{layout [{"dp_shard", "cp"}]}}
  %a = tensor.empty() : tensor<32xi64>
  // expected-remark @+1 {{layout [{}]}}
  %b = tensor.empty() : tensor<5xi64>
  // expected-remark @+2 {{result 0: layout [{"dp_shard", "cp"}]}}
  // expected-remark @+1 {{result 1: layout [{}]}}
  %o, %n = dsv4.sort_by_expert ins(%experts : tensor<2x8x2xi64>) outs(%a, %b : tensor<32xi64>, tensor<5xi64>) -> tensor<32xi64>, tensor<5xi64>
  // expected-remark @+1 {{layout [{"dp_shard", "cp"}, {}]}}
  %c = tensor.empty() : tensor<32x6xf32>
  // expected-remark @+1 {{layout [{"dp_shard", "cp"}, {}]}}
  %r = dsv4.combine_rows_grad ins(%x, %o, %n : tensor<2x8x6xf32>, tensor<32xi64>, tensor<5xi64>) outs(%c : tensor<32x6xf32>) -> tensor<32x6xf32>
  // expected-remark @+1 {{layout [{}, {}, {}]}}
  %d = tensor.empty() : tensor<4x6x6xf32>
  // expected-remark @+1 {{layout [{}, {}, {}] partial {"dp_shard", "cp"}: all_reduce sum}}
  %m = dsv4.grouped_outer ins(%r, %r, %n : tensor<32x6xf32>, tensor<32x6xf32>, tensor<5xi64>) outs(%d : tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %f = tensor.empty() : tensor<2x8x6xf32>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %y = dsv4.dispatch_rows_grad ins(%r, %o : tensor<32x6xf32>, tensor<32xi64>) outs(%f : tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  return
}
