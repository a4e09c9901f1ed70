// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-apply-precision

// One use without a cast is enough: the graph computes with what is stored.

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather bf16 reduce f32
func.func @computes_as_stored(
    // expected-error @below {{parameter "m.w" is gathered in 'bf16', but the graph computes with 'f32'}}
    %w: tensor<4xf32> {dsv4.param = "m.w"}) -> tensor<4xf32> {
  // expected-note @below {{used here, expected a cast to 'bf16', got 'arith.addf'}}
  %0 = arith.addf %w, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A cast to another dtype.

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather f32 reduce f32
func.func @other_dtype(
    // expected-error @below {{parameter "m.w" is gathered in 'f32', but the graph computes with 'bf16'}}
    %w: tensor<4xbf16> {dsv4.param = "m.w"}) -> tensor<4xf64> {
  // expected-note @below {{used here, expected a cast to 'f32', got 'arith.extf'}}
  %0 = arith.extf %w : tensor<4xbf16> to tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// A cast that moves elements is not elementwise.

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather f32 reduce f32
func.func @transposes(
    // expected-error @below {{parameter "m.w" is gathered in 'f32', but the graph computes with 'bf16'}}
    %w: tensor<4x4xbf16> {dsv4.param = "m.w"}) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  // expected-note @below {{used here, expected a cast to 'f32', got 'linalg.generic'}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xbf16>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %t = arith.extf %in : bf16 to f32
      linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// A cast that belongs to a step of the model.

dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather f32 reduce f32
func.func @labelled(%w: tensor<4xbf16> {dsv4.param = "m.w"}) -> tensor<4xf32> {
  // expected-error @below {{'arith.extf' op casts parameter "m.w" by the policy of its unit, expected no other label, got "2.12"}}
  %0 = arith.extf %w {dsv4.cast = "2.12"} : tensor<4xbf16> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
