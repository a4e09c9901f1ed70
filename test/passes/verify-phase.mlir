// RUN: dsv4-opt %s -dsv4-verify-phase="phase=plan" | FileCheck %s --check-prefix=PLAN
// RUN: dsv4-opt %s -dsv4-verify-phase="phase=precision" | FileCheck %s --check-prefix=PRECISION
// RUN: dsv4-opt %s -dsv4-verify-phase="phase=sequence" | FileCheck %s --check-prefix=SEQUENCE
// RUN: dsv4-opt %s -dsv4-shard-parameters -dsv4-verify-phase="phase=parameters" | FileCheck %s --check-prefix=PARAMETERS
// RUN: dsv4-opt %s -dsv4-verify-phase="phase=schedule" | FileCheck %s --check-prefix=SCHEDULE
// RUN: dsv4-opt %s -dsv4-verify-phase="phase=plan" -dsv4-verify-phase="phase=precision" | FileCheck %s --check-prefix=PRECISION

// The module carries the last phase that it went through.

// PLAN: module attributes {dsv4.phase = "plan"} {
// PRECISION: module attributes {dsv4.phase = "precision"} {
// SEQUENCE: module attributes {dsv4.phase = "sequence"} {
// PARAMETERS: module attributes {dsv4.phase = "parameters"} {
// SCHEDULE: module attributes {dsv4.phase = "schedule"} {

dsv4.mesh @mesh ["cp" = 2]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["m.w"] gather bf16 reduce f32

func.func @forward(%x: tensor<4xbf16> {dsv4.batch = "x", dsv4.layout = [["cp"]]},
                   %w: tensor<4xbf16> {dsv4.param = "m.w", dsv4.layout = [[]]}) -> tensor<4xbf16> {
  %e = tensor.empty() : tensor<4xbf16>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x, %w : tensor<4xbf16>, tensor<4xbf16>) outs(%e : tensor<4xbf16>) {
    ^bb0(%a: bf16, %b: bf16, %out: bf16):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.truncf %3 : f32 to bf16
      %5 = arith.cmpf ogt, %a, %b : bf16
      %6 = arith.select %5, %4, %a : bf16
      linalg.yield %6 : bf16
  } -> tensor<4xbf16>
  %7 = arith.extf %0 {dsv4.cast = "2.12"} : tensor<4xbf16> to tensor<4xf32>
  return %0 : tensor<4xbf16>
}

func.func private @declaration(tensor<4xf32>)
