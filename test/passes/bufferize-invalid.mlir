// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-bufferize

// Only functions on static tensors can become functions on buffers.

// expected-error @below {{'func.func' op must take static tensors, got 'tensor<?xf32>'}}
func.func @dynamic_argument(%x: tensor<4xf32>, %y: tensor<?xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op must take static tensors, got 'tensor<*xf32>'}}
func.func @unranked_argument(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op must take static tensors, got 'index'}}
func.func @scalar_argument(%x: index) {
  return
}

// -----

// expected-error @below {{'func.func' op must take static tensors, got 'memref<4xf32>'}}
func.func @twice(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op must return static tensors, got 'tensor<?xf32>'}}
func.func @dynamic_result(%x: tensor<4xf32>) -> tensor<?xf32> {
  %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// expected-error @below {{'func.func' op must return static tensors, got 'f32'}}
func.func @scalar_result(%x: tensor<f32>) -> f32 {
  %0 = tensor.extract %x[] : tensor<f32>
  return %0 : f32
}

// -----

// expected-error @below {{'func.func' op must have one block}}
func.func @several_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}

// -----

// A legal function before it changes nothing.

func.func @legal(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{'func.func' op must take static tensors, got 'f32'}}
func.func @illegal(%x: f32) {
  return
}

// -----

// An operation on tensors that is not in destination style.

func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{op was not bufferized}}
  %0 = math.absf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Results become arguments, which no call would pass.

// expected-error @below {{'func.func' op is public and must have no callers, expected all of them inlined}}
func.func @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op must take static tensors, got 'tensor<4x!dsv4.token>'}}
func.func @element(%x: tensor<4x!dsv4.token>) {
  return
}
