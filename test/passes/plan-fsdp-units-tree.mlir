// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="param-dtype=bf16 output-dtype=bf16 ignored-params=experts reshard-after-forward=true" | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="param-dtype=bf16 output-dtype=bf16 reshard-after-forward=2 calls=a+b reference-no-verify" | FileCheck %s --check-prefix=GROUP
// RUN: dsv4-opt %s -split-input-file -dsv4-plan-fsdp-units="param-dtype=bf16 reference-raw-paths reference-no-verify" | FileCheck %s --check-prefix=RAW

// Units of modules without operations. Islands come before their block and take
// neither its policy nor, where they return their parameter, its reshard rule;
// the wrapper between does not hide them. Buffers are in no unit. The flat
// buffers are laid out where all shapes are known.

// CHECK:      dsv4.fsdp_unit @unit_0 roots ["self_attn.sinks_param"] on @mesh ["dp_shard"] params ["self_attn.sinks_param.w"] gather f32 reduce f32 island reshard_after_forward = false buffers [{dtype = f32, frozen = false, segments = [{name = "self_attn.sinks_param.w", offset = 0 : i64, shape = array<i64: 3>}], shard = 16 : i64, total = 32 : i64}] {dsv4.cast_inputs, dsv4.output = f32, dsv4.storage = [f32]}{{$}}
// CHECK-NEXT: dsv4.fsdp_unit @unit_1 roots ["self_attn.compressor.wkv"] on @mesh ["dp_shard"] params ["self_attn.compressor.wkv.w"] gather f32 reduce f32 island reshard_after_forward = true {dsv4.cast_inputs, dsv4.hca_group = ["replicate", "dp_shard"], dsv4.output = f32, dsv4.storage = [f32]}{{$}}
// CHECK-NEXT: dsv4.fsdp_unit @unit_2 roots [""] on @mesh ["dp_shard"] params ["norm.w"] gather bf16 reduce f32 reshard_after_forward = true {dsv4.cast_inputs, dsv4.ignored = ["experts.w"], dsv4.output = bf16, dsv4.storage = [bf16]}{{$}}

// With the reference's paths the islands are lost, and the parameters keep the
// names with the wrapper in it.

// RAW:      @unit_0 roots [""] on @mesh ["dp_shard"] params ["self_attn._checkpoint_wrapped_module.sinks_param.w", "self_attn._checkpoint_wrapped_module.compressor.wkv.w", "norm.w", "experts.w"] gather bf16 reduce f32 {dsv4.cast_inputs, dsv4.hca_group = ["replicate", "dp_shard"], dsv4.storage = [f32, bf16]}{{$}}
// RAW-NEXT: dsv4.module
module attributes {dsv4.root_class = "DeepseekV4Block"} {
  dsv4.mesh @mesh ["replicate" = 2, "dp_shard" = 2]
  dsv4.module "self_attn" class "CheckpointWrapper" {
    dsv4.module "self_attn._checkpoint_wrapped_module" class "DeepseekV4Attention" {
      dsv4.module "self_attn._checkpoint_wrapped_module.sinks_param" class "DeepseekV4FP32Parameter" attributes {dsv4.tensors = [{name = "w", type = tensor<3xf32>}]} {
        dsv4.yield
      }
      dsv4.module "self_attn._checkpoint_wrapped_module.compressor" class "DeepseekV4Compressor" {
        dsv4.module "self_attn._checkpoint_wrapped_module.compressor.wkv" class "Linear" attributes {dsv4.tensors = [{name = "w", type = f32}]} {
          dsv4.yield
        }
        dsv4.yield
      }
      dsv4.yield
    }
    dsv4.yield
  }
  dsv4.module "norm" class "RMSNorm" attributes {dsv4.tensors = [{name = "w", type = bf16}, {buffer, name = "bias", type = tensor<4xf32>}]} {
    dsv4.yield
  }
  dsv4.module "experts" class "GroupedExperts" attributes {dsv4.tensors = [{name = "w", type = bf16}]} {
    dsv4.yield
  }
  dsv4.module "a" class "Empty" {
    dsv4.yield
  }
  dsv4.module "b" class "Empty" {
    dsv4.yield
  }
}

// -----

// A list of modules is one unit with the policy of the caller; a shared
// parameter is in it once; a number of ranks is kept.

// GROUP-LABEL: module @group
// GROUP:       dsv4.fsdp_unit @unit_0 roots ["a", "b"] on @mesh ["dp_shard"] params ["a.w", "b.v"] gather bf16 reduce f32 {dsv4.cast_inputs, dsv4.output = bf16, dsv4.reshard_ranks = 2 : i64, dsv4.storage = [bf16]}{{$}}
module @group attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh ["dp_shard" = 4]
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = bf16}]} {
    dsv4.yield
  }
  dsv4.module "b" class "Linear" attributes {dsv4.tensors = [{name = "w", same_as = "a.w", type = bf16}, {name = "v", type = bf16}]} {
    dsv4.yield
  }
}
