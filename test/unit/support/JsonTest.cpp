//===- JsonTest.cpp - Strict JSON -----------------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/Json.h"

#include "gtest/gtest.h"

using namespace mlir::dsv4;

/// The message of the error, empty if there is none.
static std::string parseError(llvm::StringRef text) {
  llvm::Expected<llvm::json::Object> object = parseJsonObject(text, "f.json");
  return object ? "" : llvm::toString(object.takeError());
}

TEST(JsonTest, ReadsAnObject) {
  llvm::Expected<llvm::json::Object> object = parseJsonObject(
      " {\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 2}]}\n", "f.json");
  ASSERT_TRUE(bool(object));
  EXPECT_EQ(object->size(), 2u);
}

TEST(JsonTest, RefusesWhatIsNoObject) {
  EXPECT_EQ(parseError(""),
            "f.json: expected a JSON object, got an empty text");
  EXPECT_EQ(parseError(" \n"),
            "f.json: expected a JSON object, got an empty text");
  EXPECT_EQ(parseError("[1]"),
            "f.json: expected a JSON object, got an array of 1 element");
  EXPECT_EQ(parseError("12"), "f.json: expected a JSON object, got 12");
}

TEST(JsonTest, RefusesBadSyntax) {
  for (llvm::StringRef text :
       {"{", "{\"a\"", "{\"a\": NaN}", "{\"a\": 1,}", "{} {}",
        "{\"a\": \"\xff\"}", "{\"a\\", "{\"a\": 1", "]}", "{\"\\ud8", "\""})
    EXPECT_TRUE(
        llvm::StringRef(parseError(text)).starts_with("f.json: invalid JSON: "))
        << text.str() << " gave: " << parseError(text);
}

TEST(JsonTest, RefusesDuplicateKeys) {
  EXPECT_EQ(parseError("{\"a\": 1, \"b\": 2, \"a\": 1}"),
            "f.json: key 'a' appears twice in one object");
  EXPECT_EQ(parseError("{\"x\": [{\"k\" : 1, \"\\u006b\"\n: 2}]}"),
            "f.json: key 'k' appears twice in one object");
  // Strings that are no keys may repeat, brackets inside strings do not count.
  EXPECT_EQ(parseError("{\"a\": [\"a\", \"a\"], \"b\": \"}{\\\"a\\\":\"}"), "");
}

TEST(JsonTest, RefusesDeepNesting) {
  std::string deep = "{\"a\": " + std::string(1000000, '[');
  EXPECT_EQ(parseError(deep), "f.json: JSON is nested deeper than 64 levels");
  std::string legal =
      "{\"a\": " + std::string(63, '[') + std::string(63, ']') + "}";
  EXPECT_EQ(parseError(legal), "");
}

TEST(JsonTest, DescribesValues) {
  EXPECT_EQ(describeJson("text"), "\"text\"");
  EXPECT_EQ(describeJson(nullptr), "null");
  EXPECT_EQ(describeJson(1.5), "1.5");
  EXPECT_EQ(describeJson(llvm::json::Array{1, 2}), "an array of 2 elements");
  EXPECT_EQ(describeJson(llvm::json::Object{}), "an object");
  EXPECT_EQ(describeJson(std::string(100, 'x')).size(), 40u);
}
