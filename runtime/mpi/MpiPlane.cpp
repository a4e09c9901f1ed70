//===- MpiPlane.cpp - Bytes over MPI ---------------------------------- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every collective is a set of point-to-point messages between its members,
// and a reduction ends in the host backend's rank-order kernel; so results
// equal the host backend's bit for bit, whatever the MPI library does in its
// own reductions. All calls are non-blocking and made by the rank's thread.
//
// Messages of a group carry its tag. The core starts a group's operations in
// one order on all members, and MPI keeps the order of messages between two
// ranks, so they need no numbers. The second half of an all_reduce has a tag of
// its own, because it may start after the next operation.
//
//===----------------------------------------------------------------------===//

#include "process/DataPlane.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <mpi.h>
#include <vector>

using namespace dsv4::rt;
using namespace dsv4::rt::process;

namespace {

struct Plane {
  MPI_Comm world = MPI_COMM_NULL;
  int rank = 0, size = 1, maxTag = 32767;
  PlaneServices services;
  std::string error;
};

struct MpiGroup {
  int tag;
  int32_t rank;
  std::vector<int32_t> members;

  int32_t getSize() const { return static_cast<int32_t>(members.size()); }
};

struct Request {
  Operation op;
  const MpiGroup *group;
  std::vector<MPI_Request> pending;
  std::unique_ptr<char[]> scratch;
  /// Elements of a member's part, and 1 in the second half of an all_reduce.
  int64_t slice = 0;
  int phase = 0;
};

char *advance(void *base, int64_t bytes) {
  return static_cast<char *>(base) + bytes;
}
const char *advance(const void *base, int64_t bytes) {
  return static_cast<const char *>(base) + bytes;
}

/// Collects the messages of one request; the first MPI error ends it.
class Poster {
public:
  Poster(Plane &plane, Request &request) : plane(plane), request(request) {}

  void send(int32_t member, const void *data, int64_t bytes) {
    post(member, bytes, [&](int64_t at, int part, int peer, MPI_Request *out) {
      return MPI_Isend(advance(data, at), part, MPI_BYTE, peer, getTag(),
                       plane.world, out);
    });
  }
  void receive(int32_t member, void *data, int64_t bytes) {
    post(member, bytes, [&](int64_t at, int part, int peer, MPI_Request *out) {
      return MPI_Irecv(advance(data, at), part, MPI_BYTE, peer, getTag(),
                       plane.world, out);
    });
  }
  int status = MPI_SUCCESS;

private:
  int getTag() const { return request.group->tag + request.phase; }

  /// MPI counts in int: long messages go in parts.
  template <class Fn>
  void post(int32_t member, int64_t bytes, Fn &&call) {
    constexpr int64_t kPart = int64_t(1) << 30;
    for (int64_t at = 0; at < bytes && status == MPI_SUCCESS; at += kPart) {
      request.pending.push_back(MPI_REQUEST_NULL);
      status = call(at, static_cast<int>(std::min(kPart, bytes - at)),
                    request.group->members[member], &request.pending.back());
    }
  }

  Plane &plane;
  Request &request;
};

int32_t fail(Plane &plane, const char *what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  plane.error = std::string(what) + ": " + text;
  return DSV4RT_E_BACKEND;
}

/// Part `member` of `count` elements cut into slices: begin and length.
std::pair<int64_t, int64_t> getSlice(int64_t count, int64_t slice,
                                     int64_t member) {
  int64_t begin = std::min(count, member * slice);
  return {begin, std::min(slice, count - begin)};
}

void postGather(Poster &poster, Request &request, int64_t width) {
  const Operation &op = request.op;
  int64_t bytes = op.count * width;
  int32_t me = request.group->rank;
  for (int32_t i = 0; i < request.group->getSize(); ++i) {
    if (i == me)
      continue;
    poster.receive(i, advance(op.dst, i * bytes), bytes);
    poster.send(i, op.src, bytes);
  }
  if (bytes && advance(op.dst, me * bytes) != op.src)
    std::memcpy(advance(op.dst, me * bytes), op.src, bytes);
}

/// Sends each member its slice and collects all members' parts of the own one.
void postSlices(Poster &poster, Request &request, int64_t total,
                int64_t width) {
  int32_t size = request.group->getSize(), me = request.group->rank;
  int64_t own = getSlice(total, request.slice, me).second * width;
  request.scratch.reset(new char[size * own + 1]);
  for (int32_t i = 0; i < size; ++i) {
    if (i == me)
      continue;
    auto [begin, count] = getSlice(total, request.slice, i);
    poster.receive(i, request.scratch.get() + i * own, own);
    poster.send(i, advance(request.op.src, begin * width), count * width);
  }
}

void postExchange(Poster &poster, const Request &request, int64_t width) {
  const Operation &op = request.op;
  int32_t me = request.group->rank;
  for (int32_t i = 0; i < op.numRecvs; ++i)
    if (op.recvs[i].peer != me)
      poster.receive(op.recvs[i].peer,
                     advance(op.dst, op.recvs[i].offset * width),
                     op.recvs[i].count * width);
  int32_t send = 0;
  for (int32_t i = 0; i < op.numRecvs; ++i) {
    if (op.recvs[i].peer != me)
      continue;
    while (op.sends[send].peer != me)
      ++send;
    std::memmove(advance(op.dst, op.recvs[i].offset * width),
                 advance(op.src, op.sends[send++].offset * width),
                 op.recvs[i].count * width);
  }
  for (int32_t i = 0; i < op.numSends; ++i)
    if (op.sends[i].peer != me)
      poster.send(op.sends[i].peer,
                  advance(op.src, op.sends[i].offset * width),
                  op.sends[i].count * width);
}

/// Combine the parts of the own slice in rank order into dst.
void reduceSlice(Plane &plane, Request &request, int64_t total, void *dst) {
  const Operation &op = request.op;
  int64_t width = plane.services.getWidth(op.dtype);
  int32_t size = request.group->getSize(), me = request.group->rank;
  auto [begin, count] = getSlice(total, request.slice, me);
  if (count <= 0)
    return;
  std::vector<const void *> sources(size);
  for (int32_t i = 0; i < size; ++i)
    sources[i] = request.scratch.get() + i * count * width;
  sources[me] = advance(op.src, begin * width);
  plane.services.getReduceKernel(op.dtype, op.redop)(sources.data(), size, 0,
                                                     count, dst);
}

/// What follows when all messages have arrived; true when more were posted.
bool finish(Plane &plane, Request &request, int &status) {
  const Operation &op = request.op;
  int64_t width = plane.services.getWidth(op.dtype);
  if (op.op == DSV4RT_OP_REDUCE_SCATTER) {
    reduceSlice(plane, request, op.count * request.group->getSize(), op.dst);
    return false;
  }
  if (op.op != DSV4RT_OP_ALL_REDUCE || request.phase == 1)
    return false;
  int32_t me = request.group->rank;
  auto [begin, count] = getSlice(op.count, request.slice, me);
  reduceSlice(plane, request, op.count, advance(op.dst, begin * width));
  request.phase = 1;
  request.pending.clear();
  Poster poster(plane, request);
  for (int32_t i = 0; i < request.group->getSize(); ++i) {
    if (i == me)
      continue;
    auto [otherBegin, otherCount] = getSlice(op.count, request.slice, i);
    poster.receive(i, advance(op.dst, otherBegin * width), otherCount * width);
    poster.send(i, advance(op.dst, begin * width), count * width);
  }
  status = poster.status;
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

int32_t openPlane(const PlaneServices *services, void **out, int32_t *rank,
                  int32_t *size) {
  // Reductions take scratch for every call: without this each would be mapped
  // and faulted in anew.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  static Plane plane;
  *out = &plane;
  plane.services = *services;
  int provided = 0, ready = 0;
  MPI_Initialized(&ready);
  // The control plane has threads of its own, which never call MPI.
  int code = ready ? MPI_Query_thread(&provided)
                   : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED,
                                     &provided);
  if (code != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED) {
    plane.error = "MPI cannot be started with threads beside it";
    return DSV4RT_E_BACKEND;
  }
  code = MPI_Comm_dup(MPI_COMM_WORLD, &plane.world);
  if (code != MPI_SUCCESS)
    return fail(plane, "MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(plane.world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(plane.world, &plane.rank);
  MPI_Comm_size(plane.world, &plane.size);
  int *limit = nullptr, found = 0;
  MPI_Comm_get_attr(plane.world, MPI_TAG_UB, &limit, &found);
  if (found)
    plane.maxTag = *limit;
  *rank = plane.rank;
  *size = plane.size;
  return DSV4RT_OK;
}

int32_t gather(void *opaque, const void *mine, size_t bytes, void *all) {
  Plane &plane = *static_cast<Plane *>(opaque);
  int code =
      MPI_Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all,
                    static_cast<int>(bytes), MPI_BYTE, plane.world);
  return code == MPI_SUCCESS ? DSV4RT_OK : fail(plane, "MPI_Allgather", code);
}

void closePlane(void *opaque) {
  MPI_Comm_free(&static_cast<Plane *>(opaque)->world);
  MPI_Finalize();
}

int32_t openGroup(void *opaque, const PlaneGroup *group, void **out) {
  Plane &plane = *static_cast<Plane *>(opaque);
  if (group->id >= uint32_t(plane.maxTag) / 2) {
    plane.error = "MPI has no tag for group " + std::to_string(group->id);
    return DSV4RT_E_UNSUPPORTED;
  }
  *out = new MpiGroup{
      static_cast<int>(2 * group->id),
      group->rank,
      {group->members, group->members + group->size}};
  return DSV4RT_OK;
}

void closeGroup(void *, void *group) { delete static_cast<MpiGroup *>(group); }

int32_t start(void *opaque, void *group, const Operation *op, void **out) {
  Plane &plane = *static_cast<Plane *>(opaque);
  auto request = std::make_unique<Request>();
  request->op = *op;
  request->group = static_cast<const MpiGroup *>(group);
  int64_t width = plane.services.getWidth(op->dtype);
  int64_t size = request->group->getSize();
  Poster poster(plane, *request);
  switch (op->op) {
  case DSV4RT_OP_ALL_GATHER:
    postGather(poster, *request, width);
    break;
  case DSV4RT_OP_REDUCE_SCATTER:
    request->slice = op->count;
    postSlices(poster, *request, op->count * size, width);
    break;
  case DSV4RT_OP_ALL_REDUCE:
    request->slice = (op->count + size - 1) / size;
    postSlices(poster, *request, op->count, width);
    break;
  case DSV4RT_OP_EXCHANGE:
    postExchange(poster, *request, width);
    break;
  default:
    plane.error = std::string("no rule for ") + dsv4rt_op_name(op->op);
    return DSV4RT_E_UNSUPPORTED;
  }
  if (poster.status != MPI_SUCCESS)
    return fail(plane, "starting messages", poster.status);
  *out = request.release();
  return DSV4RT_OK;
}

int32_t test(void *opaque, void *handle) {
  Plane &plane = *static_cast<Plane *>(opaque);
  auto *request = static_cast<Request *>(handle);
  int done = 0;
  int code = MPI_Testall(static_cast<int>(request->pending.size()),
                         request->pending.data(), &done, MPI_STATUSES_IGNORE);
  if (code == MPI_SUCCESS && !done)
    return DSV4RT_PENDING;
  if (code == MPI_SUCCESS && finish(plane, *request, code) &&
      code == MPI_SUCCESS)
    return DSV4RT_PENDING;
  delete request;
  return code == MPI_SUCCESS ? DSV4RT_OK : fail(plane, "messages", code);
}

const char *getError(void *plane) {
  return static_cast<Plane *>(plane)->error.c_str();
}

const DataPlane kTable = {kDataPlaneVersion, sizeof(DataPlane),
                          "mpi",             openPlane,
                          gather,            closePlane,
                          nullptr,           openGroup,
                          closeGroup,        start,
                          test,              getError};

} // namespace

extern "C" __attribute__((visibility("default"))) const DataPlane *
dsv4rt_data_plane() {
  return &kTable;
}
