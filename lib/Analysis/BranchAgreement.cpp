//===- BranchAgreement.cpp - collectives under branches -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/BranchAgreement.h"
#include "dsv4/IR/Dsv4Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The axes that a mesh can have, by bit.
static constexpr StringLiteral kAxes[] = {"replicate", "dp_shard", "cp"};

/// Axes over which a value differs, or along which ranks meet.
using AxisMask = unsigned;
static constexpr AxisMask kAnyAxis = (1u << std::size(kAxes)) - 1;

static AxisMask getMask(ArrayAttr names) {
  AxisMask mask = 0;
  for (auto [i, axis] : llvm::enumerate(kAxes))
    for (StringAttr name : names.getAsRange<StringAttr>())
      if (name.getValue() == axis)
        mask |= 1u << i;
  return mask;
}

static std::string formatMask(AxisMask mask) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::ListSeparator separator;
  for (auto [i, axis] : llvm::enumerate(kAxes))
    if (mask & (1u << i))
      os << separator << "\"" << axis << "\"";
  return "[" + text + "]";
}

namespace {

/// What decides how often an operation runs.
struct Decision {
  Operation *branch;
  AxisMask differs;
};

class BranchAgreement {
public:
  explicit BranchAgreement(mlir::ModuleOp module) : symbols(module) {}

  /// Nothing to report for operations that involve no other rank.
  LogicalResult verify(Operation *op);

private:
  AxisMask getDiffering(Value value);
  AxisMask getDiffering(ValueRange values);
  AxisMask computeDiffering(Operation *op);
  AxisMask computeDifferingInside(Operation *op);
  AxisMask getMeeting(Operation *op);
  AxisMask getMeeting(func::FuncOp function);
  Decision getDecision(Operation *parent);
  SmallVector<Decision> getDecisions(Operation *op);

  SymbolTable symbols;
  DenseMap<Value, AxisMask> differing;
  DenseMap<Operation *, AxisMask> meeting;
};

} // namespace

//===----------------------------------------------------------------------===//
// Where values differ
//===----------------------------------------------------------------------===//

/// An argument differs over the axes of its layout; parameters and buffers are
/// the same everywhere; of others nothing is known.
static AxisMask getArgumentMask(func::FuncOp function, unsigned number) {
  if (auto layout = function.getArgAttrOfType<ArrayAttr>(number, kLayoutAttr)) {
    AxisMask mask = 0;
    for (auto axes : layout.getAsRange<ArrayAttr>())
      mask |= getMask(axes);
    return mask;
  }
  return function.getArgAttr(number, kParamAttr) ||
                 function.getArgAttr(number, kBufferAttr)
             ? 0
             : kAnyAxis;
}

AxisMask BranchAgreement::getDiffering(Value value) {
  // In a graph region a value may depend on itself.
  auto [it, isNew] = differing.try_emplace(value, kAnyAxis);
  if (!isNew)
    return it->second;
  AxisMask mask = kAnyAxis;
  if (Operation *op = value.getDefiningOp()) {
    mask = computeDiffering(op);
  } else {
    auto argument = cast<BlockArgument>(value);
    Operation *parent = argument.getOwner()->getParentOp();
    auto function = dyn_cast_or_null<func::FuncOp>(parent);
    if (function && argument.getOwner()->isEntryBlock())
      mask = getArgumentMask(function, argument.getArgNumber());
    else if (parent && isa_and_nonnull<scf::SCFDialect>(parent->getDialect()))
      mask = computeDifferingInside(parent);
  }
  return differing[value] = mask;
}

AxisMask BranchAgreement::getDiffering(ValueRange values) {
  AxisMask mask = 0;
  for (Value value : values)
    mask |= getDiffering(value);
  return mask;
}

AxisMask BranchAgreement::computeDiffering(Operation *op) {
  return TypeSwitch<Operation *, AxisMask>(op)
      .Case([](AxisIndexOp index) { return getMask(index.getAxes()); })
      .Case([&](SeqShardOp shard) {
        return getDiffering(shard.getInput()) | getMask(shard.getAxes());
      })
      .Case<SeqReduceScatterOp, ReduceScatterStartOp>([&](auto scatter) {
        return getDiffering(scatter->getOperands()) |
               getMask(scatter.getAxes());
      })
      .Case([&](CollectiveOpInterface collective) {
        return getDiffering(collective->getOperands()) &
               ~getMask(collective.getAxesAttr());
      })
      .Case([&](WaitOp wait) { return getDiffering(wait.getStarted()); })
      .Default([&](Operation *other) {
        if (other->getNumRegions())
          return computeDifferingInside(other);
        return isMemoryEffectFree(other) ? getDiffering(other->getOperands())
                                         : kAnyAxis;
      });
}

/// What an operation with regions may depend on, without following values
/// through its regions: loops would never end.
AxisMask BranchAgreement::computeDifferingInside(Operation *op) {
  AxisMask mask = 0;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()) &&
          operand.getParentBlock()->getParentOp() != op)
        mask |= getDiffering(operand);
    if (auto index = dyn_cast<AxisIndexOp>(nested))
      mask |= getMask(index.getAxes());
    else if (auto shard = dyn_cast<SeqShardOp>(nested))
      mask |= getMask(shard.getAxes());
    else if (nested->getNumRegions() == 0 &&
             !nested->hasTrait<OpTrait::IsTerminator>() &&
             !isMemoryEffectFree(nested))
      mask = kAnyAxis;
  });
  return mask;
}

//===----------------------------------------------------------------------===//
// Where ranks meet
//===----------------------------------------------------------------------===//

AxisMask BranchAgreement::getMeeting(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return getMask(collective.getAxesAttr());
  if (auto wait = dyn_cast<WaitOp>(op))
    return getMeeting(wait.getToken().getDefiningOp());
  auto call = dyn_cast<func::CallOp>(op);
  auto callee =
      call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
  return callee ? getMeeting(callee) : 0;
}

AxisMask BranchAgreement::getMeeting(func::FuncOp function) {
  auto [it, isNew] = meeting.try_emplace(function, 0);
  if (!isNew)
    return it->second;
  AxisMask mask = 0;
  function.walk([&](Operation *op) { mask |= getMeeting(op); });
  return meeting[function] = mask;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

Decision BranchAgreement::getDecision(Operation *parent) {
  AxisMask differs =
      TypeSwitch<Operation *, AxisMask>(parent)
          .Case<FunctionOpInterface, dsv4::ModuleOp, mlir::ModuleOp>(
              [](Operation *) { return 0; })
          .Case([&](scf::IfOp op) { return getDiffering(op.getCondition()); })
          .Case(
              [&](scf::IndexSwitchOp op) { return getDiffering(op.getArg()); })
          .Case([&](scf::ForOp op) {
            return getDiffering(op.getLowerBound()) |
                   getDiffering(op.getUpperBound()) |
                   getDiffering(op.getStep());
          })
          .Case([&](scf::WhileOp op) {
            return getDiffering(op.getConditionOp().getCondition());
          })
          .Default([&](Operation *op) { return computeDifferingInside(op); });
  return {parent, differs};
}

/// From the inside out. In a region of several blocks every branch decides,
/// except about the first block.
SmallVector<Decision> BranchAgreement::getDecisions(Operation *op) {
  SmallVector<Decision> decisions;
  for (Block *block = op->getBlock(); block;) {
    if (!block->isEntryBlock())
      for (Block &other : *block->getParent())
        if (other.getNumSuccessors() > 1) {
          Operation *branch = other.getTerminator();
          decisions.push_back({branch, getDiffering(branch->getOperands())});
        }
    Operation *parent = block->getParentOp();
    decisions.push_back(getDecision(parent));
    block = parent->getBlock();
  }
  return decisions;
}

LogicalResult BranchAgreement::verify(Operation *op) {
  AxisMask meets = getMeeting(op);
  if (!meets)
    return success();
  for (const Decision &decision : getDecisions(op)) {
    AxisMask common = meets & decision.differs;
    if (!common)
      continue;
    auto diagnostic = op->emitOpError()
                      << "stands under '" << decision.branch->getName()
                      << "', which ranks along " << formatMask(common)
                      << " may decide differently, expected all ranks of its "
                         "group to reach it";
    diagnostic.attachNote(decision.branch->getLoc()) << "decided here";
    return diagnostic;
  }
  return success();
}

LogicalResult dsv4::verifyBranchAgreement(mlir::ModuleOp module) {
  BranchAgreement agreement(module);
  return failure(module
                     .walk([&](Operation *op) {
                       return failed(agreement.verify(op))
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted());
}
