// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// Every constraint of halos, prefixes and messages, by its label.

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["cp" = 2]
func.func @halo_g2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op axis "tp" is not declared by @mesh}}
  %h = dsv4.seq_halo %x on @mesh ["tp"] dim 1 left 1 right 0 : tensor<2x8xf32> -> tensor<2x9xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'dim' must be in [0, 2), got 2}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 2 left 1 right 0 : tensor<2x8xf32> -> tensor<2x9xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c1_channels(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'dim' must be in [0, 1), got 1}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 1 right 0 channels [0, 4] : tensor<2x8xf32> -> tensor<2x9xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c2_negative(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'left' and 'right' must be at least 0, got -1 and 0}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left -1 right 0 : tensor<2x8xf32> -> tensor<2x7xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c2_overflow(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'left' and 'right' are too large, got 9223372036854775807 and 0}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 9223372036854775807 right 0 : tensor<2x8xf32> -> tensor<2x9xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op extends 'tensor<2x8xf32>' by 1 and 2 rows to 'tensor<2x10xf32>', expected 'tensor<2x11xf32>'}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 1 right 2 : tensor<2x8xf32> -> tensor<2x10xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c3(%x: tensor<2x8xi64>) {
  // expected-error@+1 {{'dsv4.seq_halo' op is differentiable and needs a float element type, got 'i64'}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 1 right 0 differentiable : tensor<2x8xi64> -> tensor<2x9xi64>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c4(%x: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'channels' must be a begin and a size inside the last dimension of 4, got [2, 3]}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 1 right 0 channels [2, 3] : tensor<2x8x4xf32> -> tensor<2x9x4xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_c5(%x: tensor<2x8x4xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo' op 'fill' must be a number of type 'f32', got 1 : i64}}
  %h = dsv4.seq_halo %x on @mesh ["cp"] dim 1 left 1 right 0 fill 1 : i64 : tensor<2x8x4xf32> -> tensor<2x9x4xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_add_c2(%x: tensor<2x9xf32>) {
  // expected-error@+1 {{'dsv4.seq_halo_add' op extends 'tensor<2x9xf32>' by 1 and 0 rows to 'tensor<2x9xf32>', expected 'tensor<2x10xf32>'}}
  %h = dsv4.seq_halo_add %x on @mesh ["cp"] dim 1 left 1 right 0 : tensor<2x9xf32> -> tensor<2x9xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @halo_add_c3(%x: tensor<2x9xi8>) {
  // expected-error@+1 {{'dsv4.seq_halo_add' op adds i32, i64 or floats, got 'i8'}}
  %h = dsv4.seq_halo_add %x on @mesh ["cp"] dim 1 left 1 right 0 : tensor<2x9xi8> -> tensor<2x8xi8>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @prefix_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_prefix' op 'dim' must be in [0, 2), got 3}}
  %h = dsv4.seq_prefix %x on @mesh ["cp"] dim 3 : tensor<2x8xf32> -> tensor<2x16xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @prefix_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'dsv4.seq_prefix' op has one rank's part 'tensor<2x8xf32>' of 'tensor<2x24xf32>', expected 'tensor<2x16xf32>'}}
  %h = dsv4.seq_prefix %x on @mesh ["cp"] dim 1 : tensor<2x8xf32> -> tensor<2x24xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @prefix_c3(%x: tensor<2x8xi32>) {
  // expected-error@+1 {{'dsv4.seq_prefix' op is differentiable and needs a float element type, got 'i32'}}
  %h = dsv4.seq_prefix %x on @mesh ["cp"] dim 1 differentiable : tensor<2x8xi32> -> tensor<2x16xi32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @prefix_add_c3(%x: tensor<2x16xi1>) {
  // expected-error@+1 {{'dsv4.seq_prefix_add' op adds i32, i64 or floats, got 'i1'}}
  %h = dsv4.seq_prefix_add %x on @mesh ["cp"] dim 1 : tensor<2x16xi1> -> tensor<2x8xi1>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @exchange_c1(%a: memref<8xf32>, %b: memref<9xf32>) {
  // expected-error@+1 {{'dsv4.exchange_start' op moves 'memref<8xf32>' into 'memref<9xf32>' in a group of 2 ranks, expected 2 times the elements, of the same type}}
  %t = dsv4.exchange_start sequence prefix %a into %b on @mesh ["cp"] : memref<8xf32> into memref<9xf32>
  dsv4.wait %t, %b reading %a : memref<9xf32>, memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @exchange_c3_missing(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.exchange_start' op 'shifts', 'offsets' and 'counts' must be lists of one length, not empty}}
  %t = dsv4.exchange_start sequence shift %a into %b on @mesh ["cp"] : memref<8xf32> into memref<8xf32>
  dsv4.wait %t, %b reading %a : memref<8xf32>, memref<8xf32>
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]
func.func @exchange_c3_overlap(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error@+1 {{'dsv4.exchange_start' op part of shift -1 at 3 with 2 elements must go to another rank and lie in [4, 8)}}
  %t = dsv4.exchange_start sequence shift %a into %b on @mesh ["cp"] shifts [1, -1] offsets [0, 3] counts [4, 2] : memref<8xf32> into memref<8xf32>
  dsv4.wait %t, %b reading %a : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @pack_c1_outside(%a: tensor<2x4xf32>, %m: tensor<32xi8>) {
  // expected-error@+1 {{'dsv4.pack_message' op places 'tensor<2x4xf32>' at byte 4 of 'tensor<32xi8>', expected a multiple of 4 and a place inside}}
  %r = dsv4.pack_message offsets [4] ins(%a : tensor<2x4xf32>) outs(%m : tensor<32xi8>) -> tensor<32xi8>
  return
}

// -----

func.func @pack_c1_overlap(%a: tensor<4xf32>, %m: tensor<32xi8>) {
  // expected-error@+1 {{'dsv4.pack_message' op operands overlap at byte 12}}
  %r = dsv4.pack_message offsets [12, 0] ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%m : tensor<32xi8>) -> tensor<32xi8>
  return
}

// -----

func.func @pack_c1_number(%a: tensor<4xf32>, %m: tensor<32xi8>) {
  // expected-error@+1 {{'dsv4.pack_message' op has 1 offsets for 2 operands}}
  %r = dsv4.pack_message offsets [12] ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%m : tensor<32xi8>) -> tensor<32xi8>
  return
}

// -----

func.func @unpack_c1(%m: tensor<32xi8>, %e: tensor<3xbf16>) {
  // expected-error@+1 {{'dsv4.unpack_message' op places 'tensor<3xbf16>' at byte 1 of 'tensor<32xi8>', expected a multiple of 2 and a place inside}}
  %r = dsv4.unpack_message offset 1 ins(%m : tensor<32xi8>) outs(%e : tensor<3xbf16>) -> tensor<3xbf16>
  return
}

// -----

func.func @unpack_c2(%m: tensor<32xi32>, %e: tensor<3xbf16>) {
  // expected-error@+1 {{'dsv4.unpack_message' op needs a vector of i8 as message, got 'tensor<32xi32>'}}
  %r = dsv4.unpack_message offset 0 ins(%m : tensor<32xi32>) outs(%e : tensor<3xbf16>) -> tensor<3xbf16>
  return
}
