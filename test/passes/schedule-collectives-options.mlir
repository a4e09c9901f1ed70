// RUN: not dsv4-opt %s -dsv4-schedule-collectives="prefetch-depth=-1" 2>&1 | FileCheck %s
// CHECK: error: 'prefetch-depth' must be at least 0, got -1
func.func @nothing() {
  return
}
