//===- Progress.h - Which phase a tool is in --------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_EXECUTION_PROGRESS_H
#define DSV4_LIB_EXECUTION_PROGRESS_H

#include "llvm/Support/raw_ostream.h"

namespace mlir::dsv4 {

/// One line on stderr that is rewritten, if stderr is a terminal.
class Progress {
public:
  explicit Progress(llvm::StringRef tool)
      : tool(tool.str()), isVisible(llvm::errs().is_displayed()) {}
  ~Progress() { clear(); }

  void show(const llvm::Twine &phase) {
    if (isVisible)
      llvm::errs() << "\r" << tool << ": " << phase << " ...\033[K";
  }
  /// Before anything else is printed.
  void clear() {
    if (isVisible)
      llvm::errs() << "\r\033[K";
  }

private:
  std::string tool;
  bool isVisible;
};

} // namespace mlir::dsv4

#endif // DSV4_LIB_EXECUTION_PROGRESS_H
