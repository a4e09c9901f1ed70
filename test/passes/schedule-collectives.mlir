// RUN: dsv4-opt %s -split-input-file -dsv4-schedule-collectives | FileCheck %s --check-prefixes=CHECK,D1
// RUN: dsv4-opt %s -split-input-file -dsv4-schedule-collectives=prefetch-depth=0 | FileCheck %s --check-prefixes=CHECK,D0
// RUN: dsv4-opt %s -split-input-file -dsv4-schedule-collectives=prefetch-depth=2 | FileCheck %s --check-prefixes=CHECK,D2
// RUN: dsv4-opt %s -split-input-file -dsv4-schedule-collectives -dsv4-schedule-collectives | FileCheck %s --check-prefixes=CHECK,D1

// Gathers of parameters: where they start and end, and how the flat buffer is
// cut. Sequence exchanges are in schedule-collectives-sequence.mlir.

// Three blocks with one unit each. A gather starts `prefetch-depth` blocks
// before the block of its first use, in front of that block; it ends in front of
// its own block, behind the starts that stand there.

// D1-LABEL: func.func @prefetch(
// D1-SAME:    %[[X:[^:]*]]: tensor<8xf32>, %[[S0:[^:]*]]: tensor<16xf32>, %[[S1:[^:]*]]: tensor<16xf32>, %[[S2:[^:]*]]: tensor<16xf32>)
// D1-NEXT:    %[[I0:.*]] = tensor.empty() : tensor<32xf32>
// D1-NEXT:    %[[F0:.*]], %[[T0:.*]] = dsv4.all_gather_start parameter %[[S0]] into %[[I0]] on @mesh ["cp"] {dsv4.launch = 0 : i64, unit = @unit_0} : tensor<16xf32> into tensor<32xf32> -> tensor<32xf32>
// D1-NEXT:    %[[I1:.*]] = tensor.empty() : tensor<32xf32>
// D1-NEXT:    %[[F1:.*]], %[[T1:.*]] = dsv4.all_gather_start parameter %[[S1]] into %[[I1]] on @mesh ["cp"] {dsv4.launch = 1 : i64, unit = @unit_1}
// D1-NEXT:    %[[W0:.*]] = dsv4.wait %[[T0]], %[[F0]] reading %[[S0]] : tensor<32xf32>, tensor<16xf32> -> tensor<32xf32>
// D1-NEXT:    %[[P0:.*]] = tensor.extract_slice %[[W0]][0] [8] [1] {dsv4.path = "m.layers.0"} : tensor<32xf32> to tensor<8xf32>
// D1-NEXT:    %[[V0:.*]] = arith.addf %[[X]], %[[P0]]
// D1-NEXT:    %[[I2:.*]] = tensor.empty() : tensor<32xf32>
// D1-NEXT:    %[[F2:.*]], %[[T2:.*]] = dsv4.all_gather_start parameter %[[S2]] into %[[I2]] on @mesh ["cp"] {dsv4.launch = 2 : i64, unit = @unit_2}
// D1-NEXT:    %[[W1:.*]] = dsv4.wait %[[T1]], %[[F1]] reading %[[S1]]
// D1-NEXT:    %[[P1:.*]] = tensor.extract_slice %[[W1]][0] [8] [1] {dsv4.path = "m.layers.1"}
// D1-NEXT:    %[[V1:.*]] = arith.addf %[[V0]], %[[P1]]
// D1-NEXT:    %[[W2:.*]] = dsv4.wait %[[T2]], %[[F2]] reading %[[S2]]
// D1-NEXT:    %[[P2:.*]] = tensor.extract_slice %[[W2]][0] [8] [1] {dsv4.path = "m.layers.2.mlp"}
// D1-NEXT:    %[[V2:.*]] = arith.addf %[[V1]], %[[P2]]
// D1-NEXT:    return %[[V2]]

// D0-LABEL: func.func @prefetch(
// D0-NEXT:    tensor.empty
// D0-NEXT:    all_gather_start {{.*}}unit = @unit_0
// D0-NEXT:    dsv4.wait
// D0-NEXT:    tensor.extract_slice
// D0-NEXT:    arith.addf {{.*}}"m.layers.0"
// D0-NEXT:    tensor.empty
// D0-NEXT:    all_gather_start {{.*}}unit = @unit_1
// D0-NEXT:    dsv4.wait
// D0-NEXT:    tensor.extract_slice
// D0-NEXT:    arith.addf {{.*}}"m.layers.1"
// D0-NEXT:    tensor.empty
// D0-NEXT:    all_gather_start {{.*}}unit = @unit_2
// D0-NEXT:    dsv4.wait
// D0-NEXT:    tensor.extract_slice
// D0-NEXT:    arith.addf {{.*}}"m.layers.2.mlp"

// D2-LABEL: func.func @prefetch(
// D2-NEXT:    tensor.empty
// D2-NEXT:    all_gather_start {{.*}}unit = @unit_0
// D2-NEXT:    tensor.empty
// D2-NEXT:    all_gather_start {{.*}}unit = @unit_1
// D2-NEXT:    tensor.empty
// D2-NEXT:    all_gather_start {{.*}}unit = @unit_2
// D2-NEXT:    dsv4.wait
// D2-NEXT:    tensor.extract_slice
// D2-NEXT:    arith.addf {{.*}}"m.layers.0"
// D2-NEXT:    dsv4.wait
// D2-NEXT:    tensor.extract_slice
// D2-NEXT:    arith.addf {{.*}}"m.layers.1"
// D2-NEXT:    dsv4.wait
// D2-NEXT:    tensor.extract_slice
// D2-NEXT:    arith.addf {{.*}}"m.layers.2.mlp"
#one = [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
#two = [{dtype = f32, frozen = false, segments = [{name = "b", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
#three = [{dtype = f32, frozen = false, segments = [{name = "c", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
module {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32 buffers #one
  dsv4.fsdp_unit @unit_1 roots ["m"] on @mesh ["cp"] params ["b"] gather f32 reduce f32 buffers #two
  dsv4.fsdp_unit @unit_2 roots ["m"] on @mesh ["cp"] params ["c"] gather f32 reduce f32 buffers #three
  func.func @prefetch(%x: tensor<8xf32>, %s0: tensor<16xf32>, %s1: tensor<16xf32>, %s2: tensor<16xf32>) -> tensor<8xf32> {
    %a = dsv4.unshard @unit_0(%s0) on @mesh ["cp"] {dsv4.path = "m.layers.0"} : (tensor<16xf32>) -> tensor<8xf32>
    %0 = arith.addf %x, %a {dsv4.path = "m.layers.0"} : tensor<8xf32>
    %b = dsv4.unshard @unit_1(%s1) on @mesh ["cp"] {dsv4.path = "m.layers.1"} : (tensor<16xf32>) -> tensor<8xf32>
    %1 = arith.addf %0, %b {dsv4.path = "m.layers.1"} : tensor<8xf32>
    %c = dsv4.unshard @unit_2(%s2) on @mesh ["cp"] {dsv4.path = "m.layers.2"} : (tensor<16xf32>) -> tensor<8xf32>
    %2 = arith.addf %1, %c {dsv4.path = "m.layers.2.mlp"} : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// Only model blocks count as depth: the operation between both blocks does not.
// With depth 1 the gather for block 1 starts before block 0 all the same.

// D1-LABEL: func.func @gap(
// D1:         all_gather_start
// D1-NEXT:    math.absf {{.*}}"m.layers.0"
// D1-NEXT:    math.ceil
// D1-NEXT:    dsv4.wait
// D1-NEXT:    tensor.extract_slice
// D0-LABEL: func.func @gap(
// D0:         math.absf
// D0-NEXT:    math.ceil
// D0-NEXT:    tensor.empty
// D0-NEXT:    all_gather_start
// D0-NEXT:    dsv4.wait
// D0-NEXT:    tensor.extract_slice
// D2-LABEL: func.func @gap(
// D2:         all_gather_start
// D2-NEXT:    math.absf {{.*}}"m.layers.0"
module {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  func.func @gap(%x: tensor<8xf32>, %s0: tensor<16xf32>) -> tensor<8xf32> {
    %0 = math.absf %x {dsv4.path = "m.layers.0"} : tensor<8xf32>
    %1 = math.ceil %0 : tensor<8xf32>
    %a = dsv4.unshard @unit_0(%s0) on @mesh ["cp"] {dsv4.path = "m.layers.1"} : (tensor<16xf32>) -> tensor<8xf32>
    %2 = arith.addf %1, %a {dsv4.path = "m.layers.1"} : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// Two units that the same block uses first travel together: one number, starts
// next to each other, then the waits, then the slices, although the second
// unit is used later in the block. A parameter that two blocks use is gathered
// once and cut in each of them. Shapes: a matrix, a scalar, a part behind
// another. The result of the unit that the terminator uses is cut there.

// CHECK-LABEL: func.func @two_units(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x2xf32>, %[[S0:[^:]*]]: tensor<32xf32>, %[[S1:[^:]*]]: tensor<16xbf16>, %[[S2:[^:]*]]: tensor<16xf32>)
// CHECK-NEXT:    %[[I0:.*]] = tensor.empty() : tensor<64xf32>
// CHECK-NEXT:    %[[F0:.*]], %[[T0:.*]] = dsv4.all_gather_start parameter %[[S0]] into %[[I0]] on @mesh ["cp"] {dsv4.launch = 0 : i64, unit = @unit_0}
// CHECK-NEXT:    %[[I1:.*]] = tensor.empty() : tensor<32xbf16>
// CHECK-NEXT:    %[[F1:.*]], %[[T1:.*]] = dsv4.all_gather_start parameter %[[S1]] into %[[I1]] on @mesh ["cp"] {dsv4.launch = 0 : i64, unit = @unit_1}
// D2-NEXT:       tensor.empty
// D2-NEXT:       all_gather_start {{.*}}{dsv4.launch = 1 : i64, unit = @unit_2}
// CHECK-NEXT:    %[[W0:.*]] = dsv4.wait %[[T0]], %[[F0]] reading %[[S0]]
// CHECK-NEXT:    %[[W1:.*]] = dsv4.wait %[[T1]], %[[F1]] reading %[[S1]]
// CHECK-NEXT:    %[[A:.*]] = tensor.extract_slice %[[W0]][0] [8] [1] {dsv4.path = "m.layers.0.n"}
// CHECK-NEXT:    %[[A2:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1]] output_shape [4, 2] {dsv4.path = "m.layers.0.n"} : tensor<8xf32> into tensor<4x2xf32>
// CHECK-NEXT:    %[[B:.*]] = tensor.extract_slice %[[W0]][16] [1] [1] {dsv4.path = "m.layers.0.n"}
// CHECK-NEXT:    %[[B0:.*]] = tensor.collapse_shape %[[B]] [] {dsv4.path = "m.layers.0.n"} : tensor<1xf32> into tensor<f32>
// CHECK-NEXT:    %[[C:.*]] = tensor.extract_slice %[[W1]][0] [8] [1] {dsv4.path = "m.layers.0.o"} : tensor<32xbf16> to tensor<8xbf16>
// CHECK-NEXT:    arith.addf %[[X]], %[[A2]]
// CHECK-NEXT:    arith.addf %[[B0]], %[[B0]]
// CHECK-NEXT:    arith.addf %[[C]], %[[C]]
// D1-NEXT:       tensor.empty
// D1-NEXT:       all_gather_start {{.*}}{dsv4.launch = 1 : i64, unit = @unit_2}
// CHECK-NEXT:    %[[D:.*]] = tensor.extract_slice %[[W0]][0] [8] [1] {dsv4.path = "m.layers.1"}
// CHECK-NEXT:    %[[D2:.*]] = tensor.expand_shape %[[D]] {{.*}} {dsv4.path = "m.layers.1"}
// CHECK-NEXT:    %[[V:.*]] = arith.addf %{{.*}}, %[[D2]]
// D0-NEXT:       tensor.empty
// D0-NEXT:       all_gather_start {{.*}}{dsv4.launch = 1 : i64, unit = @unit_2}
// CHECK-NEXT:    %[[W2:.*]] = dsv4.wait %{{.*}} reading %[[S2]]
// CHECK-NEXT:    %[[E:.*]] = tensor.extract_slice %[[W2]][0] [4] [1] : tensor<32xf32> to tensor<4xf32>
// CHECK-NEXT:    return %[[V]], %[[E]]
module {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @unit_0 roots ["m"] on @mesh ["cp"] params ["a", "b"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 4, 2>}, {name = "b", offset = 16 : i64, shape = array<i64>}], shard = 32 : i64, total = 64 : i64}]
  dsv4.fsdp_unit @unit_1 roots ["m"] on @mesh ["cp"] params ["c"] gather bf16 reduce f32
    buffers [{dtype = bf16, frozen = false, segments = [{name = "c", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  dsv4.fsdp_unit @unit_2 roots ["m"] on @mesh ["cp"] params ["d"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "d", offset = 0 : i64, shape = array<i64: 4>}], shard = 16 : i64, total = 32 : i64}]
  func.func @two_units(%x: tensor<4x2xf32>, %s0: tensor<32xf32>, %s1: tensor<16xbf16>, %s2: tensor<16xf32>) -> (tensor<4x2xf32>, tensor<4xf32>) {
    %a:2 = dsv4.unshard @unit_0(%s0) on @mesh ["cp"] : (tensor<32xf32>) -> (tensor<4x2xf32>, tensor<f32>)
    %0 = arith.addf %x, %a#0 {dsv4.path = "m.layers.0.n"} : tensor<4x2xf32>
    %1 = arith.addf %a#1, %a#1 {dsv4.path = "m.layers.0.n"} : tensor<f32>
    %c = dsv4.unshard @unit_1(%s1) on @mesh ["cp"] : (tensor<16xbf16>) -> tensor<8xbf16>
    %2 = arith.addf %c, %c {dsv4.path = "m.layers.0.o"} : tensor<8xbf16>
    %3 = arith.addf %0, %a#0 {dsv4.path = "m.layers.1"} : tensor<4x2xf32>
    %d = dsv4.unshard @unit_2(%s2) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<4xf32>
    return %3, %d : tensor<4x2xf32>, tensor<4xf32>
  }
}

// -----

// A unit on one rank already is whole: slices of the argument, no collective.
// The other unit of the function is still gathered.

// CHECK-LABEL: func.func @one_rank(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8xf32>, %[[S0:[^:]*]]: tensor<16xf32>, %[[S1:[^:]*]]: tensor<16xf32>)
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    all_gather_start {{.*}}unit = @gathered
// CHECK-NEXT:    dsv4.wait
// CHECK-NEXT:    %[[A:.*]] = tensor.extract_slice %[[S0]][0] [8] [1] {dsv4.path = "m.layers.0"} : tensor<16xf32> to tensor<8xf32>
// CHECK-NEXT:    tensor.extract_slice
// CHECK-NEXT:    arith.addf %[[X]], %[[A]]
// CHECK-NOT:     = dsv4.
// CHECK:         return
module {
  dsv4.mesh @mesh ["dp_shard" = 1, "cp" = 2]
  dsv4.fsdp_unit @whole roots ["m"] on @mesh ["dp_shard"] params ["a"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 16 : i64}]
  dsv4.fsdp_unit @gathered roots ["m"] on @mesh ["cp"] params ["b"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "b", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  func.func @one_rank(%x: tensor<8xf32>, %s0: tensor<16xf32>, %s1: tensor<16xf32>) -> tensor<8xf32> {
    %a = dsv4.unshard @whole(%s0) on @mesh ["dp_shard"] : (tensor<16xf32>) -> tensor<8xf32>
    %b = dsv4.unshard @gathered(%s1) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
    %0 = arith.addf %x, %a {dsv4.path = "m.layers.0"} : tensor<8xf32>
    %1 = arith.addf %0, %b {dsv4.path = "m.layers.0"} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// One block uses units over two groups in turn: what shares a number stands
// next to each other, so that it goes out in one call.

// CHECK-LABEL: func.func @two_groups(
// CHECK-SAME:    %[[S0:[^:]*]]: tensor<16xf32>, %[[S1:[^:]*]]: tensor<16xf32>, %[[S2:[^:]*]]: tensor<16xf32>)
// CHECK:         all_gather_start parameter %[[S0]] {{.*}} ["cp"] {dsv4.launch = 0 : i64, unit = @u0}
// CHECK:         all_gather_start parameter %[[S2]] {{.*}} ["cp"] {dsv4.launch = 0 : i64, unit = @u2}
// CHECK:         all_gather_start parameter %[[S1]] {{.*}} ["dp_shard"] {dsv4.launch = 1 : i64, unit = @u1}
// CHECK-NOT:     all_gather_start
module {
  dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
  dsv4.fsdp_unit @u0 roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  dsv4.fsdp_unit @u1 roots ["m"] on @mesh ["dp_shard"] params ["b"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "b", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  dsv4.fsdp_unit @u2 roots ["m"] on @mesh ["cp"] params ["c"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "c", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
  func.func @two_groups(%s0: tensor<16xf32>, %s1: tensor<16xf32>, %s2: tensor<16xf32>) -> tensor<8xf32> {
    %a = dsv4.unshard @u0(%s0) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
    %b = dsv4.unshard @u1(%s1) on @mesh ["dp_shard"] : (tensor<16xf32>) -> tensor<8xf32>
    %c = dsv4.unshard @u2(%s2) on @mesh ["cp"] : (tensor<16xf32>) -> tensor<8xf32>
    %0 = arith.addf %a, %b {dsv4.path = "m.layers.0"} : tensor<8xf32>
    %1 = arith.addf %0, %c {dsv4.path = "m.layers.0"} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Two buffers of one unit: one launch, each with its own start and wait, each
// parameter cut from its own buffer.

// CHECK-LABEL: func.func @two_buffers(
// CHECK-SAME:    %[[S0:[^:]*]]: tensor<16xf32>, %[[S1:[^:]*]]: tensor<32xbf16>)
// CHECK:         all_gather_start parameter %[[S0]] {{.*}}{dsv4.launch = 0 : i64, unit = @u}
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    all_gather_start parameter %[[S1]] {{.*}}{dsv4.launch = 0 : i64, unit = @u}
// CHECK-NEXT:    %[[W0:.*]] = dsv4.wait %{{.*}} reading %[[S0]]
// CHECK-NEXT:    %[[W1:.*]] = dsv4.wait %{{.*}} reading %[[S1]]
// CHECK-NEXT:    %[[A:.*]] = tensor.extract_slice %[[W1]][0] [8] [1]
// CHECK-NEXT:    %[[B:.*]] = tensor.extract_slice %[[W0]][0] [8] [1]
// CHECK-NEXT:    return %[[A]], %[[B]]

module {
  dsv4.mesh @mesh ["cp" = 2]
  dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["a", "b"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "b", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64},
             {dtype = bf16, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 32 : i64, total = 64 : i64}]
    {dsv4.as_stored}
  func.func @two_buffers(%s0: tensor<16xf32>, %s1: tensor<32xbf16>) -> (tensor<8xbf16>, tensor<8xf32>) {
    %a:2 = dsv4.unshard @u(%s0, %s1) on @mesh ["cp"] : (tensor<16xf32>, tensor<32xbf16>) -> (tensor<8xbf16>, tensor<8xf32>)
    return %a#0, %a#1 : tensor<8xbf16>, tensor<8xf32>
  }
}
