// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-print-layout | FileCheck %s

// One remark per tensor and per decision; the IR stays as it is.

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// expected-remark @+4 {{argument 0: layout [{"dp_shard"}, {"cp"}, {}]}}
// expected-remark @+4 {{argument 1: layout [{}, {}]}}
// expected-remark @+4 {{argument 2: layout [{}]}}
// CHECK-LABEL: func.func @decisions(
func.func @decisions(%x: tensor<2x8x4xf32> {dsv4.batch = "x"},
                     %t: tensor<8x4xf32> {dsv4.param = "t"},
                     %i: tensor<8xi64> {dsv4.buffer = "i"}, %n: index) -> (tensor<f32>, tensor<8xi64>) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @+1 {{layout [{"cp"}]}}
  %e = tensor.empty() : tensor<8xi64>
  // CHECK: %[[IOTA:.+]] = linalg.generic
  // expected-remark @+2 {{layout [{"cp"}]}}
  // expected-remark @+1 {{index of loop 0: add 4 per rank of {"cp"}}}
  %iota = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  } -> tensor<8xi64>
  // expected-remark @+1 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  %init = tensor.empty() : tensor<2x8x4xf32>
  // expected-remark @+2 {{layout [{"dp_shard"}, {"cp"}, {}]}}
  // expected-remark @+1 {{operand 1: slice dimension 0 over {"cp"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, c) -> (b, s, c)>, affine_map<(b, s, c) -> (s, c)>, affine_map<(b, s, c) -> (s)>, affine_map<(b, s, c) -> (b, s, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %t, %iota : tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8xi64>) outs(%init : tensor<2x8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %k: i64, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x8x4xf32>
  // expected-remark @+2 {{layout [{"dp_shard"}, {}, {}]}}
  // expected-remark @+1 {{operand 0: gather dimension 1 over {"cp"}}}
  %last = tensor.extract_slice %y[0, 7, 0] [2, 1, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x1x4xf32>
  // expected-remark @+1 {{layout []}}
  %scalar = tensor.empty() : tensor<f32>
  // expected-remark @+1 {{layout []}}
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  // expected-remark @+1 {{layout [] partial {"dp_shard"}: all_reduce sum}}
  %sum = linalg.reduce { arith.addf } ins(%last : tensor<2x1x4xf32>) outs(%start : tensor<f32>) dimensions = [0, 1, 2]
  // expected-remark @+2 {{operand 0: made again with layout [{}]}}
  // expected-remark @+1 {{layout [{}]}}
  %j = arith.addi %iota, %i : tensor<8xi64>
  return %sum, %j : tensor<f32>, tensor<8xi64>
}
