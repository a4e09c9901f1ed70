//===- BlockRunsTest.cpp - Operations of one block of the model -----------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BlockRuns.h"

#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class BlockRunsTest : public ::testing::Test {
protected:
  BlockRunsTest() {
    context.loadDialect<Dsv4Dialect, arith::ArithDialect, func::FuncDialect>();
    context.allowUnregisteredDialects();
  }

  /// The runs of a function with this body, each as "block: op op".
  std::vector<std::string> getRuns(const std::string &body) {
    module = parseSourceString<mlir::ModuleOp>(
        "func.func @f() {\n" + body + "\nreturn\n}", &context);
    std::vector<std::string> result;
    if (!module)
      return {"does not parse"};
    auto function = *module->getOps<func::FuncOp>().begin();
    for (const BlockRun &run : findBlockRuns(function.getBody().front())) {
      std::string text = run.block.str() + ":";
      for (Operation *op = run.first;; op = op->getNextNode()) {
        text += " " + op->getName().getStringRef().str();
        if (op == run.last)
          break;
      }
      result.push_back(text);
    }
    return result;
  }

  MLIRContext context;
  OwningOpRef<mlir::ModuleOp> module;
};

using Texts = std::vector<std::string>;

} // namespace

TEST(BlockOfPathTest, EndsAtTheFirstNumber) {
  EXPECT_EQ(getBlockOfPath("model.layers.3"), "model.layers.3");
  EXPECT_EQ(getBlockOfPath("model.layers.12.mlp.experts.7.w1"),
            "model.layers.12");
  EXPECT_EQ(getBlockOfPath("0"), "0");
  EXPECT_EQ(getBlockOfPath("0.norm"), "0");
}

TEST(BlockOfPathTest, NeedsAWholeComponent) {
  EXPECT_EQ(getBlockOfPath(""), "");
  EXPECT_EQ(getBlockOfPath("model.norm"), "");
  EXPECT_EQ(getBlockOfPath("model.layer3.norm"), "");
  EXPECT_EQ(getBlockOfPath("model.3a.norm"), "");
  EXPECT_EQ(getBlockOfPath("model.-3"), "");
  EXPECT_EQ(getBlockOfPath("model.3a.layers.5.norm"), "model.3a.layers.5");
}

TEST(BlockOfPathTest, EmptyComponentsAreNoNumbers) {
  EXPECT_EQ(getBlockOfPath("."), "");
  EXPECT_EQ(getBlockOfPath("model..4"), "model..4");
  EXPECT_EQ(getBlockOfPath("model."), "");
}

TEST_F(BlockRunsTest, NoOperations) { EXPECT_EQ(getRuns(""), Texts{}); }

TEST_F(BlockRunsTest, BlockOfAnOperation) {
  getRuns(R"("t.a"() {dsv4.path = "m.1.norm"} : () -> ()
             "t.b"() : () -> ())");
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  Operation *first = &function.getBody().front().front();
  EXPECT_EQ(getBlockOf(first), "m.1");
  EXPECT_EQ(getBlockOf(first->getNextNode()), "");
}

TEST_F(BlockRunsTest, SplitsWhereTheBlockChanges) {
  EXPECT_EQ(getRuns(R"(
    "t.a"() : () -> ()
    "t.b"() {dsv4.path = "m.norm"} : () -> ()
    "t.c"() {dsv4.path = "m.1.x"} : () -> ()
    "t.d"() {dsv4.path = "m.1.y"} : () -> ()
    "t.e"() {dsv4.path = "m.11"} : () -> ()
    "t.f"() : () -> ()
    "t.g"() {dsv4.path = "m.1"} : () -> ())"),
            (Texts{": t.a t.b", "m.1: t.c t.d", "m.11: t.e", ": t.f", "m.1: t.g"}));
}

TEST_F(BlockRunsTest, SplitsWhereTheDirectionChanges) {
  EXPECT_EQ(getRuns(R"(
    "t.a"() {dsv4.path = "m.1.x"} : () -> ()
    "t.b"() {dsv4.path = "m.1.y", dsv4.direction = "forward"} : () -> ()
    "t.c"() {dsv4.path = "m.1.y", dsv4.direction = "backward"} : () -> ()
    "t.d"() {dsv4.path = "m.1.x", dsv4.direction = "backward"} : () -> ())"),
            (Texts{"m.1: t.a t.b", "m.1: t.c t.d"}));
}

TEST_F(BlockRunsTest, ConstantsBelongToTheRunAroundThem) {
  EXPECT_EQ(getRuns(R"(
    "t.a"() {dsv4.path = "m.1"} : () -> ()
    %0 = arith.constant 0 : index
    "t.b"() {dsv4.path = "m.1"} : () -> ()
    %1 = arith.constant {dsv4.path = "m.2"} 1 : index
    "t.c"() {dsv4.path = "m.2"} : () -> ())"),
            (Texts{"m.1: t.a arith.constant t.b arith.constant", "m.2: t.c"}));
}

TEST_F(BlockRunsTest, AConstantInFrontHasItsOwnRun) {
  EXPECT_EQ(getRuns(R"(
    %0 = arith.constant 0 : index
    "t.a"() {dsv4.path = "m.1"} : () -> ())"),
            (Texts{": arith.constant", "m.1: t.a"}));
}

TEST_F(BlockRunsTest, LooksAtTheOperationNotIntoItsRegions) {
  EXPECT_EQ(getRuns(R"(
    "t.a"() ({ "t.in"() {dsv4.path = "m.2"} : () -> () }) {dsv4.path = "m.1"} : () -> ()
    "t.b"() {dsv4.path = "m.1"} : () -> ())"),
            (Texts{"m.1: t.a t.b"}));
}

TEST_F(BlockRunsTest, APathThatIsNoStringIsNone) {
  EXPECT_EQ(getRuns(R"("t.a"() {dsv4.other = "m.1"} : () -> ())"),
            (Texts{": t.a"}));
}
