//===- Problems.h - Several messages as one error ---------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_EXECUTION_PROBLEMS_H
#define DSV4_LIB_EXECUTION_PROBLEMS_H

#include "llvm/Support/Error.h"

#include <string>

namespace mlir::dsv4 {

/// Collects messages, of which the first ten are shown, a line each.
class Problems {
public:
  void add(const std::string &message) {
    if (++count > kMaxShown)
      return;
    text += (text.empty() ? "" : "\n") + message;
  }

  explicit operator bool() const { return count != 0; }

  llvm::Error takeError() const {
    std::string rest =
        count > kMaxShown
            ? "\n... and " + std::to_string(count - kMaxShown) + " more"
            : "";
    return llvm::createStringError(text + rest);
  }

private:
  static constexpr size_t kMaxShown = 10;
  std::string text;
  size_t count = 0;
};

} // namespace mlir::dsv4

#endif // DSV4_LIB_EXECUTION_PROBLEMS_H
