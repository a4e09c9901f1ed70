//===- Program.h - What the runtime must know of a program ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lowered module carries tables as attributes: mesh, groups, collectives,
// arguments with their place in the `state` arena, sizes of the arenas. Here
// they are checked and become plain data, and from that the descriptor of the
// runtime's C interface.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_EXECUTION_PROGRAM_H
#define DSV4_EXECUTION_PROGRAM_H

#include "dsv4/Execution/Slicing.h"
#include "dsv4/Runtime/Runtime.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <array>

namespace mlir::dsv4 {

/// Name of the function that every rank calls.
inline constexpr llvm::StringLiteral kStepFunction = "dsv4_step";

/// A set of mesh axes over which collectives run.
struct ProgramGroup {
  std::string name;
  uint32_t axisMask = 0;
  uint32_t lane = 0;
};

/// One collective.
struct ProgramSite {
  uint32_t op = 0;      // DSV4RT_OP_*
  uint32_t dtype = 0;   // DSV4RT_F32, ..
  uint32_t redop = 0;   // DSV4RT_SUM, ..
  uint32_t traffic = 0; // DSV4RT_TRAFFIC_*
  int64_t count = 0;
  uint32_t group = 0;
  std::string location;
};

enum class ArgumentKind { Batch, Buffer, Shard, Param, Result, Gradient };

/// "batch", "buffer", "shard", "param", "result", "gradient".
llvm::StringRef getArgumentKindName(ArgumentKind kind);

/// One dimension of an argument and the axes (positions in the mesh) that split
/// it.
struct ProgramDim {
  int64_t global = 0;
  int64_t local = 0;
  std::vector<unsigned> axes;
};

/// One buffer in the `state` arena.
struct ProgramArgument {
  ArgumentKind kind = ArgumentKind::Batch;
  std::string name;
  uint32_t dtype = 0;
  uint64_t offset = 0; // bytes
  std::vector<int64_t> shape;
  std::vector<ProgramDim> dims;

  // Shards and their gradients only: a slice, split over `axes`, of a flat buffer of parameters.
  std::vector<unsigned> axes;
  std::vector<Segment> segments;

  int64_t getNumElements() const;
  uint64_t getNumBytes() const;
  /// The shape over all ranks, without padding.
  std::vector<int64_t> getGlobalShape() const;
};

/// A parameter or buffer of the model, wherever it is stored.
struct ProgramTensor {
  uint32_t dtype = 0;
  std::vector<int64_t> shape;
};

struct Program {
  std::string name;
  std::array<uint8_t, 32> hash = {};
  std::vector<std::string> axisNames;
  std::vector<int64_t> axisSizes;
  std::vector<ProgramGroup> groups;
  std::vector<ProgramSite> sites;
  std::vector<ProgramArgument> arguments;
  /// By name, in the order of the arguments.
  llvm::MapVector<llvm::StringRef, ProgramTensor> parameters;
  uint64_t stateBytes = 0;
  uint64_t workBytes = 0;
  uint64_t workBytesLowerBound = 0;
  /// Where buffers were planned in `work`.
  std::vector<dsv4rt_work_buffer> workBuffers;

  Program() = default;
  Program(Program &&) = default;
  Program &operator=(Program &&) = default;

  int64_t getNumRanks() const;
  /// "dp_shard:2,cp:4"; "" for a mesh without axes.
  std::string getMeshText() const;
  /// The part of a batch, buffer, parameter or result that `rank` holds.
  std::vector<DimSlice> getSlices(const ProgramArgument &argument,
                                  int64_t rank) const;
};

/// Whether the module carries the tables.
bool hasProgramTables(mlir::ModuleOp module);

/// Reads and checks the tables; what is missing or contradictory is a
/// diagnostic.
FailureOr<Program> readProgram(mlir::ModuleOp module);

/// The descriptor of a program, which must outlive it.
class ProgramDescriptor {
public:
  explicit ProgramDescriptor(const Program &program);
  ProgramDescriptor(const ProgramDescriptor &) = delete;

  const dsv4rt_module_desc *get() const { return &desc; }

private:
  std::vector<const char *> axisNames;
  std::vector<dsv4rt_group_desc> groups;
  std::vector<dsv4rt_site> sites;
  std::vector<dsv4rt_argument> arguments;
  dsv4rt_module_desc desc = {};
};

} // namespace mlir::dsv4

#endif // DSV4_EXECUTION_PROGRAM_H
