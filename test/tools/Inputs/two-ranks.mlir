// A program for two ranks, as code generation leaves it, written by hand: each
// rank holds a row of the batch and half of a flat buffer, gathers the buffer
// and returns three of its elements and the row.
module @hand attributes {
  dsv4.axis_names = ["dp_shard"], dsv4.axis_sizes = array<i64: 2>,
  dsv4.groups = [{axis_mask = 1, lane = 2, name = "dp_shard"}],
  dsv4.sites = [{class = "parameter", count = 8, dtype = f64, group = 0, location = "unit", op = "all_gather", redop = "sum"}],
  dsv4.arguments = [
    {kind = "batch", name = "input_ids", offset = 0, type = tensor<1x64xi64>, global_type = tensor<2x64xi64>, layout = [["dp_shard"], []]},
    {kind = "shard", name = "unit", offset = 512, type = tensor<8xf64>, buffer_index = 0, axes = ["dp_shard"], dtype = f64, frozen = false, total = 12, shard = 8,
     segments = [{name = "a.weight", offset = 0, shape = [2, 4]}, {name = "b.norm.weight", offset = 8, shape = [4]}]},
    {kind = "result", name = "first", offset = 576, type = tensor<f64>},
    {kind = "result", name = "norm", offset = 640, type = tensor<f64>},
    {kind = "result", name = "padding", offset = 704, type = tensor<f64>},
    {kind = "result", name = "ids", offset = 768, type = tensor<1x64xi64>, global_type = tensor<2x64xi64>, layout = [["dp_shard"], []]}],
  dsv4.state_bytes = 1280, dsv4.work_buffers = array<i64: 0, 128>, dsv4.work_bytes = 128, dsv4.work_bytes_lower_bound = 128} {
  llvm.func @dsv4rt_all_gather_start(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
  llvm.func @dsv4rt_wait(!llvm.ptr, i64, i32) -> i32
  llvm.func @dsv4rt_step_end(!llvm.ptr) -> i32
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %count = llvm.mlir.constant(8 : i64) : i64
    %bytes = llvm.mlir.constant(512 : i64) : i64
    %shard = llvm.getelementptr %state[512] : (!llvm.ptr) -> !llvm.ptr, i8
    %token = llvm.call @dsv4rt_all_gather_start(%module, %c0, %shard, %work, %count, %c0) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
    %status = llvm.call @dsv4rt_wait(%module, %token, %c0) : (!llvm.ptr, i64, i32) -> i32
    %fine = llvm.icmp "eq" %status, %c0 : i32
    llvm.cond_br %fine, ^next, ^exit(%status : i32)
  ^next:
    %first = llvm.load %work : !llvm.ptr -> f64
    %p8 = llvm.getelementptr %work[8] : (!llvm.ptr) -> !llvm.ptr, f64
    %norm = llvm.load %p8 : !llvm.ptr -> f64
    %p15 = llvm.getelementptr %work[15] : (!llvm.ptr) -> !llvm.ptr, f64
    %padding = llvm.load %p15 : !llvm.ptr -> f64
    %r0 = llvm.getelementptr %state[576] : (!llvm.ptr) -> !llvm.ptr, i8
    %r1 = llvm.getelementptr %state[640] : (!llvm.ptr) -> !llvm.ptr, i8
    %r2 = llvm.getelementptr %state[704] : (!llvm.ptr) -> !llvm.ptr, i8
    %r3 = llvm.getelementptr %state[768] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %first, %r0 : f64, !llvm.ptr
    llvm.store %norm, %r1 : f64, !llvm.ptr
    llvm.store %padding, %r2 : f64, !llvm.ptr
    "llvm.intr.memcpy"(%r3, %state, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %end = llvm.call @dsv4rt_step_end(%module) : (!llvm.ptr) -> i32
    llvm.return %end : i32
  ^exit(%code: i32):
    llvm.return %code : i32
  }
}
