//===- SafeTensorsWriterTest.cpp - Files that others read -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SafeTensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir::dsv4;

namespace {

/// Gives each test an empty directory.
class SafeTensorsWriterTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("dsv4-test", directory));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string getPath(llvm::StringRef name) const {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  std::string readAll(llvm::StringRef path) const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  unsigned countFiles() const {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(directory, code), end;
         it != end && !code; it.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<128> directory;
};

} // namespace

static void expectSuccess(llvm::Error error) {
  bool hasFailed = bool(error);
  EXPECT_FALSE(hasFailed) << llvm::toString(std::move(error));
}

static std::string getMessage(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST_F(SafeTensorsWriterTest, RoundTrips) {
  const double wide[] = {1.5, -2.0, 0.25};
  const uint8_t narrow[] = {1, 2, 3, 4, 5};
  const int64_t ids[] = {7, -100};
  std::string path = getPath("a.safetensors");
  SafeTensorsWriter writer(path);
  expectSuccess(writer.declare("narrow", TensorType::U8, {5}));
  expectSuccess(writer.declare("wide \"\xc3\xa9\"", TensorType::F64, {3, 1}));
  expectSuccess(writer.declare("empty", TensorType::F32, {0}));
  expectSuccess(writer.declare("ids", TensorType::I64, {2}));
  expectSuccess(writer.declare("scalar", TensorType::Bool, {}));
  expectSuccess(writer.setMetadata("step", "3"));
  // Pieces in any order.
  llvm::ArrayRef<char> wideBytes = asBytes(llvm::ArrayRef(wide));
  llvm::ArrayRef<char> narrowBytes = asBytes(llvm::ArrayRef(narrow));
  expectSuccess(writer.append("narrow", narrowBytes.take_front(2)));
  expectSuccess(writer.append("wide \"\xc3\xa9\"", wideBytes.take_front(9)));
  expectSuccess(writer.append("ids", asBytes(llvm::ArrayRef(ids))));
  expectSuccess(writer.append("narrow", narrowBytes.drop_front(2)));
  expectSuccess(writer.append("scalar", {char(1)}));
  expectSuccess(writer.append("wide \"\xc3\xa9\"", wideBytes.drop_front(9)));
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  expectSuccess(writer.finish());
  EXPECT_EQ(countFiles(), 1u);

  llvm::Expected<SafeTensorsFile> file = SafeTensorsFile::open(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->getMetadata().at("step"), "3");
  EXPECT_EQ(llvm::cantFail(file->readFloats("wide \"\xc3\xa9\"")),
            std::vector<double>(wide, wide + 3));
  EXPECT_EQ(llvm::cantFail(file->readIntegers("ids")),
            std::vector<int64_t>(ids, ids + 2));
  EXPECT_EQ(llvm::cantFail(file->readIntegers("narrow")),
            (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(llvm::cantFail(file->readIntegers("scalar")),
            std::vector<int64_t>{1});
  for (const TensorRef &tensor : file->getTensors())
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data.data()) %
                  getTensorTypeSize(tensor.type),
              0u)
        << tensor.name;
}

TEST_F(SafeTensorsWriterTest, WritesTheSameBytesForAnyOrderOfData) {
  const float values[] = {1.0f, 2.0f};
  for (bool reverse : {false, true}) {
    SafeTensorsWriter writer(getPath(reverse ? "r" : "f"));
    expectSuccess(writer.declare("x", TensorType::F32, {2}));
    expectSuccess(writer.declare("y", TensorType::F32, {2}));
    for (const char *name : {reverse ? "y" : "x", reverse ? "x" : "y"})
      expectSuccess(writer.append(name, asBytes(llvm::ArrayRef(values))));
    expectSuccess(writer.finish());
  }
  std::string image = readAll(getPath("f"));
  EXPECT_EQ(image, readAll(getPath("r")));
  uint64_t header = llvm::support::endian::read64le(image.data());
  EXPECT_EQ(header % 8, 0u);
  EXPECT_EQ(llvm::StringRef(image).substr(8, header).rtrim(),
            R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("y":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})");
}

TEST_F(SafeTensorsWriterTest, WritesTensorsAtOnce) {
  llvm::Expected<SafeTensorsFile> file =
      SafeTensorsFile::open(DSV4_TEST_DATA "/tiny-reference.safetensors");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::string path = getPath("copy.safetensors");
  expectSuccess(writeSafeTensors(path, file->getTensors()));
  EXPECT_EQ(readAll(path),
            readAll(DSV4_TEST_DATA "/tiny-reference.safetensors"));
  // Replacing a file leaves its open mapping alone.
  llvm::Expected<SafeTensorsFile> old = SafeTensorsFile::open(path);
  ASSERT_TRUE(bool(old));
  expectSuccess(writeSafeTensors(path, {}));
  EXPECT_EQ(llvm::cantFail(old->readIntegers("ids")),
            llvm::cantFail(file->readIntegers("ids")));
  EXPECT_EQ(readAll(path), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST_F(SafeTensorsWriterTest, RefusesMisuse) {
  std::string path = getPath("m");
  SafeTensorsWriter writer(path);
  expectSuccess(writer.declare("x", TensorType::F32, {2}));
  EXPECT_EQ(getMessage(writer.declare("x", TensorType::F32, {2})),
            path + ": tensor 'x': declared twice");
  EXPECT_EQ(getMessage(writer.declare("__metadata__", TensorType::F32, {})),
            path + ": tensor '__metadata__': not a legal name");
  EXPECT_EQ(getMessage(writer.declare("big", TensorType::F64,
                                      {int64_t(1) << 31, int64_t(1) << 31})),
            path + ": tensor 'big': F64 [2147483648, 2147483648] has a "
                   "negative dimension or makes the file larger than 2^63 - 1 "
                   "bytes");
  EXPECT_EQ(getMessage(writer.append("y", {})),
            path + ": tensor 'y': data without a declaration");
  EXPECT_EQ(getMessage(writer.declare("z", TensorType::F32, {2})),
            path + ": tensor 'z': declared after the first data");
  const char bytes[9] = {};
  EXPECT_EQ(getMessage(writer.append("x", bytes)),
            path + ": tensor 'x': F32 [2] has 8 bytes, got 9");
  expectSuccess(writer.append("x", llvm::ArrayRef(bytes, 3)));
  EXPECT_EQ(getMessage(writer.finish()),
            path + ": tensor 'x': F32 [2] has 8 bytes, got only 3");
  expectSuccess(writer.append("x", llvm::ArrayRef(bytes, 5)));
  expectSuccess(writer.finish());
  EXPECT_EQ(getMessage(writer.append("x", {})),
            path + ": tensor 'x': data after the end of the file");
}

TEST_F(SafeTensorsWriterTest, LeavesNothingWhenDropped) {
  {
    SafeTensorsWriter writer(getPath("dropped"));
    expectSuccess(writer.declare("x", TensorType::F32, {2}));
    expectSuccess(writer.append("x", {}));
    EXPECT_EQ(countFiles(), 1u);
  }
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(SafeTensorsWriterTest, ReportsPathsThatCannotBeWritten) {
  std::string path = getPath("no/such/file");
  EXPECT_NE(
      getMessage(writeSafeTensors(path, {})).find(path + ": cannot create"),
      std::string::npos);
  EXPECT_EQ(getMessage(writeSafeTensors(directory, {})),
            directory.str().str() + ": exists and is no regular file");
}

#ifdef __linux__
TEST_F(SafeTensorsWriterTest, RefusesDevices) {
  EXPECT_EQ(getMessage(writeSafeTensors("/dev/full", {})),
            "/dev/full: exists and is no regular file");
}
#endif
