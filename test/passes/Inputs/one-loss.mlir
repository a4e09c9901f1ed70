// Two ranks along each axis: keys are gathered, the loss is a mean over all ranks.
#x = affine_map<(b, t, o, i) -> (b, t, i)>
#w = affine_map<(b, t, o, i) -> (o, i)>
#y = affine_map<(b, t, o, i) -> (b, t, o)>
#q = affine_map<(b, t, o, s) -> (b, t, o)>
#k = affine_map<(b, t, o, s) -> (b, s, o)>
#none4 = affine_map<(b, t, o, s) -> ()>
#m = affine_map<(b, t) -> (b, t)>
#none2 = affine_map<(b, t) -> ()>
#scalar = affine_map<() -> ()>

dsv4.mesh @mesh ["replicate" = 2, "cp" = 2]
dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["m.w"] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 32 : i64, shard = 16 : i64, segments = [{name = "m.w", offset = 0 : i64, shape = array<i64: 4, 8>}]}]

func.func @forward(%x: tensor<1x4x8xf32> {dsv4.batch = "x", dsv4.layout = [["replicate"], ["cp"], []], dsv4.global_type = tensor<2x8x8xf32>},
                   %m: tensor<1x4xf32> {dsv4.batch = "m", dsv4.layout = [["replicate"], ["cp"]], dsv4.global_type = tensor<2x8xf32>},
                   %shard: tensor<16xf32> {dsv4.shard = @unit_0, dsv4.buffer_index = 0 : i64}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant 0.0 : f32
  %w = dsv4.unshard @unit_0(%shard) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<1x4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %k = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<1x4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<1x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x4x4xf32>
  %keys = dsv4.seq_gather %k on @mesh ["cp"] dim 1 differentiable : tensor<1x4x4xf32> -> tensor<1x8x4xf32>
  %s0 = tensor.empty() : tensor<f32>
  %s = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %part = linalg.generic {indexing_maps = [#q, #k, #none4], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
    ins(%k, %keys : tensor<1x4x4xf32>, tensor<1x8x4xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %total = dsv4.all_reduce sum %part on @mesh ["replicate", "cp"] : tensor<f32>
  %labels = linalg.generic {indexing_maps = [#m, #none2], iterator_types = ["reduction", "reduction"]}
    ins(%m : tensor<1x4xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %q = arith.addf %c, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %count = dsv4.all_reduce sum %labels on @mesh ["replicate", "cp"] : tensor<f32>
  %loss = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%total, %count : tensor<f32>, tensor<f32>) outs(%s0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
