//===- ProcessBackend.cpp - Ranks as processes --------------------- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessBackend.h"

#include "host/HostJob.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sched.h>

namespace dsv4::rt::process {
namespace {

using host::getNowNs;
using host::kRingSize;

struct ModuleState {
  /// By group index; null for a group of one.
  std::vector<std::unique_ptr<Channel>> channels;
};

ModuleState &getState(dsv4rt_module &module) {
  return *static_cast<ModuleState *>(module.backendState);
}

constexpr int kSequenceBits = 44;

/// An operation as the other members must know it.
struct WireOperation {
  uint32_t site, op, dtype, redop;
  int64_t count;
  int32_t value, numSends, numRecvs, reserved;
};

std::vector<char> pack(const Operation &op) {
  WireOperation wire = {op.site,  op.op,       op.dtype,    op.redop, op.count,
                        op.value, op.numSends, op.numRecvs, 0};
  std::vector<char> bytes(sizeof(wire) +
                          (size_t(op.numSends) + op.numRecvs) *
                              sizeof(dsv4rt_peer));
  char *at = bytes.data();
  std::memcpy(at, &wire, sizeof(wire));
  at += sizeof(wire);
  if (op.numSends)
    std::memcpy(at, op.sends, op.numSends * sizeof(dsv4rt_peer));
  at += op.numSends * sizeof(dsv4rt_peer);
  if (op.numRecvs)
    std::memcpy(at, op.recvs, op.numRecvs * sizeof(dsv4rt_peer));
  return bytes;
}

bool unpack(const char *bytes, size_t length, host::PostedOperation &entry) {
  WireOperation wire;
  if (length < sizeof(wire))
    return false;
  std::memcpy(&wire, bytes, sizeof(wire));
  if (wire.numSends < 0 || wire.numRecvs < 0 ||
      length != sizeof(wire) + (size_t(wire.numSends) + wire.numRecvs) *
                                   sizeof(dsv4rt_peer))
    return false;
  std::vector<dsv4rt_peer> peers(size_t(wire.numSends) + wire.numRecvs);
  if (!peers.empty())
    std::memcpy(peers.data(), bytes + sizeof(wire), length - sizeof(wire));
  Operation op;
  op.site = wire.site;
  op.op = wire.op;
  op.dtype = wire.dtype;
  op.redop = wire.redop;
  op.count = wire.count;
  op.value = wire.value;
  op.numSends = wire.numSends;
  op.numRecvs = wire.numRecvs;
  op.sends = peers.data();
  op.recvs = peers.data() + wire.numSends;
  entry.assign(op);
  return true;
}

bool movesData(uint32_t op) {
  return op != DSV4RT_OP_BARRIER && op != DSV4RT_OP_AGREE;
}

/// A gather's answer, member by member.
class Parts {
public:
  explicit Parts(const Message &message) : body(message.body) {}
  bool next(const char *&bytes, uint32_t &length) {
    if (body.size() - at < sizeof(length))
      return false;
    std::memcpy(&length, body.data() + at, sizeof(length));
    at += sizeof(length);
    if (body.size() - at < length)
      return false;
    bytes = body.data() + at;
    at += length;
    return true;
  }

private:
  const std::vector<char> &body;
  size_t at = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Control plane
//===----------------------------------------------------------------------===//

int32_t ProcessBackend::gatherControl(const void *mine, size_t bytes,
                                      void *all) {
  Header header;
  header.sequence = controlSequence++;
  header.member = rank;
  header.size = size;
  link.send(Kind::Gather, header, mine, bytes);
  Message answer;
  int32_t status = block(
      [&] { return link.take(0, header.sequence, answer); },
      [&] {
        std::vector<int32_t> everyone(size);
        std::iota(everyone.begin(), everyone.end(), 0);
        sendExpired(0, header.sequence, everyone,
                    "time limit of " + std::to_string(limits.opTimeoutMs) +
                        " ms: rank " + std::to_string(rank) +
                        " waits for opening or closing a module");
      },
      limits.opTimeoutMs);
  if (status)
    return status;
  Parts parts(answer);
  for (int32_t i = 0; i < size; ++i) {
    const char *part;
    uint32_t length;
    if (!parts.next(part, length) || length != bytes)
      return failAll(DSV4RT_E_MISMATCH,
                     "ranks disagree on the size of a control record");
    std::memcpy(static_cast<char *>(all) + i * bytes, part, bytes);
  }
  return DSV4RT_OK;
}

int32_t ProcessBackend::block(const std::function<bool()> &isDone,
                              const std::function<void()> &expire,
                              int64_t limitMs) {
  constexpr int64_t kLongestSleepNs = 20000000;
  // How long the hub may take to name who is missing.
  constexpr int64_t kHubGraceNs = 2000000000;
  const int64_t begin = getNowNs();
  bool expired = false;
  for (int attempt = 0;; ++attempt) {
    uint64_t seen = link.countActivity();
    bool moved = makeProgress();
    if (link.hasFailed())
      return checkStatus();
    if (isDone())
      return DSV4RT_OK;
    attempt = moved ? 0 : attempt;
    int64_t waited = getNowNs() - begin;
    if (limitMs >= 0 && !expired && waited >= limitMs * 1000000) {
      expired = true;
      expire();
    }
    if (expired && waited >= limitMs * 1000000 + kHubGraceNs)
      return raise(DSV4RT_E_TIMEOUT, true,
                   "time limit of " + std::to_string(limitMs) +
                       " ms passed on rank " + std::to_string(rank) +
                       ", and rank 0 does not answer");
    bool transfers = std::any_of(
        channels.begin(), channels.end(),
        [](const Channel *channel) { return !channel->requests.empty(); });
    // The engine moves bytes only while it is called.
    if (transfers || attempt < 100)
      sched_yield();
    else
      link.awaitActivity(seen, kLongestSleepNs);
  }
}

void ProcessBackend::sendExpired(uint64_t key, uint64_t sequence,
                                 const std::vector<int32_t> &members,
                                 const std::string &text) {
  Header header;
  header.key = key;
  header.sequence = sequence;
  header.size = static_cast<int32_t>(members.size());
  const char *list = reinterpret_cast<const char *>(members.data());
  std::string body(list, members.size() * sizeof(int32_t));
  body += text;
  link.send(Kind::Expired, header, body.data(), body.size());
}

//===----------------------------------------------------------------------===//
// Groups and posting
//===----------------------------------------------------------------------===//

int32_t ProcessBackend::openGroups(dsv4rt_module &module) {
  auto *state = new ModuleState;
  module.backendState = state;
  // Modules are opened by all ranks in one order, so numbers agree.
  uint32_t serial = ++numModules;
  for (uint32_t i = 0; i < module.groups.size(); ++i) {
    const Group &group = module.groups[i];
    state->channels.emplace_back();
    if (group.getSize() == 1)
      continue;
    uint64_t key = uint64_t(serial) << 40 | uint64_t(i) << 20 | group.color;
    auto channel = std::make_unique<Channel>(group, &module, i, key);
    PlaneGroup planeGroup = {(serial << 12) + i, module.desc->groups[i].lane,
                             group.rank, group.getSize(),
                             group.members.data()};
    if (int32_t status =
            plane.openGroup(planeState, &planeGroup, &channel->group))
      return raise(status, false, plane.getError(planeState));
    channels.push_back(channel.get());
    state->channels.back() = std::move(channel);
  }
  char mine = 0;
  std::vector<char> all(size);
  return gatherControl(&mine, 1, all.data());
}

void ProcessBackend::closeGroups(dsv4rt_module &module) {
  if (!module.backendState)
    return;
  ModuleState *state = &getState(module);
  for (auto &channel : state->channels) {
    if (!channel)
      continue;
    channels.erase(std::find(channels.begin(), channels.end(), channel.get()));
    if (!link.hasFailed())
      plane.closeGroup(planeState, channel->group);
  }
  delete state;
  module.backendState = nullptr;
}

int32_t ProcessBackend::postOne(Channel &channel, const Operation &op) {
  if (link.hasFailed())
    return checkStatus();
  host::HostEndpoint &endpoint = channel.endpoint;
  uint64_t sequence = endpoint.started;
  if (sequence >= kRingSize)
    if (int32_t status = waitFor(channel, sequence - kRingSize + 1, 0))
      return status;
  endpoint.getOwn().getEntry(sequence).assign(op);
  endpoint.started = sequence + 1;
  Header header;
  header.key = channel.key;
  header.sequence = sequence;
  header.member = endpoint.info.rank;
  header.size = endpoint.info.getSize();
  std::vector<char> body = pack(op);
  link.send(Kind::Gather, header, body.data(), body.size());
  return DSV4RT_OK;
}

int64_t ProcessBackend::post(dsv4rt_module &module, uint32_t group,
                             const Operation *ops, int32_t n) {
  Channel &channel = *getState(module).channels[group];
  for (int32_t i = 0; i < n; ++i)
    if (int32_t status = postOne(channel, ops[i]))
      return -int64_t(status);
  return (int64_t(group) + 1) << kSequenceBits |
         int64_t(channel.endpoint.started);
}

//===----------------------------------------------------------------------===//
// Progress and waiting
//===----------------------------------------------------------------------===//

bool ProcessBackend::makeProgress() {
  bool moved = false;
  for (Channel *channel : channels)
    moved |= advance(*channel);
  return moved;
}

bool ProcessBackend::advance(Channel &channel) {
  bool moved = false;
  while (!link.hasFailed() && startNext(channel))
    moved = true;
  while (!link.hasFailed() && !channel.requests.empty()) {
    void *request = channel.requests.front();
    int32_t status =
        request ? plane.test(planeState, request) : int32_t(DSV4RT_OK);
    if (status == DSV4RT_PENDING)
      break;
    if (status != DSV4RT_OK) {
      raise(status, false, plane.getError(planeState));
      break;
    }
    channel.requests.pop_front();
    ++channel.completed;
    for (int32_t i = 0; i < channel.endpoint.info.getSize(); ++i)
      channel.shared.members[i].done.store(channel.completed);
    moved = true;
  }
  return moved;
}

/// Hand the next operation to the plugin if all members have posted it.
bool ProcessBackend::startNext(Channel &channel) {
  host::HostEndpoint &endpoint = channel.endpoint;
  Message answer;
  if (endpoint.done == endpoint.started ||
      !link.take(channel.key, endpoint.done, answer))
    return false;
  if (!readEntries(channel, answer)) {
    failAll(DSV4RT_E_BACKEND, "malformed control message");
    return false;
  }
  endpoint.collectEntries();
  std::string mismatch = endpoint.findMismatch();
  if (!mismatch.empty()) {
    raise(DSV4RT_E_MISMATCH, true, mismatch);
    return false;
  }
  const host::PostedOperation &own = *endpoint.entries[endpoint.info.rank];
  void *request = nullptr;
  if (!movesData(own.op))
    host::runOperation(endpoint);
  else if (int32_t status =
               plane.start(planeState, channel.group, &own, &request)) {
    raise(status, false, plane.getError(planeState));
    return false;
  }
  channel.requests.push_back(request);
  ++endpoint.done;
  return true;
}

bool ProcessBackend::readEntries(Channel &channel, const Message &message) {
  host::HostEndpoint &endpoint = channel.endpoint;
  Parts parts(message);
  for (int32_t i = 0; i < endpoint.info.getSize(); ++i) {
    const char *bytes;
    uint32_t length;
    if (!parts.next(bytes, length))
      return false;
    host::HostMember &member = channel.shared.members[i];
    // The own entry has the addresses.
    if (i != endpoint.info.rank &&
        !unpack(bytes, length, member.getEntry(endpoint.done)))
      return false;
    member.posted.store(endpoint.done + 1);
  }
  return true;
}

int32_t ProcessBackend::waitFor(Channel &channel, uint64_t target,
                                int64_t limitMs) {
  host::HostEndpoint &endpoint = channel.endpoint;
  limitMs = limitMs ? limitMs : limits.opTimeoutMs;
  const host::PostedOperation &waited = endpoint.getOwn().getEntry(target - 1);
  int64_t begin = getNowNs();
  int32_t status = block(
      [&] { return channel.completed >= target; },
      [&] {
        // Operations run in order: the first one that has not begun is the one
        // somebody misses.
        uint64_t first = std::min(endpoint.done, target - 1);
        sendExpired(channel.key, first, endpoint.info.members,
                    "time limit of " + std::to_string(limitMs) + " ms: rank " +
                        std::to_string(rank) + " waits for " +
                        describeOperation(endpoint.module, waited) + ", " +
                        endpoint.describePlace(target - 1));
      },
      limitMs);
  if (waited.site < endpoint.module->counters.size())
    endpoint.module->counters[waited.site].waitNs += getNowNs() - begin;
  return status;
}

Channel *ProcessBackend::decodeToken(dsv4rt_module &module, int64_t token,
                                     uint64_t &target) {
  auto &known = getState(module).channels;
  uint64_t group = uint64_t(token >> kSequenceBits) - 1;
  target = uint64_t(token) & ((uint64_t(1) << kSequenceBits) - 1);
  if (group < known.size() && known[group] && target > 0 &&
      target <= known[group]->endpoint.started)
    return known[group].get();
  failHere(DSV4RT_E_INVALID, "wait for token " + std::to_string(token) +
                                 ", which no start returned");
  return nullptr;
}

int32_t ProcessBackend::wait(dsv4rt_module &module, int64_t token,
                             int64_t limitMs) {
  uint64_t target = 0;
  Channel *channel = decodeToken(module, token, target);
  return channel ? waitFor(*channel, target, limitMs) : checkStatus();
}

int32_t ProcessBackend::test(dsv4rt_module &module, int64_t token) {
  uint64_t target = 0;
  Channel *channel = decodeToken(module, token, target);
  makeProgress();
  if (!channel || link.hasFailed())
    return checkStatus();
  return channel->completed >= target ? DSV4RT_OK : DSV4RT_PENDING;
}

int32_t ProcessBackend::agree(dsv4rt_module &module, uint32_t group,
                              const Operation &op, int32_t &out) {
  int64_t token = post(module, group, &op, 1);
  if (token < 0)
    return static_cast<int32_t>(-token);
  if (int32_t status = wait(module, token, 0))
    return status;
  out = getState(module).channels[group]->endpoint.agreed;
  return DSV4RT_OK;
}

int32_t ProcessBackend::endStep(dsv4rt_module &module) {
  Operation op;
  op.site = kSiteStepEnd;
  op.op = DSV4RT_OP_BARRIER;
  auto &known = getState(module).channels;
  for (auto &channel : known)
    if (channel)
      if (int32_t status = postOne(*channel, op))
        return status;
  for (auto &channel : known)
    if (channel)
      if (int32_t status = waitFor(*channel, channel->endpoint.started, 0))
        return status;
  return checkStatus();
}

uint64_t ProcessBackend::countInFlight() const {
  uint64_t count = 0;
  for (const Channel *channel : channels)
    count += channel->endpoint.started - channel->completed;
  return count;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// The hub decides which failure is the first, and its answer comes back to
/// this rank as to the others.
int32_t ProcessBackend::raise(int32_t status, bool everywhere,
                              const std::string &text) {
  constexpr int64_t kHubGraceNs = 2000000000;
  std::string full =
      everywhere ? text : "rank " + std::to_string(rank) + ": " + text;
  if (!link.hasFailed()) {
    Header header;
    header.status = status;
    header.member = everywhere ? -1 : rank;
    link.send(Kind::Raise, header, full.data(), full.size());
    for (int64_t end = getNowNs() + kHubGraceNs;
         !link.hasFailed() && getNowNs() < end;)
      link.awaitActivity(link.countActivity(), 1000000);
    if (!link.hasFailed())
      link.failLocally(status, full);
    if (plane.abort)
      plane.abort(planeState);
  }
  return checkStatus();
}

int32_t ProcessBackend::failHere(int32_t status, const std::string &text) {
  return raise(status, false, text);
}

int32_t ProcessBackend::failAll(int32_t status, const std::string &text) {
  return raise(status, true, text);
}

} // namespace dsv4::rt::process
