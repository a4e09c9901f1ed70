// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -convert-dsv4-to-runtime
// RUN: not dsv4-opt %s -split-input-file -convert-dsv4-to-runtime -mlir-print-ir-after-failure 2>&1 | FileCheck %s

// What can't stand in the main program, here behind a block that has been
// lowered already: the module is as it was.

// CHECK:       IR Dump After ConvertDsv4ToRuntimePass Failed
// CHECK-NEXT:  module {
// CHECK-NEXT:    dsv4.mesh @mesh ["cp" = 2]
// CHECK-NEXT:    func.func private @kernel(%[[A:.*]]: memref<4xf32>) attributes {dsv4.kernel} {
// CHECK-NEXT:      return
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @block(%[[X:.*]]: memref<4xf32>) {
// CHECK-NEXT:      dsv4.launch @kernel(%[[X]]) writes [0] : memref<4xf32>
// CHECK-NEXT:      return
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func @forward(%[[X:.*]]: memref<4xf32> {dsv4.batch = "x"}, %{{.*}}: memref<64xi8> {dsv4.work}) attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
// CHECK-NEXT:      call @block(%[[X]]) : (memref<4xf32>) -> ()
// CHECK-NEXT:      memref.copy %[[X]], %[[X]]
// CHECK-NEXT:      return
// CHECK-NEXT:    }
// CHECK-NEXT:  }

dsv4.mesh @mesh ["cp" = 2]
func.func private @kernel(%a: memref<4xf32>) attributes {dsv4.kernel} {
  return
}
func.func private @block(%x: memref<4xf32>) {
  dsv4.launch @kernel(%x) writes [0] : memref<4xf32>
  return
}
func.func @forward(%x: memref<4xf32> {dsv4.batch = "x"}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  call @block(%x) : (memref<4xf32>) -> ()
  // expected-error @below {{'memref.copy' op cannot stand in the main program, which only computes addresses, launches kernels and moves data between ranks}}
  memref.copy %x, %x : memref<4xf32> to memref<4xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%c: memref<i32> {dsv4.batch = "c"}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'memref.load' op cannot stand in the main program, which only computes addresses, launches kernels and moves data between ranks}}
  %0 = memref.load %c[] : memref<i32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'arith.constant' op must be an integer in the main program, got 0.000000e+00 : f32}}
  %0 = arith.constant 0.0 : f32
  return
}

// -----

// A program that steers itself.

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  %true = arith.constant true
  // expected-error @below {{'scf.if' op cannot stand in the main program, which only computes addresses, launches kernels and moves data between ranks}}
  scf.if %true {
  }
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op must have one block}}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  cf.br ^end
^end:
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func private @block() -> index {
  %0 = arith.constant 0 : index
  // expected-error @below {{'func.return' op must not return values in the main program}}
  return %0 : index
}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  %0 = call @block() : () -> index
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'func.call' op must not return values in the main program}}
  %0 = call @block() : () -> index
  return
}
func.func private @block() -> index {
  %0 = arith.constant 0 : index
  return %0 : index
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func private @kernel(%a: memref<1xf32>) attributes {dsv4.kernel} {
  return
}
func.func private @block(%x: memref<4xf32, strided<[?]>>) {
  // expected-error @below {{'memref.subview' op needs static strides, got 'memref<4xf32, strided<[?]>>'}}
  %0 = memref.subview %x[1] [1] [1] : memref<4xf32, strided<[?]>> to memref<1xf32, strided<[?], offset: ?>>
  return
}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

// expected-error @below {{'func.func' op needs a dsv4.mesh in its module}}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'dsv4.mesh' op is a second mesh, expected one}}
dsv4.mesh @other ["cp" = 2]
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}
// expected-error @below {{'func.func' op is a second public function besides @forward, expected one}}
func.func @backward() {
  return
}

// -----

// expected-error @below {{expected one public function, got none}}
module {
  dsv4.mesh @mesh ["cp" = 2]
  func.func private @block() {
    return
  }
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op has no work arena: run -dsv4-plan-arena first}}
func.func @forward(%w: memref<64xi8>) attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op argument 1 has no role, expected one of 'dsv4.batch', 'dsv4.buffer', 'dsv4.shard', 'dsv4.param', 'dsv4.result'}}
func.func @forward(%x: memref<4xf32> {dsv4.batch = "x"}, %y: memref<4xf32>, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op argument 0 must be a static buffer}}
func.func @forward(%x: memref<?xf32> {dsv4.batch = "x"}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op argument 0 must hold integers or floats, got 'memref<4xindex>'}}
func.func @forward(%x: memref<4xindex> {dsv4.batch = "x"}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

// A unit that does not exist, and a buffer that the unit does not have.

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op argument 0 must be a flat buffer of a unit}}
func.func @forward(%x: memref<16xf32> {dsv4.shard = @u, dsv4.buffer_index = 0 : i64}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
dsv4.fsdp_unit @u roots ["m"] on @mesh ["cp"] params ["a"] gather f32 reduce f32
  buffers [{dtype = f32, frozen = false, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 8>}], shard = 16 : i64, total = 32 : i64}]
// expected-error @below {{'func.func' op argument 0 must be a flat buffer of a unit}}
func.func @forward(%x: memref<16xf32> {dsv4.shard = @u, dsv4.buffer_index = 1 : i64}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

//===----------------------------------------------------------------------===//
// Names and targets
//===----------------------------------------------------------------------===//

// A block without body.

dsv4.mesh @mesh ["cp" = 2]
func.func private @block(memref<64xi8>)
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'func.call' op calls @block, which has no body}}
  call @block(%w) : (memref<64xi8>) -> ()
  return
}

// -----

// A kernel without body.

dsv4.mesh @mesh ["cp" = 2]
func.func private @kernel(memref<64xi8>) attributes {dsv4.kernel}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'dsv4.launch' op launches @kernel, which has no body}}
  dsv4.launch @kernel(%w) writes [0] : memref<64xi8>
  return
}

// -----

// A call of a kernel.

dsv4.mesh @mesh ["cp" = 2]
func.func private @kernel(%a: memref<64xi8>) attributes {dsv4.kernel} {
  return
}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  // expected-error @below {{'func.call' op calls kernel @kernel, expected a dsv4.launch of it}}
  call @kernel(%w) : (memref<64xi8>) -> ()
  return
}

// -----

// A block that calls the whole.

dsv4.mesh @mesh ["cp" = 2]
func.func private @block(%w: memref<64xi8>) {
  // expected-error @below {{'func.call' op calls @forward, the public function, expected a private one}}
  call @forward(%w) : (memref<64xi8>) -> ()
  return
}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  call @block(%w) : (memref<64xi8>) -> ()
  return
}

// -----

// Names that the program will have.

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op has the name @dsv4_step, which the lowered program gives}}
func.func private @dsv4_step(%w: memref<64xi8>) {
  return
}
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  call @dsv4_step(%w) : (memref<64xi8>) -> ()
  return
}

// -----

// Another declaration of a runtime function.

dsv4.mesh @mesh ["cp" = 2]
// expected-error @below {{'func.func' op has the name @dsv4rt_step_end, which the lowered program gives}}
func.func private @dsv4rt_step_end(i32)
func.func @forward(%w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  return
}

// -----

// A refusal behind a runtime call: no declaration of it stays.

// CHECK:         dsv4.mesh @late ["cp" = 2]
// CHECK-NEXT:    func.func @forward(
// CHECK-NOT:     llvm.
// CHECK:           memref.copy
// CHECK-NOT:     llvm.

dsv4.mesh @late ["cp" = 2]
func.func @forward(%x: memref<4xf32> {dsv4.batch = "x"}, %w: memref<64xi8> {dsv4.work})
    attributes {dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64 : i64, dsv4.work_bytes_lower_bound = 64 : i64} {
  %0 = dsv4.axis_index @late ["cp"]
  // expected-error @below {{'memref.copy' op cannot stand in the main program, which only computes addresses, launches kernels and moves data between ranks}}
  memref.copy %x, %x : memref<4xf32> to memref<4xf32>
  return
}
