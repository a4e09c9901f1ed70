//===- HostGroup.cpp - Posted operations of one communicator --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostGroup.h"

#include <algorithm>

namespace dsv4::rt::host {

void PostedOperation::assign(const Operation &operation) {
  static_cast<Operation &>(*this) = operation;
  sendList.assign(operation.sends, operation.sends + operation.numSends);
  recvList.assign(operation.recvs, operation.recvs + operation.numRecvs);
  sends = sendList.data();
  recvs = recvList.data();
}

HostEndpoint::HostEndpoint(HostGroup &shared, Group info, dsv4rt_module *module,
                           uint32_t index)
    : shared(shared), info(std::move(info)), module(module), index(index),
      entries(this->info.members.size()), sources(entries.size()) {}

uint64_t HostEndpoint::countPosted() {
  if (knownPosted > done)
    return knownPosted;
  uint64_t least = started;
  for (int32_t i = 0; i < info.getSize() && least > done; ++i)
    least = std::min(least, shared.members[i].posted.load());
  return knownPosted = std::max(knownPosted, least);
}

uint64_t HostEndpoint::countCompleted() {
  uint64_t least = done;
  for (int32_t i = 0; i < info.getSize() && least > knownCompleted; ++i)
    least = std::min(least, shared.members[i].done.load());
  return knownCompleted = std::max(knownCompleted, least);
}

void HostEndpoint::collectEntries() {
  for (int32_t i = 0; i < info.getSize(); ++i)
    entries[i] = &shared.members[i].getEntry(done);
}

/// Whether two members posted the same operation. The counts of an exchange
/// differ by rank; its site stands for its peer lists.
static bool isSameOperation(const Operation &a, const Operation &b) {
  return a.site == b.site && a.op == b.op && a.dtype == b.dtype &&
         a.redop == b.redop && a.count == b.count;
}

std::string HostEndpoint::describePlace(uint64_t sequence) const {
  return "collective #" + std::to_string(sequence) + " of group \"" +
         info.name + "\"";
}

std::string HostEndpoint::findMismatch() const {
  bool same = std::all_of(entries.begin(), entries.end(), [&](auto *entry) {
    return isSameOperation(*entry, *entries.front());
  });
  const PostedOperation &first = *entries.front();
  if (same && module && first.site < module->sites.size()) {
    int64_t declared = module->sites[first.site].count;
    if (first.op <= DSV4RT_OP_ALL_REDUCE && declared >= 0 &&
        declared != first.count)
      return describePlace(done) + ": the program declares count " +
             std::to_string(declared) + ", every rank passes " +
             describeOperation(module, first);
  }
  if (same)
    return first.op == DSV4RT_OP_EXCHANGE ? findExchangeMismatch(*this) : "";

  return describePlace(done) + " differs: " + describeVariants();
}

std::string HostEndpoint::describeVariants() const {
  std::string text;
  std::vector<bool> listed(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (listed[i])
      continue;
    std::string ranks;
    for (size_t j = i; j < entries.size(); ++j) {
      if (!isSameOperation(*entries[i], *entries[j]))
        continue;
      listed[j] = true;
      ranks += (ranks.empty() ? " " : ", ") + std::to_string(info.members[j]);
    }
    bool several = ranks.find(',') != std::string::npos;
    text += std::string(text.empty() ? "" : "; ") +
            (several ? "ranks" : "rank") + ranks + ": " +
            describeOperation(module, *entries[i]);
  }
  return text;
}

} // namespace dsv4::rt::host
