//===- Dsv4Ops.td - all operations --------------------------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_OPS_TD
#define DSV4_OPS_TD

include "Dsv4MeshOps.td"
include "Dsv4StructureOps.td"
include "Dsv4CollectiveOps.td"
include "Dsv4GradientOps.td"
include "Dsv4ModelOps.td"
include "Dsv4AdjointOps.td"
include "Dsv4KernelOps.td"

#endif // DSV4_OPS_TD
