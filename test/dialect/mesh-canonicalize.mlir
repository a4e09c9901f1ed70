// RUN: dsv4-opt %s -canonicalize -cse | FileCheck %s

// A rank's coordinate is pure; symbols stay.

// CHECK: dsv4.mesh @mesh
dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]

// CHECK-LABEL: func.func @axis_index(
// CHECK-NEXT: %[[CP:.*]] = dsv4.axis_index @mesh ["cp"]
// CHECK-NEXT: %[[ALL:.*]] = dsv4.axis_index @mesh ["dp_shard", "cp"]
// CHECK-NEXT: return %[[CP]], %[[CP]], %[[ALL]]
func.func @axis_index() -> (index, index, index) {
  %a = dsv4.axis_index @mesh ["cp"]
  %b = dsv4.axis_index @mesh ["cp"]
  %c = dsv4.axis_index @mesh ["dp_shard", "cp"]
  %unused = dsv4.axis_index @mesh ["dp_shard"]
  return %a, %b, %c : index, index, index
}
