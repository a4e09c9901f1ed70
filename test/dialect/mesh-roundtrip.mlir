// RUN: dsv4-opt %s | dsv4-opt | FileCheck %s
// RUN: dsv4-opt %s -mlir-print-op-generic | dsv4-opt | FileCheck %s

// Mesh declarations and rank coordinates: no axis, one axis, several; the
// example of each operation's documentation.

// CHECK: dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]

// CHECK: dsv4.mesh @one_rank []
dsv4.mesh @one_rank []

// CHECK: dsv4.mesh @all_axes ["replicate" = 1, "dp_shard" = 3, "cp" = 5] {dsv4.path = "model"}
dsv4.mesh @all_axes ["replicate" = 1, "dp_shard" = 3, "cp" = 5] {dsv4.path = "model"}

// CHECK-LABEL: func.func @axis_index(
// CHECK: %{{.*}} = dsv4.axis_index @mesh ["cp"]
// CHECK: %{{.*}} = dsv4.axis_index @mesh ["cp", "dp_shard"] {dsv4.path = "model.norm"}
// CHECK: %{{.*}} = dsv4.axis_index @mesh []
func.func @axis_index() -> (index, index, index) {
  %r = dsv4.axis_index @mesh ["cp"]
  %s = dsv4.axis_index @mesh ["cp", "dp_shard"] {dsv4.path = "model.norm"}
  %none = dsv4.axis_index @mesh []
  return %r, %s, %none : index, index, index
}
