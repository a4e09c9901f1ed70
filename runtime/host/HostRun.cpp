//===- HostRun.cpp - Starting the ranks of a job --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostBackend.h"

#include <algorithm>
#include <cstring>
#include <pthread.h>

using namespace dsv4::rt;
using namespace dsv4::rt::host;

namespace {

/// Everything a job owns; left behind when a rank does not return.
struct Launch {
  Launch(int32_t numRanks, const JobLimits &limits, dsv4rt_rank_fn fn,
         void *arg)
      : job(numRanks, limits), worldGroup(numRanks), fn(fn), arg(arg) {}

  HostJob job;
  HostGroup worldGroup;
  dsv4rt_rank_fn fn;
  void *arg;
};

struct RankThread {
  Launch *launch = nullptr;
  pthread_t thread = {};
  std::unique_ptr<HostBackend> backend;
  dsv4rt_world world;
};

bool isFailureCode(int32_t status) {
  return status >= DSV4RT_E_INVALID && status <= DSV4RT_E_MODULE;
}

void *runRank(void *opaque) {
  auto *self = static_cast<RankThread *>(opaque);
  Launch &launch = *self->launch;
  HostBackend &backend = *self->backend;
  int32_t returned = launch.fn(&self->world, launch.arg);
  if (returned != DSV4RT_OK && !launch.job.hasFailed()) {
    bool known = isFailureCode(returned);
    backend.failHere(
        known ? returned : DSV4RT_E_ABORTED,
        "its function returned " +
            (known ? dsv4rt_status_name(returned) : std::to_string(returned)));
  } else if (uint64_t count = backend.countInFlight()) {
    backend.failHere(DSV4RT_E_INVALID,
                     "its function returned with " + std::to_string(count) +
                         " operations started and not waited for");
  }
  launch.job.finish(self->world.rank);
  return nullptr;
}

thread_local std::string lastErrorText;

int32_t refuse(int32_t status, const std::string &text) {
  lastErrorText = text;
  return status;
}

/// Reads the fields the caller knows of; empty text when they are legal.
std::string resolveConfig(int32_t numRanks, const dsv4rt_config *given,
                          JobLimits &limits) {
  dsv4rt_config config = {};
  if (given) {
    if (given->struct_size < sizeof(uint32_t) || given->struct_size > 4096)
      return "config.struct_size is " + std::to_string(given->struct_size) +
             ", expected " + std::to_string(sizeof(config));
    std::memcpy(&config, given,
                given->struct_size < sizeof(config) ? given->struct_size
                                                    : sizeof(config));
  }
  if (numRanks < 1)
    return "number of ranks must be positive, got " + std::to_string(numRanks);
  if (config.backend && std::strcmp(config.backend, "host") != 0)
    return std::string("backend is \"") + config.backend +
           "\", expected \"host\"";
  if (config.world_size != 0 && config.world_size != numRanks)
    return "config.world_size is " + std::to_string(config.world_size) +
           ", but " + std::to_string(numRanks) + " ranks are started";
  if (config.op_timeout_ms)
    limits.opTimeoutMs = config.op_timeout_ms;
  if (config.exit_timeout_ms)
    limits.exitTimeoutMs =
        std::min<int64_t>(config.exit_timeout_ms, 1000000000000);
  if (config.stack_bytes)
    limits.stackBytes = config.stack_bytes;
  limits.memoryLimit = config.memory_limit_bytes;
  limits.warn = config.log_level != 1;
  return "";
}

/// Starts the thread of one rank; a rank that could not be started counts as
/// finished.
bool startRank(RankThread &rank, const pthread_attr_t &attributes) {
  if (pthread_create(&rank.thread, &attributes, runRank, &rank) == 0)
    return true;
  rank.launch->job.fail(DSV4RT_E_BACKEND, -1,
                        "rank " + std::to_string(rank.world.rank) +
                            ": its thread cannot be started");
  rank.launch->job.finish(rank.world.rank);
  return false;
}

std::vector<bool> startRanks(std::vector<RankThread> &ranks,
                             const JobLimits &limits) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, limits.stackBytes);
  std::vector<bool> running;
  for (RankThread &rank : ranks)
    running.push_back(startRank(rank, attributes));
  pthread_attr_destroy(&attributes);
  return running;
}

} // namespace

int32_t dsv4rt_host_run(int32_t nranks, const dsv4rt_config *config,
                        dsv4rt_rank_fn fn, void *arg) {
  JobLimits limits;
  std::string problem = resolveConfig(nranks, config, limits);
  if (problem.empty() && !fn)
    problem = "rank function is NULL";
  if (!problem.empty())
    return refuse(DSV4RT_E_INVALID, problem);

  auto launch = std::make_unique<Launch>(nranks, limits, fn, arg);
  auto ranks = std::make_unique<std::vector<RankThread>>(nranks);
  for (int32_t i = 0; i < nranks; ++i) {
    RankThread &rank = (*ranks)[i];
    rank.launch = launch.get();
    rank.backend =
        std::make_unique<HostBackend>(launch->job, i, launch->worldGroup);
    rank.world.backend = rank.backend.get();
    rank.world.rank = i;
    rank.world.size = nranks;
    rank.world.memoryLimit = limits.memoryLimit;
  }
  std::vector<bool> running = startRanks(*ranks, limits);

  bool allReturned = launch->job.awaitAll();
  int32_t status = launch->job.getStatus(-1);
  if (status != DSV4RT_OK)
    lastErrorText = launch->job.getErrorText();
  for (int32_t i = 0; i < nranks; ++i)
    if (running[i])
      allReturned ? pthread_join((*ranks)[i].thread, nullptr)
                  : pthread_detach((*ranks)[i].thread);
  if (!allReturned) {
    // A rank still runs on these objects; they stay.
    (void)launch.release();
    (void)ranks.release();
    return status;
  }
  for (RankThread &rank : *ranks)
    while (!rank.world.modules.empty())
      destroyModule(rank.world.modules.back());
  return status;
}

size_t dsv4rt_error_text(const dsv4rt_world *world, char *buf, size_t cap) {
  std::string text = world ? world->backend->getErrorText() : lastErrorText;
  if (buf && cap > 0) {
    size_t length = text.size() < cap ? text.size() : cap - 1;
    std::memcpy(buf, text.data(), length);
    buf[length] = '\0';
  }
  return text.size();
}
