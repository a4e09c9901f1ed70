// RUN: dsv4-opt %s -split-input-file -dsv4-differentiate | FileCheck %s

// Over which ranks a cotangent is a partial sum decides on its transpose.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit roots ["m"] on @mesh ["cp"] params ["m.w", "m.frozen"] gather f32 reduce f64 buffers [{dtype = f32, frozen = false, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 8>}]}, {dtype = f32, frozen = true, total = 16 : i64, shard = 16 : i64, segments = [{name = "m.frozen", offset = 0 : i64, shape = array<i64: 8>}]}]

// The loss is the same on all ranks, so the sum over ranks hands its cotangent on; the weights were used with other data on each rank, so
// their gradient is added over the unit's axes and over the replicas. Frozen parameters take no part.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: tensor<16xf64> {dsv4.buffer_index = 0 : i64, dsv4.result = "grad", dsv4.shard = @unit}
// CHECK: %[[ONE:.*]] = linalg.fill {dsv4.direction = "backward"}
// CHECK-NOT: dsv4.all_reduce
// CHECK: %[[DW:.*]] = linalg.generic {{.*}} ins(%arg0, %[[ONE]] : tensor<8xf32>, tensor<f32>)
// CHECK: %[[G:.*]] = dsv4.grad_reduce_scatter @unit(%[[DW]]) on @mesh ["cp"] replicas ["replicate"] scale 1.000000e+00
// CHECK-SAME: {dsv4.direction = "backward", dsv4.path = "m"} : (tensor<8xf32>) -> tensor<16xf64>
// CHECK: return %{{.*}}, %[[G]] : tensor<f32>, tensor<16xf64>
func.func @loss(%x: tensor<8xf32> {dsv4.batch = "x", dsv4.layout = [["replicate", "cp"]], dsv4.global_type = tensor<32xf32>},
    %s: tensor<16xf32> {dsv4.shard = @unit, dsv4.buffer_index = 0 : i64, dsv4.layout = [[]]},
    %f: tensor<16xf32> {dsv4.shard = @unit, dsv4.buffer_index = 1 : i64, dsv4.frozen, dsv4.layout = [[]]})
    -> (tensor<f32> {dsv4.result = "loss"}) {
  %w:2 = dsv4.unshard @unit(%s, %f) on @mesh ["cp"] {dsv4.path = "m"} : (tensor<16xf32>, tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %zero = arith.constant dense<0.0> : tensor<f32>
  %own = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction"]}
      ins(%x, %w#0 : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %all = dsv4.all_reduce sum %own on @mesh ["replicate", "cp"] : tensor<f32>
  return %all : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
dsv4.mesh @mesh ["cp" = 2]

// Every rank uses the sum %all with its own data: the cotangent of %all is a partial sum and needs a sum itself.
// CHECK-LABEL: func.func @sum_used_locally
// CHECK: %[[DALL:.*]] = linalg.generic {{.*}} attrs = {dsv4.direction = "backward"}
// CHECK: dsv4.all_reduce sum %[[DALL]] on @mesh ["cp"] {dsv4.direction = "backward"} : tensor<f32>
func.func @sum_used_locally(%x: tensor<8xf32> {dsv4.batch = "x", dsv4.layout = [["cp"]], dsv4.global_type = tensor<16xf32>},
    %w: tensor<8xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %own = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction"]}
      ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %all = dsv4.all_reduce sum %own on @mesh ["cp"] : tensor<f32>
  %again = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]}
      ins(%x, %all : tensor<8xf32>, tensor<f32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %loss = dsv4.all_reduce sum %again on @mesh ["cp"] : tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
dsv4.mesh @mesh ["cp" = 2]

// The first gather is used with local data, the second by all ranks alike.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[LOCAL:.*]] = linalg.generic {{.*}} attrs = {dsv4.direction = "backward", dsv4.path = "whole"}
// CHECK: dsv4.seq_shard %[[LOCAL]] on @mesh ["cp"] dim 0 {dsv4.direction = "backward"} : tensor<8xf32> -> tensor<4xf32>
// CHECK: %[[PART:.*]] = linalg.generic {{.*}} attrs = {dsv4.direction = "backward", dsv4.path = "part"}
// CHECK: dsv4.seq_reduce_scatter %[[PART]] on @mesh ["cp"] dim 0 {dsv4.direction = "backward"} : tensor<8xf32> -> tensor<4xf32>
func.func @gathers(%x: tensor<4xf32> {dsv4.batch = "x", dsv4.layout = [["cp"]], dsv4.global_type = tensor<8xf32>},
    %w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %g0 = dsv4.seq_gather %y on @mesh ["cp"] dim 0 differentiable : tensor<4xf32> -> tensor<8xf32>
  %r = dsv4.axis_index @mesh ["cp"]
  %i = arith.index_cast %r : index to i64
  %part = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>, #none], iterator_types = ["reduction"]} ins(%g0, %i : tensor<8xf32>, i64) outs(%zero : tensor<f32>) attrs = {dsv4.path = "part"} {
  ^bb0(%a: f32, %b: i64, %c: f32):
    %s = arith.sitofp %b : i64 to f32
    %p = arith.mulf %a, %s : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %sum = dsv4.all_reduce sum %part on @mesh ["cp"] : tensor<f32>
  %g1 = dsv4.seq_gather %y on @mesh ["cp"] dim 0 differentiable : tensor<4xf32> -> tensor<8xf32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%g1 : tensor<8xf32>) outs(%sum : tensor<f32>) attrs = {dsv4.path = "whole"} {
  ^bb0(%a: f32, %c: f32):
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
