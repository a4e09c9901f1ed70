//===- ScheduleBuilder.h - what starts and waits share ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_SCHEDULE_SCHEDULEBUILDER_H
#define DSV4_PASSES_SCHEDULE_SCHEDULEBUILDER_H

#include "dsv4/Analysis/BlockRuns.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dsv4 {

/// Builds operations that belong to the module path and direction of one
/// operation, or to none.
class PathBuilder : public ImplicitLocOpBuilder {
public:
  explicit PathBuilder(Operation *before, Operation *origin = nullptr)
      : ImplicitLocOpBuilder(before->getLoc(), before) {
    if (!origin)
      return;
    path = origin->getAttr(kPathAttr);
    direction = origin->getAttr(kDirectionAttr);
  }

  template <typename OpT, typename... Args> OpT make(Args &&...args) {
    auto op = OpT::create(*this, getLoc(), std::forward<Args>(args)...);
    if (path)
      op->setAttr(kPathAttr, path);
    if (direction)
      op->setAttr(kDirectionAttr, direction);
    return op;
  }

  Value empty(ArrayRef<int64_t> shape, Type element) {
    return make<tensor::EmptyOp>(shape, element);
  }

private:
  Attribute path, direction;
};

/// What a wait needs to know about its start.
struct Started {
  Value token, started, source;
};

inline Value wait(PathBuilder &builder, const Started &started) {
  return builder
      .make<WaitOp>(TypeRange(started.started.getType()), started.token,
                    started.started, started.source)
      .getResult()
      .front();
}

inline CollectiveClassAttr getClass(Operation *op, CollectiveClass kind) {
  return CollectiveClassAttr::get(op->getContext(), kind);
}

/// Where the operations of one function run.
struct Runs {
  SmallVector<BlockRun> list;
  DenseMap<Operation *, unsigned> runOf;

  explicit Runs(Block &body) : list(findBlockRuns(body)) {
    unsigned run = 0;
    for (Operation &op : body.without_terminator()) {
      runOf[&op] = run;
      if (run < list.size() && list[run].last == &op)
        ++run;
    }
  }
};

/// Numbers launches: buffers of one kind and group that belong to the same place
/// travel together.
class Launches {
public:
  int64_t getNumber(Operation *place, StringRef kind, ArrayAttr axes) {
    Attribute key = ArrayAttr::get(
        axes.getContext(), {StringAttr::get(axes.getContext(), kind), axes});
    return numbers.try_emplace({place, key}, numbers.size()).first->second;
  }

private:
  DenseMap<std::pair<Operation *, Attribute>, int64_t> numbers;
};

} // namespace mlir::dsv4

#endif // DSV4_PASSES_SCHEDULE_SCHEDULEBUILDER_H
