// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of kernel launches.

// LaunchOp C1: the kernel exists, is marked, and takes these operands.
func.func @c1_missing(%a: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op 'kernel' must name a function marked 'dsv4.kernel', got @nowhere}}
  dsv4.launch @nowhere(%a) writes [0] : memref<8xf32>
  return
}

// -----

func.func private @plain(memref<8xf32>)
func.func @c1_unmarked(%a: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op 'kernel' must name a function marked 'dsv4.kernel', got @plain}}
  dsv4.launch @plain(%a) writes [0] : memref<8xf32>
  return
}

// -----

func.func private @kernel() -> index attributes {dsv4.kernel}
func.func @c1_results() {
  // expected-error@+1 {{'dsv4.launch' op 'kernel' must have no results, got @kernel}}
  dsv4.launch @kernel() writes []
  return
}

// -----

func.func private @kernel(memref<8xf32>, index) attributes {dsv4.kernel}
func.func @c1_number(%a: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op has 1 operands, expected 2}}
  dsv4.launch @kernel(%a) writes [0] : memref<8xf32>
  return
}

// -----

func.func private @kernel(memref<8xf32>) attributes {dsv4.kernel}
func.func @c1_shape(%a: memref<9xf32>) {
  // expected-error@+1 {{'dsv4.launch' op operand 0 has type 'memref<9xf32>', expected 'memref<8xf32>'}}
  dsv4.launch @kernel(%a) writes [0] : memref<9xf32>
  return
}

// -----

func.func private @kernel(memref<8xf32>) attributes {dsv4.kernel}
func.func @c1_strides(%a: memref<8xf32, strided<[2]>>) {
  // expected-error@+1 {{'dsv4.launch' op operand 0 has type 'memref<8xf32, strided<[2]>>', expected 'memref<8xf32>'}}
  dsv4.launch @kernel(%a) writes [0] : memref<8xf32, strided<[2]>>
  return
}

// -----

func.func private @kernel(memref<*xf32>) attributes {dsv4.kernel}
func.func @c1_scalar(%a: tensor<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op operand 0 has type 'tensor<8xf32>', expected 'memref<*xf32>'}}
  dsv4.launch @kernel(%a) writes [] : tensor<8xf32>
  return
}

// -----

// LaunchOp C2: only memref operands are written.
func.func private @kernel(index) attributes {dsv4.kernel}
func.func @c2_scalar(%n: index) {
  // expected-error@+1 {{'dsv4.launch' op 'writes' must name memref operands, got 0}}
  dsv4.launch @kernel(%n) writes [0] : index
  return
}

// -----

func.func private @kernel(memref<8xf32>) attributes {dsv4.kernel}
func.func @c2_range(%a: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op 'writes' must name memref operands, got 1}}
  dsv4.launch @kernel(%a) writes [1] : memref<8xf32>
  return
}

// -----

func.func private @kernel(memref<8xf32>) attributes {dsv4.kernel}
func.func @c2_negative(%a: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.launch' op 'writes' must name memref operands, got -1}}
  dsv4.launch @kernel(%a) writes [-1] : memref<8xf32>
  return
}
