// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-outline-kernels

// Kernels take buffers of static layout and indices, nothing else.

#id = affine_map<(d0) -> (d0)>
func.func @captured_float(%a: memref<8xf32>, %f: f32) {
  // expected-error @below {{'linalg.generic' op uses a scalar of type 'f32' from outside, expected index: compute it inside}}
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %f : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func @float_operand(%a: memref<8xf32>, %f: f32) {
  // expected-error @below {{'linalg.fill' op uses a scalar of type 'f32' from outside, expected index: compute it inside}}
  linalg.fill ins(%f : f32) outs(%a : memref<8xf32>)
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @captured_integer(%a: memref<8xi64>, %i: i64) {
  // expected-error @below {{'linalg.generic' op uses a scalar of type 'i64' from outside, expected index: compute it inside}}
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<8xi64>) {
  ^bb0(%o: i64):
    linalg.yield %i : i64
  }
  return
}

// -----

func.func @dynamic_shape(%a: memref<?xf32>) {
  // expected-error @below {{'linalg.exp' op needs buffers of static shape and strides, got 'memref<?xf32>'}}
  linalg.exp ins(%a : memref<?xf32>) outs(%a : memref<?xf32>)
  return
}

// -----

func.func @dynamic_stride(%a: memref<8xf32, strided<[?]>>) {
  // expected-error @below {{'memref.copy' op needs buffers of static shape and strides, got 'memref<8xf32, strided<[?]>>'}}
  memref.copy %a, %a : memref<8xf32, strided<[?]>> to memref<8xf32, strided<[?]>>
  return
}

// -----

#tiled = affine_map<(d0, d1) -> (d0 floordiv 2, d1)>
func.func @no_strides(%a: memref<8x8xf32, #tiled>) {
  // expected-error @below {{'linalg.exp' op needs buffers of static shape and strides, got 'memref<8x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>'}}
  linalg.exp ins(%a : memref<8x8xf32, #tiled>) outs(%a : memref<8x8xf32, #tiled>)
  return
}
