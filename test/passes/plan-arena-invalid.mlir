// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-plan-arena
// RUN: not dsv4-opt %s -split-input-file -dsv4-plan-arena -mlir-print-ir-after-failure 2>&1 | FileCheck %s

// Buffers of unknown size or lifetime have no place.

func.func @dynamic_shape(%n: index) {
  // expected-error @below {{'memref.alloc' op must have a static shape and identity layout, got 'memref<?xf32>'}}
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @layout() {
  // expected-error @below {{'memref.alloc' op must have a static shape and identity layout, got 'memref<4xf32, strided<[2]>>'}}
  %0 = memref.alloc() : memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @nested_region(%c: i1) {
  scf.if %c {
    // expected-error @below {{'memref.alloc' op must stand in the body of its function, not in a nested region}}
    %0 = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

// expected-error @below {{'func.func' op must have one block before its buffers are placed}}
func.func @several_blocks() {
  cf.br ^end
^end:
  return
}

// -----

// A legal callee in front: the module is as it was, no function has an arena.

// CHECK:       func.func private @legal_callee(%{{[^,]*}}: memref<4xf32>) {
// CHECK-NEXT:    memref.alloc() : memref<4xf32>
// CHECK:       func.func @illegal_caller(%{{[^,]*}}: memref<4xf32>, %{{[^,]*}}: index) {
// CHECK-NEXT:    call @legal_callee(%{{[^,]*}}) : (memref<4xf32>) -> ()
// CHECK-NEXT:    memref.alloc(%{{[^,]*}}) : memref<?xf32>
func.func private @legal_callee(%x: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  memref.copy %x, %0 : memref<4xf32> to memref<4xf32>
  return
}
func.func @illegal_caller(%x: memref<4xf32>, %n: index) {
  call @legal_callee(%x) : (memref<4xf32>) -> ()
  // expected-error @below {{'memref.alloc' op must have a static shape and identity layout, got 'memref<?xf32>'}}
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @caller(%n: index) {
  call @callee(%n) : (index) -> ()
  return
}
func.func private @callee(%n: index) {
  // expected-error @below {{'memref.alloc' op must have a static shape and identity layout, got 'memref<?xf32>'}}
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

// expected-error @below {{'func.func' op calls itself, so its memory has no bound}}
func.func @recursion() {
  call @recursion() : () -> ()
  return
}

// -----

func.func @main() {
  call @even() : () -> ()
  return
}
// expected-error @below {{'func.func' op calls itself, so its memory has no bound}}
func.func private @even() {
  call @odd() : () -> ()
  return
}
func.func private @odd() {
  call @even() : () -> ()
  return
}

// -----

// expected-error @below {{'func.func' op has 'dsv4.work_bytes', expected buffers to be placed once}}
func.func @twice(%w: memref<0xi8> {dsv4.work}) attributes {dsv4.work_bytes = 0 : i64} {
  return
}

// -----

func.func @index() {
  // expected-error @below {{'memref.alloc' op must hold integers or floats, got 'memref<4xindex>'}}
  %0 = memref.alloc() : memref<4xindex>
  return
}

// -----

// Every use must be seen: buffers are not freed and not known by another name.

func.func @freed() {
  %0 = memref.alloc() : memref<4xf32>
  // expected-error @below {{'memref.dealloc' op frees a buffer that the arena will hold}}
  memref.dealloc %0 : memref<4xf32>
  return
}

// -----

func.func @selected(%c: i1, %x: memref<4xf32>) {
  %0 = memref.alloc() : memref<2x2xf32>
  %1 = memref.collapse_shape %0 [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  // expected-error @below {{'arith.select' op hands on a buffer, whose last use is then unknown, expected views only}}
  %2 = arith.select %c, %1, %x : memref<4xf32>
  return
}

// -----

func.func private @returned() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  // expected-error @below {{'func.return' op hands on a buffer, whose last use is then unknown, expected views only}}
  return %0 : memref<4xf32>
}

// -----

func.func @large(%x: memref<1xi8>) {
  %0 = memref.alloc() : memref<2305843009213693952xi8>
  // expected-error @below {{'memref.alloc' op brings the buffers of @large to more than 2^62 bytes}}
  %1 = memref.alloc() : memref<4294967296x4294967296xf32>
  memref.copy %0, %0 : memref<2305843009213693952xi8> to memref<2305843009213693952xi8>
  memref.copy %1, %1 : memref<4294967296x4294967296xf32> to memref<4294967296x4294967296xf32>
  return
}
