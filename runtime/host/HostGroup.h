//===- HostGroup.h - Posted operations of one communicator ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every member of a group has a ring of posted operations and two counters:
// `posted`, operations whose operands are in the ring, and `done`, operations
// for which this member has finished touching the buffers of others.
//
//   member 0:  posted 7  done 5      operation 5 may run on a member once all
//   member 1:  posted 6  done 5      `posted` are above 5; it is complete once
//   member 2:  posted 7  done 6      all `done` are above 5.
//
// Counters only grow, and a member runs its operations in order. A ring entry
// may be overwritten once the operation it held is complete.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_HOST_HOSTGROUP_H
#define DSV4_RUNTIME_HOST_HOSTGROUP_H

#include "Backend.h"
#include "Module.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace dsv4::rt::host {

constexpr uint64_t kRingSize = 128;

/// An operation in a ring, with its own copy of the peer lists. The vectors
/// keep their capacity when an entry is reused.
struct PostedOperation : Operation {
  std::vector<dsv4rt_peer> sendList, recvList;

  void assign(const Operation &operation);
};

struct HostMember {
  alignas(64) std::atomic<uint64_t> posted{0};
  alignas(64) std::atomic<uint64_t> done{0};
  std::vector<PostedOperation> ring = std::vector<PostedOperation>(kRingSize);

  PostedOperation &getEntry(uint64_t sequence) {
    return ring[sequence % kRingSize];
  }
};

/// The shared side: one object per sub-group.
struct HostGroup {
  explicit HostGroup(int32_t size) : members(new HostMember[size]) {}
  std::unique_ptr<HostMember[]> members;
};

/// One rank's side of a group.
class HostEndpoint {
public:
  HostEndpoint(HostGroup &shared, Group info, dsv4rt_module *module,
               uint32_t index);

  HostGroup &shared;
  const Group info;
  /// Null for the world's control group.
  dsv4rt_module *const module;
  const uint32_t index;
  uint64_t started = 0;
  uint64_t done = 0;
  /// Result of the last agree that ran.
  int32_t agreed = 0;

  HostMember &getOwn() { return shared.members[info.rank]; }
  /// Operations that every member has posted / completed, as far as seen.
  uint64_t countPosted();
  uint64_t countCompleted();

  /// Gather the members' entries of operation `done` into `entries`.
  void collectEntries();
  /// Empty when the members agree on operation `done`, else what differs.
  std::string findMismatch() const;
  /// `collective #3 of group "cp"`.
  std::string describePlace(uint64_t sequence) const;

  std::vector<const PostedOperation *> entries;
  /// Operand table of a reduction, one pointer per member.
  std::vector<const void *> sources;

private:
  /// "ranks 0, 2: all_gather(..); rank 1: all_reduce(..)".
  std::string describeVariants() const;

  uint64_t knownPosted = 0;
  uint64_t knownCompleted = 0;
};

/// Runs the copy work of the operation in `endpoint.entries` for this member.
void runOperation(HostEndpoint &endpoint);

/// Checks, before bytes move, that the sends to this member and its receives
/// agree; empty when they do.
std::string findExchangeMismatch(const HostEndpoint &endpoint);

} // namespace dsv4::rt::host

#endif // DSV4_RUNTIME_HOST_HOSTGROUP_H
