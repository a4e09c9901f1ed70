// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function per label of start and wait.

// AllGatherStartOp C1: the destination holds the whole group.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_c1(%x: tensor<8xf32>, %d: tensor<24xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op moves 'tensor<8xf32>' into 'tensor<24xf32>', expected 2/1 of the elements in a group of 2 ranks}}
  %s, %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : tensor<8xf32> into tensor<24xf32> -> tensor<24xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_c1_element(%x: tensor<8xf32>, %d: tensor<16xf64>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op moves 'tensor<8xf32>' into 'tensor<16xf64>', expected 2/1 of the elements in a group of 2 ranks}}
  %s, %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : tensor<8xf32> into tensor<16xf64> -> tensor<16xf64>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_c1_overflow(%x: memref<4611686018427387904x4xf32>, %d: memref<0xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op moves 'memref<4611686018427387904x4xf32>' into 'memref<0xf32>', expected 2/1 of the elements in a group of 2 ranks}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : memref<4611686018427387904x4xf32> into memref<0xf32>
  return
}

// -----

// Operands are static, and both tensors or both memrefs.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_mixed(%x: tensor<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op needs static tensors or static memrefs, got 'tensor<8xf32>' and 'memref<16xf32>'}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : tensor<8xf32> into memref<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_dynamic(%x: memref<?xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op needs static tensors or static memrefs, got 'memref<?xf32>' and 'memref<16xf32>'}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : memref<?xf32> into memref<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_scalar(%x: index, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op needs static tensors or static memrefs, got 'index' and 'memref<16xf32>'}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : index into memref<16xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_vector(%x: vector<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op needs static tensors or static memrefs, got 'vector<8xf32>' and 'memref<16xf32>'}}
  %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : vector<8xf32> into memref<16xf32>
  return
}

// -----

// AllGatherStartOp C2: on memrefs there is only the token.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_gather_start_c2_memref(%x: memref<8xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{'dsv4.all_gather_start' op on tensors returns the destination and a token, on memrefs a token}}
  %s, %t = dsv4.all_gather_start sequence %x into %d on @mesh ["cp"] : memref<8xf32> into memref<16xf32> -> memref<16xf32>
  return
}

// -----

// ReduceScatterStartOp C1 and C2.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @reduce_scatter_start_c1(%x: tensor<8xf32>, %d: tensor<8xf32>) {
  // expected-error@+1 {{'dsv4.reduce_scatter_start' op moves 'tensor<8xf32>' into 'tensor<8xf32>', expected 1/2 of the elements in a group of 2 ranks}}
  %s, %t = dsv4.reduce_scatter_start sequence %x into %d on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @reduce_scatter_start_c2_memref(%x: memref<8xf32>, %d: memref<4xf32>) {
  // expected-error@+1 {{'dsv4.reduce_scatter_start' op on tensors returns the destination and a token, on memrefs a token}}
  %s, %t = dsv4.reduce_scatter_start sequence %x into %d on @mesh ["cp"] : memref<8xf32> into memref<4xf32> -> memref<4xf32>
  return
}

// -----

// AllReduceStartOp C1 and C2, and the element types of all_reduce.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_start_c1(%x: tensor<8xf32>, %d: tensor<9xf32>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op moves 'tensor<8xf32>' into 'tensor<9xf32>', expected 1/1 of the elements in a group of 1 ranks}}
  %s, %t = dsv4.all_reduce_start scalar sum %x into %d on @mesh ["cp"] : tensor<8xf32> into tensor<9xf32> -> tensor<9xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_start_c2_memref(%x: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op on tensors returns the destination and a token, on memrefs a token}}
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : memref<8xf32> into memref<8xf32> -> memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @all_reduce_start_element(%x: memref<8xi8>) {
  // expected-error@+1 {{'dsv4.all_reduce_start' op adds i32, i64 or floats, got 'i8'}}
  %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : memref<8xi8> into memref<8xi8>
  return
}

// -----

// WaitOp C1: the token comes from a start, which made `started` and read the source.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c1_token(%t: !dsv4.token, %x: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.wait' op must wait for the token of a start}}
  dsv4.wait %t, %x reading %x : memref<8xf32>, memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c1_type(%x: memref<8xf32>, %n: index) {
  %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
  // expected-error@+1 {{'dsv4.wait' op waits for a tensor or a memref, got 'index'}}
  dsv4.wait %t, %n reading %x : index, memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c1_mixed(%x: tensor<8xf32>, %m: memref<8xf32>) {
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  // expected-error@+1 {{'dsv4.wait' op mixes tensors and memrefs}}
  %r = dsv4.wait %t, %s reading %m : tensor<8xf32>, memref<8xf32> -> tensor<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c1_started(%x: tensor<8xf32>) {
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  // expected-error@+1 {{'dsv4.wait' op must wait for the started value of its start}}
  %r = dsv4.wait %t, %x reading %x : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c1_source(%x: tensor<8xf32>, %y: tensor<8xf32>) {
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  // expected-error@+1 {{'dsv4.wait' op must read the source of its start}}
  %r = dsv4.wait %t, %s reading %y : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// WaitOp C2: token and started value have no other use.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c2_started(%x: tensor<8xf32>) {
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  // expected-error@+1 {{'dsv4.wait' op must be the only use of its token and started value}}
  %r = dsv4.wait %t, %s reading %x : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %u = tensor.extract_slice %s[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c2_token(%x: memref<8xf32>) {
  %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
  // expected-error@+1 {{'dsv4.wait' op must be the only use of its token and started value}}
  dsv4.wait %t, %x reading %x : memref<8xf32>, memref<8xf32>
  dsv4.wait %t, %x reading %x : memref<8xf32>, memref<8xf32>
  return
}

// -----

// WaitOp C3: the result is the started tensor.
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c3_tensor(%x: tensor<8xf32>) {
  %s, %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : tensor<8xf32> into tensor<8xf32> -> tensor<8xf32>
  // expected-error@+1 {{'dsv4.wait' op returns the started tensor, or nothing on memrefs}}
  dsv4.wait %t, %s reading %x : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

func.func @wait_c3_memref(%x: memref<8xf32>) {
  %t = dsv4.all_reduce_start scalar sum %x into %x on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
  // expected-error@+1 {{'dsv4.wait' op returns the started tensor, or nothing on memrefs}}
  %r = dsv4.wait %t, %x reading %x : memref<8xf32>, memref<8xf32> -> memref<8xf32>
  return
}
