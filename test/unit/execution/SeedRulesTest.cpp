//===- SeedRulesTest.cpp - Rules by name are those of the inventory -------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SeedRules.h"

#include "dsv4/Frontend/ParameterInventory.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

static void expectRules(llvm::ArrayRef<ParameterSpec> parameters,
                        int64_t numExperts) {
  for (const ParameterSpec &parameter : parameters) {
    SCOPED_TRACE(parameter.name);
    std::optional<SeedRule> rule =
        getSeedRule(parameter.name, parameter.shape, numExperts);
    ASSERT_TRUE(rule.has_value());
    EXPECT_EQ(rule->scale, parameter.seedScale);
    EXPECT_EQ(rule->shift, parameter.seedShift);
    EXPECT_EQ(rule->numExperts, parameter.seedNumExperts);
    EXPECT_EQ(rule->numExperts != 0,
              parameter.seedKind == SeedKind::TokenToExpert);
  }
}

TEST(SeedRulesTest, AgreeWithTheInventoryOfEveryExample) {
  std::error_code code;
  unsigned numConfigs = 0;
  for (llvm::sys::fs::directory_iterator it(DSV4_EXAMPLE_CONFIGS, code), end;
       it != end && !code; it.increment(code)) {
    if (llvm::sys::path::extension(it->path()) != ".json")
      continue;
    SCOPED_TRACE(it->path());
    ModelConfig config = llvm::cantFail(readModelConfigFile(it->path()));
    expectRules(buildParameterInventory(config), config.numExperts);
    expectRules(buildMtpParameterInventory(config), config.numExperts);
    ++numConfigs;
  }
  EXPECT_GE(numConfigs, 5u);
}

TEST(SeedRulesTest, TablesNeedTheNumberOfExperts) {
  EXPECT_EQ(findRouterOfTable("model.layers.0.mlp.gate.tid2eid"),
            "model.layers.0.mlp.gate.weight");
  EXPECT_EQ(findRouterOfTable("model.layers.0.mlp.gate.weight"), std::nullopt);
  EXPECT_EQ(getSeedRule("model.layers.0.mlp.gate.tid2eid", {96, 2}),
            std::nullopt);
}

TEST(SeedRulesTest, UnknownVectorsHaveNoRule) {
  EXPECT_EQ(getSeedRule("encoder.bias", {4}), std::nullopt);
  EXPECT_EQ(getSeedRule("empty.weight", {4, 0}), std::nullopt);
  EXPECT_TRUE(getSeedRule("encoder.weight", {4, 3}).has_value());
}
