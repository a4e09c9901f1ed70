// RUN: dsv4-opt %s -split-input-file -dsv4-inline-modules | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-inline-modules -dsv4-inline-modules | FileCheck %s

// Module regions give way to their operations, in place and in order; each
// keeps the path of its innermost module.

// CHECK-LABEL: func.func @nested
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:    %[[A:.*]] = math.exp %[[X]] {dsv4.path = "model"} : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = math.exp %[[A]] {dsv4.path = "model.norm"} : tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = math.exp %[[B]] {dsv4.path = "model"} : tensor<4xf32>
// CHECK-NEXT:    %[[D:.*]] = math.exp %[[C]] : tensor<4xf32>
// CHECK-NEXT:    return %[[A]], %[[D]]
func.func @nested(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = dsv4.module "model" class "Model" -> tensor<4xf32>, tensor<4xf32> {
    %1 = math.exp %x : tensor<4xf32>
    %2 = dsv4.module "model.norm" class "Norm" -> tensor<4xf32> {
      %3 = math.exp %1 : tensor<4xf32>
      dsv4.yield %3 : tensor<4xf32>
    }
    %4 = math.exp %2 : tensor<4xf32>
    dsv4.yield %1, %4 : tensor<4xf32>, tensor<4xf32>
  }
  %5 = math.exp %0#1 : tensor<4xf32>
  return %0#0, %5 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A path that an operation already carries stays.

// CHECK-LABEL: func.func @has_path
// CHECK-NEXT:    math.exp %{{.*}} {dsv4.path = "other"}
func.func @has_path(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dsv4.module "model" class "Model" -> tensor<4xf32> {
    %1 = math.exp %x {dsv4.path = "other"} : tensor<4xf32>
    dsv4.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Operations in other regions get a path, those of a linalg body none.

// CHECK-LABEL: func.func @regions
// CHECK:         scf.if
// CHECK-NEXT:      math.exp %{{.*}} {dsv4.path = "model"}
// CHECK-NEXT:      scf.yield %{{.*}} : tensor<4xf32>
// CHECK:         } {dsv4.path = "model"}
// CHECK-NEXT:    tensor.empty() {dsv4.path = "model"}
// CHECK-NEXT:    linalg.generic
// CHECK-SAME:      attrs = {dsv4.path = "model"}
// CHECK:           %[[E:.*]] = math.exp %{{.*}} : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
func.func @regions(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = dsv4.module "model" class "Model" -> tensor<4xf32> {
    %1 = scf.if %c -> tensor<4xf32> {
      %2 = math.exp %x : tensor<4xf32>
      scf.yield %2 : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    %3 = tensor.empty() : tensor<4xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                         iterator_types = ["parallel"]}
        ins(%1 : tensor<4xf32>) outs(%3 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %5 = math.exp %in : f32
        linalg.yield %5 : f32
    } -> tensor<4xf32>
    dsv4.yield %4 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A module without operations, and one that returns what it was given.

// CHECK-LABEL: func.func @pass_through
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:    return %[[X]]
func.func @pass_through(%x: tensor<4xf32>) -> tensor<4xf32> {
  dsv4.module "model.embed_tokens" class "Embedding" {
    dsv4.yield
  }
  %0 = dsv4.module "model" class "Model" -> tensor<4xf32> {
    %1 = dsv4.module "model.norm" class "Norm" -> tensor<4xf32> {
      dsv4.yield %x : tensor<4xf32>
    }
    dsv4.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func private @declaration
func.func private @declaration(tensor<4xf32>)
