/* Four ranks as threads, a sum over them, and nothing but the runtime:
 *   cc ranks.c $(pkg-config --cflags --libs dsv4rt) && ./a.out
 */
#include <dsv4/Runtime/Runtime.h>
#include <stdio.h>

static const int64_t kAxisSizes[] = {4};
static const dsv4rt_group_desc kGroups[] = {{"all", 1, 2}};
static const dsv4rt_site kSites[] = {{DSV4RT_OP_ALL_REDUCE, DSV4RT_F32, DSV4RT_SUM, DSV4RT_ACC_F32, 1, 0,
                                      DSV4RT_TRAFFIC_OTHER, 0, "ranks.c: sum of the ranks"}};
static const dsv4rt_module_desc kModule = {
    .struct_size = sizeof(kModule), .abi_version = DSV4RT_ABI_VERSION, .name = "ranks",
    .n_axes = 1, .n_groups = 1, .n_sites = 1, .axis_sizes = kAxisSizes, .groups = kGroups, .sites = kSites,
    .group_size = sizeof(dsv4rt_group_desc), .site_size = sizeof(dsv4rt_site)};

static int32_t runRank(dsv4rt_world *world, void *sums) {
  float value = (float)dsv4rt_rank(world);
  dsv4rt_module *module = NULL;
  int32_t status = dsv4rt_module_open(world, &kModule, &module);
  if (status) return status;
  int64_t token = dsv4rt_all_reduce_start(module, 0, &value, (float *)sums + dsv4rt_rank(world), 1, DSV4RT_LANE_COMPUTE);
  status = dsv4rt_wait(module, token, DSV4RT_LANE_COMPUTE);
  return status ? status : dsv4rt_module_close(module);
}

int main(void) {
  float sums[4] = {0};
  int32_t status = dsv4rt_host_run(4, NULL, runRank, sums);
  printf("%s: %g %g %g %g\n", dsv4rt_status_name(status), sums[0], sums[1], sums[2], sums[3]);
  return status != DSV4RT_OK || sums[0] != 6 || sums[3] != 6;
}
