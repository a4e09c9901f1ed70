/*===- Batch.h - Sharding a batch over context-parallel ranks ------*- C
-*-===*\
|*                                                                            *|
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Each rank of a context-parallel (CP) group gives the same batch and keeps  *|
|* one contiguous piece of its padded rows:                                   *|
|*                                                                            *|
|*     row        t0 t1 t2 t3 t4                     5 columns                *|
|*     padded     t0 t1 t2 t3 t4  .  .  .            a multiple of P * 2      *|
|*     rank 0     t0 t1 t2 t3     rank 1   t4  .  .  .                        *|
|*                                                                            *|
|* Rows of packed documents are first rewritten so that each document starts  *|
|* at a multiple of `packed_alignment`.                                       *|
|*                                                                            *|
|* Use: create a handle once, call dsv4rt_shard_cp_batch every step, read the *|
|* entries. The handle keeps its memory between steps.                        *|
|*                                                                            *|
|* Failures here are not raised in a world. With an `agree` function every    *|
|* rank of the job fails in the same call: the refusing one with its own      *|
|* status and text, the others with E_REMOTE and its name; no rank is left    *|
|* waiting at a later collective.                                             *|
\*===----------------------------------------------------------------------===*/
#ifndef DSV4_RUNTIME_BATCH_H
#define DSV4_RUNTIME_BATCH_H

#include "dsv4/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*--- Input ------------------------------------------------------------------*/

#define DSV4RT_TENSOR_MAX_RANK 8

/* A row-major contiguous array, aligned to its element. */
typedef struct dsv4rt_tensor {
  const void *data;
  uint32_t dtype; /* DSV4RT_I8.. */
  uint32_t rank;
  int64_t shape[DSV4RT_TENSOR_MAX_RANK];
} dsv4rt_tensor;

/* One entry of a batch: a tensor, or a text when `text` is set. An entry with
 * neither (no text, no data although the shape has elements) is as if absent.
 *
 *   input_ids        [B, S], required
 *   labels           [B, S, ...], signed integers; the last token of each
 *                    document holds -100 already
 *   loss_mask        [B, S, ...]; like the argument of that name (see flags)
 *   position_ids     [B, S], [1, S], or [planes, B, S] (mRoPE)
 *   attention_mask   [B, S], nonzero = token; [B, heads, S, S]: the diagonal of
 *                    head 0, true = token in i1, zero = token in other types
 *   padding_mask     [B, S], nonzero = padding; wins over attention_mask
 *   seq_lens         [B, D], or [D] when B is 1; i32 or i64. Makes the batch
 *                    packed. 0 or -1000: no document, yet it takes a number
 *   seq_lens_padded  the same shape: columns each document takes in the input;
 *                    absent = seq_lens
 *   qkv_format       text; "thd" without seq_lens is refused
 *   cu_seqlens       refused without seq_lens
 *   pixel_values, inputs_embeds   refused
 *
 * Any other entry is handed on as it is. */
typedef struct dsv4rt_batch_entry {
  const char *name;
  const char *text;
  dsv4rt_tensor tensor;
} dsv4rt_batch_entry;

/* Replace values[i] by its maximum over all ranks of the job, for each of the
 * `count` values; blocking. Returns a status. */
typedef int32_t (*dsv4rt_agree_fn)(void *context, int64_t *values,
                                   int32_t count);

/* Flags. Those named REF restore what the reference implementation does where
 * the default is safer. */
enum {
  /* Give packed rows the same number of columns in the whole job. Every rank
   * must set it alike, and every rank's batch must be packed, or none. Without
   * an `agree` function it has no effect. */
  DSV4RT_CP_SYNC_PACKED_LENGTH = 1,
  /* A loss_mask of the batch is neither padded nor sliced over a group.
   * Default: it is treated like the argument. */
  DSV4RT_CP_REF_BATCH_LOSS_MASK = 0x100,
  /* Labels of any type; -100 is converted to it (true in i1, 156 in u8).
   * Default: types that are not signed integers are refused. */
  DSV4RT_CP_REF_LABEL_TYPES = 0x200,
  /* An integer padding_mask is inverted bit by bit and keeps its type.
   * Default: nonzero is padding, the result is i1. */
  DSV4RT_CP_REF_INTEGER_MASK = 0x400,
  /* Without a group, attention_mask alone is refused (CP-E12).
   * Default: it is converted as it is with one. */
  DSV4RT_CP_REF_MASK_ONLY = 0x800,
  DSV4RT_CP_REFERENCE = 0xf00
};

typedef struct dsv4rt_cp_desc {
  uint32_t struct_size; /* sizeof(dsv4rt_cp_desc) */
  uint32_t flags;       /* DSV4RT_CP_* */
  int32_t cp_size;      /* ranks of the group; 0 = no group: nothing is cut.
                           A group of 1 still pads. */
  int32_t cp_rank;      /* this rank's place in the group, not in the job */
  int32_t world_rank;   /* this rank's name in the texts of others */
  uint32_t n_entries;
  uint32_t entry_size; /* sizeof(dsv4rt_batch_entry) */
  uint32_t reserved;
  const dsv4rt_batch_entry *entries;
  const dsv4rt_tensor *loss_mask; /* [B, S, ...] or NULL; with a group and
                                     without labels it becomes the labels */
  int64_t padding_token_id;
  int64_t pad_multiple;     /* shards are a multiple of it, at least of 2 */
  int64_t packed_alignment; /* documents start at multiples of it, >= 1 */
  dsv4rt_agree_fn agree;    /* over all ranks of the job; called by each of
                               them twice per call, packed or not, valid or not,
                               after an error once. NULL = failures are local */
  void *agree_context;
} dsv4rt_cp_desc;

/* What the call is without further settings: no group, pad_multiple 1,
 * packed_alignment 1, no entries. */
DSV4RT_API void dsv4rt_cp_desc_init(dsv4rt_cp_desc *desc);

/* An `agree` function over a site of kind AGREE whose group is the whole
 * world; the context is a dsv4rt_agree_site. */
typedef struct dsv4rt_agree_site {
  dsv4rt_module *module;
  uint32_t site;
} dsv4rt_agree_site;
DSV4RT_API int32_t dsv4rt_agree_over_site(void *context, int64_t *values,
                                          int32_t count);

/*--- Sharding ---------------------------------------------------------------*/

typedef struct dsv4rt_cp_batch dsv4rt_cp_batch;

/* What was wrong. 1 to 12 are printed as CP-E01 to CP-E12, and so on. */
enum {
  DSV4RT_CP_NO_CODE = 0,
  DSV4RT_CP_E_NOT_TEXT = 1,        /* pixel_values or inputs_embeds */
  DSV4RT_CP_E_NO_LENGTHS = 2,      /* cu_seqlens or "thd" without seq_lens */
  DSV4RT_CP_E_ALIGNMENT = 3,       /* packed_alignment below 1 */
  DSV4RT_CP_E_LENGTH_TYPE = 4,     /* seq_lens is not i32 or i64 */
  DSV4RT_CP_E_LENGTH_SHAPE = 5,    /* seq_lens, seq_lens_padded not [B, D] */
  DSV4RT_CP_E_SPAN_TYPE = 6,       /* seq_lens_padded is not i32 or i64 */
  DSV4RT_CP_E_ABSENT_SPAN = 7,     /* columns for a document that is absent */
  DSV4RT_CP_E_DOCUMENT = 8,        /* a length or a span that does not fit */
  DSV4RT_CP_E_NO_INPUT_IDS = 9,    /* input_ids missing */
  DSV4RT_CP_E_NO_LABELS = 10,      /* a group, neither labels nor loss_mask */
  DSV4RT_CP_E_INDIVISIBLE = 11,    /* guard: padded rows that P cannot divide */
  DSV4RT_CP_E_MASK_ONLY = 12,      /* with DSV4RT_CP_REF_MASK_ONLY only */
  DSV4RT_CP_E_LABEL_TYPE = 13,     /* labels are not signed integers */
  DSV4RT_CP_E_TENSOR = 14,         /* shape or type of another tensor */
  DSV4RT_CP_E_SETTING = 15,        /* a setting of the descriptor; a row too
                                      long to be addressed */
  DSV4RT_CP_E_TOKEN_RANGE = 16,    /* padding_token_id not in input_ids' type */
  DSV4RT_CP_E_RANKS_DISAGREE = 17, /* on syncing, or on packed or not */
  DSV4RT_CP_E_SHARDS_DIFFER = 20   /* a gather of different types or shapes */
};

DSV4RT_API int32_t dsv4rt_cp_batch_create(dsv4rt_cp_batch **out);
DSV4RT_API void dsv4rt_cp_batch_destroy(dsv4rt_cp_batch *batch);

/* Prepare a batch. The result replaces the handle's former one; its tensors
 * live until the next call, and may refer to memory of the input (which is
 * never written). E_INVALID for a batch that breaks a rule, E_REMOTE when
 * another rank's does, E_MISMATCH when ranks disagree, E_OOM; then the handle
 * holds no result, and says why. */
DSV4RT_API int32_t dsv4rt_shard_cp_batch(dsv4rt_cp_batch *batch,
                                         const dsv4rt_cp_desc *desc);

/* Text of the last failed call on this handle, "" after success: what was got,
 * what is expected, the smallest change. Lives until the next call. */
DSV4RT_API const char *dsv4rt_cp_batch_error(const dsv4rt_cp_batch *batch);
/* Its number, DSV4RT_CP_E_*; with E_REMOTE the other rank's. Set by
 * dsv4rt_shard_cp_batch and dsv4rt_cp_batch_gather. */
DSV4RT_API int32_t dsv4rt_cp_batch_error_code(const dsv4rt_cp_batch *batch);

/* The local batch: input_ids, labels, position_ids, attention_mask (i1, true =
 * token), loss_mask, packed_seq_ids (i64, number of the document from 1, 0 =
 * none), and entries handed on. Positions are i64 unless given. */
DSV4RT_API int32_t dsv4rt_cp_batch_size(const dsv4rt_cp_batch *batch);
/* NULL when out of range. */
DSV4RT_API const dsv4rt_batch_entry *
dsv4rt_cp_batch_entry(const dsv4rt_cp_batch *batch, int32_t index);
/* NULL when there is no such entry. */
DSV4RT_API const dsv4rt_batch_entry *
dsv4rt_cp_batch_find(const dsv4rt_cp_batch *batch, const char *name);

/*--- Layout -----------------------------------------------------------------*/

/* -1 stands for "none". */
typedef struct dsv4rt_cp_layout {
  uint32_t struct_size; /* set by the caller */
  int32_t cp_size;      /* 0 = no group */
  int32_t cp_rank;      /* 0 without a group */
  int32_t packed;       /* 0 or 1 */
  int64_t batch_size;
  int64_t input_seq_len;    /* columns of the input */
  int64_t original_seq_len; /* the same when unpacked over a group, else -1 */
  int64_t packed_seq_len;   /* columns of the aligned rows; -1 if unpacked */
  int64_t padded_seq_len;   /* columns over all ranks */
  int64_t local_seq_len;    /* columns of this rank */
  int64_t local_begin;      /* its columns are local_begin + 0, 1, ... */
  int64_t dropped_tokens;   /* input columns that belong to no document, over
                               all rows; their tokens are not in the result */
} dsv4rt_cp_layout;

DSV4RT_API int32_t dsv4rt_cp_batch_layout(const dsv4rt_cp_batch *batch,
                                          dsv4rt_cp_layout *out);

/* Maps of whole rows, i64. Unpacked rows map to themselves. */
enum {
  DSV4RT_CP_MAP_SOURCE = 0,    /* [B, W]: input column, -1 = padding */
  DSV4RT_CP_MAP_INPUT = 1,     /* [B, S]: column it moved to, -1 = dropped */
  DSV4RT_CP_MAP_POSITIONS = 2, /* [B, W]: position in its document, else 0 */
  DSV4RT_CP_MAP_DOCUMENTS = 3  /* [B, W]: number of its document, else 0 */
};

/* Write a map; `count` must be its number of elements. W is packed_seq_len, or
 * the input's columns when unpacked. */
DSV4RT_API int32_t dsv4rt_cp_batch_map(const dsv4rt_cp_batch *batch,
                                       uint32_t which, int64_t *dst,
                                       int64_t count);

/* Moving further tensors by the layout. All accept trailing axes, written `...`
 * here; `fill` points to one element of the type (NULL = zero, where nothing
 * else is said); `dst_bytes` must be the size of the result; src and dst may
 * not overlap. E_INVALID otherwise, with a text.
 *
 * pack:     [B, S, ...] -> [B, W, ...], packed batches only
 * restore:  [B, W, ...] -> [B, S, ...], dropped columns are zero. Pack and
 *           restore (fill zero) are each other's gradient.
 * scatter:  [B, n, ...] -> [B, local, ...]: a tensor of input columns, or of
 *           padded_seq_len; input columns of a packed or a padded batch need an
 *           explicit fill
 * trim:     [P, B, local, ...] -> [B, S, ...]: shards in rank order, as an
 *           all-gather leaves them, back to input columns; padding is cut off,
 *           dropped columns get the fill */
DSV4RT_API int32_t dsv4rt_cp_batch_pack(dsv4rt_cp_batch *batch,
                                        const dsv4rt_tensor *src,
                                        const void *fill, void *dst,
                                        int64_t dst_bytes);
DSV4RT_API int32_t dsv4rt_cp_batch_restore(dsv4rt_cp_batch *batch,
                                           const dsv4rt_tensor *src, void *dst,
                                           int64_t dst_bytes);
DSV4RT_API int32_t dsv4rt_cp_batch_scatter(dsv4rt_cp_batch *batch,
                                           const dsv4rt_tensor *src,
                                           const void *fill, void *dst,
                                           int64_t dst_bytes);
DSV4RT_API int32_t dsv4rt_cp_batch_trim(dsv4rt_cp_batch *batch,
                                        const dsv4rt_tensor *src,
                                        const void *fill, void *dst,
                                        int64_t dst_bytes);

/* All-gather of `bytes` from each rank of the CP group into `dst`, in rank
 * order; blocking. Returns a status. */
typedef int32_t (*dsv4rt_gather_fn)(void *context, const void *src, void *dst,
                                    int64_t bytes);

/* Gather the shards [B, local, ...] of all ranks, then trim. Collective over
 * the group: `gather` is called twice, first with a few bytes that say what
 * each rank holds. When one rank refuses its arguments the others return
 * E_REMOTE, when shards differ all return E_MISMATCH (CP-E20), and nothing else
 * is gathered. It may be NULL when the group has one rank or there is none. */
DSV4RT_API int32_t dsv4rt_cp_batch_gather(dsv4rt_cp_batch *batch,
                                          const dsv4rt_tensor *src,
                                          const void *fill,
                                          dsv4rt_gather_fn gather,
                                          void *gather_context, void *dst,
                                          int64_t dst_bytes);

#ifdef __cplusplus
} // extern "C"

#include <utility>

namespace dsv4 {

/// A prepared batch; owns its handle.
class CpBatch {
public:
  CpBatch() { dsv4rt_cp_batch_create(&handle); }
  ~CpBatch() { dsv4rt_cp_batch_destroy(handle); }
  CpBatch(CpBatch &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  CpBatch &operator=(CpBatch &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  CpBatch(const CpBatch &) = delete;
  CpBatch &operator=(const CpBatch &) = delete;

  /// A descriptor with the defaults.
  static dsv4rt_cp_desc makeDesc() {
    dsv4rt_cp_desc desc;
    dsv4rt_cp_desc_init(&desc);
    return desc;
  }

  int32_t shard(const dsv4rt_cp_desc &desc) {
    return dsv4rt_shard_cp_batch(handle, &desc);
  }
  const char *getError() const { return dsv4rt_cp_batch_error(handle); }
  int32_t getErrorCode() const { return dsv4rt_cp_batch_error_code(handle); }

  int32_t size() const { return dsv4rt_cp_batch_size(handle); }
  const dsv4rt_batch_entry &operator[](int32_t index) const {
    return *dsv4rt_cp_batch_entry(handle, index);
  }
  /// The tensor of that name, or null.
  const dsv4rt_tensor *find(const char *name) const {
    const dsv4rt_batch_entry *entry = dsv4rt_cp_batch_find(handle, name);
    return entry ? &entry->tensor : nullptr;
  }
  dsv4rt_cp_layout getLayout() const {
    dsv4rt_cp_layout layout = {};
    layout.struct_size = sizeof(layout);
    dsv4rt_cp_batch_layout(handle, &layout);
    return layout;
  }

  /// For the functions that have no method; null when memory was exhausted.
  dsv4rt_cp_batch *get() const { return handle; }

private:
  dsv4rt_cp_batch *handle = nullptr;
};

} // namespace dsv4
#endif

#endif /* DSV4_RUNTIME_BATCH_H */
