/*===- HeaderTest.c - The interface as C11, and its layout --------*- C -*-===*\
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
\*===----------------------------------------------------------------------===*/

#include "dsv4/Runtime/Runtime.h"

#define SAME(expression, value)                                                \
  _Static_assert((expression) == (value), #expression " is part of the ABI")

SAME(sizeof(dsv4rt_site), 48);
SAME(offsetof(dsv4rt_site, count), 16);
SAME(offsetof(dsv4rt_site, group), 24);
SAME(offsetof(dsv4rt_site, arg), 32);
SAME(offsetof(dsv4rt_site, location), 40);
SAME(sizeof(dsv4rt_group_desc), 16);
SAME(sizeof(dsv4rt_argument), 40);
SAME(offsetof(dsv4rt_argument, offset), 16);
SAME(offsetof(dsv4rt_argument, shape), 32);
SAME(sizeof(dsv4rt_module_desc), 152);
SAME(offsetof(dsv4rt_module_desc, hash), 16);
SAME(offsetof(dsv4rt_module_desc, n_axes), 48);
SAME(offsetof(dsv4rt_module_desc, axis_names), 80);
SAME(offsetof(dsv4rt_module_desc, state_bytes), 120);
SAME(offsetof(dsv4rt_module_desc, work_buffers), 144);
SAME(sizeof(dsv4rt_work_buffer), 16);
SAME(sizeof(dsv4rt_peer), 24);
SAME(sizeof(dsv4rt_config), 56);
SAME(sizeof(dsv4rt_counters_v1), 40);
SAME(DSV4RT_BF16, 9);
SAME(DSV4RT_F32, 7);
SAME(DSV4RT_MAX, 2);

static int32_t return_rank_sum(dsv4rt_world *world, void *arg) {
  int32_t *ranks = (int32_t *)arg;
  ranks[dsv4rt_rank(world)] =
      10 * dsv4rt_world_size(world) + dsv4rt_rank(world);
  return dsv4rt_status_of(world);
}

/* Called by a C++ test; returns 0 when two ranks ran from C. */
int dsv4_test_run_from_c(void) {
  int32_t ranks[2] = {0, 0};
  dsv4rt_config config = {.struct_size = sizeof(config), .backend = "host"};
  if (dsv4rt_host_run(2, &config, return_rank_sum, ranks) != DSV4RT_OK)
    return 1;
  if (dsv4rt_host_run(2, NULL, return_rank_sum, ranks) != DSV4RT_OK)
    return 2;
  return ranks[0] == 20 && ranks[1] == 21 ? 0 : 3;
}
