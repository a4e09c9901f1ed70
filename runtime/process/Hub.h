//===- Hub.h - The meeting point of the control plane ------*- C++ -*- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_PROCESS_HUB_H
#define DSV4_RUNTIME_PROCESS_HUB_H

#include "Wire.h"

#include <map>
#include <thread>

namespace dsv4::rt::process {

/// Serves the connections of all ranks on a thread of rank 0.
class Hub {
public:
  ~Hub();
  /// Listen on `address` (IPv4, dotted), any free port. Empty when it works.
  std::string listen(const std::string &address, int32_t numRanks,
                     const unsigned char *cookie);
  uint16_t getPort() const { return port; }

private:
  struct Peer {
    int socket = -1;
    MessageReader reader;
    int32_t rank = -1; ///< -1 until the cookie was right
  };
  struct Step {
    std::vector<std::vector<char>> bodies;
    std::vector<int32_t> ranks; ///< -1: not there
    int32_t arrived = 0;
  };
  using StepKey = std::pair<uint64_t, uint64_t>;

  void serve();
  void handle(Peer &peer, Message &message);
  void handleHello(Peer &peer, const Message &message);
  void handleGather(Message &message);
  void handleExpired(const Message &message);
  void drop(Peer &peer);
  void checkLeft();
  void fail(int32_t status, int32_t culprit, const std::string &text);
  void sendTo(int32_t rank, const Header &header, const void *body,
              size_t bytes);

  int listener = -1;
  int wake[2] = {-1, -1};
  uint16_t port = 0;
  int32_t numRanks = 0;
  unsigned char cookie[kCookieBytes] = {};
  std::vector<Peer> peers;
  std::vector<int> sockets; ///< by rank; -1 before Hello and after the end
  std::vector<bool> left;
  std::map<StepKey, Step> steps;
  bool failed = false;
  Message failure; ///< for ranks that connect later
  std::thread thread;
};

} // namespace dsv4::rt::process

#endif // DSV4_RUNTIME_PROCESS_HUB_H
