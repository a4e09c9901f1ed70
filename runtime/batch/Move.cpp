//===- Move.cpp - Moving further tensors by the layout --------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

#include <cstring>

using namespace dsv4::rt;

namespace {

/// One call: bytes of a column, and how to fill one.
struct Move {
  const char *src = nullptr;
  char *dst = nullptr;
  const void *fill = nullptr;
  int64_t element = 0; ///< bytes
  int64_t inner = 0;   ///< elements of a column

  int64_t column() const { return element * inner; }
  void copy(int64_t to, int64_t from, int64_t columns) const {
    if (columns > 0 && inner)
      std::memcpy(dst + to * column(), src + from * column(),
                  columns * column());
  }
  void clear(int64_t to, int64_t columns) const {
    fillCopies(fill, element, dst + to * column(), columns * inner);
  }
};

/// A misuse of one function; the handle keeps its result.
int32_t fail(dsv4rt_cp_batch &batch, const std::string &text) {
  batch.problem = {DSV4RT_E_INVALID, DSV4RT_CP_NO_CODE, text};
  return DSV4RT_E_INVALID;
}

/// Checks what all calls share, and that the leading axes are `want`; -1 is
/// any size. Rows of `columns` columns will be written.
int32_t prepare(dsv4rt_cp_batch *batch, const char *name,
                const dsv4rt_tensor *src, const std::vector<int64_t> &want,
                const void *fill, void *dst, int64_t dstBytes, int64_t columns,
                Move &move) {
  if (!batch)
    return DSV4RT_E_INVALID;
  std::string who = std::string(name) + ": ";
  if (!batch->valid)
    return fail(*batch, who + "the handle holds no batch");
  if (!src)
    return fail(*batch, who + "the source is NULL");
  int64_t count = countElements(*src);
  bool legal = count >= 0 && src->rank >= want.size();
  std::string expected;
  for (size_t axis = 0; axis < want.size(); ++axis) {
    legal = legal && (want[axis] < 0 || src->shape[axis] == want[axis]);
    expected += (want[axis] < 0 ? "n" : std::to_string(want[axis])) + ", ";
  }
  if (!legal)
    return fail(*batch, who + "got " + describe(*src) + ", expected [" +
                            expected + "...]");
  move.inner = countTrailing(*src, want.size());
  move.element = dsv4rt_dtype_size(src->dtype);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(batch->layout.batch_size * columns, move.column(),
                             &bytes))
    return fail(*batch, who + "the result cannot be addressed");
  if (dstBytes != bytes)
    return fail(*batch, who + "the result has " + std::to_string(bytes) +
                            " bytes, got room for " + std::to_string(dstBytes));
  if ((bytes && !dst) || (count && !src->data))
    return fail(*batch, who + "source or result has no memory");
  move.src = static_cast<const char *>(src->data);
  move.dst = static_cast<char *>(dst);
  move.fill = fill;
  return DSV4RT_OK;
}

/// Write columns [first, last) of each aligned row from rows of the input.
void scatterColumns(const Rows &rows, int64_t first, int64_t last,
                    const Move &move) {
  int64_t width = last - first;
  for (int64_t row = 0; row < rows.batch; ++row) {
    int64_t to = row * width - first, from = row * rows.inputLength;
    auto clear = [&](int64_t lo, int64_t hi) { move.clear(to + lo, hi - lo); };
    rows.visit(
        row, first, last,
        [&](const Document &document, int64_t lo, int64_t hi) {
          move.copy(to + lo, from + document.from + lo - document.to, hi - lo);
        },
        clear, clear);
  }
}

/// Write rows of the input from aligned rows; copy(to, row, column, columns)
/// reads the latter.
template <typename Copy>
void collectColumns(const Rows &rows, const Move &move, Copy copy) {
  for (int64_t row = 0; row < rows.batch; ++row) {
    int64_t base = row * rows.inputLength, cursor = 0;
    for (const Document *it = rows.begin(row); it != rows.end(row); ++it) {
      move.clear(base + cursor, it->from - cursor);
      copy(base + it->from, row, it->to, it->length);
      cursor = it->from + it->length;
    }
    move.clear(base + cursor, rows.inputLength - cursor);
  }
}

/// As above from shards [P, B, local, ...].
void trimShards(const dsv4rt_cp_batch &batch, const Move &move) {
  const dsv4rt_cp_layout &layout = batch.layout;
  int64_t local = layout.local_seq_len;
  collectColumns(batch.rows, move,
                 [&](int64_t to, int64_t row, int64_t column, int64_t count) {
                   while (count > 0) {
                     int64_t shard = column / local, inside = column % local;
                     int64_t run = std::min(count, local - inside);
                     int64_t shardRow = shard * layout.batch_size + row;
                     move.copy(to, shardRow * local + inside, run);
                     to += run;
                     column += run;
                     count -= run;
                   }
                 });
}

int32_t failGather(dsv4rt_cp_batch &batch, int32_t status) {
  batch.problem = {status, DSV4RT_CP_NO_CODE,
                   std::string("gather: the gather function failed: ") +
                       dsv4rt_status_name(status)};
  return status;
}

/// What a rank brings to a gather.
struct Offer {
  int64_t status;
  dsv4rt_tensor shard; ///< without its data
};

/// `mine`, or what is wrong on another rank or between two.
int32_t agreeOnShards(dsv4rt_cp_batch &batch, int32_t mine,
                      const dsv4rt_tensor *src, dsv4rt_gather_fn gather,
                      void *context) {
  Offer offer = {};
  offer.status = mine;
  if (mine == DSV4RT_OK) {
    offer.shard.dtype = src->dtype;
    offer.shard.rank = src->rank;
    std::copy_n(src->shape, src->rank, offer.shard.shape);
  }
  std::vector<Offer> offers(batch.layout.cp_size);
  int32_t status = gather(context, &offer, offers.data(), sizeof(offer));
  if (mine != DSV4RT_OK)
    return mine;
  if (status != DSV4RT_OK)
    return failGather(batch, status);
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    std::string who = "rank " + std::to_string(rank) + " of the group";
    if (offers[rank].status != DSV4RT_OK) {
      batch.problem = {DSV4RT_E_REMOTE, DSV4RT_CP_NO_CODE,
                       "gather: " + who + " failed, see its text"};
      return DSV4RT_E_REMOTE;
    }
    if (!std::memcmp(&offers[rank], &offers[0], sizeof(Offer)))
      continue;
    batch.problem = {DSV4RT_E_MISMATCH, DSV4RT_CP_E_SHARDS_DIFFER,
                     formatCode(DSV4RT_CP_E_SHARDS_DIFFER) + ": gather: " +
                         who + " holds " + describe(offers[rank].shard) +
                         ", rank 0 " + describe(offers[0].shard) +
                         "; expected one type and shape on all ranks"};
    return DSV4RT_E_MISMATCH;
  }
  return DSV4RT_OK;
}

} // namespace

int32_t dsv4rt_cp_batch_pack(dsv4rt_cp_batch *batch, const dsv4rt_tensor *src,
                             const void *fill, void *dst, int64_t dstBytes) {
  if (batch && batch->valid && !batch->layout.packed)
    return fail(*batch, "pack: the batch is not packed: use scatter");
  std::vector<int64_t> want;
  if (batch)
    want = {batch->rows.batch, batch->rows.inputLength};
  Move move;
  if (int32_t status = prepare(batch, "pack", src, want, fill, dst, dstBytes,
                               batch ? batch->rows.width : 0, move))
    return status;
  scatterColumns(batch->rows, 0, batch->rows.width, move);
  return DSV4RT_OK;
}

int32_t dsv4rt_cp_batch_restore(dsv4rt_cp_batch *batch,
                                const dsv4rt_tensor *src, void *dst,
                                int64_t dstBytes) {
  if (batch && batch->valid && !batch->layout.packed)
    return fail(*batch, "restore: the batch is not packed: use trim");
  std::vector<int64_t> want;
  if (batch)
    want = {batch->rows.batch, batch->rows.width};
  Move move;
  if (int32_t status =
          prepare(batch, "restore", src, want, nullptr, dst, dstBytes,
                  batch ? batch->rows.inputLength : 0, move))
    return status;
  int64_t width = batch->rows.width;
  collectColumns(batch->rows, move,
                 [&](int64_t to, int64_t row, int64_t column, int64_t count) {
                   move.copy(to, row * width + column, count);
                 });
  return DSV4RT_OK;
}

int32_t dsv4rt_cp_batch_scatter(dsv4rt_cp_batch *batch,
                                const dsv4rt_tensor *src, const void *fill,
                                void *dst, int64_t dstBytes) {
  std::vector<int64_t> want;
  if (batch)
    want = {batch->layout.batch_size, -1};
  Move move;
  if (int32_t status = prepare(batch, "scatter", src, want, fill, dst, dstBytes,
                               batch ? batch->layout.local_seq_len : 0, move))
    return status;
  const dsv4rt_cp_layout &layout = batch->layout;
  int64_t length = src->shape[1], local = layout.local_seq_len;
  if (length == layout.input_seq_len) {
    bool mayFill = layout.packed || length != layout.padded_seq_len;
    if (mayFill && !fill)
      return fail(*batch, "scatter: columns without a token need a fill, got "
                          "NULL: pass one element");
    scatterColumns(batch->rows, layout.local_begin, layout.local_begin + local,
                   move);
    return DSV4RT_OK;
  }
  if (length != layout.padded_seq_len)
    return fail(*batch,
                "scatter: got rows of " + std::to_string(length) +
                    " columns, expected " +
                    std::to_string(layout.input_seq_len) + " (input) or " +
                    std::to_string(layout.padded_seq_len) + " (padded)");
  for (int64_t row = 0; row < layout.batch_size; ++row)
    move.copy(row * local, row * length + layout.local_begin, local);
  return DSV4RT_OK;
}

int32_t dsv4rt_cp_batch_trim(dsv4rt_cp_batch *batch, const dsv4rt_tensor *src,
                             const void *fill, void *dst, int64_t dstBytes) {
  std::vector<int64_t> want;
  if (batch)
    want = {std::max(batch->layout.cp_size, 1), batch->layout.batch_size,
            batch->layout.local_seq_len};
  Move move;
  if (int32_t status = prepare(batch, "trim", src, want, fill, dst, dstBytes,
                               batch ? batch->rows.inputLength : 0, move))
    return status;
  trimShards(*batch, move);
  return DSV4RT_OK;
}

int32_t dsv4rt_cp_batch_gather(dsv4rt_cp_batch *batch, const dsv4rt_tensor *src,
                               const void *fill, dsv4rt_gather_fn gather,
                               void *context, void *dst, int64_t dstBytes) {
  std::vector<int64_t> want;
  if (batch)
    want = {batch->layout.batch_size, batch->layout.local_seq_len};
  Move move;
  int32_t mine = prepare(batch, "gather", src, want, fill, dst, dstBytes,
                         batch ? batch->rows.inputLength : 0, move);
  if (!batch || !batch->valid)
    return mine;
  int64_t ranks = std::max(batch->layout.cp_size, 1);
  if (ranks > 1 && !gather)
    return fail(*batch, "gather: a group of " + std::to_string(ranks) +
                            " ranks needs a gather function, got NULL");
  Storage shards;
  if (ranks > 1 && mine == DSV4RT_OK) {
    move.src = shards.reserve(ranks, countElements(*src) * move.element);
    if (!move.src) {
      batch->problem = {DSV4RT_E_OOM, DSV4RT_CP_NO_CODE,
                        "gather: no memory for the shards of all ranks"};
      mine = DSV4RT_E_OOM;
    }
  }
  if (ranks > 1)
    mine = agreeOnShards(*batch, mine, src, gather, context);
  if (mine != DSV4RT_OK)
    return mine;
  if (ranks > 1)
    if (int32_t status =
            gather(context, src->data, const_cast<char *>(move.src),
                   countElements(*src) * move.element))
      return failGather(*batch, status);
  trimShards(*batch, move);
  return DSV4RT_OK;
}

int32_t dsv4rt_cp_batch_map(const dsv4rt_cp_batch *batch, uint32_t which,
                            int64_t *dst, int64_t count) {
  if (!batch || !batch->valid || which > DSV4RT_CP_MAP_DOCUMENTS)
    return DSV4RT_E_INVALID;
  const Rows &rows = batch->rows;
  bool ofInput = which == DSV4RT_CP_MAP_INPUT;
  int64_t length = ofInput ? rows.inputLength : rows.width;
  if (count != rows.batch * length || (count && !dst))
    return DSV4RT_E_INVALID;
  bool isIndex = which == DSV4RT_CP_MAP_SOURCE || ofInput;
  std::fill(dst, dst + count, isIndex ? -1 : 0);
  for (int64_t row = 0; row < rows.batch; ++row, dst += length)
    for (const Document *it = rows.begin(row); it != rows.end(row); ++it) {
      int64_t *run = dst + (ofInput ? it->from : it->to);
      for (int64_t i = 0; i < it->length; ++i) {
        int64_t index = (ofInput ? it->to : it->from) + i;
        int64_t position = which == DSV4RT_CP_MAP_POSITIONS ? i : it->ordinal;
        run[i] = isIndex ? index : position;
      }
    }
  return DSV4RT_OK;
}
