//===- Table.cpp - Aligned tables -----------------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "support/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir::dsv4;

void Table::print(llvm::raw_ostream &os) const {
  std::vector<size_t> widths(rows.front().size());
  for (const std::vector<std::string> &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  os << title << "\n";
  for (const std::vector<std::string> &row : rows) {
    os << "  " << llvm::left_justify(row.front(), widths.front());
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << llvm::right_justify(row[i], widths[i]);
    os << "\n";
  }
  os << "\n";
  os.flush();
}

std::string mlir::dsv4::formatNumber(double value, unsigned digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value);
  return text;
}

std::string mlir::dsv4::formatMegabytes(uint64_t bytes, unsigned digits) {
  return formatNumber(static_cast<double>(bytes) / 1e6, digits);
}
