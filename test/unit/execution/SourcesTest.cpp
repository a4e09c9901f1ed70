//===- SourcesTest.cpp - Batch and parameter files ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Sources.h"

#include "dsv4/Support/NameSeed.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

namespace {

class SourcesTest : public ::testing::Test {
protected:
  SourcesTest() {
    program.arguments.resize(2);
    ProgramArgument &ids = program.arguments[0];
    ids.name = "input_ids";
    ids.dtype = DSV4RT_I64;
    ids.dims = {{2, 2, {}}, {2, 2, {}}};
    ProgramArgument &labels = program.arguments[1];
    labels = ids;
    labels.name = "labels";
    program.parameters["model.embed_tokens.weight"] = {DSV4RT_F32, {4, 3}};
    program.parameters["model.norm.weight"] = {DSV4RT_BF16, {3}};
    int descriptor;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("sources", "safetensors",
                                                    descriptor, path));
    llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  }
  ~SourcesTest() override { llvm::sys::fs::remove(path); }

  void write(llvm::ArrayRef<TensorRef> tensors) {
    llvm::cantFail(writeSafeTensors(path, tensors));
  }
  std::string openParameters() {
    auto source = ParameterSource::open(program, path.str().str());
    return source ? "" : llvm::toString(source.takeError());
  }
  std::string openBatch(std::vector<int64_t> ids, std::vector<int64_t> labels) {
    write({{"input_ids", TensorType::I64, {2, 2}, asBytes<int64_t>(ids)},
           {"labels", TensorType::I64, {2, 2}, asBytes<int64_t>(labels)}});
    auto source = BatchSource::open(program, path.str().str());
    return source ? "" : llvm::toString(source.takeError());
  }
  std::string place(const char *rest) { return (path + rest).str(); }

  Program program;
  llvm::SmallString<128> path;
  std::vector<float> embedding = std::vector<float>(12, 1.0f);
  std::vector<uint16_t> norm = std::vector<uint16_t>(3, 0x3F80);
};

} // namespace

TEST_F(SourcesTest, SeededValuesOfPartsAreThoseOfTheWhole) {
  ParameterSource source =
      llvm::cantFail(ParameterSource::createFromNames(program));
  std::vector<float> whole(12), part(5);
  fillUniform("model.embed_tokens.weight", 1.0, 0.0, 0, whole);
  source.read("model.embed_tokens.weight", 7, 5, part.data());
  EXPECT_TRUE(llvm::equal(part, llvm::ArrayRef(whole).drop_front(7)));
}

TEST_F(SourcesTest, SavedParametersAreReadBack) {
  ParameterSource seeded =
      llvm::cantFail(ParameterSource::createFromNames(program));
  ASSERT_FALSE(seeded.save(program, path));
  ParameterSource source =
      llvm::cantFail(ParameterSource::open(program, path.str().str()));
  std::vector<uint16_t> expected(2), found(2);
  seeded.read("model.norm.weight", 1, 2, expected.data());
  source.read("model.norm.weight", 1, 2, found.data());
  EXPECT_EQ(expected, found);
  EXPECT_NE(source.findTensor("model.norm.weight"), nullptr);
  EXPECT_EQ(seeded.findTensor("model.norm.weight"), nullptr);
}

TEST_F(SourcesTest, UnknownVectorsCannotBeSeeded) {
  program.parameters["head.bias"] = {DSV4RT_F32, {3}};
  auto source = ParameterSource::createFromNames(program);
  ASSERT_FALSE(source);
  EXPECT_EQ(llvm::toString(source.takeError()),
            "no rule fills parameter 'head.bias' of f32 [3] by its name");
}

TEST_F(SourcesTest, AllProblemsOfParameterFilesAreListed) {
  write({{"model.embed_tokens.weight",
          TensorType::F32,
          {3, 4},
          asBytes<float>(embedding)},
         {"lm_head.weight", TensorType::BF16, {3}, asBytes<uint16_t>(norm)}});
  EXPECT_EQ(openParameters(),
            place(": tensor 'model.embed_tokens.weight' has shape [3, 4], "
                  "expected [4, 3]\n") +
                place(": tensor 'lm_head.weight' is no parameter of the "
                      "program\n") +
                "parameter 'model.norm.weight' is in none of the files");
}

TEST_F(SourcesTest, TypesMustBeTheStoredOnes) {
  write({{"model.embed_tokens.weight",
          TensorType::F32,
          {4, 3},
          asBytes<float>(embedding)},
         {"model.norm.weight", TensorType::F16, {3}, asBytes<uint16_t>(norm)}});
  EXPECT_EQ(openParameters(), place(": tensor 'model.norm.weight' has type "
                                    "F16, expected BF16"));
}

TEST_F(SourcesTest, TokenIdsAndLabelsAreInTheVocabulary) {
  EXPECT_EQ(openBatch({0, 1, 2, 3}, {3, -100, 0, 1}), "");
  EXPECT_EQ(openBatch({0, 1, 4, 3}, {0, 0, 0, 0}),
            place(": tensor 'input_ids' has 4 at [1, 0], expected a value in "
                  "[0, 4)"));
  EXPECT_EQ(openBatch({0, 1, 2, 3}, {0, -1, 0, 0}),
            place(": tensor 'labels' has -1 at [0, 1], expected a value in "
                  "[0, 4) or -100"));
}

TEST_F(SourcesTest, BatchFieldsHaveTheirShape) {
  std::vector<int64_t> ids(4);
  write({{"input_ids", TensorType::I64, {4, 1}, asBytes<int64_t>(ids)}});
  auto source = BatchSource::open(program, path.str().str());
  ASSERT_FALSE(source);
  EXPECT_EQ(llvm::toString(source.takeError()),
            place(": tensor 'input_ids' has shape [4, 1], expected [2, 2]\n") +
                "batch field 'labels' of shape [2, 2] is in no file of the "
                "batch");
}
