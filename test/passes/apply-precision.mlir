// RUN: dsv4-opt %s -split-input-file -dsv4-apply-precision | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-apply-precision -dsv4-apply-precision | FileCheck %s

// Casts from the storage dtype of a parameter to the gather dtype of its unit
// get the label of the policy; nothing else changes.

#id = affine_map<(d0) -> (d0)>

// A cast inside a module and one on tensors; a cast of an activation is not the
// policy's.

// CHECK-LABEL: func.func @narrow
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>
// CHECK:         dsv4.module "m"
// CHECK:           linalg.generic
// CHECK-SAME:        ins(%[[W]] : tensor<4xf32>)
// CHECK-SAME:        attrs = {dsv4.cast = "policy"}
// CHECK:           arith.truncf %[[W]] {dsv4.cast = "policy"} : tensor<4xf32> to tensor<4xbf16>
// CHECK:           arith.truncf %[[X]] : tensor<4xf32> to tensor<4xbf16>
dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather bf16 reduce f32
func.func @narrow(%x: tensor<4xf32>, %w: tensor<4xf32> {dsv4.param = "m.w"})
    -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %0:3 = dsv4.module "m" class "M" -> tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16> {
    %e = tensor.empty() : tensor<4xbf16>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%w : tensor<4xf32>) outs(%e : tensor<4xbf16>) {
      ^bb0(%in: f32, %out: bf16):
        %t = arith.truncf %in : f32 to bf16
        linalg.yield %t : bf16
    } -> tensor<4xbf16>
    %2 = arith.truncf %w : tensor<4xf32> to tensor<4xbf16>
    %3 = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
    dsv4.yield %1, %2, %3 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
  }
  return %0#0, %0#1, %0#2 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
}

// -----

// A wider gather dtype.

// CHECK-LABEL: func.func @wide
// CHECK:         arith.extf %{{.*}} {dsv4.cast = "policy"}
dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w", "m.unused"] gather f32 reduce f32
func.func @wide(%w: tensor<4xbf16> {dsv4.param = "m.w"},
                %u: tensor<4xbf16> {dsv4.param = "m.unused"}) -> tensor<4xf32> {
  %0 = arith.extf %w : tensor<4xbf16> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Gathered as stored: a cast of a parameter is the model's own, here too in a unit
// of several dtypes.

// CHECK-LABEL: func.func @as_stored
// CHECK:         arith.truncf %{{.*}} {dsv4.cast = "2.3"}
// CHECK:         arith.extf %{{.*}} : tensor<4xbf16> to tensor<4xf32>
dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather f32 reduce f32
dsv4.fsdp_unit @v roots ["n"] on @mesh [] params ["n.a", "n.b"] gather f32 reduce f32 {dsv4.as_stored}
func.func @as_stored(%w: tensor<4xf32> {dsv4.param = "m.w"},
                     %a: tensor<4xbf16> {dsv4.param = "n.a"},
                     %b: tensor<4xf32> {dsv4.param = "n.b"}) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = arith.truncf %w {dsv4.cast = "2.3"} : tensor<4xf32> to tensor<4xbf16>
  %1 = arith.extf %a : tensor<4xbf16> to tensor<4xf32>
  return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func private @declaration
dsv4.mesh @mesh []
dsv4.fsdp_unit @u roots ["m"] on @mesh [] params ["m.w"] gather bf16 reduce f32
func.func private @declaration(tensor<4xf32> {dsv4.param = "m.w"})
