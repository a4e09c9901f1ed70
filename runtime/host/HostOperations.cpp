//===- HostOperations.cpp - The copy work of each collective --------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs on a member once all members have posted the operation. Sources of
// other members are read in place, and all_reduce also writes in place:
//
//   all_gather      member r copies every other source into its own dst
//   reduce_scatter  member r reduces slice r of all sources into its own dst
//   all_reduce      member r reduces slice r of all sources and writes it to
//                   slice r of every dst. Slice r is read by member r alone and
//                   block by block before it is written, so dst may be src
//   exchange        member r copies what it receives out of the senders' src
//
//===----------------------------------------------------------------------===//

#include "HostGroup.h"

#include "Reduce.h"

#include <algorithm>
#include <cstring>

namespace dsv4::rt::host {
namespace {

void copyBytes(void *dst, const void *src, int64_t bytes) {
  if (bytes > 0 && dst != src)
    std::memcpy(dst, src, bytes);
}

char *advance(void *base, int64_t bytes) {
  return static_cast<char *>(base) + bytes;
}
const char *advance(const void *base, int64_t bytes) {
  return static_cast<const char *>(base) + bytes;
}

void runAllGather(HostEndpoint &endpoint, const PostedOperation &own) {
  int32_t size = endpoint.info.getSize();
  int64_t bytes = own.count * dsv4rt_dtype_size(own.dtype);
  // Starting after the own rank spreads the readers over the sources.
  for (int32_t i = 0; i < size; ++i) {
    int32_t peer = (endpoint.info.rank + 1 + i) % size;
    copyBytes(advance(own.dst, peer * bytes), endpoint.entries[peer]->src,
              bytes);
  }
}

void collectSources(HostEndpoint &endpoint) {
  for (size_t i = 0; i < endpoint.entries.size(); ++i)
    endpoint.sources[i] = endpoint.entries[i]->src;
}

void runReduceScatter(HostEndpoint &endpoint, const PostedOperation &own) {
  if (own.count == 0)
    return;
  collectSources(endpoint);
  ReduceFn reduce = getReduceKernel(own.dtype, own.redop);
  reduce(endpoint.sources.data(), endpoint.info.getSize(),
         endpoint.info.rank * own.count, own.count, own.dst);
}

void runAllReduce(HostEndpoint &endpoint, const PostedOperation &own) {
  // Slices are whole cache lines, so that members do not write to one line.
  constexpr int64_t kSliceUnit = 64;
  // The reduced block, small enough to stay in the first-level cache.
  constexpr int64_t kBlockBytes = 8192;
  int64_t size = endpoint.info.getSize();
  int64_t width = dsv4rt_dtype_size(own.dtype);
  int64_t slice = (own.count + size - 1) / size;
  slice = (slice + kSliceUnit - 1) / kSliceUnit * kSliceUnit;
  int64_t begin = std::min(own.count, endpoint.info.rank * slice);
  int64_t end = std::min(own.count, begin + slice);

  collectSources(endpoint);
  ReduceFn reduce = getReduceKernel(own.dtype, own.redop);
  alignas(64) char block[kBlockBytes];
  int64_t blockCount = kBlockBytes / width;
  for (int64_t at = begin; at < end; at += blockCount) {
    int64_t count = std::min(blockCount, end - at);
    reduce(endpoint.sources.data(), endpoint.info.getSize(), at, count, block);
    for (const PostedOperation *entry : endpoint.entries)
      std::memcpy(advance(entry->dst, at * width), block, count * width);
  }
}

void runAgree(HostEndpoint &endpoint, const PostedOperation &own) {
  ReduceFn reduce = getReduceKernel(DSV4RT_I32, own.redop);
  for (size_t i = 0; i < endpoint.entries.size(); ++i)
    endpoint.sources[i] = &endpoint.entries[i]->value;
  reduce(endpoint.sources.data(), endpoint.info.getSize(), 0, 1,
         &endpoint.agreed);
}

/// The `ordinal`-th message for `member` among `sends`, or null.
const dsv4rt_peer *findSend(const PostedOperation &sender, int32_t member,
                            int32_t ordinal) {
  for (const dsv4rt_peer &send : sender.sendList)
    if (send.peer == member && ordinal-- == 0)
      return &send;
  return nullptr;
}

int32_t countMessages(const std::vector<dsv4rt_peer> &list, int32_t peer,
                      size_t limit) {
  return static_cast<int32_t>(
      std::count_if(list.begin(), list.begin() + limit,
                    [&](const dsv4rt_peer &p) { return p.peer == peer; }));
}

void runExchange(HostEndpoint &endpoint, const PostedOperation &own) {
  int64_t width = dsv4rt_dtype_size(own.dtype);
  for (size_t i = 0; i < own.recvList.size(); ++i) {
    const dsv4rt_peer &recv = own.recvList[i];
    int32_t ordinal = countMessages(own.recvList, recv.peer, i);
    const PostedOperation &sender = *endpoint.entries[recv.peer];
    const dsv4rt_peer *send = findSend(sender, endpoint.info.rank, ordinal);
    copyBytes(advance(own.dst, recv.offset * width),
              advance(sender.src, send->offset * width), recv.count * width);
  }
}

} // namespace

std::string findExchangeMismatch(const HostEndpoint &endpoint) {
  int32_t me = endpoint.info.rank;
  const PostedOperation &own = *endpoint.entries[me];
  auto rankName = [&](int32_t member) {
    return "rank " + std::to_string(endpoint.info.members[member]);
  };
  auto describe = [&](const std::string &what) {
    return endpoint.describePlace(endpoint.done) + ", " +
           describeOperation(endpoint.module, own) + ": " + what;
  };
  for (int32_t peer = 0; peer < endpoint.info.getSize(); ++peer) {
    const PostedOperation &sender = *endpoint.entries[peer];
    int32_t sent = countMessages(sender.sendList, me, sender.sendList.size());
    int32_t expected = countMessages(own.recvList, peer, own.recvList.size());
    if (sent != expected)
      return describe(rankName(me) + " expects " + std::to_string(expected) +
                      " messages from " + rankName(peer) + ", which sends " +
                      std::to_string(sent));
  }
  for (size_t i = 0; i < own.recvList.size(); ++i) {
    const dsv4rt_peer &recv = own.recvList[i];
    const dsv4rt_peer *send =
        findSend(*endpoint.entries[recv.peer], me,
                 countMessages(own.recvList, recv.peer, i));
    if (send->count != recv.count)
      return describe(rankName(me) + " expects " + std::to_string(recv.count) +
                      " elements from " + rankName(recv.peer) +
                      ", which sends " + std::to_string(send->count));
  }
  return "";
}

void runOperation(HostEndpoint &endpoint) {
  const PostedOperation &own = *endpoint.entries[endpoint.info.rank];
  switch (own.op) {
  case DSV4RT_OP_ALL_GATHER:
    return runAllGather(endpoint, own);
  case DSV4RT_OP_REDUCE_SCATTER:
    return runReduceScatter(endpoint, own);
  case DSV4RT_OP_ALL_REDUCE:
    return runAllReduce(endpoint, own);
  case DSV4RT_OP_AGREE:
    return runAgree(endpoint, own);
  case DSV4RT_OP_EXCHANGE:
    return runExchange(endpoint, own);
  default: // barrier: arriving was the work
    return;
  }
}

} // namespace dsv4::rt::host
