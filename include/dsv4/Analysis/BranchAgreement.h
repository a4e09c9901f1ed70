//===- BranchAgreement.h - collectives under branches ----------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective that only some ranks of its group reach never ends. It may stand
// under a branch or loop if all ranks of the group decide alike:
//
//   %r = dsv4.axis_index @mesh ["dp_shard"]
//   %c = arith.cmpi eq, %r, %c0 : index
//   scf.if %c {
//     dsv4.all_reduce sum %x on @mesh ["cp"]         // legal
//     dsv4.all_reduce sum %x on @mesh ["dp_shard"]   // error
//   }
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_BRANCHAGREEMENT_H
#define DSV4_ANALYSIS_BRANCHAGREEMENT_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dsv4 {

/// Fails with a located error when a collective, or a call that leads to one,
/// stands under a branch or loop that ranks of its group may decide
/// differently. Values differ over the axes of `dsv4.axis_index` and of
/// `dsv4.layout` that they depend on; `dsv4.agree` and reductions make them
/// equal over their group.
LogicalResult verifyBranchAgreement(ModuleOp module);

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_BRANCHAGREEMENT_H
