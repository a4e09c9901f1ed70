//===- ProgramTest.cpp - Tables of programs -------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Program.h"

#include "dsv4/Execution/Engine.h"
#include "dsv4/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// A program of two ranks; tests replace one piece of it.
constexpr llvm::StringLiteral kTables = R"(module attributes {
  dsv4.axis_names = ["dp_shard"], dsv4.axis_sizes = array<i64: 2>,
  dsv4.groups = [{axis_mask = 1, lane = 2, name = "dp_shard"}],
  dsv4.sites = [{class = "parameter", count = 8, dtype = f32, group = 0,
                 location = "unit", op = "all_gather", redop = "sum"}],
  dsv4.arguments = [
    {kind = "batch", name = "input_ids", offset = 0, type = tensor<2x4xi64>,
     global_type = tensor<3x4xi64>, layout = [["dp_shard"], []]},
    {kind = "shard", name = "unit", offset = 64, type = tensor<8xf32>,
     axes = ["dp_shard"], total = 12, shard = 8,
     segments = [{name = "a", offset = 0, shape = [2, 4]},
                 {name = "b", offset = 8, shape = [4]}]},
    {kind = "result", name = "loss", offset = 128, type = tensor<f32>}],
  dsv4.state_bytes = 192, dsv4.work_buffers = array<i64: 0, 64>, dsv4.work_bytes = 64,
  dsv4.work_bytes_lower_bound = 64 } {})";

class ProgramTest : public ::testing::Test {
protected:
  ProgramTest() : context(getRegistry()) {}

  static DialectRegistry getRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerExecutionTranslations(registry);
    return registry;
  }

  /// The program with `from` replaced by `to`; diagnostics go to `messages`.
  FailureOr<Program> read(StringRef from = "", StringRef to = "") {
    std::string text = kTables.str();
    if (!from.empty()) {
      size_t place = text.find(from.str());
      EXPECT_NE(place, std::string::npos);
      text.replace(place, from.size(), to.str());
    }
    module = parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str();
    });
    return readProgram(*module);
  }

  void expectError(StringRef from, StringRef to, StringRef message) {
    messages.clear();
    EXPECT_TRUE(failed(read(from, to)));
    EXPECT_EQ(messages, message);
  }

  MLIRContext context;
  OwningOpRef<mlir::ModuleOp> module;
  std::string messages;
};

} // namespace

TEST_F(ProgramTest, ReadsEveryTable) {
  FailureOr<Program> program = read();
  ASSERT_TRUE(succeeded(program)) << messages;
  EXPECT_EQ(program->getNumRanks(), 2);
  EXPECT_EQ(program->getMeshText(), "dp_shard:2");
  ASSERT_EQ(program->sites.size(), 1u);
  EXPECT_EQ(program->sites[0].op, DSV4RT_OP_ALL_GATHER);
  EXPECT_EQ(program->sites[0].dtype, DSV4RT_F32);
  EXPECT_EQ(program->sites[0].traffic, DSV4RT_TRAFFIC_PARAMETER);
  ASSERT_EQ(program->arguments.size(), 3u);
  EXPECT_EQ(program->arguments[0].getGlobalShape(),
            (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(program->arguments[0].getNumBytes(), 64u);
  EXPECT_EQ(program->getSlices(program->arguments[0], 1)[0],
            (DimSlice{3, 2, 2, 1}));
  ASSERT_EQ(program->parameters.size(), 2u);
  EXPECT_EQ(program->parameters.find("b")->second.shape,
            (std::vector<int64_t>{4}));
}

TEST_F(ProgramTest, DescriptorHoldsTheTables) {
  FailureOr<Program> program = read();
  ASSERT_TRUE(succeeded(program));
  ProgramDescriptor descriptor(*program);
  const dsv4rt_module_desc &desc = *descriptor.get();
  EXPECT_EQ(desc.abi_version, DSV4RT_ABI_VERSION);
  EXPECT_EQ(desc.n_axes, 1u);
  EXPECT_EQ(desc.n_sites, 1u);
  EXPECT_EQ(desc.n_arguments, 3u);
  EXPECT_EQ(desc.arguments[1].offset, 64u);
  EXPECT_EQ(desc.arguments[2].kind, uint32_t(DSV4RT_ARG_RESULT));
  EXPECT_EQ(desc.state_bytes, 192u);
  ASSERT_EQ(desc.n_work_buffers, 1u);
  EXPECT_EQ(desc.work_buffer_size, sizeof(dsv4rt_work_buffer));
  EXPECT_EQ(desc.work_buffers[0].offset, 0u);
  EXPECT_EQ(desc.work_buffers[0].bytes, 64u);
}

TEST_F(ProgramTest, HashDependsOnContentOnly) {
  FailureOr<Program> one = read(), two = read();
  FailureOr<Program> other = read("work_bytes = 64", "work_bytes = 128");
  FailureOr<Program> moved = read("module", "\n\nmodule");
  ASSERT_TRUE(succeeded(one) && succeeded(two) && succeeded(other) &&
              succeeded(moved));
  EXPECT_EQ(one->hash, two->hash);
  EXPECT_EQ(one->hash, moved->hash);
  EXPECT_NE(one->hash, other->hash);
}

TEST_F(ProgramTest, RefusesWrongWorkBuffers) {
  expectError("array<i64: 0, 64>", "array<i64: 0, 65>",
              "'dsv4.work_buffers' must lie in the 64 bytes of the work arena, "
              "got 65 bytes at 0");
  expectError("array<i64: 0, 64>", "array<i64: -8, 64>",
              "'dsv4.work_buffers' must lie in the 64 bytes of the work arena, "
              "got 64 bytes at -8");
  expectError("array<i64: 0, 64>", "array<i64: 0>",
              "'dsv4.work_buffers' must hold pairs of offset and bytes, got 1 "
              "numbers");
}

TEST_F(ProgramTest, RefusesWrongTables) {
  expectError("array<i64: 2>", "array<i64: 0>",
              "axis \"dp_shard\" of size 0 is not an axis of a mesh");
  expectError("array<i64: 2>", "array<i64: 2, 2>",
              "'dsv4.axis_names' and 'dsv4.axis_sizes' must have the same "
              "length of at most 32, got 1 and 2");
  expectError("op = \"all_gather\"", "op = \"send\"",
              "'dsv4.sites' entry 0: 'op' must be one of all_gather, "
              "reduce_scatter, all_reduce, barrier, agree, got \"send\"");
  expectError("group = 0", "group = 1",
              "'dsv4.sites' entry 0: 'group' must be in [0, 1), got 1");
  expectError("dsv4.state_bytes = 192, ", "",
              "'dsv4.state_bytes' must be an integer, got nothing");
  expectError("lane = 2", "lane = -2",
              "'dsv4.groups' entry 0: 'lane' must be in [0, 2147483647], got "
              "-2 : i64");
}

TEST_F(ProgramTest, RefusesWrongArguments) {
  expectError("offset = 128", "offset = 190",
              "'dsv4.arguments' entry 2: \"loss\" of type 'tensor<f32>' at "
              "offset 190 does not fit the state of 192 bytes");
  expectError("tensor<f32>", "tensor<?xf32>",
              "'dsv4.arguments' entry 2: 'type' must be a static tensor, got "
              "'tensor<?xf32>'");
  expectError("tensor<3x4xi64>", "tensor<5x4xi64>",
              "'dsv4.arguments' entry 0: dimension 0 of \"input_ids\" has 5 "
              "elements over 2 ranks, expected 3 on each, got 2");
  expectError("[[\"dp_shard\"], []]", "[[\"cp\"], []]",
              "'dsv4.arguments' entry 0: axis \"cp\" is not in the mesh "
              "\"dp_shard:2\"");
  expectError("total = 12", "total = 17",
              "'dsv4.arguments' entry 1: 2 shards of 8 elements cannot hold "
              "17");
  expectError("shape = [4]", "shape = [5]",
              "'dsv4.arguments' entry 1: segment: \"b\" does not fit the flat "
              "buffer of 12 elements");
  expectError("name = \"b\"", "name = \"a\"", "parameter \"a\" occurs twice");
}

TEST_F(ProgramTest, RefusesCodeThatRanksCannotShare) {
  auto compile = [&](StringRef body) {
    std::string text = "module {" + body.str() + "\n" +
                       "llvm.func @dsv4_step(%m: !llvm.ptr, %s: !llvm.ptr, "
                       "%w: !llvm.ptr) -> i32 {"
                       "  %r = llvm.call @f() : () -> i32\n"
                       "  llvm.return %r : i32 } }";
    module = parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    llvm::Expected<Engine> engine = Engine::compile(*module);
    return engine ? "" : llvm::toString(engine.takeError());
  };
  EXPECT_EQ(compile("llvm.func @f() -> i32 {"
                    "  %r = llvm.mlir.constant(0 : i32) : i32\n"
                    "  llvm.return %r : i32 }"),
            "");
  EXPECT_EQ(compile("llvm.func @f() -> i32"),
            "the program calls @f, which neither it nor the runtime has");
  EXPECT_EQ(compile("llvm.mlir.global @counter(0 : i32) : i32\n"
                    "llvm.func @f() -> i32 {"
                    "  %p = llvm.mlir.addressof @counter : !llvm.ptr\n"
                    "  %r = llvm.load %p : !llvm.ptr -> i32\n"
                    "  llvm.return %r : i32 }"),
            "global @counter is a variable, which all ranks would share; only "
            "constants are allowed");
}
