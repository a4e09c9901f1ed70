// RUN: dsv4-opt %s -dsv4-report-units -o /dev/null 2>&1 | FileCheck %s
// RUN: dsv4-opt %s -dsv4-report-units -o %t.after 2>/dev/null
// RUN: dsv4-opt %s -o %t.before
// RUN: diff %t.before %t.after

// By hand: w has 100 elements, b 3, f 5 (frozen: gathered, not reduced). On 2
// ranks the starts are at 64 bytes and shards are equal: w and b lie at 0 and
// 224 of 2-byte elements (200 bytes, then 6 at 256), 262 bytes, so 192 on each
// of 2 ranks; f takes 20 bytes, so 64 on each. Padding (384 - 206) + (128 - 20).

// CHECK:      unit              stored       gathered        reduced      padding  gather reduce  alive, roots
// CHECK-NEXT: unit_0               226            432            412          286  f32 f32  forward uses; backward uses, "model.a"
// CHECK-NEXT: unit_1                 8              4             16          120  bf16 f64  first use to last backward use, "model"
// CHECK-NEXT: total                234            436            428          406{{$}}
module {
  dsv4.mesh @mesh ["replicate" = 3, "dp_shard" = 2]
  dsv4.fsdp_unit @unit_0 roots ["model.a"] on @mesh ["dp_shard"] params ["model.a.w", "model.a.b", "model.a.f"] gather f32 reduce f32 reshard_after_forward = true
  dsv4.fsdp_unit @unit_1 roots ["model"] on @mesh ["dp_shard"] params ["model.n"] gather bf16 reduce f64
  func.func private @forward(
      tensor<10x10xbf16> {dsv4.param = "model.a.w"},
      tensor<3xbf16> {dsv4.param = "model.a.b"},
      tensor<5xf32> {dsv4.param = "model.a.f", dsv4.frozen},
      tensor<2xf32> {dsv4.param = "model.n"})
}
