//===- DataPlane.h - What a plugin of processes provides ---*- C++ -*- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a job of processes the core owns the control plane (process/Link.h): it
// starts, compares, agrees, limits time and fans failures out. A plugin,
// libdsv4rt_NAME.so, moves bytes only. It exports `dsv4rt_data_plane`, which
// returns this table; both sides are built from one source tree, and a table of
// another version or size is refused.
//
// All functions are called by the rank's thread, except `abort`. Those that
// return a status leave a text for `getError`.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_PROCESS_DATAPLANE_H
#define DSV4_RUNTIME_PROCESS_DATAPLANE_H

#include "Backend.h"
#include "Reduce.h"

namespace dsv4::rt::process {

constexpr uint32_t kDataPlaneVersion = 1;

/// What the core lends to a plugin.
struct PlaneServices {
  ReduceFn (*getReduceKernel)(uint32_t dtype, uint32_t redop);
  int64_t (*getWidth)(uint32_t dtype);
};

struct PlaneGroup {
  /// Equal on all members; differs between groups with common members.
  uint32_t id;
  uint32_t lane;
  int32_t rank;
  int32_t size;
  const int32_t *members; ///< world ranks
};

struct DataPlane {
  uint32_t version;
  uint32_t structSize;
  const char *name;

  /// Join the job: finds this process's rank and the number of ranks.
  int32_t (*open)(const PlaneServices *services, void **plane, int32_t *rank,
                  int32_t *size);
  /// Bootstrap: all-gather of bytes over the world, before the control plane
  /// exists.
  int32_t (*gather)(void *plane, const void *mine, size_t bytes, void *all);
  /// Leave the job in order; not called after a failure.
  void (*close)(void *plane);
  /// Make running operations end where that is possible; may not block. From
  /// any thread. May be null.
  void (*abort)(void *plane);

  int32_t (*openGroup)(void *plane, const PlaneGroup *group, void **out);
  void (*closeGroup)(void *plane, void *group);

  /// Start one operation (gather, scatter, reduce or exchange) that all members
  /// are known to have reached, in the group's order. Buffers stay valid until
  /// the request completes, the peer lists until this call returns.
  int32_t (*start)(void *plane, void *group, const Operation *operation,
                   void **request);
  /// OK: complete, the request is gone; PENDING; or a failure.
  int32_t (*test)(void *plane, void *request);

  const char *(*getError)(void *plane);
};

using GetDataPlaneFn = const DataPlane *(*)();

} // namespace dsv4::rt::process

#endif // DSV4_RUNTIME_PROCESS_DATAPLANE_H
