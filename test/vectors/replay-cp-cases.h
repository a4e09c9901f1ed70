//===- replay-cp-cases.h - Cases of vector files ----------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_VECTORS_REPLAY_CP_CASES_H
#define DSV4_TEST_VECTORS_REPLAY_CP_CASES_H

#include "replay-cp-json.h"

#include <functional>

namespace dsv4::replay {

/// What differs from the expectation, one line each; empty when nothing does.
using Differences = std::vector<std::string>;

Differences replayShard(const Json &inputs, const Json &expect);
Differences replayGather(const Json &inputs, const Json &expect);
Differences replayOverlap(const Json &inputs, const Json &expect);
Differences replayMetadata(const Json &inputs, const Json &expect);
Differences replayPool(const Json &inputs, const Json &expect);

/// Sites of the module that every job of this program opens. Their group is
/// the whole world.
enum Site : uint32_t {
  SiteAgree,
  SiteGather,        ///< of bytes
  SiteReduceInteger, ///< reduce-scatter, i64
  SiteReduceReal,    ///< reduce-scatter, f64
  SiteExchange,      ///< f64
  NumSites
};

/// Run `fn` on `ranks` ranks with the module open. Returns an empty text, or
/// the failure of the job.
std::string runRanks(int32_t ranks,
                     const std::function<int32_t(dsv4rt_module *)> &fn);

} // namespace dsv4::replay

#endif // DSV4_TEST_VECTORS_REPLAY_CP_CASES_H
