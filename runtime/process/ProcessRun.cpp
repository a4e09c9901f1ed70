//===- ProcessRun.cpp - Joining a job of processes --------------------- ===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens the plugin, agrees over its bootstrap on the address and the cookie of
// the control plane, runs the rank function, and leaves.
//
//===----------------------------------------------------------------------===//

#include "Hub.h"
#include "ProcessBackend.h"
#include "host/HostJob.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/random.h>
#include <unistd.h>

using namespace dsv4::rt;
using namespace dsv4::rt::process;

namespace {

/// How long a rank that ends after a failure stays, so that the launcher does
/// not end the others before they have printed theirs.
constexpr int64_t kLingerMs = 300;

struct Identity {
  char host[64];
};

struct Meeting {
  char address[64];
  char problem[160];
  uint16_t port;
  unsigned char cookie[kCookieBytes];
};

std::string getPluginPath(const std::string &name) {
  Dl_info info;
  std::string file = "libdsv4rt_" + name + ".so";
  if (!dladdr(reinterpret_cast<void *>(&dsv4rt_abi_version), &info) ||
      !info.dli_fname)
    return file;
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? file : path.substr(0, slash + 1) + file;
}

/// The plugin's table, or null and why.
const DataPlane *openPlugin(const std::string &name, std::string &problem) {
  std::string path = getPluginPath(name);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    problem = "backend \"" + name + "\" is not in this build: " + dlerror();
    return nullptr;
  }
  auto get =
      reinterpret_cast<GetDataPlaneFn>(dlsym(library, "dsv4rt_data_plane"));
  const DataPlane *plane = get ? get() : nullptr;
  if (plane && plane->version == kDataPlaneVersion &&
      plane->structSize == sizeof(DataPlane))
    return plane;
  problem = path + " is of another version of the runtime";
  return nullptr;
}

/// The first address of this host that others may reach.
std::string findAddress() {
  std::string address = "127.0.0.1";
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0)
    return address;
  for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET ||
        (entry->ifa_flags & IFF_LOOPBACK) || !(entry->ifa_flags & IFF_UP))
      continue;
    char text[64];
    inet_ntop(AF_INET,
              &reinterpret_cast<sockaddr_in *>(entry->ifa_addr)->sin_addr, text,
              sizeof(text));
    address = text;
    break;
  }
  freeifaddrs(list);
  return address;
}

struct Job {
  const DataPlane *plane = nullptr;
  void *state = nullptr;
  int32_t rank = 0, size = 1, machineRanks = 1;
  Hub hub;
  Link link;
};

/// Sets up the control plane; empty when it works.
std::string meet(Job &job) {
  Identity own = {};
  gethostname(own.host, sizeof(own.host) - 1);
  std::vector<Identity> all(job.size);
  if (job.plane->gather(job.state, &own, sizeof(own), all.data()))
    return job.plane->getError(job.state);
  job.machineRanks = static_cast<int32_t>(
      std::count_if(all.begin(), all.end(), [&](const Identity &other) {
        return std::strcmp(other.host, own.host) == 0;
      }));

  Meeting mine = {};
  if (job.rank == 0) {
    std::string address =
        job.machineRanks == job.size ? "127.0.0.1" : findAddress();
    std::string problem =
        getrandom(mine.cookie, kCookieBytes, 0) == ssize_t(kCookieBytes)
            ? job.hub.listen(address, job.size, mine.cookie)
            : "the system gives no random bytes";
    std::snprintf(mine.address, sizeof(mine.address), "%s", address.c_str());
    std::snprintf(mine.problem, sizeof(mine.problem), "%s", problem.c_str());
    mine.port = job.hub.getPort();
  }
  std::vector<Meeting> meetings(job.size);
  if (job.plane->gather(job.state, &mine, sizeof(mine), meetings.data()))
    return job.plane->getError(job.state);
  const Meeting &place = meetings[0];
  if (place.problem[0])
    return place.problem;
  return job.link.connect(place.address, place.port, job.rank, place.cookie);
}

[[noreturn]] void endProcess(const Job &job, const char *detail) {
  std::string line = "dsv4rt: rank " + std::to_string(job.rank) + ": " +
                     dsv4rt_status_name(job.link.getStatus()) + ": " +
                     job.link.getText() + detail + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  usleep(kLingerMs * 1000);
  _exit(DSV4RT_EXIT_BASE + job.link.getStatus());
}

/// Ends the process when the rank function does not return after a failure.
class ExitGuard {
public:
  ExitGuard(Job &job, int64_t limitMs)
      : thread([this, &job, limitMs] { watch(job, limitMs); }) {}
  ~ExitGuard() {
    over.store(true);
    thread.join();
  }

private:
  void watch(Job &job, int64_t limitMs) {
    int64_t failedAt = 0;
    while (!over.load()) {
      usleep(20000);
      if (!job.link.hasFailed())
        continue;
      failedAt = failedAt ? failedAt : host::getNowNs();
      if (limitMs >= 0 && host::getNowNs() - failedAt >= limitMs * 1000000)
        endProcess(job, " (its function has not returned)");
    }
  }

  std::atomic<bool> over{false};
  std::thread thread;
};

bool isFailureCode(int32_t status) {
  return status >= DSV4RT_E_INVALID && status <= DSV4RT_E_MODULE;
}

/// What the rank function left behind: its code, and operations in flight.
void judgeReturn(ProcessBackend &backend, int32_t returned) {
  if (returned != DSV4RT_OK) {
    bool known = isFailureCode(returned);
    backend.failHere(
        known ? returned : int32_t(DSV4RT_E_ABORTED),
        "its function returned " +
            (known ? dsv4rt_status_name(returned) : std::to_string(returned)));
  } else if (uint64_t count = backend.countInFlight()) {
    backend.failHere(DSV4RT_E_INVALID,
                     "its function returned with " + std::to_string(count) +
                         " operations started and not waited for");
  }
}

int32_t refuse(int32_t status, const std::string &text) {
  std::fprintf(stderr, "dsv4rt: %s: %s\n", dsv4rt_status_name(status),
               text.c_str());
  return status;
}

} // namespace

int32_t dsv4rt_process_run(const dsv4rt_config *given, dsv4rt_rank_fn fn,
                           void *arg) {
  dsv4rt_config config = {};
  if (!given || given->struct_size < sizeof(config) || !given->backend || !fn)
    return refuse(DSV4RT_E_INVALID,
                  "process_run needs a configuration, which names a backend, "
                  "and a rank function");
  std::memcpy(&config, given, sizeof(config));

  // Kept to the end of the process after a failure.
  auto *job = new Job;
  std::string problem;
  job->plane = openPlugin(config.backend, problem);
  if (!job->plane)
    return refuse(DSV4RT_E_BACKEND, problem);
  static const PlaneServices services = {getReduceKernel, dsv4rt_dtype_size};
  if (int32_t status = job->plane->open(&services, &job->state, &job->rank,
                                        &job->size))
    return refuse(status, job->plane->getError(job->state));
  if (config.world_size != 0 && config.world_size != job->size)
    return refuse(DSV4RT_E_INVALID,
                  "config.world_size is " + std::to_string(config.world_size) +
                      ", but the launcher started " +
                      std::to_string(job->size) + " ranks");
  problem = meet(*job);
  if (!problem.empty()) {
    refuse(DSV4RT_E_BACKEND, problem);
    _exit(DSV4RT_EXIT_BASE + DSV4RT_E_BACKEND);
  }

  ProcessLimits limits;
  if (config.op_timeout_ms)
    limits.opTimeoutMs = config.op_timeout_ms;
  if (config.exit_timeout_ms)
    limits.exitTimeoutMs = config.exit_timeout_ms;
  ProcessBackend backend(job->link, *job->plane, job->state, job->rank,
                         job->size, job->machineRanks, limits);
  dsv4rt_world world;
  world.backend = &backend;
  world.rank = job->rank;
  world.size = job->size;
  world.memoryLimit = config.memory_limit_bytes;
  {
    ExitGuard guard(*job, limits.exitTimeoutMs);
    int32_t returned = fn(&world, arg);
    if (!job->link.hasFailed())
      judgeReturn(backend, returned);
    while (!world.modules.empty())
      destroyModule(world.modules.back());
    job->link.send(Kind::Bye, Header(), nullptr, 0);
    while (!job->link.hasFailed() && !job->link.haveAllLeft())
      job->link.awaitActivity(job->link.countActivity(), 20000000);
  }
  if (job->link.hasFailed())
    endProcess(*job, "");
  job->plane->close(job->state);
  delete job;
  return DSV4RT_OK;
}
