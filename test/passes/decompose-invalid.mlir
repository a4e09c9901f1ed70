// RUN: dsv4-opt %s -dsv4-decompose -split-input-file -verify-diagnostics
// What a kernel must look like before it becomes loops.

// expected-error @below {{'func.func' op argument 0 must have a static shape, constant strides and offset 0, got 'memref<?xf32>'}}
func.func private @dynamic_shape(%a: memref<?xf32>) attributes {dsv4.kernel} {
  return
}

// -----

// expected-error @below {{'func.func' op argument 1 must have a static shape, constant strides and offset 0, got 'memref<4xf32, strided<[1], offset: 8>>'}}
func.func private @offset(%a: memref<4xf32>, %b: memref<4xf32, strided<[1], offset: 8>>) attributes {dsv4.kernel} {
  return
}

// -----

func.func private @workspace_missing(%x: memref<2x8x4x4xf32>, %r: memref<2x8x4x4xf32>) attributes {dsv4.kernel} {
  // expected-error @below {{'dsv4.sinkhorn' op needs a workspace of 1024 bytes as last argument of its kernel}}
  dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x : memref<2x8x4x4xf32>) outs(%r : memref<2x8x4x4xf32>)
  return
}

// -----

func.func private @workspace_too_small(%x: memref<2x8x4x4xf32>, %r: memref<2x8x4x4xf32>, %w: memref<1000xi8> {dsv4.workspace}) attributes {dsv4.kernel} {
  // expected-error @below {{'dsv4.sinkhorn' op needs a workspace of 1024 bytes, got 'memref<1000xi8>'}}
  dsv4.sinkhorn {iterations = 20 : i64, eps = 1.0e-6 : f64} ins(%x : memref<2x8x4x4xf32>) outs(%r : memref<2x8x4x4xf32>)
  return
}

// -----

func.func private @not_structured(%x: memref<4xf32>) attributes {dsv4.kernel} {
  // expected-error @below {{'memref.dealloc' op has no loops in a kernel}}
  memref.dealloc %x : memref<4xf32>
  return
}

// -----

func.func private @tensors(%x: tensor<4xf32>, %r: tensor<4xf32>) attributes {dsv4.kernel} {
  // expected-error @below {{'linalg.copy' op works on tensors, expected memrefs in a kernel}}
  %y = linalg.copy ins(%x : tensor<4xf32>) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  return
}
