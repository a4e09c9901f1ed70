//===- BlockRuns.cpp - contiguous operations of one block -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BlockRuns.h"
#include "dsv4/IR/Dsv4Dialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

StringRef dsv4::getBlockOfPath(StringRef path) {
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = path.find('.', begin);
    StringRef component = path.slice(begin, end);
    if (!component.empty() && llvm::all_of(component, llvm::isDigit))
      return path.take_front(begin + component.size());
    if (end == StringRef::npos)
      break;
    begin = end + 1;
  }
  return {};
}

StringRef dsv4::getBlockOf(Operation *op) {
  auto path = op->getAttrOfType<StringAttr>(kPathAttr);
  return path ? getBlockOfPath(path) : StringRef();
}

bool dsv4::isBackward(Operation *op) {
  auto direction = op->getAttrOfType<StringAttr>(kDirectionAttr);
  return direction && direction.getValue() == "backward";
}

SmallVector<BlockRun> dsv4::findBlockRuns(Block &body) {
  SmallVector<BlockRun> runs;
  for (Operation &op : body.without_terminator()) {
    StringRef block = getBlockOf(&op);
    bool joins = !runs.empty() &&
                 ((runs.back().block == block &&
                   runs.back().isBackward == isBackward(&op)) ||
                  matchPattern(&op, m_Constant()));
    if (joins)
      runs.back().last = &op;
    else
      runs.push_back({block, isBackward(&op), &op, &op});
  }
  return runs;
}
