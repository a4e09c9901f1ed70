/*===- NcclValuesTest.c - Codes that equal those of NCCL ----------*- C -*-===*\
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
\*===----------------------------------------------------------------------===*/

#include "dsv4/Runtime/Runtime.h"

#include <nccl.h>

#define SAME(ours, theirs)                                                     \
  _Static_assert((int)(ours) == (int)(theirs), #ours " differs from " #theirs)

SAME(DSV4RT_I8, ncclInt8);
SAME(DSV4RT_U8, ncclUint8);
SAME(DSV4RT_I32, ncclInt32);
SAME(DSV4RT_U32, ncclUint32);
SAME(DSV4RT_I64, ncclInt64);
SAME(DSV4RT_U64, ncclUint64);
SAME(DSV4RT_F16, ncclFloat16);
SAME(DSV4RT_F32, ncclFloat32);
SAME(DSV4RT_F64, ncclFloat64);
SAME(DSV4RT_BF16, ncclBfloat16);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
SAME(DSV4RT_F8E4M3, ncclFloat8e4m3);
SAME(DSV4RT_F8E5M2, ncclFloat8e5m2);
#endif
SAME(DSV4RT_SUM, ncclSum);
SAME(DSV4RT_PROD, ncclProd);
SAME(DSV4RT_MAX, ncclMax);
SAME(DSV4RT_MIN, ncclMin);
