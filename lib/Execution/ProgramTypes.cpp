//===- ProgramTypes.cpp - Plain data of a program -------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::dsv4;

llvm::StringRef mlir::dsv4::getArgumentKindName(ArgumentKind kind) {
  static constexpr llvm::StringLiteral names[] = {"batch", "buffer", "shard",
                                                  "param", "result",
                                                  "gradient"};
  return names[static_cast<size_t>(kind)];
}

int64_t ProgramArgument::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

uint64_t ProgramArgument::getNumBytes() const {
  return getNumElements() * dsv4rt_dtype_size(dtype);
}

std::vector<int64_t> ProgramArgument::getGlobalShape() const {
  std::vector<int64_t> sizes;
  for (const ProgramDim &dim : dims)
    sizes.push_back(dim.global);
  return sizes;
}

int64_t Program::getNumRanks() const {
  int64_t count = 1;
  for (int64_t size : axisSizes)
    count *= size;
  return count;
}

std::string Program::getMeshText() const {
  std::string text;
  for (auto [name, size] : llvm::zip(axisNames, axisSizes))
    text += (text.empty() ? "" : ",") + name + ":" + std::to_string(size);
  return text;
}

std::vector<DimSlice> Program::getSlices(const ProgramArgument &argument,
                                         int64_t rank) const {
  std::vector<DimSlice> slices;
  for (const ProgramDim &dim : argument.dims)
    slices.push_back(getDimSlice(dim.global, dim.local,
                                 getRankPlace(axisSizes, dim.axes, rank)));
  return slices;
}

static uint32_t getRuntimeKind(ArgumentKind kind) {
  switch (kind) {
  case ArgumentKind::Batch:
    return DSV4RT_ARG_BATCH;
  case ArgumentKind::Result:
  case ArgumentKind::Gradient:
    return DSV4RT_ARG_RESULT;
  default:
    return DSV4RT_ARG_PARAMETER;
  }
}

/// Sums of narrow floats are formed in f32.
static uint32_t getAccumulator(uint32_t dtype) {
  return dtype == DSV4RT_F32 || dtype == DSV4RT_BF16 || dtype == DSV4RT_F16
             ? DSV4RT_ACC_F32
             : DSV4RT_ACC_BACKEND;
}

ProgramDescriptor::ProgramDescriptor(const Program &program) {
  for (const std::string &name : program.axisNames)
    axisNames.push_back(name.c_str());
  for (const ProgramGroup &group : program.groups)
    groups.push_back({group.name.c_str(), group.axisMask, group.lane});
  for (const ProgramSite &site : program.sites)
    sites.push_back({site.op, site.dtype, site.redop,
                     getAccumulator(site.dtype), site.count, site.group,
                     site.traffic, /*arg=*/0, site.location.c_str()});
  for (const ProgramArgument &argument : program.arguments)
    arguments.push_back({argument.name.c_str(), DSV4RT_ARENA_STATE,
                         argument.dtype, argument.offset,
                         static_cast<uint32_t>(argument.shape.size()),
                         getRuntimeKind(argument.kind), argument.shape.data()});

  desc.struct_size = sizeof(dsv4rt_module_desc);
  desc.abi_version = DSV4RT_ABI_VERSION;
  desc.name = program.name.c_str();
  llvm::copy(program.hash, desc.hash);
  desc.n_axes = axisNames.size();
  desc.n_groups = groups.size();
  desc.n_sites = sites.size();
  desc.n_arguments = arguments.size();
  desc.group_size = sizeof(dsv4rt_group_desc);
  desc.site_size = sizeof(dsv4rt_site);
  desc.argument_size = sizeof(dsv4rt_argument);
  desc.axis_names = axisNames.data();
  desc.axis_sizes = program.axisSizes.data();
  desc.groups = groups.data();
  desc.sites = sites.data();
  desc.arguments = arguments.data();
  desc.state_bytes = program.stateBytes;
  desc.work_bytes = program.workBytes;
  desc.n_work_buffers = program.workBuffers.size();
  desc.work_buffer_size = sizeof(dsv4rt_work_buffer);
  desc.work_buffers = program.workBuffers.data();
}
