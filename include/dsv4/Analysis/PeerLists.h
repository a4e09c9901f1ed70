//===- PeerLists.h - who sends what to whom --------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_ANALYSIS_PEERLISTS_H
#define DSV4_ANALYSIS_PEERLISTS_H

#include "dsv4/IR/Dsv4Ops.h"

namespace mlir::dsv4 {

/// The messages of one exchange for every rank of its group, in elements.
struct PeerLists {
  struct Message {
    int64_t peer, offset, count;
  };
  /// Where a rank's lists lie in `messages`.
  struct Lists {
    int64_t firstSend, numSends, firstReceive, numReceives;
  };
  SmallVector<Message> messages;
  SmallVector<Lists> ranks;

  /// The lists of `op` in a group of `ranks` ranks, where `elements` are those
  /// of one part (prefix, prefix_add) or of the buffer (shift).
  static PeerLists compute(ExchangeScheme scheme, ArrayRef<int64_t> shifts,
                           ArrayRef<int64_t> offsets, ArrayRef<int64_t> counts,
                           int64_t elements, int64_t ranks);

  ArrayRef<Message> getSends(int64_t rank) const;
  ArrayRef<Message> getReceives(int64_t rank) const;
  /// Elements that a rank receives from others.
  int64_t countReceived(int64_t rank) const;
  /// Empty, or the first two ranks that expect different messages of each
  /// other.
  std::string findMismatch() const;
};

} // namespace mlir::dsv4

#endif // DSV4_ANALYSIS_PEERLISTS_H
