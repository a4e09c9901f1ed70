//===- FunctionCatalogTest.cpp - Equal functions are one ------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FunctionCatalog.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <optional>
#include <string>

using namespace mlir;
using namespace mlir::dsv4;

namespace {

class FunctionCatalogTest : public ::testing::Test {
protected:
  FunctionCatalogTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    context.allowUnregisteredDialects();
    module = parseSourceString<mlir::ModuleOp>("func.func private @kernel()",
                                               &context);
    symbols.emplace(*module);
    catalog.emplace(*symbols);
  }

  /// Takes a function outside any module through the catalog.
  func::FuncOp add(const std::string &text) {
    auto source = parseSourceString<mlir::ModuleOp>(text, &context);
    if (!source)
      return nullptr;
    auto function = *source->getOps<func::FuncOp>().begin();
    function->remove();
    return catalog->findOrInsert(function);
  }

  size_t getCount() {
    return llvm::range_size(module->getOps<func::FuncOp>());
  }

  MLIRContext context;
  OwningOpRef<mlir::ModuleOp> module;
  std::optional<SymbolTable> symbols;
  std::optional<FunctionCatalog> catalog;
};

/// A function `@kernel` of one argument whose body is `op` on `%x`.
std::string makeFunction(const std::string &op,
                         const std::string &type = "i32") {
  return "func.func private @kernel(%x: " + type + ") {\n" + op +
         "\nreturn\n}";
}

} // namespace

TEST_F(FunctionCatalogTest, NewFunctionsGetFreeNames) {
  func::FuncOp a = add(makeFunction("\"t.a\"(%x) : (i32) -> ()"));
  func::FuncOp b = add(makeFunction("\"t.b\"(%x) : (i32) -> ()"));
  ASSERT_TRUE(a && b);
  EXPECT_NE(a, b);
  EXPECT_NE(a.getSymName(), "kernel");
  EXPECT_NE(a.getSymName(), b.getSymName());
  EXPECT_EQ(symbols->lookup(a.getSymName()), a.getOperation());
  EXPECT_EQ(getCount(), 3u);
}

TEST_F(FunctionCatalogTest, EqualFunctionsAreOne) {
  std::string text = makeFunction("%0 = arith.addi %x, %x : i32\n"
                                  "\"t.a\"(%0) {n = 1 : i64} : (i32) -> ()");
  func::FuncOp a = add(text);
  EXPECT_EQ(a, add(text));
  EXPECT_EQ(getCount(), 2u);
}

TEST_F(FunctionCatalogTest, NamesOfTheFunctionDoNotCount) {
  func::FuncOp a = add("func.func private @a(%x: i32) { return }");
  func::FuncOp b = add("func.func private @b(%y: i32) { return }");
  EXPECT_EQ(a, b);
}

TEST_F(FunctionCatalogTest, LocationsDoNotCount) {
  func::FuncOp a = add(makeFunction("\"t.a\"(%x) : (i32) -> () loc(\"here\")"));
  func::FuncOp b = add(makeFunction("\n\n\"t.a\"(%x) : (i32) -> () loc(\"there\")"));
  EXPECT_EQ(a, b);
}

TEST_F(FunctionCatalogTest, EverythingElseCounts) {
  const char *ops[] = {
      "\"t.a\"(%x) : (i32) -> ()",
      "\"t.b\"(%x) : (i32) -> ()",
      "\"t.a\"(%x, %x) : (i32, i32) -> ()",
      "\"t.a\"(%x) {n = 1 : i64} : (i32) -> ()",
      "\"t.a\"(%x) {n = 2 : i64} : (i32) -> ()",
      "%0 = \"t.a\"(%x) : (i32) -> i32",
      "%0 = \"t.a\"(%x) : (i32) -> i64",
      "\"t.a\"(%x) ({ \"t.in\"() : () -> () }) : (i32) -> ()",
      "\"t.a\"(%x) ({ \"t.in\"() {n = 1 : i64} : () -> () }) : (i32) -> ()",
      "\"t.a\"(%x) : (i32) -> ()\n\"t.a\"(%x) : (i32) -> ()"};
  SmallVector<func::FuncOp> functions;
  for (const char *op : ops) {
    functions.push_back(add(makeFunction(op)));
    ASSERT_TRUE(functions.back()) << op;
    for (size_t i = 0; i + 1 < functions.size(); ++i)
      EXPECT_NE(functions[i], functions.back()) << op << " and " << ops[i];
  }
  EXPECT_EQ(getCount(), 1 + std::size(ops));
}

TEST_F(FunctionCatalogTest, TypesCountEvenWithoutUse) {
  EXPECT_NE(add(makeFunction("", "i32")), add(makeFunction("", "i64")));
}

TEST_F(FunctionCatalogTest, TheGraphCountsNotOnlyTheOperations) {
  std::string head = "%0 = \"t.a\"(%x) : (i32) -> i32\n"
                     "%1 = \"t.a\"(%x) : (i32) -> i32\n";
  func::FuncOp a = add(makeFunction(head + "\"t.b\"(%0, %1) : (i32, i32) -> ()"));
  func::FuncOp b = add(makeFunction(head + "\"t.b\"(%1, %0) : (i32, i32) -> ()"));
  EXPECT_NE(a, b);
}
