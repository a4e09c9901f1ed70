//===- Exchanges.cpp - halos and prefixes as messages ---------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A halo of `left` rows consists of one part per neighbour. Rank r sends the
// last rows of its part to rank r+1, to r+2 where the halo is wider than a
// part, and so on; its first rows to lower ranks for `right`.
//
//   %h = dsv4.seq_halo %k ... dim 1 left 7 right 0    // [2, 32, 8] bf16
//   %g = dsv4.seq_halo %v ... dim 1 left 1 right 0    // [2, 8, 4, 8] f32
//   ->
//   %m = dsv4.pack_message (last 7 rows of %k, last row of %v)
//   %s, %t = dsv4.exchange_start sequence shift %m into zeros shifts [1]
//   %a = dsv4.wait %t ...
//   %h = insert (dsv4.unpack_message %a) and %k into an empty buffer
//
// Rows that nobody sends keep what the destination held before: the fill.
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "ScheduleBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Where a part of a buffer begins and how large it is.
struct Box {
  SmallVector<int64_t> offsets, sizes;
};

/// Rows that travel from their owner to a rank `shift` higher: `rows` of them,
/// from row `own` of the owner's part to row `halo` of the extended buffer.
struct HaloPart {
  int64_t shift, own, halo, rows;
};

/// One halo, in either direction.
struct Halo {
  Operation *op;
  Value input;
  RankedTensorType own, extended;
  int64_t dim, left;
  std::optional<ArrayRef<int64_t>> channels;
  TypedAttr fill;
  bool isAdd;
  SmallVector<HaloPart> parts;
};

/// What one part of one halo sends, and where it lies in the message.
struct Piece {
  Halo *halo;
  const HaloPart *part;
  int64_t shift;
  int64_t offset = 0;
};

constexpr int64_t kMessageAlignment = 64;

} // namespace

static int64_t getWidth(RankedTensorType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static SmallVector<HaloPart> computeParts(int64_t size, int64_t left,
                                          int64_t right, int64_t ranks) {
  SmallVector<HaloPart> parts;
  for (int64_t j = 1; j < ranks && (j - 1) * size < left; ++j) {
    int64_t rows = std::min(size, left - (j - 1) * size);
    parts.push_back({j, size - rows, left - (j - 1) * size - rows, rows});
  }
  for (int64_t j = 1; j < ranks && (j - 1) * size < right; ++j) {
    int64_t rows = std::min(size, right - (j - 1) * size);
    parts.push_back({-j, 0, left + j * size, rows});
  }
  return parts;
}

template <typename OpT> static Halo getHalo(OpT op, int64_t ranks) {
  constexpr bool isAdd = std::is_same_v<OpT, SeqHaloAddOp>;
  Halo halo{op, op.getInput(), op.getInput().getType(), op.getResult().getType(),
            static_cast<int64_t>(op.getDim()), static_cast<int64_t>(op.getLeft()),
            op.getChannels(), {}, isAdd, {}};
  if constexpr (isAdd)
    std::swap(halo.own, halo.extended);
  else
    halo.fill = op.getFillAttr();
  halo.parts = computeParts(halo.own.getDimSize(halo.dim), halo.left, op.getRight(), ranks);
  return halo;
}

static Box getBox(const Halo &halo, int64_t row, int64_t rows, bool allChannels) {
  Box box;
  box.offsets.assign(halo.own.getRank(), 0);
  box.sizes.assign(halo.own.getShape().begin(), halo.own.getShape().end());
  box.offsets[halo.dim] = row;
  box.sizes[halo.dim] = rows;
  if (halo.channels && !allChannels) {
    box.offsets.back() = (*halo.channels)[0];
    box.sizes.back() = (*halo.channels)[1];
  }
  return box;
}

static SmallVector<OpFoldResult> getAttrs(Builder &builder, ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

static Value extract(PathBuilder &b, Value from, const Box &box) {
  SmallVector<OpFoldResult> strides(box.sizes.size(), b.getIndexAttr(1));
  return b.make<tensor::ExtractSliceOp>(from, getAttrs(b, box.offsets),
                                        getAttrs(b, box.sizes), strides);
}

static Value insert(PathBuilder &b, Value rows, Value into, const Box &box) {
  SmallVector<OpFoldResult> strides(box.sizes.size(), b.getIndexAttr(1));
  return b.make<tensor::InsertSliceOp>(rows, into, getAttrs(b, box.offsets),
                                       getAttrs(b, box.sizes), strides);
}

/// A tensor of one value, zero without an attribute.
static Value makeFilled(PathBuilder &b, ArrayRef<int64_t> shape, Type element,
                        TypedAttr fill) {
  Value value = b.make<arith::ConstantOp>(fill ? fill : b.getZeroAttr(element));
  return b.make<linalg::FillOp>(value, b.empty(shape, element))->getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums in rank order
//===----------------------------------------------------------------------===//

/// The sum of the terms from first to last, rounded once.
static Value addInOrder(PathBuilder &b, ArrayRef<Value> terms) {
  if (terms.size() == 1)
    return terms[0];
  auto type = cast<RankedTensorType>(terms[0].getType());
  Type element = type.getElementType();
  bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  Type wide = isNarrow ? Type(b.getF32Type()) : element;
  SmallVector<AffineMap> maps(terms.size() + 1,
                              b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value sum;
    for (Value term : args.drop_back()) {
      if (isNarrow)
        term = arith::ExtFOp::create(nested, loc, wide, term);
      if (!sum)
        sum = term;
      else if (isa<FloatType>(wide))
        sum = arith::AddFOp::create(nested, loc, sum, term);
      else
        sum = arith::AddIOp::create(nested, loc, sum, term);
    }
    if (isNarrow)
      sum = arith::TruncFOp::create(nested, loc, element, sum);
    linalg::YieldOp::create(nested, loc, sum);
  };
  Value init = b.empty(type.getShape(), element);
  return b
      .make<linalg::GenericOp>(TypeRange(type), terms, ValueRange(init), maps,
                               loops, body)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Halos
//===----------------------------------------------------------------------===//

/// The extended buffer: own rows between rows that arrived.
static Value assembleHalo(PathBuilder &b, const Halo &halo, ArrayRef<Piece> pieces,
                          Value message) {
  int64_t size = halo.own.getDimSize(halo.dim);
  int64_t right = halo.extended.getDimSize(halo.dim) - size - halo.left;
  Value buffer = b.empty(halo.extended.getShape(), halo.own.getElementType());
  buffer = insert(b, halo.input, buffer, getBox(halo, halo.left, size, true));
  int64_t received = 0;
  for (const Piece &piece : pieces)
    received += piece.part->rows;
  if (halo.channels || received < halo.left + right)
    for (auto [row, rows] : {std::pair(int64_t(0), halo.left),
                             std::pair(halo.left + size, right)}) {
      if (rows == 0)
        continue;
      Box box = getBox(halo, row, rows, true);
      Value fill = makeFilled(b, box.sizes, halo.own.getElementType(), halo.fill);
      buffer = insert(b, fill, buffer, box);
    }
  for (const Piece &piece : pieces) {
    Box box = getBox(halo, piece.part->halo, piece.part->rows, false);
    Value empty = b.empty(box.sizes, halo.own.getElementType());
    Value rows = b.make<UnpackMessageOp>(TypeRange(empty.getType()), message, empty,
                                         piece.offset)
                     .getResult()
                     .front();
    buffer = insert(b, rows, buffer, box);
  }
  return buffer;
}

/// Own rows and what arrived for them, in the order of the ranks.
static Value assembleHaloAdd(PathBuilder &b, const Halo &halo,
                             ArrayRef<Piece> pieces, Value message) {
  Type element = halo.own.getElementType();
  SmallVector<std::pair<int64_t, Value>> terms;
  int64_t size = halo.own.getDimSize(halo.dim);
  terms.push_back({0, extract(b, halo.input, getBox(halo, halo.left, size, true))});
  for (const Piece &piece : pieces) {
    Box box = getBox(halo, piece.part->own, piece.part->rows, false);
    Value empty = b.empty(box.sizes, element);
    Value rows = b.make<UnpackMessageOp>(TypeRange(empty.getType()), message, empty,
                                         piece.offset)
                     .getResult()
                     .front();
    Value zeros = makeFilled(b, halo.own.getShape(), element, {});
    terms.push_back({piece.part->shift, insert(b, rows, zeros, box)});
  }
  llvm::stable_sort(terms, llvm::less_first());
  return addInOrder(b, llvm::to_vector(llvm::make_second_range(terms)));
}

/// Pieces for one shift lie together, wide elements first, so that every piece
/// is aligned without a gap that would travel.
static int64_t placePieces(MutableArrayRef<Piece> pieces, SmallVectorImpl<int64_t> &shifts,
                           SmallVectorImpl<int64_t> &offsets,
                           SmallVectorImpl<int64_t> &counts) {
  llvm::stable_sort(pieces, [](const Piece &a, const Piece &b) {
    auto key = [](const Piece &p) {
      return std::tuple(p.shift < 0, std::abs(p.shift), -getWidth(p.halo->own));
    };
    return key(a) < key(b);
  });
  int64_t end = 0;
  for (Piece &piece : pieces) {
    if (shifts.empty() || shifts.back() != piece.shift) {
      end = llvm::alignTo(end, kMessageAlignment);
      shifts.push_back(piece.shift);
      offsets.push_back(end);
      counts.push_back(0);
    }
    piece.offset = end;
    int64_t bytes = getWidth(piece.halo->own);
    for (int64_t size : getBox(*piece.halo, 0, piece.part->rows, false).sizes)
      bytes *= size;
    end += bytes;
    counts.back() += bytes;
  }
  return end;
}

/// The destination before anything arrives: fills.
static Value makeLanding(PathBuilder &b, ArrayRef<Piece> pieces, int64_t bytes) {
  Value landing = makeFilled(b, {bytes}, b.getI8Type(), {});
  SmallVector<Value> fills;
  SmallVector<int64_t> places;
  for (const Piece &piece : pieces) {
    TypedAttr fill = piece.halo->fill;
    if (!fill || fill == b.getZeroAttr(fill.getType()))
      continue;
    Box box = getBox(*piece.halo, 0, piece.part->rows, false);
    fills.push_back(makeFilled(b, box.sizes, fill.getType(), fill));
    places.push_back(piece.offset);
  }
  if (fills.empty())
    return landing;
  return b.make<PackMessageOp>(TypeRange(landing.getType()), fills, landing, places)
      .getResult()
      .front();
}

static void scheduleHalos(MutableArrayRef<Halo> halos) {
  Operation *first = halos.front().op;
  auto collective = cast<CollectiveOpInterface>(first);
  SmallVector<Piece> pieces;
  for (Halo &halo : halos)
    for (const HaloPart &part : halo.parts)
      pieces.push_back({&halo, &part, halo.isAdd ? -part.shift : part.shift});
  Value message;
  if (!pieces.empty()) {
    SmallVector<int64_t> shifts, offsets, counts, places;
    int64_t bytes = placePieces(pieces, shifts, offsets, counts);
    PathBuilder b(first, first);
    SmallVector<Value> rows;
    for (const Piece &piece : pieces) {
      const Halo &halo = *piece.halo;
      int64_t row = halo.isAdd ? piece.part->halo : piece.part->own;
      rows.push_back(extract(b, halo.input, getBox(halo, row, piece.part->rows, false)));
      places.push_back(piece.offset);
    }
    Value empty = b.empty({bytes}, b.getI8Type());
    Value source = b.make<PackMessageOp>(TypeRange(empty.getType()), rows, empty, places)
                       .getResult()
                       .front();
    Value landing = makeLanding(b, pieces, bytes);
    auto start = b.make<ExchangeStartOp>(
        TypeRange(landing.getType()), TokenType::get(b.getContext()),
        CollectiveClassAttr::get(b.getContext(), CollectiveClass::sequence),
        ExchangeSchemeAttr::get(b.getContext(), ExchangeScheme::shift), source, landing,
        collective.getMeshAttr(), collective.getAxesAttr(), b.getDenseI64ArrayAttr(shifts),
        b.getDenseI64ArrayAttr(offsets), b.getDenseI64ArrayAttr(counts));
    Operation *use = findFirstUser(halos.front().op);
    for (Halo &halo : halos.drop_front())
      if (Operation *other = findFirstUser(halo.op); other->isBeforeInBlock(use))
        use = other;
    PathBuilder atUse(use, first);
    atUse.setLoc(first->getLoc());
    message = wait(atUse, {start.getToken(), start.getStarted().front(), source});
  }
  for (Halo &halo : halos) {
    PathBuilder b(findFirstUser(halo.op), halo.op);
    b.setLoc(halo.op->getLoc());
    SmallVector<Piece> own;
    llvm::copy_if(pieces, std::back_inserter(own),
                  [&](const Piece &piece) { return piece.halo == &halo; });
    Value result = halo.isAdd ? assembleHaloAdd(b, halo, own, message)
                              : assembleHalo(b, halo, own, message);
    halo.op->getResult(0).replaceAllUsesWith(result);
  }
  for (Halo &halo : halos)
    halo.op->erase();
}

//===----------------------------------------------------------------------===//
// Which halos travel together
//===----------------------------------------------------------------------===//

/// Moves what `value` is computed from before `place`, unless it communicates
/// or is one of the halos themselves.
static bool tryHoist(Value value, Operation *place) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> open = {value};
  Block *block = place->getBlock();
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (!op || op->isBeforeInBlock(place) || slice.contains(op))
      continue;
    if (!isMemoryEffectFree(op))
      return false;
    slice.insert(op);
    op->walk([&](Operation *nested) { llvm::append_range(open, nested->getOperands()); });
  }
  SmallVector<Operation *> ordered(slice.begin(), slice.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    op->moveBefore(place);
  return true;
}

static bool canShare(Operation *a, Operation *b) {
  auto first = cast<CollectiveOpInterface>(a), second = cast<CollectiveOpInterface>(b);
  return a->getBlock() == b->getBlock() && a->getName() == b->getName() &&
         getBlockOf(a) == getBlockOf(b) && first.getMeshAttr() == second.getMeshAttr() &&
         first.getAxesAttr() == second.getAxesAttr();
}

static void scheduleAllHalos(MutableArrayRef<Halo> halos) {
  SmallVector<bool> isDone(halos.size(), false);
  for (size_t i = 0; i < halos.size(); ++i) {
    if (isDone[i])
      continue;
    SmallVector<Halo> group = {halos[i]};
    for (size_t j = i + 1; j < halos.size(); ++j)
      if (!isDone[j] && canShare(halos[i].op, halos[j].op) &&
          tryHoist(halos[j].input, halos[i].op)) {
        group.push_back(halos[j]);
        isDone[j] = true;
      }
    scheduleHalos(group);
  }
}

//===----------------------------------------------------------------------===//
// Prefixes
//===----------------------------------------------------------------------===//

static int64_t getLeadingElements(ArrayRef<int64_t> shape, int64_t dim) {
  int64_t elements = 1;
  for (int64_t size : shape.take_front(dim))
    elements *= size;
  return elements;
}

static SmallVector<ReassociationIndices> mergeAt(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == dim + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  return groups;
}

static Value transpose(PathBuilder &b, Value value, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t i : permutation)
    shape.push_back(type.getDimSize(i));
  return b.make<linalg::TransposeOp>(value, b.empty(shape, type.getElementType()),
                                     permutation)
      ->getResult(0);
}

static Started startPrefix(PathBuilder &b, CollectiveOpInterface op, ExchangeScheme scheme,
                           Value source, ArrayRef<int64_t> landing) {
  auto type = cast<RankedTensorType>(source.getType());
  Value init = makeFilled(b, landing, type.getElementType(), {});
  auto none = b.getDenseI64ArrayAttr({});
  auto start = b.make<ExchangeStartOp>(
      TypeRange(init.getType()), TokenType::get(b.getContext()),
      CollectiveClassAttr::get(b.getContext(), CollectiveClass::sequence),
      ExchangeSchemeAttr::get(b.getContext(), scheme), source, init, op.getMeshAttr(),
      op.getAxesAttr(), none, none, none);
  return {start.getToken(), start.getStarted().front(), source};
}

/// As a gather: pieces of ranks arrive one after another and are interleaved if
/// rows lie outside `dim`.
static void schedulePrefix(SeqPrefixOp op, int64_t ranks) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  int64_t dim = op.getDim();
  bool interleave = getLeadingElements(from.getShape(), dim) > 1;
  SmallVector<int64_t> landing(to.getShape());
  if (interleave) {
    landing.assign(from.getShape().begin(), from.getShape().end());
    landing.insert(landing.begin(), ranks);
  }
  PathBuilder atStart(op, op);
  Started started = startPrefix(atStart, cast<CollectiveOpInterface>(*op),
                                ExchangeScheme::prefix, op.getInput(), landing);
  PathBuilder atUse(findFirstUser(op), op);
  atUse.setLoc(op.getLoc());
  Value result = wait(atUse, started);
  if (interleave) {
    SmallVector<int64_t> permutation;
    for (int64_t i = 0; i < from.getRank(); ++i) {
      if (i == dim)
        permutation.push_back(0);
      permutation.push_back(i + 1);
    }
    result = atUse.make<tensor::CollapseShapeOp>(
        to, transpose(atUse, result, permutation), mergeAt(from.getRank() + 1, dim));
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

/// Parts of lower ranks travel; the owner adds them in rank order.
static void schedulePrefixAdd(SeqPrefixAddOp op, int64_t ranks) {
  RankedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  int64_t dim = op.getDim();
  PathBuilder b(op, op);
  SmallVector<int64_t> split(from.getShape()), landing(to.getShape());
  split[dim] /= ranks;
  split.insert(split.begin() + dim, ranks);
  landing.insert(landing.begin(), ranks);
  Value source = b.make<tensor::ExpandShapeOp>(
      RankedTensorType::get(split, from.getElementType()), op.getInput(),
      mergeAt(from.getRank() + 1, dim));
  if (getLeadingElements(from.getShape(), dim) > 1) {
    SmallVector<int64_t> permutation = {dim};
    for (int64_t i = 0; i <= from.getRank(); ++i)
      if (i != dim)
        permutation.push_back(i);
    source = transpose(b, source, permutation);
  }
  Started started = startPrefix(b, cast<CollectiveOpInterface>(*op),
                                ExchangeScheme::prefix_add, source, landing);
  PathBuilder atUse(findFirstUser(op), op);
  atUse.setLoc(op.getLoc());
  Value arrived = wait(atUse, started);
  SmallVector<Value> terms;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<OpFoldResult> offsets(landing.size(), b.getIndexAttr(0)),
        strides(landing.size(), b.getIndexAttr(1));
    SmallVector<int64_t> sizes(landing);
    offsets[0] = b.getIndexAttr(rank);
    sizes[0] = 1;
    terms.push_back(atUse.make<tensor::ExtractSliceOp>(
        to, arrived, offsets, getAttrs(b, sizes), strides));
  }
  op.replaceAllUsesWith(addInOrder(atUse, terms));
  op.erase();
}

//===----------------------------------------------------------------------===//
// A function
//===----------------------------------------------------------------------===//

LogicalResult dsv4::scheduleExchanges(func::FuncOp func) {
  SmallVector<Halo> halos;
  SmallVector<std::pair<Operation *, int64_t>> prefixes;
  WalkResult walk = func.walk([&](Operation *op) {
    if (!isa<SeqHaloOp, SeqHaloAddOp, SeqPrefixOp, SeqPrefixAddOp>(op))
      return WalkResult::advance();
    FailureOr<int64_t> ranks = cast<CollectiveOpInterface>(op).getGroupSize();
    if (failed(ranks))
      return WalkResult::interrupt();
    if (auto halo = dyn_cast<SeqHaloOp>(op))
      halos.push_back(getHalo(halo, *ranks));
    else if (auto halo = dyn_cast<SeqHaloAddOp>(op))
      halos.push_back(getHalo(halo, *ranks));
    else
      prefixes.push_back({op, *ranks});
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (auto &[op, ranks] : prefixes) {
    if (auto prefix = dyn_cast<SeqPrefixOp>(op))
      schedulePrefix(prefix, ranks);
    else
      schedulePrefixAdd(cast<SeqPrefixAddOp>(op), ranks);
  }
  scheduleAllHalos(halos);
  return success();
}
