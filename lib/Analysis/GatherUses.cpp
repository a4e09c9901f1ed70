//===- GatherUses.cpp - what is read of gathered values -------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/GatherUses.h"

using namespace mlir;
using namespace mlir::dsv4;

static std::string describe(OpOperand &use) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "operand " << use.getOperandNumber() << " of '" << use.getOwner()->getName() << "'";
  if (auto path = use.getOwner()->getAttrOfType<StringAttr>(kPathAttr))
    os << " of " << path.getValue();
  return text;
}

static void addHaloUse(GatherUses &result, OpOperand &use, const RowAccess &access,
                       const RemoteRows &rows) {
  auto it = llvm::find_if(result.halos, [&](const HaloUses &halo) {
    return halo.missing == access.missing && halo.channels == access.channels;
  });
  if (it == result.halos.end()) {
    result.halos.push_back({0, 0, access.channels, access.missing, {}});
    it = std::prev(result.halos.end());
  }
  it->left = std::max(it->left, rows.left);
  it->right = std::max(it->right, rows.right);
  it->uses.push_back(&use);
}

/// A use reads a result: all of it where that cannot be narrowed.
static LogicalResult addUse(const Exchange &op, OpOperand &use, GatherUses &result) {
  Operation *user = use.getOwner();
  auto keep = [&](const Twine &why) {
    if (result.reason.empty())
      result.reason = (describe(use) + " " + why).str();
    return success();
  };
  if (user->hasTrait<OpTrait::IsTerminator>())
    return keep("returns all rows");
  std::optional<RowAccess> access = findAccess(use, op.dim);
  if (!access) {
    InFlightDiagnostic diag = user->emitOpError()
                              << "reads operand " << use.getOperandNumber()
                              << " in a way that is not known, so what ranks must "
                                 "receive cannot be derived";
    diag.attachNote(op.op->getLoc()) << "received here";
    return diag;
  }
  if (isGlobal(*access))
    return keep("reads all rows");
  auto type = cast<RankedTensorType>(user->getResult(0).getType());
  std::optional<RemoteRows> rows =
      findRemoteRows(*access, op.own.getDimSize(op.dim), type.getDimSize(access->resultDim), op.ranks);
  if (!rows)
    return keep("has rows on every rank that do not correspond to its own");
  if (!isa<RowAccessOpInterface>(user))
    return keep("reads " + formatAccess(*access) + " and has no operand that says where its rows begin");
  if (rows->kind == RemoteRows::All)
    return keep("reads all rows");
  if (rows->kind == RemoteRows::Prefix)
    result.needsPrefix = true;
  else
    addHaloUse(result, use, *access, *rows);
  return success();
}

/// One buffer serves all: a prefix holds what halos to the left need.
static void settle(GatherUses &uses) {
  if (!uses.needsPrefix)
    return;
  for (const HaloUses &halo : uses.halos)
    if (halo.right > 0 && uses.reason.empty())
      uses.reason = "its uses read lower ranks and higher ones";
  uses.halos.clear();
}

/// Operands that an operation reads alike move together: where one stays, all
/// do.
static bool keepPartners(SeqGatherOp op, GatherUses &uses,
                         const DenseMap<Operation *, const GatherUses *> &all) {
  auto isSame = [](const RowAccess &a, const RowAccess &b) {
    return a.num == b.num && a.den == b.den && a.first == b.first && a.last == b.last;
  };
  for (OpOperand &use : op.getResult().getUses()) {
    auto user = dyn_cast<RowAccessOpInterface>(use.getOwner());
    auto own = user ? user.getRowAccess(use.getOperandNumber()) : std::nullopt;
    if (!own)
      continue;
    for (OpOperand &other : use.getOwner()->getOpOperands()) {
      auto access = user.getRowAccess(other.getOperandNumber());
      auto it = all.find(other.get().getDefiningOp());
      if (access && isSame(*access, *own) && it != all.end() && it->second->isKept()) {
        uses.reason = describe(other) + " is read alike and stays";
        return true;
      }
    }
  }
  return false;
}

template <typename OpT> static Exchange makeExchange(OpT op, int64_t ranks) {
  return {op, op.getResult(), op.getInput().getType(), static_cast<int64_t>(op.getDim()), ranks};
}

FailureOr<std::optional<Exchange>> dsv4::findExchange(Operation *op) {
  if (!isa<SeqGatherOp, SeqHaloOp, SeqPrefixOp>(op))
    return std::optional<Exchange>();
  FailureOr<int64_t> ranks = cast<CollectiveOpInterface>(op).getGroupSize();
  if (failed(ranks))
    return failure();
  if (auto gather = dyn_cast<SeqGatherOp>(op))
    return std::optional(makeExchange(gather, *ranks));
  if (auto halo = dyn_cast<SeqHaloOp>(op))
    return std::optional(makeExchange(halo, *ranks));
  return std::optional(makeExchange(cast<SeqPrefixOp>(op), *ranks));
}

FailureOr<GatherUses> dsv4::findUses(const Exchange &exchange) {
  GatherUses uses;
  for (OpOperand &use : exchange.result.getUses())
    if (failed(addUse(exchange, use, uses)))
      return failure();
  settle(uses);
  return uses;
}

FailureOr<SmallVector<std::pair<SeqGatherOp, GatherUses>>>
dsv4::findGatherUses(func::FuncOp func) {
  SmallVector<std::pair<SeqGatherOp, GatherUses>> result;
  WalkResult walk = func.walk([&](SeqGatherOp op) {
    auto exchange = findExchange(op);
    if (failed(exchange))
      return WalkResult::interrupt();
    FailureOr<GatherUses> uses = findUses(**exchange);
    if (failed(uses))
      return WalkResult::interrupt();
    result.push_back({op, std::move(*uses)});
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  DenseMap<Operation *, const GatherUses *> all;
  for (auto &[op, uses] : result)
    all[op] = &uses;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, uses] : result)
      changed |= !uses.isKept() && keepPartners(op, uses, all);
  }
  return result;
}
