//===- Child.cpp - Measure in a process of its own ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "support/Child.h"

#include "llvm/Support/raw_ostream.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir::dsv4;

static double getSeconds(const timeval &time) {
  return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6;
}

/// Whether all bytes were moved by `transfer`, a read or a write.
template <typename Transfer>
static bool transferAll(llvm::MutableArrayRef<char> bytes, Transfer transfer) {
  while (!bytes.empty()) {
    ssize_t count = transfer(bytes.data(), bytes.size());
    if (count <= 0)
      return false;
    bytes = bytes.drop_front(count);
  }
  return true;
}

std::optional<ChildUsage>
mlir::dsv4::runInChildBytes(llvm::MutableArrayRef<char> result,
                            llvm::function_ref<bool()> body) {
  llvm::outs().flush();
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (child == 0) {
    close(ends[0]);
    bool isDone = body() && transferAll(result, [&](char *data, size_t size) {
                    return write(ends[1], data, size);
                  });
    llvm::errs().flush();
    // Nothing of the parent's may be flushed or destroyed twice.
    _exit(isDone ? 0 : 1);
  }
  close(ends[1]);
  bool isRead = transferAll(result, [&](char *data, size_t size) {
    return read(ends[0], data, size);
  });
  close(ends[0]);
  int status = 0;
  rusage usage = {};
  if (wait4(child, &status, 0, &usage) != child)
    return std::nullopt;
  if (WIFSIGNALED(status))
    llvm::errs() << "error: ended by signal " << WTERMSIG(status) << "\n";
  if (!isRead || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return ChildUsage{static_cast<uint64_t>(usage.ru_maxrss) * 1024,
                    getSeconds(usage.ru_utime) + getSeconds(usage.ru_stime)};
}
