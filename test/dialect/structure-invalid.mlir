// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function or declaration per label of modules and FSDP units.

// ModuleOp C1: the path is not empty and extends the enclosing one.
func.func @module_c1_empty() {
  // expected-error@+1 {{'dsv4.module' op 'path' must not be empty}}
  dsv4.module "" class "Model" {
    dsv4.yield
  }
  return
}

// -----

func.func @module_c1_nested() {
  dsv4.module "model" class "Model" {
    // expected-error@+1 {{'dsv4.module' op 'path' must extend "model", got "modelx.norm"}}
    dsv4.module "modelx.norm" class "Norm" {
      dsv4.yield
    }
    dsv4.yield
  }
  return
}

// -----

// ModuleOp C2: the yielded types are the result types.
func.func @module_c2(%x: tensor<2xf32>) {
  // expected-error@+1 {{'dsv4.module' op yields 'tensor<2xf32>', expected 'tensor<3xf32>'}}
  %y = dsv4.module "model" class "Model" -> tensor<3xf32> {
    dsv4.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @module_c2_number(%x: tensor<2xf32>) {
  // expected-error@+1 {{'dsv4.module' op yields 1 values, expected 0}}
  dsv4.module "model" class "Model" {
    dsv4.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @module_without_yield() {
  // expected-error@+1 {{'dsv4.module' op must end in dsv4.yield}}
  "dsv4.module"() ({
    "func.return"() : () -> ()
  }) {path = "model", class_name = "Model"} : () -> ()
  return
}

// -----

func.func @module_empty_block() {
  // expected-error@+1 {{'dsv4.module' op expects a non-empty block}}
  "dsv4.module"() ({
  ^bb0:
  }) {path = "model", class_name = "Model"} : () -> ()
  return
}

// -----

func.func @yield_outside() {
  // expected-error@+1 {{'dsv4.yield' op expects parent op 'dsv4.module'}}
  dsv4.yield
}

// -----

// FsdpUnitOp C1: the mesh declares every axis.
// expected-error@+1 {{'dsv4.fsdp_unit' op 'mesh' must name a dsv4.mesh, got @nowhere}}
dsv4.fsdp_unit @c1 roots [] on @nowhere [] params [] gather bf16 reduce f32

// -----

// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op axis "dp_shard" is not declared by @mesh}}
dsv4.fsdp_unit @c1_axis roots [] on @mesh ["dp_shard"] params [] gather bf16 reduce f32

// -----

// FsdpUnitOp C2: parameters are unique.
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op parameter "a" is listed twice}}
dsv4.fsdp_unit @c2 roots [] on @mesh ["cp"] params ["a", "b", "a"] gather bf16 reduce f32

// -----

// FsdpUnitOp C3: an island is at least 32 bits wide.
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op is an island and needs a float of at least 32 bits, got 'bf16'}}
dsv4.fsdp_unit @c3 roots [] on @mesh ["cp"] params [] gather f32 reduce bf16 island

// -----

// FsdpUnitOp C4: gather and reduce dtypes are floats.
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op gathers and reduces floats, got 'i32'}}
dsv4.fsdp_unit @c4 roots [] on @mesh ["cp"] params [] gather i32 reduce f32

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op gathers and reduces floats, got '() -> ()'}}
dsv4.fsdp_unit @c4_function roots [] on @mesh ["cp"] params [] gather f32 reduce () -> ()

// -----

// FsdpUnitOp C5: the form of buffers and segments.
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op buffer 0 needs a float 'dtype', 'frozen', 'total', 'shard' and 'segments'}}
dsv4.fsdp_unit @c5 roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [1 : i64]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op buffer 0 needs a float 'dtype', 'frozen', 'total', 'shard' and 'segments'}}
dsv4.fsdp_unit @c5_negative roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 4 : i64, shard = -2 : i64, segments = []}]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op a segment of buffer 0 needs 'name', 'offset' and 'shape'}}
dsv4.fsdp_unit @c5_segment roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 4 : i64, shard = 2 : i64, segments = [{name = "a", offset = 0 : i64}]}]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op segment "a" of buffer 0 must start after the one before it and end within 4 elements}}
dsv4.fsdp_unit @c5_end roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 4 : i64, shard = 2 : i64, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 5>}]}]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op segment "b" of buffer 0 must start after the one before it and end within 4 elements}}
dsv4.fsdp_unit @c5_overlap roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 4 : i64, shard = 2 : i64, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 2>}, {name = "b", offset = 1 : i64, shape = array<i64: 2>}]}]

// -----

dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op segment "a" of buffer 0 must start after the one before it and end within 4 elements}}
dsv4.fsdp_unit @c5_overflow roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 4 : i64, shard = 2 : i64, segments = [{name = "a", offset = 0 : i64, shape = array<i64: 4294967296, 4294967296>}]}]

// -----

// FsdpUnitOp C6: the shards hold the buffer.
dsv4.mesh @mesh ["cp" = 2]
// expected-error@+1 {{'dsv4.fsdp_unit' op buffer 0 has 5 elements, but 2 shards of 2 hold 4}}
dsv4.fsdp_unit @c6 roots [] on @mesh ["cp"] params [] gather f32 reduce f32 buffers [{dtype = f32, frozen = false, total = 5 : i64, shard = 2 : i64, segments = []}]
