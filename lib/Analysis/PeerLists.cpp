//===- PeerLists.cpp - who sends what to whom -----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/PeerLists.h"

using namespace mlir;
using namespace mlir::dsv4;

/// Rank r sends part m to rank r + shift and gets one from rank r - shift.
static void addShifts(PeerLists &lists, ArrayRef<int64_t> shifts,
                      ArrayRef<int64_t> offsets, ArrayRef<int64_t> counts,
                      int64_t ranks) {
  auto add = [&](int64_t rank, int64_t sign) {
    int64_t number = 0;
    for (auto [shift, offset, count] : llvm::zip(shifts, offsets, counts)) {
      int64_t peer = rank + sign * shift;
      if (peer < 0 || peer >= ranks)
        continue;
      lists.messages.push_back({peer, offset, count});
      ++number;
    }
    return number;
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t firstSend = lists.messages.size();
    int64_t numSends = add(rank, 1);
    lists.ranks.push_back({firstSend, numSends, firstSend + numSends, add(rank, -1)});
  }
}

/// One part per rank: all ranks' lists are sections of two tables, the one with
/// parts at their places and the one where each rank has a single part.
static void addPrefix(PeerLists &lists, bool isAdd, int64_t elements, int64_t ranks) {
  for (bool isPlaced : {true, false})
    for (int64_t peer = 0; peer < ranks; ++peer)
      lists.messages.push_back({peer, isPlaced ? peer * elements : 0, elements});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t lower = rank + 1, higher = ranks - rank;
    if (isAdd)
      lists.ranks.push_back({0, lower, rank, higher});
    else
      lists.ranks.push_back({ranks + rank, higher, 0, lower});
  }
}

PeerLists PeerLists::compute(ExchangeScheme scheme, ArrayRef<int64_t> shifts,
                             ArrayRef<int64_t> offsets, ArrayRef<int64_t> counts,
                             int64_t elements, int64_t ranks) {
  PeerLists lists;
  if (scheme == ExchangeScheme::shift)
    addShifts(lists, shifts, offsets, counts, ranks);
  else
    addPrefix(lists, scheme == ExchangeScheme::prefix_add, elements, ranks);
  return lists;
}

ArrayRef<PeerLists::Message> PeerLists::getSends(int64_t rank) const {
  return ArrayRef(messages).slice(ranks[rank].firstSend, ranks[rank].numSends);
}

ArrayRef<PeerLists::Message> PeerLists::getReceives(int64_t rank) const {
  return ArrayRef(messages).slice(ranks[rank].firstReceive, ranks[rank].numReceives);
}

int64_t PeerLists::countReceived(int64_t rank) const {
  int64_t elements = 0;
  for (const Message &message : getReceives(rank))
    elements += message.peer == rank ? 0 : message.count;
  return elements;
}

/// The k-th receive from q must take as much as the k-th send of q.
std::string PeerLists::findMismatch() const {
  auto select = [](ArrayRef<Message> list, int64_t peer) {
    SmallVector<int64_t> counts;
    for (const Message &message : list)
      if (message.peer == peer)
        counts.push_back(message.count);
    return counts;
  };
  int64_t size = ranks.size();
  for (int64_t from = 0; from < size; ++from) {
    SmallVector<SmallVector<int64_t>> sent(size);
    for (const Message &message : getSends(from))
      sent[message.peer].push_back(message.count);
    for (int64_t to = 0; to < size; ++to)
      if (sent[to] != select(getReceives(to), from))
        return ("rank " + Twine(to) + " expects other messages from rank " + Twine(from) +
                " than that sends")
            .str();
  }
  return "";
}
