//===- Agree.cpp - One outcome on all ranks -------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank of the job, valid or not, packed or not, passes the same
// agreements, so that none is left waiting: first on errors, the kind of batch
// and the length; then, when all are valid, on memory.
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

using namespace dsv4::rt;

namespace {

/// Values whose maximum names the error and a rank that has it.
constexpr int kRankBits = 32;

int64_t encodeError(const dsv4rt_cp_desc &desc, const Problem &problem) {
  if (!problem)
    return 0;
  // Out of memory has no number: one above all.
  int64_t code = problem.code ? problem.code : 255;
  return code << kRankBits | static_cast<uint32_t>(desc.world_rank);
}

Problem decodeError(int64_t value) {
  int32_t code = static_cast<int32_t>(value >> kRankBits);
  std::string rank = "rank " + std::to_string(static_cast<int32_t>(value));
  Problem problem;
  problem.status = DSV4RT_E_REMOTE;
  if (code == 255) {
    problem.text = rank + " has no memory for its batch";
    return problem;
  }
  problem.code = code;
  problem.text =
      rank + " refused its batch with " + formatCode(code) + ", see its text";
  return problem;
}

Problem failAgreement(int32_t status) {
  return {status, DSV4RT_CP_NO_CODE,
          std::string("agreeing with the other ranks failed: ") +
              dsv4rt_status_name(status)};
}

enum Kind : int64_t { NotSynced = 0, SyncedUnpacked = 1, SyncedPacked = 2 };

const char *describeKind(int64_t kind) {
  switch (kind) {
  case NotSynced:
    return "does not sync";
  case SyncedUnpacked:
    return "syncs, unpacked";
  default:
    return "syncs, packed";
  }
}

} // namespace

Problem dsv4::rt::agreeOnInput(const dsv4rt_cp_desc &desc, const Input &input,
                               const Problem &mine, int64_t &length) {
  length = input.length;
  if (!desc.agree)
    return mine;
  Kind kind = NotSynced;
  if (desc.flags & DSV4RT_CP_SYNC_PACKED_LENGTH)
    kind = input.packed ? SyncedPacked : SyncedUnpacked;
  int64_t values[] = {encodeError(desc, mine), kind, -int64_t(kind),
                      kind == SyncedPacked ? input.length : 0};
  int32_t status = desc.agree(desc.agree_context, values, 4);
  if (mine)
    return mine;
  if (status != DSV4RT_OK)
    return failAgreement(status);
  if (values[0])
    return decodeError(values[0]);
  if (values[1] != -values[2])
    return {DSV4RT_E_MISMATCH, DSV4RT_CP_E_RANKS_DISAGREE,
            formatCode(DSV4RT_CP_E_RANKS_DISAGREE) + ": one rank's batch " +
                describeKind(-values[2]) + ", another's " +
                describeKind(values[1]) + ", this one's " + describeKind(kind) +
                "; expected one kind on all ranks: give 'seq_lens' on each, "
                "or set DSV4RT_CP_SYNC_PACKED_LENGTH on none"};
  if (kind == SyncedPacked)
    length = values[3];
  return {};
}

Problem dsv4::rt::agreeOnMemory(const dsv4rt_cp_desc &desc,
                                const Problem &mine) {
  if (!desc.agree)
    return mine;
  int64_t value = encodeError(desc, mine);
  int32_t status = desc.agree(desc.agree_context, &value, 1);
  if (mine)
    return mine;
  if (status != DSV4RT_OK)
    return failAgreement(status);
  return value ? decodeError(value) : Problem();
}

// A value travels as two i32: the upper half first, then the lower half of
// those ranks that have the greatest upper one.
int32_t dsv4rt_agree_over_site(void *context, int64_t *values, int32_t count) {
  const auto *where = static_cast<const dsv4rt_agree_site *>(context);
  for (int32_t i = 0; i < count; ++i) {
    int32_t upper = static_cast<int32_t>(values[i] >> 31), upperMax = 0;
    int32_t lower = static_cast<int32_t>(values[i] & INT32_MAX), lowerMax = 0;
    if (int32_t status = dsv4rt_agree_i32(where->module, where->site,
                                          DSV4RT_MAX, upper, &upperMax))
      return status;
    if (int32_t status =
            dsv4rt_agree_i32(where->module, where->site, DSV4RT_MAX,
                             upper == upperMax ? lower : 0, &lowerMax))
      return status;
    values[i] = int64_t(upperMax) * (int64_t(1) << 31) + lowerMax;
  }
  return DSV4RT_OK;
}
