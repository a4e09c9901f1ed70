// RUN: dsv4-opt %s -dsv4-narrow-gathers -split-input-file -verify-diagnostics | FileCheck %s

// Gathers that stay say why; a use that is not known is an error.

dsv4.mesh @mesh ["cp" = 4]

// CHECK-LABEL: func.func @returned(
// CHECK: dsv4.seq_gather
func.func @returned(%k: tensor<2x16x8xf32>) -> tensor<2x64x8xf32> {
  // expected-remark@+1 {{stays: operand 0 of 'func.return' returns all rows}}
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  return %g : tensor<2x64x8xf32>
}

// One use that reads all rows serves the other.
// CHECK-LABEL: func.func @read_whole(
// CHECK: dsv4.seq_gather
// CHECK-NOT: dsv4.seq_halo
func.func @read_whole(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>, %t0: index) -> (tensor<2x16x4x8xf32>, tensor<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  // expected-remark@+1 {{stays: operand 0 of 'linalg.reduce' of m.sum reads all rows}}
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x16x4x8xf32>
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %t0, %c0 : tensor<2x16x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
  %e1 = tensor.empty() : tensor<2x8xf32>
  %z = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %r = linalg.reduce ins(%g : tensor<2x64x8xf32>) outs(%z : tensor<2x8xf32>) dimensions = [1] {dsv4.path = "m.sum"}
    (%a: f32, %b: f32) { %c = arith.addf %a, %b : f32 linalg.yield %c : f32 }
  return %o, %r : tensor<2x16x4x8xf32>, tensor<2x8xf32>
}

// Values and gate are read alike: where one stays, both do.
// CHECK-LABEL: func.func @partners(
// CHECK-COUNT-2: dsv4.seq_gather
func.func @partners(%v: tensor<2x4x4x16xf32>, %g: tensor<2x4x4x16xf32>, %a: tensor<4x16xf32>, %w0: index) -> (tensor<2x4x8xf32>, tensor<2x16x4x16xf32>) {
  // expected-remark@+1 {{stays: operand 1 of 'dsv4.pool_windows' is read alike and stays}}
  %0 = dsv4.seq_gather %v on @mesh ["cp"] dim 1 : tensor<2x4x4x16xf32> -> tensor<2x16x4x16xf32>
  // expected-remark@+1 {{stays: operand 1 of 'func.return' returns all rows}}
  %1 = dsv4.seq_gather %g on @mesh ["cp"] dim 1 : tensor<2x4x4x16xf32> -> tensor<2x16x4x16xf32>
  %e = tensor.empty() : tensor<2x4x8xf32>
  %o = dsv4.pool_windows {overlap} ins(%0, %1, %a, %w0 : tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<4x16xf32>)
    outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %1 : tensor<2x4x8xf32>, tensor<2x16x4x16xf32>
}

// The result has all rows on every rank.
// CHECK-LABEL: func.func @whole_result(
// CHECK: dsv4.seq_gather
func.func @whole_result(%q: tensor<2x64x4x8xf32>, %k: tensor<2x16x8xf32>, %s: tensor<4xf32>) -> tensor<2x64x4x8xf32> {
  %c0 = arith.constant 0 : index
  // expected-remark@+1 {{stays: operand 1 of 'dsv4.window_attention' has rows on every rank that do not correspond to its own}}
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  %e = tensor.empty() : tensor<2x64x4x8xf32>
  %o = dsv4.window_attention {window = 8 : i64, scale = 0.25 : f64, ratio = 0 : i64} ins(%q, %g, %s, %c0, %c0 : tensor<2x64x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>)
    outs(%e : tensor<2x64x4x8xf32>) -> tensor<2x64x4x8xf32>
  return %o : tensor<2x64x4x8xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 4]

// Nothing changes when one use is not known.
func.func @unknown(%k: tensor<2x16x8xf32>, %i: index) -> f32 {
  // expected-note@+1 {{received here}}
  %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 : tensor<2x16x8xf32> -> tensor<2x64x8xf32>
  // expected-error@+1 {{'tensor.extract' op reads operand 0 in a way that is not known, so what ranks must receive cannot be derived}}
  %r = tensor.extract %g[%i, %i, %i] : tensor<2x64x8xf32>
  return %r : f32
}
