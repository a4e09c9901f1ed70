//===- VerifyMultiplicity.cpp - every contribution counts once ------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The certificate of dsv4/Analysis/Multiplicity.h as a pass. It changes nothing.
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/Multiplicity.h"
#include "dsv4/Passes/Passes.h"

namespace mlir::dsv4 {
#define GEN_PASS_DEF_VERIFYMULTIPLICITYPASS
#include "dsv4/Passes/Passes.h.inc"
} // namespace mlir::dsv4

using namespace mlir;
using namespace mlir::dsv4;

/// Functions that return gradients.
static bool isDifferentiated(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kResultAttr);
    if (name && name.getValue().starts_with("grad"))
      return true;
  }
  return false;
}

static LogicalResult verifyFunction(func::FuncOp function, bool prints) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError()
           << "returns gradients and must have one block: not proven";
  FailureOr<Multiplicity> multiplicity = Multiplicity::compute(function);
  if (failed(multiplicity))
    return failure();
  FailureOr<unsigned> numGradients = multiplicity->verifyResults();
  if (failed(numGradients))
    return failure();
  if (prints)
    function.emitRemark() << "multiplicity: in " << *numGradients
                          << " gradients each contribution counts once";
  return success();
}

namespace {
struct VerifyMultiplicity
    : dsv4::impl::VerifyMultiplicityPassBase<VerifyMultiplicity> {
  using VerifyMultiplicityPassBase::VerifyMultiplicityPassBase;

  void runOnOperation() override {
    bool isAnyFound = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isDifferentiated(function))
        continue;
      isAnyFound = true;
      if (failed(verifyFunction(function, print)))
        return signalPassFailure();
    }
    if (!isAnyFound) {
      getOperation().emitError() << "no function returns gradients: not proven";
      signalPassFailure();
    }
  }
};
} // namespace
