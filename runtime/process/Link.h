//===- Link.h - One rank's end of the control plane -------*- C++ -*- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_PROCESS_LINK_H
#define DSV4_RUNTIME_PROCESS_LINK_H

#include "Wire.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace dsv4::rt::process {

/// The connection to the hub. A thread reads it; the rank's thread sends and
/// asks.
class Link {
public:
  ~Link();
  std::string connect(const std::string &address, uint16_t port, int32_t rank,
                      const unsigned char *cookie);

  void send(Kind kind, const Header &header, const void *body, size_t bytes);
  /// The answer to a Gather, once.
  bool take(uint64_t key, uint64_t sequence, Message &message);
  /// Sleep until something arrives, at most `ns`.
  void awaitActivity(uint64_t seen, int64_t ns);
  uint64_t countActivity() const { return activity.load(); }

  bool hasFailed() const { return failed.load(); }
  bool haveAllLeft() const { return allLeft.load(); }
  /// Valid once hasFailed().
  int32_t getStatus() const;
  std::string getText() const;

  /// Record a failure of this rank alone without the hub's help.
  void failLocally(int32_t status, const std::string &text);

private:
  void read();
  void accept(Message &message);
  void record(int32_t status, const std::string &text);

  int socket = -1;
  int32_t rank = 0;
  std::atomic<bool> failed{false}, allLeft{false};
  std::atomic<uint64_t> activity{0};
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<uint64_t, uint64_t>, Message> inbox;
  int32_t status = 0;
  std::string text;
  std::thread thread;
};

} // namespace dsv4::rt::process

#endif // DSV4_RUNTIME_PROCESS_LINK_H
