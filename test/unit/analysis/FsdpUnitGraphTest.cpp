//===- FsdpUnitGraphTest.cpp - which parameters form one FSDP unit --------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FsdpUnitGraph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class FsdpUnitGraphTest : public ::testing::Test {
protected:
  /// The printed units, or the error.
  std::string plan(ArrayRef<FsdpParameter> parameters,
                   ArrayRef<FsdpModule> modules = {},
                   const FsdpPlanOptions &options = {}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    ScopedDiagnosticHandler handler(
        &context, [&](Diagnostic &diagnostic) { os << diagnostic; });
    auto graph = FsdpUnitGraph::compute(
        parameters, modules, options,
        [&](unsigned) { return emitError(builder.getUnknownLoc()); });
    if (succeeded(graph))
      graph->print(os);
    return text;
  }

  MLIRContext context;
  Builder builder{&context};
  Type bf16 = builder.getBF16Type();
  Type f32 = builder.getF32Type();
};

TEST_F(FsdpUnitGraphTest, PrintsUnitsInOrder) {
  EXPECT_EQ(plan({{"model.layers.0.wq.weight", bf16},
                  {"model.layers.0.attn_hc.fn", f32},
                  {"model.layers.0.attn_hc.base", f32},
                  {"model.norm.weight", bf16}}),
            "unit 0: island gather f32 reduce f32 parameters 2 roots "
            "model.layers.0.attn_hc\n"
            "unit 1: block gather bf16 reduce f32 parameters 1 roots "
            "model.layers.0\n"
            "unit 2: root gather bf16 reduce f32 parameters 1 roots model\n");
}

TEST_F(FsdpUnitGraphTest, IslandInsideAnIslandBelongsToTheOuterOne) {
  EXPECT_EQ(plan({{"model.hc_head.lm_head.weight", f32},
                  {"model.hc_head.fn", f32}}),
            "unit 0: island gather f32 reduce f32 parameters 2 roots "
            "model.hc_head\n");
}

TEST_F(FsdpUnitGraphTest, BlockInsideABlockIsAUnitOfItsOwn) {
  EXPECT_EQ(plan({{"model.layers.0.a.weight", f32},
                  {"model.layers.0.inner.weight", f32}},
                 {{"model.layers.0.inner", "DeepseekV4Block"}}),
            "unit 0: block gather f32 reduce f32 parameters 1 roots "
            "model.layers.0.inner\n"
            "unit 1: block gather f32 reduce f32 parameters 1 roots "
            "model.layers.0\n");
}

TEST_F(FsdpUnitGraphTest, SeveralDtypesKeepTheirOwnWithoutAPolicy) {
  FsdpParameter mixed[] = {{"model.norm.weight", bf16},
                           {"model.norm.bias", f32}};
  EXPECT_EQ(plan(mixed), "unit 0: root gather f32 (as stored) reduce f32 "
                         "parameters 2 roots model\n");
  EXPECT_EQ(plan(mixed, {}, {bf16}),
            "unit 0: root gather bf16 reduce f32 parameters 2 roots model\n");
}

TEST_F(FsdpUnitGraphTest, NoParametersNoUnits) { EXPECT_EQ(plan({}), ""); }

TEST_F(FsdpUnitGraphTest, NamesNeedAModule) {
  EXPECT_EQ(plan({{"weight", f32}}),
            "parameter \"weight\" is in no module, expected a path of at least "
            "two components");
}

} // namespace
