// RUN: dsv4-opt %s -split-input-file -dsv4-declare-mesh="mesh=dp_shard:2,cp:4" | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-declare-mesh="mesh=dp_shard:2,cp:4" \
// RUN:   -dsv4-declare-mesh="mesh=dp_shard:2,cp:4" -dsv4-declare-mesh | FileCheck %s
// RUN: dsv4-opt %s -split-input-file -dsv4-declare-mesh | FileCheck %s --check-prefix=EMPTY
// RUN: dsv4-opt %s -split-input-file -dsv4-declare-mesh -dsv4-declare-mesh | FileCheck %s --check-prefix=EMPTY

// The mesh stands before the functions; it is declared once.

// CHECK:       module {
// CHECK-NEXT:    dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
// CHECK-NEXT:    func.func @forward
// CHECK-NOT:     dsv4.mesh

// EMPTY:       module {
// EMPTY-NEXT:    dsv4.mesh @mesh []
// EMPTY-NEXT:    func.func @forward
func.func @forward() {
  return
}

// -----

// A module without functions gets one too.

// CHECK:       module @empty {
// CHECK-NEXT:    dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
// CHECK-NEXT:  }

// EMPTY:       module @empty {
// EMPTY-NEXT:    dsv4.mesh @mesh []
// EMPTY-NEXT:  }
module @empty {
}

// -----

// A declared mesh stays where it is, an empty option keeps it.

// CHECK:       module @declared {
// CHECK-NEXT:    func.func private @f()
// CHECK-NEXT:    dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
// CHECK-NEXT:  }

// EMPTY:       module @declared {
// EMPTY-NEXT:    func.func private @f()
// EMPTY-NEXT:    dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
// EMPTY-NEXT:  }
module @declared {
  func.func private @f()
  dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 4]
}
