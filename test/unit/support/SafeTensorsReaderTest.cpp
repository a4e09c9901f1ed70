//===- SafeTensorsReaderTest.cpp - Files of unknown origin ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SafeTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

/// A file image with a true header length.
static std::string makeImage(llvm::StringRef header, size_t dataBytes) {
  std::string image(8, '\0');
  llvm::support::endian::write64le(image.data(), header.size());
  return image + header.str() + std::string(dataBytes, '\x01');
}

static llvm::Expected<SafeTensorsFile> parseImage(llvm::StringRef image) {
  return SafeTensorsFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(image, "t.safetensors"));
}

/// The message of the error, empty if there is none.
static std::string getError(llvm::StringRef image) {
  llvm::Expected<SafeTensorsFile> file = parseImage(image);
  return file ? "" : llvm::toString(file.takeError());
}

namespace {

struct HostileHeader {
  const char *header;
  size_t dataBytes;
  const char *error; // after the file name
};

constexpr HostileHeader kHostileHeaders[] = {
    {"", 0, "header must begin with '{'"},
    {" {}", 0, "header must begin with '{'"},
    {"[]", 0, "header must begin with '{'"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
         "a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
     8, "key 'a' appears twice in one object"},
    {R"({"a": 1})", 0, "tensor 'a': expected an object, got 1"},
    {R"({"a": {"shape": [1], "data_offsets": [0, 4]}})", 4,
     "tensor 'a': 'dtype' must be a string"},
    {R"({"a": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}})", 1,
     "tensor 'a': 'dtype' must be one of F64, F32, F16, BF16, I64, I32, I8, "
     "U8, BOOL, got 'F8_E4M3'"},
    {R"({"a": {"dtype": "f32", "shape": [1], "data_offsets": [0, 4]}})", 4,
     "tensor 'a': 'dtype' must be one of F64, F32, F16, BF16, I64, I32, I8, "
     "U8, BOOL, got 'f32'"},
    {R"({"a": {"dtype": "F32", "data_offsets": [0, 4]}})", 4,
     "tensor 'a': 'shape' must be an array"},
    {R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4,
     "tensor 'a': 'shape' must hold integers from 0 to 2^63 - 1, got -1"},
    {R"({"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}})", 4,
     "tensor 'a': 'shape' must hold integers from 0 to 2^63 - 1, got 1.5"},
    {R"({"a": {"dtype": "F32", "shape": [18446744073709551616],
               "data_offsets": [0, 4]}})",
     4,
     "tensor 'a': 'shape' must hold integers from 0 to 2^63 - 1, got "
     "1.8446744073709552e+19"},
    {R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296],
               "data_offsets": [0, 0]}})",
     0,
     "tensor 'a': F32 [4294967296, 4294967296] has more than 2^63 - 1 "
     "bytes"},
    {R"({"a": {"dtype": "F32", "shape": [4611686018427387905],
               "data_offsets": [0, 4]}})",
     4, "tensor 'a': F32 [4611686018427387905] has more than 2^63 - 1 bytes"},
    {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 4,
     "tensor 'a': F32 [2] needs 8 bytes, but 'data_offsets' span 4"},
    {R"({"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 0]}})", 0,
     "tensor 'a': F32 [] needs 4 bytes, but 'data_offsets' span 0"},
    {R"({"a": {"dtype": "F32", "shape": [1]}})", 4,
     "tensor 'a': 'data_offsets' must be an array of 2 integers"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}})", 4,
     "tensor 'a': 'data_offsets' must be an array of 2 integers"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}})", 4,
     "tensor 'a': 'data_offsets' must hold integers from 0, got -4"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", 4,
     "tensor 'a': 'data_offsets' must not decrease, got [4, 0]"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
         "b": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}})",
     6,
     "tensor 'b': data begins at byte 2, expected 4, where the tensor "
     "before it ends"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
         "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
     4,
     "tensor 'b': data begins at byte 0, expected 4, where the tensor "
     "before it ends"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
         "b": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}})",
     12,
     "tensor 'b': data begins at byte 8, expected 4, where the tensor "
     "before it ends"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", 8,
     "tensor 'a': data begins at byte 4, expected 0, where the tensor before "
     "it ends"},
    {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 7,
     "tensor 'a': data ends at byte 8, but the file has 7 bytes of data"},
    {R"({"a": {"dtype": "F32", "shape": [1],
               "data_offsets": [18446744073709551612, 18446744073709551615]}})",
     4, "tensor 'a': F32 [1] needs 4 bytes, but 'data_offsets' span 3"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 9,
     "file has 9 bytes of data, but the tensors end at byte 4"},
    {"{}", 1, "file has 1 bytes of data, but the tensors end at byte 0"},
    {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4],
               "x": 0}})",
     4,
     "tensor 'a': unknown field 'x', expected 'dtype', 'shape' and "
     "'data_offsets'"},
    {R"({"__metadata__": [], "a": {}})", 0,
     "'__metadata__' must be an object, got an array of 0 elements"},
    {R"({"__metadata__": {"k": 1}})", 0,
     "'__metadata__' must hold only strings"},
};

} // namespace

TEST(SafeTensorsReaderTest, RefusesHostileHeaders) {
  for (const HostileHeader &hostile : kHostileHeaders)
    EXPECT_EQ(getError(makeImage(hostile.header, hostile.dataBytes)),
              std::string("t.safetensors: ") + hostile.error);
}

TEST(SafeTensorsReaderTest, RefusesHostileLengths) {
  EXPECT_EQ(getError(""), "t.safetensors: expected at least 8 bytes, got 0");
  EXPECT_EQ(getError("1234567"),
            "t.safetensors: expected at least 8 bytes, got 7");
  EXPECT_EQ(getError(llvm::StringRef("\x03\0\0\0\0\0\0\0{}", 10)),
            "t.safetensors: header length is 3, but only 2 bytes follow");
  EXPECT_EQ(getError(std::string(16, '\xff')),
            "t.safetensors: header length must be at most 104857600 bytes, got "
            "18446744073709551615");
}

TEST(SafeTensorsReaderTest, RefusesBadJson) {
  for (llvm::StringRef header :
       {"{", "{\"a\": }", "{\"a\": {}} x", "{\"\xff\": {}}"})
    EXPECT_TRUE(llvm::StringRef(getError(makeImage(header, 0)))
                    .starts_with("t.safetensors: invalid JSON: "));
  EXPECT_EQ(getError(makeImage("{\"a\": " + std::string(500000, '['), 0)),
            "t.safetensors: JSON is nested deeper than 64 levels");
}

TEST(SafeTensorsReaderTest, SurvivesEveryTruncation) {
  std::string image = makeImage(
      R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 8);
  EXPECT_EQ(getError(image), "");
  for (size_t length = 0; length < image.size(); ++length)
    EXPECT_NE(getError(llvm::StringRef(image).take_front(length)), "");
}

TEST(SafeTensorsReaderTest, SurvivesEveryChangedByte) {
  std::string image = makeImage(
      R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 8);
  unsigned numAccepted = 0;
  for (size_t position = 0; position < image.size(); ++position)
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = image;
      changed[position] = static_cast<char>(value);
      llvm::Expected<SafeTensorsFile> file = parseImage(changed);
      if (!file) {
        llvm::consumeError(file.takeError());
        continue;
      }
      ++numAccepted;
      EXPECT_EQ(file->getTensors().size(), 1u);
      EXPECT_EQ(file->getTensors()[0].data.size(), 8u);
    }
  EXPECT_GE(numAccepted, 8u * 256); // at least every change of the data
}

TEST(SafeTensorsReaderTest, ReadsWhatOtherProgramsWrite) {
  // Unaligned data, entries out of order, an empty tensor, trailing spaces.
  std::string image = makeImage(
      R"({"z": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},)"
      R"("__metadata__": {"format": "pt"},)"
      R"("e": {"dtype": "F64", "shape": [0, 4], "data_offsets": [3, 3]},)"
      R"("a": {"dtype": "I32", "shape": [], "data_offsets": [3, 7]}}   )",
      7);
  llvm::Expected<SafeTensorsFile> file = parseImage(image);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->getTensors().size(), 3u);
  EXPECT_EQ(file->getTensors()[0].name, "z");
  EXPECT_EQ(file->getTensors()[1].name, "e");
  EXPECT_EQ(file->getTensors()[2].name, "a");
  EXPECT_EQ(file->getMetadata().at("format"), "pt");
  EXPECT_EQ(llvm::cantFail(file->readIntegers("a")),
            std::vector<int64_t>{0x01010101});
  EXPECT_EQ(file->find("e")->getNumElements(), 0u);
}

TEST(SafeTensorsReaderTest, ConvertsEveryType) {
  std::string header = R"({"f16": {"dtype": "F16", "shape": [3], )"
                       R"("data_offsets": [0, 6]}, "bf16": {"dtype": "BF16", )"
                       R"("shape": [1], "data_offsets": [6, 8]}, "i8": )"
                       R"({"dtype": "I8", "shape": [1], "data_offsets": )"
                       R"([8, 9]}, "b": {"dtype": "BOOL", "shape": [2], )"
                       R"("data_offsets": [9, 11]}})";
  std::string image = makeImage(header, 0);
  image += llvm::StringRef("\x00\x3c\x01\x00\x00\xfc\x81\x3f\xfe\x00\x01", 11);
  llvm::Expected<SafeTensorsFile> file = parseImage(image);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::cantFail(file->readFloats("f16")),
            (std::vector<double>{1.0, 0x1p-24,
                                 -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(llvm::cantFail(file->readFloats("bf16")),
            std::vector<double>{0x1.02p0});
  EXPECT_EQ(llvm::cantFail(file->readIntegers("i8")), std::vector<int64_t>{-2});
  EXPECT_EQ(llvm::cantFail(file->readIntegers("b")),
            (std::vector<int64_t>{0, 1}));
}

TEST(SafeTensorsReaderTest, NamesFileAndTensorInLookups) {
  llvm::Expected<SafeTensorsFile> file = parseImage(makeImage(
      R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 8));
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(file->find("b"), nullptr);
  EXPECT_EQ(llvm::toString(file->get("b").takeError()),
            "t.safetensors: tensor 'b' is missing, the file has 1 others");
  EXPECT_EQ(
      llvm::toString(file->get("a", TensorType::I64, {2, 64}).takeError()),
      "t.safetensors: tensor 'a' must be I64 [2, 64], got F32 [2]");
  EXPECT_EQ(llvm::cantFail(file->get("a", TensorType::F32, {2})),
            file->find("a"));
  EXPECT_EQ(llvm::toString(file->readIntegers("a").takeError()),
            "t.safetensors: tensor 'a' must have an integer type, got F32 [2]");
}

TEST(SafeTensorsReaderTest, NamesTheMissingFile) {
  llvm::Expected<SafeTensorsFile> file =
      SafeTensorsFile::open("no/such.safetensors");
  EXPECT_EQ(llvm::toString(file.takeError()),
            "no/such.safetensors: No such file or directory");
}

TEST(SafeTensorsReaderTest, OpensTheReferenceFiles) {
  llvm::Expected<SafeTensorsFile> reference =
      SafeTensorsFile::open(DSV4_TEST_DATA "/tiny-reference.safetensors");
  ASSERT_TRUE(bool(reference)) << llvm::toString(reference.takeError());
  EXPECT_TRUE(bool(reference->get("logits", TensorType::F64, {2, 64, 96})));
  EXPECT_EQ(reference->getTensors().size(), 19u);
  llvm::Expected<SafeTensorsFile> gradients =
      SafeTensorsFile::open(DSV4_TEST_DATA "/tiny-reference-grads.safetensors");
  ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  EXPECT_EQ(gradients->getTensors().size(), 106u);
}
