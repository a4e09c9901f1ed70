// RUN: dsv4-opt %s -dsv4-lower-kernels -split-input-file -verify-diagnostics
// Mathematics that would become a call of the C library is refused.

func.func private @power(%x: memref<f32>) attributes {dsv4.kernel} {
  %a = memref.load %x[] : memref<f32>
  // expected-error @below {{'math.powf' op on 'f32' has no expansion into arithmetic}}
  %b = math.powf %a, %a : f32
  memref.store %b, %x[] : memref<f32>
  return
}

// -----

func.func private @half_precision(%x: memref<bf16>) attributes {dsv4.kernel} {
  %a = memref.load %x[] : memref<bf16>
  // expected-error @below {{'math.exp' op on 'bf16' has no expansion into arithmetic}}
  %b = math.exp %a : bf16
  memref.store %b, %x[] : memref<bf16>
  return
}
