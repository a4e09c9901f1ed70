// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-report-balance

// expected-error @+1 {{needs a dsv4.mesh, which -dsv4-declare-mesh adds}}
module {}

// -----

dsv4.mesh @mesh ["cp" = 3]

func.func @ranks(%q: tensor<1x16x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>, %p: tensor<1x2x4xf32>) -> tensor<1x16x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x16x2x4xf32>
  // expected-error @+1 {{'dsv4.window_attention' op 16 positions cannot be split over 3 ranks in whole windows, expected 24}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 8 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x16x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    pool(%p : tensor<1x2x4xf32>) outs(%e : tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32>
  return %o : tensor<1x16x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

func.func @local(%q: tensor<1x8x2x4xf32>, %k: tensor<1x16x4xf32>, %s: tensor<2xf32>) -> tensor<1x8x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x8x2x4xf32>
  // expected-error @+1 {{'dsv4.window_attention' op has 8 queries and 16 keys, expected whole sequences: report the balance before -dsv4-partition-sequence}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x8x2x4xf32>, tensor<1x16x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  return %o : tensor<1x8x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

func.func @ratio(%q: tensor<1x8x2x4xf32>, %k: tensor<1x8x4xf32>, %s: tensor<2xf32>, %p: tensor<1x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x8x2x4xf32>
  // expected-error @+1 {{'dsv4.window_attention' op has 8 positions, expected a multiple of ratio 4611686018427387904}}
  %o = dsv4.window_attention {window = 9223372036854775807 : i64, scale = 0.5 : f64, ratio = 4611686018427387904 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x8x2x4xf32>, tensor<1x8x4xf32>, tensor<2xf32>)
    pool(%p : tensor<1x2x4xf32>) outs(%e : tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  return %o : tensor<1x8x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

func.func @rows(%q: tensor<1x8x2x4xf32>, %k: tensor<1x8x4xf32>, %s: tensor<2xf32>, %p: tensor<1x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x8x2x4xf32>
  // expected-error @+1 {{'dsv4.window_attention' op has 2 pooled rows, expected 4 for 8 positions of ratio 2}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 2 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x8x2x4xf32>, tensor<1x8x4xf32>, tensor<2xf32>)
    pool(%p : tensor<1x2x4xf32>) outs(%e : tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  return %o : tensor<1x8x2x4xf32>
}

// -----

dsv4.mesh @mesh ["cp" = 2]

func.func @inlined(%q: tensor<1x4x2x4xf32>, %k: tensor<1x4x4xf32>, %s: tensor<2xf32>) -> tensor<1x4x2x4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1x4x2x4xf32>
  // expected-error @+1 {{'dsv4.window_attention' op shares its module with another one, expected one per module: report the balance before -dsv4-inline-modules}}
  %o = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%q, %k, %s, %c0, %c0 : tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
  // expected-note @+1 {{the other one is here}}
  %r = dsv4.window_attention {window = 3 : i64, scale = 0.5 : f64, ratio = 0 : i64}
    ins(%o, %k, %s, %c0, %c0 : tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
    outs(%e : tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
  return %r : tensor<1x4x2x4xf32>
}
