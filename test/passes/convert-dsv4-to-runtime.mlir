// RUN: dsv4-opt %s -split-input-file -convert-dsv4-to-runtime | FileCheck %s

// The main program becomes calls: kernels by name, collectives by the runtime's
// C ABI. Addresses are in convert-dsv4-to-runtime-addresses.mlir.

// Tables: arguments one after another at 64 bytes, with what the caller needs to
// fill them; axes; sites with their group. One group per list of axes, a lane
// each; the bits of a group's mask are axes in the order of the mesh. A site is
// called by its path, its unit, or main.

// CHECK-LABEL: module @tables attributes {
// CHECK-SAME:    dsv4.arguments = [
// CHECK-SAME:      {global_type = tensor<64xf32>, kind = "batch", layout = {{\[\[}}"cp"]], name = "x", offset = 0 : i64, type = tensor<16xf32>},
// CHECK-SAME:      {kind = "buffer", name = "rope", offset = 64 : i64, type = tensor<3xi64>},
// CHECK-SAME:      {axes = ["dp_shard", "cp"], buffer_index = 0 : i64, dtype = f32, frozen = false, kind = "shard", name = "u", offset = 128 : i64, segments = [{name = "m.a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 128 : i64, type = tensor<16xf32>},
// CHECK-SAME:      {kind = "param", name = "m.p", offset = 192 : i64, type = tensor<17xbf16>},
// CHECK-SAME:      {kind = "result", name = "y", offset = 256 : i64, type = tensor<16xf32>}],
// CHECK-SAME:    dsv4.axis_names = ["dp_shard", "cp"], dsv4.axis_sizes = array<i64: 2, 4>,
// CHECK-SAME:    dsv4.groups = [
// CHECK-SAME:      {axis_mask = 3 : i64, lane = 2 : i64, name = "dp_shard,cp"},
// CHECK-SAME:      {axis_mask = 2 : i64, lane = 3 : i64, name = "cp"}],
// CHECK-SAME:    dsv4.sites = [
// CHECK-SAME:      {class = "parameter", count = 16 : i64, dtype = f32, group = 0 : i64, location = "u", op = "all_gather", redop = "sum"},
// CHECK-SAME:      {class = "scalar", count = 16 : i64, dtype = f32, group = 1 : i64, location = "m.layers.0", op = "all_reduce", redop = "max"},
// CHECK-SAME:      {class = "sequence", count = 16 : i64, dtype = f32, group = 0 : i64, location = "main", op = "reduce_scatter", redop = "sum"}],
// CHECK-SAME:    dsv4.state_bytes = 320 : i64, dsv4.work_buffers = array<i64: 0, 4096>, dsv4.work_bytes = 4096 : i64, dsv4.work_bytes_lower_bound = 4000 : i64} {

// Arguments are places in the state, the arena is the third pointer. Counts are
// those of the source, for a reduce-scatter those of the destination. A wait
// that fails leaves the step with its status; the end of the step has the last
// word. Mesh and units are gone.

// CHECK-NOT:     dsv4.mesh
// CHECK-NOT:     dsv4.fsdp_unit
// CHECK:       llvm.func @dsv4_step(%[[M:[^:]*]]: !llvm.ptr, %[[STATE:[^:]*]]: !llvm.ptr, %[[WORK:[^:]*]]: !llvm.ptr) -> i32 {
// CHECK:         %[[O0:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-NEXT:    %[[X:.*]] = llvm.getelementptr %[[STATE]][%[[O0]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         %[[O2:.*]] = llvm.mlir.constant(128 : i64) : i64
// CHECK-NEXT:    %[[S:.*]] = llvm.getelementptr %[[STATE]][%[[O2]]]
// CHECK:         %[[O4:.*]] = llvm.mlir.constant(256 : i64) : i64
// CHECK-NEXT:    %[[Y:.*]] = llvm.getelementptr %[[STATE]][%[[O4]]]
// CHECK:         %[[G:.*]] = llvm.getelementptr %[[WORK]][%{{.*}}]
// CHECK-DAG:     %[[SITE:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-DAG:     %[[N:.*]] = llvm.mlir.constant(16 : i64) : i64
// CHECK:         %[[T:.*]] = llvm.call @dsv4rt_all_gather_start(%[[M]], %[[SITE]], %[[S]], %[[G]], %[[N]], %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
// CHECK:         %[[W:.*]] = llvm.call @dsv4rt_wait(%[[M]], %[[T]], %{{.*}}) : (!llvm.ptr, i64, i32) -> i32
// CHECK-NEXT:    %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    %[[FINE:.*]] = llvm.icmp "eq" %[[W]], %[[ZERO]] : i32
// CHECK-NEXT:    llvm.cond_br %[[FINE]], ^[[B1:.*]], ^[[EXIT:.*]](%[[W]] : i32)
// CHECK-NEXT:  ^[[B1]]:
// CHECK-NEXT:    %[[SITE:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK:         %[[T:.*]] = llvm.call @dsv4rt_all_reduce_start(%[[M]], %[[SITE]], %[[X]], %[[Y]], %{{.*}}, %{{.*}})
// CHECK:         %[[W:.*]] = llvm.call @dsv4rt_wait(%[[M]], %[[T]], %{{.*}})
// CHECK:         %[[FINE:.*]] = llvm.icmp "eq" %[[W]], %{{.*}} : i32
// CHECK-NEXT:    llvm.cond_br %[[FINE]], ^[[B2:.*]], ^[[EXIT]](%[[W]] : i32)
// CHECK-NEXT:  ^[[B2]]:
// CHECK-NEXT:    %[[SITE:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-NEXT:    %[[N:.*]] = llvm.mlir.constant(16 : i64) : i64
// CHECK:         %[[T:.*]] = llvm.call @dsv4rt_reduce_scatter_start(%[[M]], %[[SITE]], %[[G]], %[[Y]], %[[N]], %{{.*}})
// CHECK:         %[[W:.*]] = llvm.call @dsv4rt_wait(%[[M]], %[[T]], %{{.*}})
// CHECK:         %[[FINE:.*]] = llvm.icmp "eq" %[[W]], %{{.*}} : i32
// CHECK-NEXT:    llvm.cond_br %[[FINE]], ^[[B3:.*]], ^[[EXIT]](%[[W]] : i32)
// CHECK-NEXT:  ^[[B3]]:
// CHECK-NEXT:    %[[END:.*]] = llvm.call @dsv4rt_step_end(%[[M]]) : (!llvm.ptr) -> i32
// CHECK-NEXT:    llvm.return %[[END]] : i32
// CHECK-NEXT:  ^[[EXIT]](%[[STATUS:.*]]: i32):
// CHECK-NEXT:    llvm.return %[[STATUS]] : i32
// CHECK-NEXT:  }
// CHECK-DAG:   llvm.func @dsv4rt_all_gather_start(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
// CHECK-DAG:   llvm.func @dsv4rt_wait(!llvm.ptr, i64, i32) -> i32
// CHECK-DAG:   llvm.func @dsv4rt_step_end(!llvm.ptr) -> i32
module @tables {
  dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
  dsv4.fsdp_unit @u roots ["m"] on @mesh ["dp_shard", "cp"] params ["m.a"] gather f32 reduce f32
    buffers [{dtype = f32, frozen = false, segments = [{name = "m.a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 128 : i64}]
  func.func @forward(%x: memref<16xf32> {dsv4.batch = "x", dsv4.layout = [["cp"]], dsv4.global_type = tensor<64xf32>},
                     %r: memref<3xi64> {dsv4.buffer = "rope"},
                     %s: memref<16xf32> {dsv4.shard = @u, dsv4.buffer_index = 0 : i64},
                     %p: memref<17xbf16> {dsv4.param = "m.p"},
                     %y: memref<16xf32> {dsv4.result = "y"},
                     %work: memref<4096xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 4096>, dsv4.work_bytes = 4096 : i64, dsv4.work_bytes_lower_bound = 4000 : i64} {
    %c256 = arith.constant 256 : index
    %g = memref.view %work[%c256][] : memref<4096xi8> to memref<128xf32>
    %t0 = dsv4.all_gather_start parameter %s into %g on @mesh ["dp_shard", "cp"] {unit = @u} : memref<16xf32> into memref<128xf32>
    dsv4.wait %t0, %g reading %s : memref<128xf32>, memref<16xf32>
    %t1 = dsv4.all_reduce_start scalar max %x into %y on @mesh ["cp"] {dsv4.path = "m.layers.0"} : memref<16xf32> into memref<16xf32>
    dsv4.wait %t1, %y reading %x : memref<16xf32>, memref<16xf32>
    %t2 = dsv4.reduce_scatter_start sequence %g into %y on @mesh ["dp_shard", "cp"] : memref<128xf32> into memref<16xf32>
    dsv4.wait %t2, %y reading %g : memref<16xf32>, memref<128xf32>
    return
  }
}

// -----

// A launch has no status. A block takes the module in front of its buffers and
// returns a status, zero at its end, which its caller checks. Kernels keep their
// names and become functions of bare pointers; the mark of a workspace is gone.

// CHECK-LABEL: module @calls
// CHECK:       llvm.func @block(%[[M:[^:]*]]: !llvm.ptr, %[[A:[^:]*]]: !llvm.ptr, %[[I:[^:]*]]: i64, %[[S:[^:]*]]: !llvm.ptr) -> i32 {
// CHECK-NEXT:    llvm.call @kernel(%[[A]], %[[I]], %[[S]]) : (!llvm.ptr, i64, !llvm.ptr) -> ()
// CHECK-NEXT:    %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    llvm.return %[[ZERO]] : i32
// CHECK:       llvm.func @dsv4_step(%[[M:[^:]*]]: !llvm.ptr,
// CHECK:         %[[C7:.*]] = llvm.mlir.constant(7 : i64) : i64
// CHECK:         %[[R:.*]] = llvm.call @block(%[[M]], %{{.*}}, %[[C7]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
// CHECK:         %[[FINE:.*]] = llvm.icmp "eq" %[[R]], %{{.*}} : i32
// CHECK-NEXT:    llvm.cond_br %[[FINE]], ^{{.*}}, ^{{.*}}(%[[R]] : i32)
// CHECK:       llvm.func @kernel(%{{[^:]*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr {llvm.noalias}) attributes {dsv4.kernel
// CHECK-NOT:   func.func
module @calls {
  dsv4.mesh @mesh []
  func.func private @kernel(%a: memref<16xf32>, %i: index, %s: memref<64xi8> {dsv4.workspace}) attributes {dsv4.kernel} {
    return
  }
  func.func private @block(%a: memref<16xf32>, %i: index, %s: memref<64xi8> {dsv4.scratch}) {
    dsv4.launch @kernel(%a, %i, %s) writes [0] : memref<16xf32>, index, memref<64xi8>
    return
  }
  func.func @forward(%x: memref<16xf32> {dsv4.batch = "x"}, %work: memref<64xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
    %c7 = arith.constant 7 : index
    call @block(%x, %c7, %work) : (memref<16xf32>, index, memref<64xi8>) -> ()
    return
  }
}

// -----

// Starts with one number are one call with arrays of addresses and counts, at
// the last of them; each wait takes its token. The next number is another call.
// Their sites are consecutive, the call names the first and how many.

// CHECK-LABEL: module @launch attributes {
// CHECK-SAME:    dsv4.sites = [{{{.*}}count = 4{{.*}}location = "u"{{.*}}}, {{{.*}}count = 8{{.*}}location = "v"{{.*}}}, {{{.*}}count = 4{{.*}}location = "w"{{.*}}}]
// CHECK:       llvm.func @dsv4_step(%[[M:[^:]*]]: !llvm.ptr, %[[STATE:[^:]*]]: !llvm.ptr, %[[WORK:[^:]*]]: !llvm.ptr)
// CHECK:         %[[A:.*]] = llvm.getelementptr %[[STATE]]
// CHECK:         %[[B:.*]] = llvm.getelementptr %[[STATE]]
// CHECK:         %[[GA:.*]] = llvm.getelementptr %[[WORK]]
// CHECK-NEXT:    %[[NA:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-NEXT:    %[[GB:.*]] = llvm.getelementptr %[[WORK]]
// CHECK-NEXT:    %[[NB:.*]] = llvm.mlir.constant(8 : i64) : i64
// CHECK-NEXT:    %[[SITE:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    %[[TWO:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[SRC:.*]][0]
// CHECK-NEXT:    llvm.store %[[A]], %[[P]]
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[SRC]][1]
// CHECK-NEXT:    llvm.store %[[B]], %[[P]]
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[DST:.*]][0]
// CHECK-NEXT:    llvm.store %[[GA]], %[[P]]
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[DST]][1]
// CHECK-NEXT:    llvm.store %[[GB]], %[[P]]
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[N:.*]][0]
// CHECK-NEXT:    llvm.store %[[NA]], %[[P]]
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %[[N]][1]
// CHECK-NEXT:    llvm.store %[[NB]], %[[P]]
// CHECK-NEXT:    %{{.*}} = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    %[[T:.*]] = llvm.call @dsv4rt_start_v(%[[M]], %[[SITE]], %[[TWO]], %[[SRC]], %[[DST]], %[[N]], %{{.*}}) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i64
// CHECK:         %[[SITE:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-NEXT:    %[[ONE:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK:         %[[U:.*]] = llvm.call @dsv4rt_start_v(%[[M]], %[[SITE]], %[[ONE]],
// CHECK:         llvm.call @dsv4rt_wait(%[[M]], %[[T]], %{{.*}})
// CHECK:         llvm.call @dsv4rt_wait(%[[M]], %[[T]], %{{.*}})
// CHECK:         llvm.call @dsv4rt_wait(%[[M]], %[[U]], %{{.*}})
module @launch {
  dsv4.mesh @mesh ["cp" = 2]
  func.func @forward(%a: memref<4xf32> {dsv4.batch = "a"}, %b: memref<8xbf16> {dsv4.batch = "b"},
                     %work: memref<192xi8> {dsv4.work})
      attributes {dsv4.work_buffers = array<i64: 0, 192>, dsv4.work_bytes = 192 : i64, dsv4.work_bytes_lower_bound = 192 : i64} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %ga = memref.view %work[%c0][] : memref<192xi8> to memref<8xf32>
    %ta = dsv4.all_gather_start parameter %a into %ga on @mesh ["cp"] {unit = @u, dsv4.launch = 0 : i64} : memref<4xf32> into memref<8xf32>
    %gb = memref.view %work[%c64][] : memref<192xi8> to memref<16xbf16>
    %tb = dsv4.all_gather_start parameter %b into %gb on @mesh ["cp"] {unit = @v, dsv4.launch = 0 : i64} : memref<8xbf16> into memref<16xbf16>
    %gc = memref.view %work[%c128][] : memref<192xi8> to memref<8xf32>
    %tc = dsv4.all_gather_start parameter %a into %gc on @mesh ["cp"] {unit = @w, dsv4.launch = 1 : i64} : memref<4xf32> into memref<8xf32>
    dsv4.wait %ta, %ga reading %a : memref<8xf32>, memref<4xf32>
    dsv4.wait %tb, %gb reading %b : memref<16xbf16>, memref<8xbf16>
    dsv4.wait %tc, %gc reading %a : memref<8xf32>, memref<4xf32>
    return
  }
}
