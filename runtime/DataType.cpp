//===- DataType.cpp - Names, sizes and rules of the codes -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataType.h"

using namespace dsv4::rt;

namespace {

struct DataTypeInfo {
  uint32_t code;
  const char *name;
  int64_t size;
  bool sum;
  bool order;
};

constexpr DataTypeInfo kDataTypes[] = {
    {DSV4RT_I8, "i8", 1, false, true},
    {DSV4RT_U8, "u8", 1, false, true},
    {DSV4RT_I32, "i32", 4, true, true},
    {DSV4RT_U32, "u32", 4, false, true},
    {DSV4RT_I64, "i64", 8, true, true},
    {DSV4RT_U64, "u64", 8, false, true},
    {DSV4RT_F16, "f16", 2, true, true},
    {DSV4RT_F32, "f32", 4, true, true},
    {DSV4RT_F64, "f64", 8, true, true},
    {DSV4RT_BF16, "bf16", 2, true, true},
    {DSV4RT_F8E4M3, "f8e4m3", 1, false, false},
    {DSV4RT_F8E5M2, "f8e5m2", 1, false, false},
    {DSV4RT_I1, "i1", 1, false, true},
};

const DataTypeInfo *findDataType(uint32_t dtype) {
  for (const DataTypeInfo &info : kDataTypes)
    if (info.code == dtype)
      return &info;
  return nullptr;
}

} // namespace

// The tables are written by a compiler that lays these structs out by hand.
static_assert(sizeof(dsv4rt_site) == 48, "layout is part of the interface");
static_assert(sizeof(dsv4rt_group_desc) == 16,
              "layout is part of the interface");
static_assert(sizeof(dsv4rt_argument) == 40, "layout is part of the interface");
static_assert(sizeof(dsv4rt_module_desc) == 152,
              "layout is part of the interface");
static_assert(sizeof(dsv4rt_work_buffer) == 16,
              "layout is part of the interface");
static_assert(sizeof(dsv4rt_peer) == 24, "layout is part of the interface");
static_assert(sizeof(dsv4rt_config) == 56, "layout is part of the interface");
static_assert(sizeof(dsv4rt_counters_v1) == 40,
              "layout is part of the interface");

bool dsv4::rt::isReductionSupported(uint32_t dtype, uint32_t redop) {
  const DataTypeInfo *info = findDataType(dtype);
  if (!info)
    return false;
  if (redop == DSV4RT_SUM)
    return info->sum;
  return (redop == DSV4RT_MAX || redop == DSV4RT_MIN) && info->order;
}

std::string dsv4::rt::findUnsupported(const dsv4rt_site &site) {
  std::string op = dsv4rt_op_name(site.op);
  if (op == "unknown")
    return "operation code " + std::to_string(site.op) + " is unknown";
  if (!findDataType(site.dtype))
    return "element type code " + std::to_string(site.dtype) + " is unknown";
  if (site.op == DSV4RT_OP_AGREE && site.dtype != DSV4RT_I32)
    return "agree of " + std::string(dsv4rt_dtype_name(site.dtype)) +
           " has no rule, expected i32";
  bool reduces = site.op == DSV4RT_OP_REDUCE_SCATTER ||
                 site.op == DSV4RT_OP_ALL_REDUCE || site.op == DSV4RT_OP_AGREE;
  if (!reduces)
    return "";
  if (!isReductionSupported(site.dtype, site.redop))
    return op + " " + dsv4rt_redop_name(site.redop) + " of " +
           dsv4rt_dtype_name(site.dtype) + " has no rule";
  if (site.acc > DSV4RT_ACC_F32)
    return "accumulator code " + std::to_string(site.acc) + " is unknown";
  if (site.acc == DSV4RT_ACC_F32 && site.dtype == DSV4RT_F64)
    return op + " of f64 accumulates in f64, got an f32 accumulator";
  return "";
}

extern "C" {

uint32_t dsv4rt_abi_version(void) { return DSV4RT_ABI_VERSION; }

const char *dsv4rt_status_name(int32_t status) {
  static const char *const names[] = {
      "DSV4RT_OK",         "DSV4RT_PENDING",       "DSV4RT_E_INVALID",
      "DSV4RT_E_MISMATCH", "DSV4RT_E_TIMEOUT",     "DSV4RT_E_RANK_LOST",
      "DSV4RT_E_REMOTE",   "DSV4RT_E_BACKEND",     "DSV4RT_E_OOM",
      "DSV4RT_E_ABORTED",  "DSV4RT_E_UNSUPPORTED", "DSV4RT_E_MODULE"};
  return status >= 0 && status <= DSV4RT_E_MODULE ? names[status] : "unknown";
}

const char *dsv4rt_dtype_name(uint32_t dtype) {
  const DataTypeInfo *info = findDataType(dtype);
  return info ? info->name : "unknown";
}

int64_t dsv4rt_dtype_size(uint32_t dtype) {
  const DataTypeInfo *info = findDataType(dtype);
  return info ? info->size : 0;
}

const char *dsv4rt_op_name(uint32_t op) {
  switch (op) {
  case DSV4RT_OP_ALL_GATHER:
    return "all_gather";
  case DSV4RT_OP_REDUCE_SCATTER:
    return "reduce_scatter";
  case DSV4RT_OP_ALL_REDUCE:
    return "all_reduce";
  case DSV4RT_OP_BARRIER:
    return "barrier";
  case DSV4RT_OP_AGREE:
    return "agree";
  case DSV4RT_OP_EXCHANGE:
    return "exchange";
  default:
    return "unknown";
  }
}

const char *dsv4rt_redop_name(uint32_t redop) {
  static const char *const names[] = {"sum", "prod", "max", "min"};
  return redop <= DSV4RT_MIN ? names[redop] : "unknown";
}

} // extern "C"
