//===- Link.cpp - One rank's end of the control plane ------------ ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "dsv4/Runtime/Runtime.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dsv4::rt::process {

Link::~Link() {
  if (socket >= 0)
    shutdown(socket, SHUT_RDWR);
  if (thread.joinable())
    thread.join();
  if (socket >= 0)
    close(socket);
}

std::string Link::connect(const std::string &address, uint16_t port,
                          int32_t ownRank, const unsigned char *cookie) {
  rank = ownRank;
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1 ||
      ::connect(socket, reinterpret_cast<sockaddr *>(&name), sizeof(name)) != 0)
    return "rank " + std::to_string(rank) + " cannot reach rank 0 at " +
           address + ":" + std::to_string(port) + ": " + std::strerror(errno);
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  send(Kind::Hello, Header(), cookie, kCookieBytes);
  thread = std::thread([this] { read(); });
  return "";
}

void Link::send(Kind kind, const Header &given, const void *body,
                size_t bytes) {
  Header header = given;
  header.kind = kind;
  header.rank = rank;
  // When the hub is gone, the reader says so.
  (void)writeMessage(socket, header, body, bytes);
}

void Link::read() {
  MessageReader reader;
  Message message;
  while (reader.fill(socket))
    while (reader.next(message))
      accept(message);
  if (!allLeft.load())
    record(DSV4RT_E_RANK_LOST,
           "the connection to rank 0, which runs the control plane, has ended");
}

void Link::accept(Message &message) {
  const Header &header = message.header;
  if (header.kind == Kind::Fail)
    return record(header.rank < 0 || header.rank == rank ? header.status
                                                         : DSV4RT_E_REMOTE,
                  message.getText());
  std::lock_guard<std::mutex> lock(mutex);
  if (header.kind == Kind::Bye)
    allLeft.store(true);
  else
    inbox.emplace(std::make_pair(header.key, header.sequence),
                  std::move(message));
  activity.fetch_add(1);
  changed.notify_all();
}

void Link::record(int32_t newStatus, const std::string &newText) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed.load())
    return;
  status = newStatus;
  text = newText;
  failed.store(true);
  activity.fetch_add(1);
  changed.notify_all();
}

void Link::failLocally(int32_t newStatus, const std::string &newText) {
  record(newStatus, newText);
}

bool Link::take(uint64_t key, uint64_t sequence, Message &message) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = inbox.find({key, sequence});
  if (found == inbox.end())
    return false;
  message = std::move(found->second);
  inbox.erase(found);
  return true;
}

void Link::awaitActivity(uint64_t seen, int64_t ns) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, std::chrono::nanoseconds(ns),
                   [&] { return activity.load() != seen; });
}

int32_t Link::getStatus() const {
  std::lock_guard<std::mutex> lock(mutex);
  return status;
}

std::string Link::getText() const {
  std::lock_guard<std::mutex> lock(mutex);
  return text;
}

} // namespace dsv4::rt::process
