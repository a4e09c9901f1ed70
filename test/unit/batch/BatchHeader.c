/*===- BatchHeader.c - The header is plain C -------------------------------===*\
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
\*===----------------------------------------------------------------------===*/

#include "dsv4/Runtime/Batch.h"

/* The structs cross the library border: their sizes are part of it. */
_Static_assert(sizeof(dsv4rt_tensor) == 80, "dsv4rt_tensor");
_Static_assert(sizeof(dsv4rt_batch_entry) == 96, "dsv4rt_batch_entry");
_Static_assert(sizeof(dsv4rt_cp_desc) == 88, "dsv4rt_cp_desc");
_Static_assert(sizeof(dsv4rt_cp_layout) == 80, "dsv4rt_cp_layout");

int32_t shardEmptyBatchFromC(void) {
  dsv4rt_cp_batch *batch = 0;
  dsv4rt_cp_desc desc;
  int32_t code = -1;
  dsv4rt_cp_desc_init(&desc);
  if (dsv4rt_cp_batch_create(&batch) != DSV4RT_OK)
    return code;
  if (dsv4rt_shard_cp_batch(batch, &desc) == DSV4RT_E_INVALID)
    code = dsv4rt_cp_batch_error_code(batch);
  dsv4rt_cp_batch_destroy(batch);
  return code;
}
