//===- ExampleTable.cpp - The result table --------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleJob.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::dsv4;

namespace {

using Cells = std::vector<std::string>;

template <typename... Args>
std::string formatCell(const char *format, Args... args) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, args...);
  return text;
}

} // namespace

/// "12 x, 118016 B"; a range where ranks receive different amounts.
static std::string formatTraffic(const TrafficTotals &totals) {
  if (totals.receivedBytes.empty())
    return "";
  auto [least, most] = std::minmax_element(totals.receivedBytes.begin(),
                                           totals.receivedBytes.end());
  std::string bytes = std::to_string(*most);
  if (*least != *most)
    bytes = std::to_string(*least) + ".." + bytes;
  return std::to_string(totals.launches) + " / " + bytes;
}

static Cells getHeader(bool hasReference) {
  Cells cells = {"mesh", "ranks", "loss", "loss-1rank", "logits-1rank"};
  if (hasReference)
    llvm::append_range(cells, Cells{"loss-ref", "logits-ref"});
  for (size_t kind = DSV4RT_TRAFFIC_SEQUENCE; kind < kNumTrafficKinds; ++kind)
    cells.push_back(getTrafficName(kind).str());
  llvm::append_range(cells, Cells{"compile s", "step ms", "predicted B",
                                  "measured B", "agrees"});
  return cells;
}

static Cells getCells(const ExampleRow &row, bool hasReference) {
  Cells cells = {row.mesh.empty() ? "one rank" : row.mesh,
                 std::to_string(row.numRanks)};
  if (!row.failure.empty()) {
    cells.push_back("failed");
    return cells;
  }
  cells.push_back(formatCell("%.15g", row.loss));
  cells.push_back(formatCell("%.1e", row.toOneRank.loss));
  cells.push_back(formatCell("%.1e", row.toOneRank.logits));
  if (hasReference) {
    ExampleDifference difference =
        row.toReference.value_or(ExampleDifference());
    cells.push_back(formatCell("%.1e", difference.loss));
    cells.push_back(formatCell("%.1e", difference.logits));
  }
  for (size_t kind = DSV4RT_TRAFFIC_SEQUENCE; kind < kNumTrafficKinds; ++kind)
    cells.push_back(formatTraffic(row.traffic[kind]));
  cells.push_back(formatCell("%.2f", row.compileSeconds));
  cells.push_back(formatCell("%.2f", row.stepSeconds * 1e3));
  cells.push_back(std::to_string(row.predictedBytes));
  cells.push_back(std::to_string(row.measuredBytes));
  cells.push_back(row.agrees ? "yes" : "NO");
  return cells;
}

void mlir::dsv4::printExampleTable(llvm::ArrayRef<ExampleRow> rows,
                                   llvm::raw_ostream &os) {
  bool hasReference = llvm::any_of(
      rows, [](const ExampleRow &row) { return row.toReference.has_value(); });
  std::vector<Cells> lines = {getHeader(hasReference)};
  for (const ExampleRow &row : rows)
    lines.push_back(getCells(row, hasReference));
  std::vector<size_t> widths(lines.front().size());
  for (const Cells &cells : lines)
    for (auto [width, cell] : llvm::zip(widths, cells))
      width = std::max(width, cell.size());

  for (const Cells &cells : lines) {
    os << llvm::left_justify(cells.front(), widths.front());
    for (auto [width, cell] : llvm::drop_begin(llvm::zip(widths, cells)))
      os << "  " << llvm::right_justify(cell, width);
    os << "\n";
  }
  os << "\nloss-1rank, logits-1rank, ..-ref: largest difference to the run on "
        "one rank and to the reference.\nsequence, parameter, scalar: "
        "collectives of one step / bytes that each rank receives.\npredicted, "
        "measured: both arenas of one rank, as planned and as written.\n";
}
