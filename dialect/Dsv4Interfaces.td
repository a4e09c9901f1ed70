//===- Dsv4Interfaces.td - interfaces of dsv4 operations ----*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_INTERFACES_TD
#define DSV4_INTERFACES_TD

include "mlir/IR/OpBase.td"

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::mlir::dsv4";
  let description = [{
    How the dimensions of operands and results belong together. The layout
    analysis reads this; it knows no operation by name.
  }];
  let methods = [
    InterfaceMethod<"The factors of this operation and where each occurs.",
                    "::mlir::dsv4::LayoutRule", "getLayoutRule">
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::dsv4";
  let description = [{
    An operation in which all ranks of a group take part. The group is the set
    of ranks that differ only in their coordinates along `axes` of `mesh`,
    ordered row-major over `axes`.
  }];
  let methods = [
    InterfaceMethod<"The mesh symbol.", "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The mesh axes that span the group.", "::mlir::ArrayAttr", "getAxesAttr">
  ];
  let extraSharedClassDeclaration = [{
    /// Number of ranks in the group, from the mesh declaration; failure with a
    /// located error when the mesh or an axis does not exist.
    ::llvm::FailureOr<int64_t> getGroupSize() {
      return ::mlir::dsv4::computeGroupSize($_op, $_op.getMeshAttr(), $_op.getAxesAttr());
    }
  }];
}

#endif // DSV4_INTERFACES_TD
