//===- Hub.cpp - The meeting point of the control plane ------------ ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hub.h"

#include "dsv4/Runtime/Runtime.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dsv4::rt::process {

Hub::~Hub() {
  if (thread.joinable()) {
    (void)!write(wake[1], "", 1);
    thread.join();
  }
  for (Peer &peer : peers)
    if (peer.socket >= 0)
      close(peer.socket);
  for (int fd : {listener, wake[0], wake[1]})
    if (fd >= 0)
      close(fd);
}

std::string Hub::listen(const std::string &address, int32_t ranks,
                        const unsigned char *secret) {
  numRanks = ranks;
  sockets.assign(ranks, -1);
  left.assign(ranks, false);
  std::memcpy(cookie, secret, kCookieBytes);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  socklen_t length = sizeof(name);
  if (listener < 0 || inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1 ||
      bind(listener, reinterpret_cast<sockaddr *>(&name), length) != 0 ||
      ::listen(listener, ranks + 8) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr *>(&name), &length) !=
          0 ||
      pipe2(wake, 02000000) != 0)
    return "control plane cannot listen on " + address + ": " +
           std::strerror(errno);
  port = ntohs(name.sin_port);
  thread = std::thread([this] { serve(); });
  return "";
}

void Hub::serve() {
  for (;;) {
    std::vector<pollfd> polled = {{wake[0], POLLIN, 0}, {listener, POLLIN, 0}};
    for (const Peer &peer : peers)
      polled.push_back({peer.socket, POLLIN, 0});
    if (poll(polled.data(), polled.size(), -1) < 0)
      continue;
    if (polled[0].revents)
      return;
    for (size_t i = 0; i < peers.size(); ++i) {
      if (!polled[i + 2].revents)
        continue;
      Peer &peer = peers[i];
      bool open = peer.reader.fill(peer.socket);
      Message message;
      while (peer.socket >= 0 && peer.reader.next(message))
        handle(peer, message);
      if (peer.socket >= 0 && (!open || peer.reader.broken))
        drop(peer);
    }
    peers.erase(std::remove_if(peers.begin(), peers.end(),
                               [](const Peer &p) { return p.socket < 0; }),
                peers.end());
    if (polled[1].revents) {
      Peer peer;
      peer.socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      int on = 1;
      setsockopt(peer.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      if (peer.socket >= 0)
        peers.push_back(std::move(peer));
    }
  }
}

void Hub::handle(Peer &peer, Message &message) {
  if (peer.rank < 0)
    return handleHello(peer, message);
  message.header.rank = peer.rank;
  switch (message.header.kind) {
  case Kind::Gather:
    return handleGather(message);
  case Kind::Expired:
    return handleExpired(message);
  case Kind::Raise:
    return fail(message.header.status,
                message.header.member < 0 ? -1 : peer.rank, message.getText());
  case Kind::Bye:
    left[peer.rank] = true;
    if (std::all_of(left.begin(), left.end(), [](bool is) { return is; })) {
      Header bye;
      bye.kind = Kind::Bye;
      for (int32_t rank = 0; rank < numRanks; ++rank)
        sendTo(rank, bye, nullptr, 0);
    }
    return checkLeft();
  default:
    return drop(peer);
  }
}

/// Compares in constant time; a wrong cookie learns nothing, not even a reply.
void Hub::handleHello(Peer &peer, const Message &message) {
  unsigned char difference = message.body.size() == kCookieBytes ? 0 : 1;
  for (size_t i = 0; difference == 0 && i < kCookieBytes; ++i)
    difference |= cookie[i] ^ static_cast<unsigned char>(message.body[i]);
  int32_t rank = message.header.rank;
  if (difference || message.header.kind != Kind::Hello || rank < 0 ||
      rank >= numRanks || sockets[rank] >= 0)
    return drop(peer);
  peer.rank = rank;
  sockets[rank] = peer.socket;
  if (failed)
    sendTo(rank, failure.header, failure.body.data(), failure.body.size());
}

void Hub::handleGather(Message &message) {
  const Header &header = message.header;
  if (header.size < 1 || header.size > numRanks || header.member < 0 ||
      header.member >= header.size)
    return fail(DSV4RT_E_INVALID, header.rank, "malformed control message");
  StepKey key(header.key, header.sequence);
  Step &step = steps[key];
  if (step.bodies.empty()) {
    step.bodies.resize(header.size);
    step.ranks.assign(header.size, -1);
  }
  if (static_cast<size_t>(header.size) != step.ranks.size() ||
      step.ranks[header.member] >= 0)
    return fail(DSV4RT_E_MISMATCH, -1,
                "rank " + std::to_string(header.rank) +
                    " takes another rank's place in a group");
  step.ranks[header.member] = header.rank;
  step.bodies[header.member] = std::move(message.body);
  if (++step.arrived < header.size)
    return checkLeft();
  // Each member's bytes behind their length.
  std::vector<char> all;
  for (const std::vector<char> &body : step.bodies) {
    uint32_t bytes = static_cast<uint32_t>(body.size());
    const char *raw = reinterpret_cast<const char *>(&bytes);
    all.insert(all.end(), raw, raw + sizeof(bytes));
    all.insert(all.end(), body.begin(), body.end());
  }
  for (int32_t rank : step.ranks)
    sendTo(rank, header, all.data(), all.size());
  steps.erase(key);
}

/// The body is the list of the group's world ranks, then the text.
void Hub::handleExpired(const Message &message) {
  const Header &header = message.header;
  size_t listBytes = size_t(header.size) * sizeof(int32_t);
  if (header.size < 1 || header.size > numRanks ||
      message.body.size() < listBytes)
    return;
  std::vector<int32_t> members(header.size);
  std::memcpy(members.data(), message.body.data(), listBytes);
  std::string text(message.body.begin() + listBytes, message.body.end());
  std::string absent;
  auto found = steps.find({header.key, header.sequence});
  if (found != steps.end())
    for (int32_t i = 0; i < header.size; ++i)
      if (found->second.ranks[i] < 0)
        absent += (absent.empty() ? "rank " : ", rank ") +
                  std::to_string(members[i]);
  fail(DSV4RT_E_TIMEOUT, -1,
       text + (absent.empty() ? "; all ranks are there, but it does not end"
                              : "; not there: " + absent));
}

/// Fail when a step waits while a rank of the job has left: the step of a group
/// without that rank still completes, so only ranks that are missing count.
void Hub::checkLeft() {
  for (const auto &[key, step] : steps) {
    // Which rank is missing is known for the world's group only; others are
    // served by the time limit.
    if (key.first != 0)
      continue;
    for (size_t i = 0; i < step.ranks.size(); ++i)
      if (step.ranks[i] < 0 && left[i])
        return fail(DSV4RT_E_RANK_LOST, -1,
                    "rank " + std::to_string(i) +
                        " has left the job while others wait for it");
  }
}

void Hub::drop(Peer &peer) {
  close(peer.socket);
  peer.socket = -1;
  if (peer.rank < 0)
    return;
  sockets[peer.rank] = -1;
  if (!left[peer.rank])
    fail(DSV4RT_E_RANK_LOST, -1,
         "rank " + std::to_string(peer.rank) +
             " is gone: its connection ended before it left the job");
}

void Hub::fail(int32_t status, int32_t culprit, const std::string &text) {
  if (failed)
    return;
  failed = true;
  failure.header.kind = Kind::Fail;
  failure.header.status = status;
  failure.header.rank = culprit;
  failure.body.assign(text.begin(), text.end());
  for (int32_t rank = 0; rank < numRanks; ++rank)
    sendTo(rank, failure.header, text.data(), text.size());
}

void Hub::sendTo(int32_t rank, const Header &header, const void *body,
                 size_t bytes) {
  if (sockets[rank] >= 0)
    writeMessage(sockets[rank], header, body, bytes);
}

} // namespace dsv4::rt::process
