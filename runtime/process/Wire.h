//===- Wire.h - Messages of the control plane -------------*- C++ -*- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 runs a hub; every rank, also rank 0, has one TCP connection to it.
//
//   rank -> hub   Hello    the cookie of the job
//                 Gather   one member's bytes for step `sequence` of group `key`
//                 Expired  a wait has passed its limit: who is missing?
//                 Raise    a failure
//                 Bye      the rank function has returned
//   hub -> rank   Gather   the bytes of all members
//                 Fail     the failure of the job, once
//                 Bye      all ranks have said so
//
// A connection that ends before Bye is a lost rank.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_PROCESS_WIRE_H
#define DSV4_RUNTIME_PROCESS_WIRE_H

#include <cstdint>
#include <string>
#include <vector>

namespace dsv4::rt::process {

enum class Kind : uint32_t { Hello, Gather, Expired, Raise, Fail, Bye };

struct Header {
  Kind kind = Kind::Hello;
  /// The sender; of a Fail the culprit, or -1 for a failure of all ranks.
  int32_t rank = 0;
  uint64_t key = 0;
  uint64_t sequence = 0;
  /// Place in the group and its size; of Raise and Fail the status.
  int32_t member = 0;
  int32_t size = 0;
  int32_t status = 0;
  uint32_t bytes = 0;
};

struct Message {
  Header header;
  std::vector<char> body;

  std::string getText() const { return {body.begin(), body.end()}; }
};

constexpr uint32_t kMaxBody = 64u << 20;
constexpr size_t kCookieBytes = 16;

/// Collects bytes of a stream into messages.
class MessageReader {
public:
  /// Read what `socket` has; false at the end of the stream or on an error.
  bool fill(int socket);
  /// The next complete message; false when there is none. `broken` is set by a
  /// header that no member of the job sends.
  bool next(Message &message);
  bool broken = false;

private:
  std::vector<char> buffer;
  size_t begin = 0;
};

/// Write all of a message; false when the peer is gone.
bool writeMessage(int socket, Header header, const void *body, size_t bytes);

} // namespace dsv4::rt::process

#endif // DSV4_RUNTIME_PROCESS_WIRE_H
