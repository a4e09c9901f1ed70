//===- Wire.cpp - Messages of the control plane ------------------- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace dsv4::rt::process {

bool MessageReader::fill(int socket) {
  if (begin > (1u << 16)) {
    buffer.erase(buffer.begin(), buffer.begin() + begin);
    begin = 0;
  }
  char chunk[1 << 14];
  ssize_t got;
  do
    got = recv(socket, chunk, sizeof(chunk), 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0)
    return false;
  buffer.insert(buffer.end(), chunk, chunk + got);
  return true;
}

bool MessageReader::next(Message &message) {
  size_t have = buffer.size() - begin;
  if (have < sizeof(Header))
    return false;
  std::memcpy(&message.header, buffer.data() + begin, sizeof(Header));
  if (message.header.bytes > kMaxBody || message.header.kind > Kind::Bye) {
    broken = true;
    return false;
  }
  if (have < sizeof(Header) + message.header.bytes)
    return false;
  const char *body = buffer.data() + begin + sizeof(Header);
  message.body.assign(body, body + message.header.bytes);
  begin += sizeof(Header) + message.header.bytes;
  return true;
}

bool writeMessage(int socket, Header header, const void *body, size_t bytes) {
  header.bytes = static_cast<uint32_t>(bytes);
  const char *head = reinterpret_cast<const char *>(&header);
  const char *tail = static_cast<const char *>(body);
  std::vector<char> data(head, head + sizeof(header));
  data.insert(data.end(), tail, tail + bytes);
  for (size_t at = 0; at < data.size();) {
    ssize_t sent =
        send(socket, data.data() + at, data.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
  }
  return true;
}

} // namespace dsv4::rt::process
