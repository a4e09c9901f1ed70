// REQUIRES: dsv4-run
// RUN: split-file %s %t
// RUN: python3 %S/Inputs/expect-exit.py 3 dsv4-run %t/status.mlir 2>&1 | FileCheck %s --check-prefix=STATUS
// RUN: python3 %S/Inputs/expect-exit.py 3 dsv4-run %t/order.mlir --timeout-ms=5000 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: python3 %S/Inputs/expect-exit.py 3 dsv4-run %t/result.mlir --output=%t/out.st 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not ls %t/out.st
// RUN: python3 %S/Inputs/expect-exit.py 3 dsv4-run %t/memory.mlir 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: python3 %S/Inputs/expect-exit.py 1 dsv4-run %t/variable.mlir 2>&1 | FileCheck %s --check-prefix=VARIABLE
// RUN: python3 %S/Inputs/expect-exit.py 1 dsv4-run %t/callee.mlir 2>&1 | FileCheck %s --check-prefix=CALLEE
// RUN: python3 %S/Inputs/expect-exit.py 1 dsv4-run %t/step.mlir 2>&1 | FileCheck %s --check-prefix=STEP

// Programs that fail, each in one way.

// STATUS: dsv4-run: error: DSV4RT_E_BACKEND: rank {{[01]}}: its function returned DSV4RT_E_BACKEND
//--- status.mlir
module attributes {
  dsv4.axis_names = ["cp"], dsv4.axis_sizes = array<i64: 2>, dsv4.groups = [], dsv4.sites = [], dsv4.arguments = [],
  dsv4.state_bytes = 0, dsv4.work_buffers = array<i64: 0, 0>, dsv4.work_bytes = 0, dsv4.work_bytes_lower_bound = 0} {
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %status = llvm.mlir.constant(7 : i32) : i32
    llvm.return %status : i32
  }
}

// One rank gathers, the other ends its step.
// ORDER: dsv4-run: error: DSV4RT_E_{{MISMATCH|RANK_LOST|TIMEOUT}}:
//--- order.mlir
module attributes {
  dsv4.axis_names = ["cp"], dsv4.axis_sizes = array<i64: 2>,
  dsv4.groups = [{axis_mask = 1, lane = 2, name = "cp"}],
  dsv4.sites = [{class = "sequence", count = 1, dtype = f64, group = 0, location = "layer", op = "all_reduce", redop = "sum"}],
  dsv4.arguments = [], dsv4.state_bytes = 0, dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64, dsv4.work_bytes_lower_bound = 64} {
  llvm.func @dsv4rt_axis_index(!llvm.ptr, i32) -> i32
  llvm.func @dsv4rt_all_reduce_start(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
  llvm.func @dsv4rt_wait(!llvm.ptr, i64, i32) -> i32
  llvm.func @dsv4rt_step_end(!llvm.ptr) -> i32
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i64) : i64
    %index = llvm.call @dsv4rt_axis_index(%module, %c0) : (!llvm.ptr, i32) -> i32
    %first = llvm.icmp "eq" %index, %c0 : i32
    llvm.cond_br %first, ^reduce, ^end
  ^reduce:
    %token = llvm.call @dsv4rt_all_reduce_start(%module, %c0, %work, %work, %one, %c0) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32) -> i64
    %status = llvm.call @dsv4rt_wait(%module, %token, %c0) : (!llvm.ptr, i64, i32) -> i32
    llvm.return %status : i32
  ^end:
    %end = llvm.call @dsv4rt_step_end(%module) : (!llvm.ptr) -> i32
    llvm.return %end : i32
  }
}

// A result that is said to be replicated is the rank's coordinate.
// RESULT: dsv4-run: error: DSV4RT_E_MISMATCH: rank 1: result 'loss' is replicated, but differs from that of the first rank that holds it
//--- result.mlir
module attributes {
  dsv4.axis_names = ["cp"], dsv4.axis_sizes = array<i64: 2>, dsv4.groups = [], dsv4.sites = [],
  dsv4.arguments = [{kind = "result", name = "loss", offset = 0, type = tensor<i32>}],
  dsv4.state_bytes = 64, dsv4.work_buffers = array<i64: 0, 0>, dsv4.work_bytes = 0, dsv4.work_bytes_lower_bound = 0} {
  llvm.func @dsv4rt_axis_index(!llvm.ptr, i32) -> i32
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %index = llvm.call @dsv4rt_axis_index(%module, %c0) : (!llvm.ptr, i32) -> i32
    llvm.store %index, %state : i32, !llvm.ptr
    llvm.return %c0 : i32
  }
}

// MEMORY: dsv4-run: error: 4096 ranks need 4503599627370496 bytes (state 549755813888 and work 549755813888 bytes each), but the machine has {{[0-9]+}} left
//--- memory.mlir
module attributes {
  dsv4.axis_names = ["cp"], dsv4.axis_sizes = array<i64: 4096>, dsv4.groups = [], dsv4.sites = [], dsv4.arguments = [],
  dsv4.state_bytes = 549755813888, dsv4.work_buffers = array<i64: 0, 549755813888>, dsv4.work_bytes = 549755813888, dsv4.work_bytes_lower_bound = 549755813888} {
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %c0 : i32
  }
}

// VARIABLE: dsv4-run: error: {{.*}}: global @counter is a variable, which all ranks would share; only constants are allowed
//--- variable.mlir
module attributes {
  dsv4.axis_names = [], dsv4.axis_sizes = array<i64>, dsv4.groups = [], dsv4.sites = [], dsv4.arguments = [],
  dsv4.state_bytes = 0, dsv4.work_buffers = array<i64: 0, 0>, dsv4.work_bytes = 0, dsv4.work_bytes_lower_bound = 0} {
  llvm.mlir.global @counter(0 : i32) : i32
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %address = llvm.mlir.addressof @counter : !llvm.ptr
    %value = llvm.load %address : !llvm.ptr -> i32
    llvm.return %value : i32
  }
}

// CALLEE: dsv4-run: error: {{.*}}: the program calls @no_such_function, which neither it nor the runtime has
//--- callee.mlir
module attributes {
  dsv4.axis_names = [], dsv4.axis_sizes = array<i64>, dsv4.groups = [], dsv4.sites = [], dsv4.arguments = [],
  dsv4.state_bytes = 0, dsv4.work_buffers = array<i64: 0, 0>, dsv4.work_bytes = 0, dsv4.work_bytes_lower_bound = 0} {
  llvm.func @no_such_function() -> i32
  llvm.func @dsv4_step(%module: !llvm.ptr, %state: !llvm.ptr, %work: !llvm.ptr) -> i32 {
    %value = llvm.call @no_such_function() : () -> i32
    llvm.return %value : i32
  }
}

// STEP: error: 'llvm.func' op must have type '!llvm.func<i32 (ptr, ptr, ptr)>', got '!llvm.func<i32 (ptr)>'
// STEP: dsv4-run: error: {{.*}}: @dsv4_step is not the step of a program
//--- step.mlir
module attributes {
  dsv4.axis_names = [], dsv4.axis_sizes = array<i64>, dsv4.groups = [], dsv4.sites = [], dsv4.arguments = [],
  dsv4.state_bytes = 0, dsv4.work_buffers = array<i64: 0, 0>, dsv4.work_bytes = 0, dsv4.work_bytes_lower_bound = 0} {
  llvm.func @dsv4_step(%module: !llvm.ptr) -> i32 {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    llvm.return %c0 : i32
  }
}
