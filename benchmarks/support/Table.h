//===- Table.h - Aligned tables ---------------------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_BENCHMARKS_TABLE_H
#define DSV4_BENCHMARKS_TABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::dsv4 {

/// Rows of text below a title and a line of column names. The first column is
/// aligned to the left, the others, numbers, to the right.
class Table {
public:
  Table(llvm::StringRef title, std::vector<std::string> header)
      : title(title.str()), rows({std::move(header)}) {}

  void addRow(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(llvm::raw_ostream &os) const;

private:
  std::string title;
  std::vector<std::vector<std::string>> rows;
};

/// "1.50" with two digits behind the point.
std::string formatNumber(double value, unsigned digits = 2);
/// In 10^6 bytes.
std::string formatMegabytes(uint64_t bytes, unsigned digits = 0);

} // namespace mlir::dsv4

#endif // DSV4_BENCHMARKS_TABLE_H
