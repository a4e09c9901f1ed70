//===- TestJob.h - Jobs and module descriptors for tests --------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_RUNTIME_TESTJOB_H
#define DSV4_TEST_RUNTIME_TESTJOB_H

#include "dsv4/Runtime/Runtime.h"

#include <functional>
#include <string>
#include <vector>

namespace dsv4::test {

/// A module descriptor and the tables it points to.
class TestModule {
public:
  explicit TestModule(std::vector<int64_t> axisSizes,
                      const char *name = "test");

  uint32_t addGroup(const char *name, uint32_t axisMask);
  uint32_t addSite(uint32_t op, uint32_t dtype, uint32_t group,
                   uint32_t redop = DSV4RT_SUM, int64_t count = -1,
                   const char *location = nullptr);

  /// The finished descriptor; valid until the next change of this object.
  const dsv4rt_module_desc *get();

  dsv4rt_module_desc desc = {};
  std::vector<int64_t> axisSizes;
  std::vector<dsv4rt_group_desc> groups;
  std::vector<dsv4rt_site> sites;
  std::vector<dsv4rt_argument> arguments;

private:
  std::vector<const char *> axisNames;
};

/// What a job ended with.
struct Outcome {
  int32_t status = DSV4RT_OK;
  std::string text;
  /// Status and text as each rank saw them when its function ended.
  std::vector<int32_t> rankStatus;
  std::vector<std::string> rankText;
};

/// A configuration with a time limit (milliseconds).
dsv4rt_config makeConfig(int64_t opTimeoutMs = 20000);

/// Run `fn` on `ranks` ranks.
Outcome runJob(int32_t ranks, const dsv4rt_config &config,
               const std::function<int32_t(dsv4rt_world *)> &fn);
Outcome runJob(int32_t ranks, const std::function<int32_t(dsv4rt_world *)> &fn);

/// Open the module on every rank, run `fn`, end the step and close.
Outcome runModule(int32_t ranks, TestModule &module,
                  const std::function<int32_t(dsv4rt_module *)> &fn,
                  const dsv4rt_config &config = makeConfig());

/// Whether all ranks ended with the same text, that of the job.
bool haveOneText(const Outcome &outcome);

} // namespace dsv4::test

#endif // DSV4_TEST_RUNTIME_TESTJOB_H
