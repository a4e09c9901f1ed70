// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units -dsv4-plan-fsdp-units | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="fsdp-axes=cp param-dtype=f32" | FileCheck %s --check-prefix=OPTIONS

// Which parameters form a unit, in which order, with which dtypes. Blocks and
// islands are found with and without dsv4.module operations.

// Islands of a block come before it, in the order of registration; a unit's
// parameters keep the order of the arguments; the root is last. Buffers and
// batch fields are in no unit.

// CHECK:       dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
// CHECK-NEXT:  dsv4.fsdp_unit @unit_0 roots ["model.embed_tokens"] on @mesh ["dp_shard", "cp"] params ["model.embed_tokens.weight"] gather bf16 reduce f32{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_1 roots ["model.layers.0.self_attn.sinks_param"] on @mesh ["dp_shard", "cp"] params ["model.layers.0.self_attn.sinks_param.weight"] gather f32 reduce f32 island{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_2 roots ["model.layers.0.attn_hc"] on @mesh ["dp_shard", "cp"] params ["model.layers.0.attn_hc.fn", "model.layers.0.attn_hc.base"] gather f32 reduce f32 island{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_3 roots ["model.layers.0"] on @mesh ["dp_shard", "cp"] params ["model.layers.0.self_attn.wq_a.weight", "model.layers.0.input_layernorm.weight"] gather bf16 reduce f32{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_4 roots ["model.hc_head"] on @mesh ["dp_shard", "cp"] params ["model.hc_head.hc_fn"] gather f32 reduce f32 island{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_5 roots ["lm_head"] on @mesh ["dp_shard", "cp"] params ["lm_head.weight"] gather f32 reduce f32 island{{$}}
// CHECK-NEXT:  dsv4.fsdp_unit @unit_6 roots ["model"] on @mesh ["dp_shard", "cp"] params ["model.norm.weight"] gather bf16 reduce f32{{$}}
// CHECK-NEXT:  func.func @forward

// The policy does not reach the islands.

// OPTIONS:      @unit_0 {{.*}} on @mesh ["cp"] {{.*}} gather f32 reduce f32{{$}}
// OPTIONS-NEXT: @unit_1 {{.*}} on @mesh ["cp"] {{.*}} gather f32 reduce f32 island{{$}}
// OPTIONS-NEXT: @unit_2 {{.*}} on @mesh ["cp"] {{.*}} gather f32 reduce f32 island{{$}}
// OPTIONS-NEXT: @unit_3 {{.*}} on @mesh ["cp"] {{.*}} gather f32 reduce f32{{$}}
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
func.func @forward(
    %ids: tensor<2x64xi64> {dsv4.batch = "input_ids"},
    %p0: tensor<96x64xbf16> {dsv4.param = "model.embed_tokens.weight"},
    %p1: tensor<8x64xbf16> {dsv4.param = "model.layers.0.self_attn.wq_a.weight"},
    %p2: tensor<4xf32> {dsv4.param = "model.layers.0.self_attn.sinks_param.weight"},
    %p3: tensor<64xbf16> {dsv4.param = "model.layers.0.input_layernorm.weight"},
    %p4: tensor<24x256xf32> {dsv4.param = "model.layers.0.attn_hc.fn"},
    %p5: tensor<24xf32> {dsv4.param = "model.layers.0.attn_hc.base"},
    %b0: tensor<4xf32> {dsv4.buffer = "model.layers.0.mlp.gate.e_score_correction_bias"},
    %p6: tensor<4x256xf32> {dsv4.param = "model.hc_head.hc_fn"},
    %p7: tensor<64xbf16> {dsv4.param = "model.norm.weight"},
    %p8: tensor<96x64xf32> {dsv4.param = "lm_head.weight"}) {
  return
}

// -----

// The whole suffix table, by whole components: "xattn_hc", "attn.sinks_param" and
// "self_attn.wkv" are no islands. Frozen parameters are in units like others.

// CHECK-LABEL: module @suffixes
// CHECK-NEXT:    dsv4.mesh
// CHECK-NEXT:    @unit_0 roots ["model.layers.1.self_attn.sinks_param"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_1 roots ["model.layers.1.self_attn.compressor.wkv"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_2 roots ["model.layers.1.self_attn.compressor.wgate"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_3 roots ["model.layers.1.self_attn.compressor.ape_param"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_4 roots ["model.layers.1.self_attn.compressor.indexer.wkv"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_5 roots ["model.layers.1.self_attn.compressor.indexer.wgate"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_6 roots ["model.layers.1.self_attn.compressor.indexer.ape_param"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_7 roots ["model.layers.1.attn_hc"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_8 roots ["model.layers.1.ffn_hc"]
// CHECK-SAME:      island
// CHECK-NEXT:    @unit_9 roots ["model.layers.1"]
// CHECK-SAME:      params ["model.layers.1.self_attn.wkv.weight", "model.layers.1.attn.sinks_param.weight", "model.layers.1.xattn_hc.fn"] gather f32 reduce f32{{$}}
// CHECK-NEXT:    func.func
module @suffixes {
  dsv4.mesh @mesh ["cp" = 2]
  func.func private @forward(
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.wkv.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.sinks_param.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.wkv.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.wgate.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.ape_param.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.indexer.wkv.weight", dsv4.frozen},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.indexer.wgate.weight", dsv4.frozen},
      tensor<4xf32> {dsv4.param = "model.layers.1.self_attn.compressor.indexer.ape_param.weight", dsv4.frozen},
      tensor<4xf32> {dsv4.param = "model.layers.1.attn_hc.fn"},
      tensor<4xf32> {dsv4.param = "model.layers.1.ffn_hc.fn"},
      tensor<4xf32> {dsv4.param = "model.layers.1.attn.sinks_param.weight"},
      tensor<4xf32> {dsv4.param = "model.layers.1.xattn_hc.fn"})
}

// -----

// An island that is not stored in f32 alone computes with its block, whose
// storage dtypes are then several.

// CHECK-LABEL: module @not_wide
// CHECK-NEXT:    dsv4.mesh
// CHECK-NEXT:    @unit_0 roots ["model.layers.0"] on @mesh []
// CHECK-SAME:      params ["model.layers.0.attn_hc.fn", "model.layers.0.attn_hc.base", "model.layers.0.ffn_hc.fn"] gather f32 reduce f32 {dsv4.as_stored}
// CHECK-NEXT:    @unit_1 roots ["lm_head"]
// CHECK-SAME:      gather bf16 reduce f32{{$}}
// CHECK-NEXT:    func.func
module @not_wide {
  dsv4.mesh @mesh []
  func.func private @forward(
      tensor<4xf32> {dsv4.param = "model.layers.0.attn_hc.fn"},
      tensor<4xbf16> {dsv4.param = "model.layers.0.attn_hc.base"},
      tensor<4xbf16> {dsv4.param = "model.layers.0.ffn_hc.fn"},
      tensor<4xbf16> {dsv4.param = "lm_head.weight"})
}

// -----

// In f64 the structure is the same, and everything is f64.

// CHECK-LABEL: module @f64
// CHECK-NEXT:    dsv4.mesh
// CHECK-NEXT:    @unit_0 roots ["model.layers.0.attn_hc"]
// CHECK-SAME:      gather f64 reduce f64 island{{$}}
// CHECK-NEXT:    @unit_1 roots ["model.layers.0"]
// CHECK-SAME:      gather f64 reduce f64{{$}}
// CHECK-NEXT:    func.func
module @f64 {
  dsv4.mesh @mesh []
  func.func private @forward(
      tensor<4xf64> {dsv4.param = "model.layers.0.attn_hc.fn"},
      tensor<4xf64> {dsv4.param = "model.layers.0.norm.weight"})
}

// -----

// A block by its class, under any path; "model.layers.x" without a number is
// none. The root's unit names every top-level module of what is left.

// CHECK-LABEL: module @block_class
// CHECK-NEXT:    dsv4.mesh
// CHECK-NEXT:    @unit_0 roots ["mtp.layers.0"]
// CHECK-SAME:      params ["mtp.layers.0.norm.weight"]
// CHECK-NEXT:    @unit_1 roots ["mtp", "model"]
// CHECK-SAME:      params ["mtp.layers.1.norm.weight", "model.layers.x.norm.weight"]
// CHECK-NEXT:    func.func
module @block_class {
  dsv4.mesh @mesh []
  func.func @forward(
      %a: tensor<4xf32> {dsv4.param = "mtp.layers.0.norm.weight"},
      %b: tensor<4xf32> {dsv4.param = "mtp.layers.1.norm.weight"},
      %c: tensor<4xf32> {dsv4.param = "model.layers.x.norm.weight"}) {
    dsv4.module "mtp.layers.0" class "DeepseekV4Block" {
      dsv4.yield
    }
    dsv4.module "mtp.layers.1" class "OtherBlock" {
      dsv4.yield
    }
    dsv4.module "mtp.layers.2" class "DeepseekV4Block" {
      dsv4.yield
    }
    return
  }
}

// -----

// Axes are in the order of the mesh; replicated axes are none of theirs.

// CHECK-LABEL: module @axes
// CHECK:         @unit_0 roots ["model"] on @mesh ["cp", "dp_shard"]
// OPTIONS-LABEL: module @axes
// OPTIONS:         @unit_0 roots ["model"] on @mesh ["cp"]
module @axes {
  dsv4.mesh @mesh ["cp" = 2, "replicate" = 2, "dp_shard" = 2]
  func.func private @forward(tensor<4xf32> {dsv4.param = "model.norm.weight"})
}

// -----

// Without parameters there is nothing to plan.

// CHECK-LABEL: module @no_parameters
// CHECK-NEXT:    dsv4.mesh
// CHECK-NEXT:    func.func
module @no_parameters {
  dsv4.mesh @mesh []
  func.func private @f(tensor<4xf32>)
}
