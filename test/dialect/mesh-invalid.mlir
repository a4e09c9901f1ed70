// RUN: dsv4-opt %s -split-input-file -verify-diagnostics

// One function or declaration per label of the mesh family and of the
// discardable attributes.

// MeshOp C1: as many sizes as names.
// expected-error@+1 {{'dsv4.mesh' op has 2 names but 1 sizes}}
"dsv4.mesh"() {sym_name = "c1", axis_names = ["dp_shard", "cp"], axis_sizes = array<i64: 2>} : () -> ()

// -----

// MeshOp C2: sizes are at least 1.
// expected-error@+1 {{'dsv4.mesh' op size of axis "cp" must be at least 1, got 0}}
dsv4.mesh @c2_zero ["dp_shard" = 2, "cp" = 0]

// -----

// expected-error@+1 {{'dsv4.mesh' op size of axis "cp" must be at least 1, got -4}}
dsv4.mesh @c2_negative ["cp" = -4]

// -----

// MeshOp C3: names are unique and not empty.
// expected-error@+1 {{'dsv4.mesh' op axis "cp" is declared twice}}
dsv4.mesh @c3_twice ["cp" = 2, "cp" = 2]

// -----

// expected-error@+1 {{'dsv4.mesh' op axis names must not be empty}}
dsv4.mesh @c3_empty ["" = 2]

// -----

// MeshOp C4: at most 65,536 ranks, also where the product has no 64-bit value.
// expected-error@+1 {{'dsv4.mesh' op must have at most 65536 ranks}}
dsv4.mesh @c4 ["dp_shard" = 65536, "cp" = 2]

// -----

// expected-error@+1 {{'dsv4.mesh' op must have at most 65536 ranks}}
dsv4.mesh @c4_overflow ["dp_shard" = 4294967296, "cp" = 4294967296]

// -----

// MeshOp C5: known axes.
// expected-error@+1 {{'dsv4.mesh' op axis must be one of "replicate", "dp_shard", "cp", got "ep"}}
dsv4.mesh @c5 ["ep" = 2]

// -----

// AxisIndexOp C1: the mesh exists.
func.func @axis_index_c1() {
  // expected-error@+1 {{'dsv4.axis_index' op 'mesh' must name a dsv4.mesh, got @nowhere}}
  %r = dsv4.axis_index @nowhere ["cp"]
  return
}

// -----

func.func @axis_index_c1_other_symbol() {
  // expected-error@+1 {{'dsv4.axis_index' op 'mesh' must name a dsv4.mesh, got @axis_index_c1_other_symbol}}
  %r = dsv4.axis_index @axis_index_c1_other_symbol ["cp"]
  return
}

// -----

// AxisIndexOp C2: axes are declared, none twice.
// expected-note@+1 {{mesh declared here}}
dsv4.mesh @mesh ["cp" = 2]

func.func @axis_index_c2() {
  // expected-error@+1 {{'dsv4.axis_index' op axis "dp_shard" is not declared by @mesh}}
  %r = dsv4.axis_index @mesh ["dp_shard"]
  return
}

// -----

dsv4.mesh @mesh ["cp" = 2]

func.func @axis_index_c2_twice() {
  // expected-error@+1 {{'dsv4.axis_index' op axis "cp" is named twice}}
  %r = dsv4.axis_index @mesh ["cp", "cp"]
  return
}

// -----

// A1: attributes that hold a name are non-empty strings.
// expected-error@+1 {{'dsv4.path' must be a non-empty string, got ""}}
func.func private @a1_operation() attributes {dsv4.path = ""}

// -----

// expected-error@+1 {{'dsv4.param' must be a non-empty string, got 1 : i64}}
func.func private @a1_argument(tensor<2xf32> {dsv4.param = 1})

// -----

// expected-error@+1 {{'dsv4.result' must be a non-empty string, got unit}}
func.func private @a1_result() -> (tensor<2xf32> {dsv4.result})

// -----

// A2: marks have no value.
// expected-error@+1 {{'dsv4.frozen' must be a unit attribute, got false}}
func.func private @a2_argument(tensor<2xf32> {dsv4.frozen = false})

// -----

// expected-error@+1 {{'dsv4.kernel' must be a unit attribute, got "fast"}}
func.func private @a2_operation() attributes {dsv4.kernel = "fast"}

// -----

// expected-error@+1 {{'dsv4.work' must be a unit attribute, got 64 : i64}}
func.func private @a2_arena(memref<64xi8> {dsv4.work = 64})

// -----

// expected-error@+1 {{'dsv4.phase' must be a non-empty string, got 3 : i64}}
module attributes {dsv4.phase = 3} {
}

// -----

// A3: a number counts from 0.
// expected-error@+1 {{'dsv4.buffer_index' must be an i64 of at least 0, got -1 : i64}}
func.func private @a3_negative(tensor<16xf32> {dsv4.shard = @u, dsv4.buffer_index = -1})

// -----

// expected-error@+1 {{'dsv4.launch' must be an i64 of at least 0, got "first"}}
func.func private @a3_text() attributes {dsv4.launch = "first"}

// -----

// A4: a layout lists the mesh axes that split each dimension.
// expected-error@+1 {{'dsv4.layout' must be an array of arrays of strings, got 3 : i64}}
func.func private @a4_number(tensor<2xf32> {dsv4.layout = 3})

// -----

// expected-error@+1 {{'dsv4.layout' must be an array of arrays of strings, got ["cp"]}}
func.func private @a4_flat(tensor<2xf32> {dsv4.layout = ["cp"]})

// -----

// A5: a global type is that of a tensor.
// expected-error@+1 {{'dsv4.global_type' must be a ranked tensor type, got f32}}
func.func private @a5_scalar(tensor<2xf32> {dsv4.global_type = f32})

// -----

// A6: a shard names its unit.
// expected-error@+1 {{'dsv4.shard' must be a symbol reference, got "x"}}
func.func private @a6_text(tensor<16xf32> {dsv4.shard = "x"})
