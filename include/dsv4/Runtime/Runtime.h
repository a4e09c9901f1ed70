/*===- Runtime.h - C interface between programs and runtime -------*- C -*-===*\
|*                                                                            *|
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Plain C11: integers, pointers and constant tables, no type of a backend.   *|
|*                                                                            *|
|* Who calls what:                                                            *|
|*  - the host program starts ranks (`dsv4rt_host_run`), opens a compiled     *|
|*    module on each rank (`dsv4rt_module_open`), fills the arguments in the  *|
|*    arenas and calls the compiled function with the `dsv4rt_module *`;      *|
|*  - the compiled function calls the *hot path* functions only. Each takes   *|
|*    the module first and the index of a *site*: one collective of the       *|
|*    program, whose operation, element type and group are in the site table. *|
|*                                                                            *|
|* Failures: every function returns a status, or a token that is negative.    *|
|* Except where a declaration says "not raised", a failure is *sticky*: the   *|
|* first one of the job wakes all ranks, every later call on any rank fails,  *|
|* and `dsv4rt_error_text` gives the same text on each. Ranks carry the       *|
|* detecting class for E_MISMATCH, E_TIMEOUT, E_RANK_LOST and failures of a   *|
|* collective `dsv4rt_module_open`; for a failure local to one rank that rank *|
|* carries its own status and the others E_REMOTE. A world is not recoverable *|
|* after a failure: leave the rank function.                                  *|
|*                                                                            *|
|* Threads: one thread per rank makes all calls of that rank's world.         *|
\*===----------------------------------------------------------------------===*/
#ifndef DSV4_RUNTIME_RUNTIME_H
#define DSV4_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifndef DSV4RT_API
#define DSV4RT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DSV4RT_ABI_MAJOR 1u
#define DSV4RT_ABI_MINOR 0u
#define DSV4RT_ABI_VERSION ((DSV4RT_ABI_MAJOR << 16) | DSV4RT_ABI_MINOR)

/* One rank's membership in a job; lives as long as the rank function runs. */
typedef struct dsv4rt_world dsv4rt_world;
/* One compiled module opened on one rank. */
typedef struct dsv4rt_module dsv4rt_module;
/* > 0: operation in flight; 0: already complete; < 0: minus the status. */
typedef int64_t dsv4rt_token;
typedef int32_t dsv4rt_status;

/*--- Codes ------------------------------------------------------------------*/

enum {
  DSV4RT_OK = 0,
  DSV4RT_PENDING = 1,    /* only from dsv4rt_test */
  DSV4RT_E_INVALID = 2,  /* bad argument, found before anything is posted */
  DSV4RT_E_MISMATCH = 3, /* ranks disagree on a collective */
  DSV4RT_E_TIMEOUT = 4, /* a time limit passed; the text names who is missing */
  DSV4RT_E_RANK_LOST = 5, /* a rank left the job while others wait for it */
  DSV4RT_E_REMOTE = 6,    /* another rank failed; the text names it */
  DSV4RT_E_BACKEND = 7,   /* the backend's own library or the system failed */
  DSV4RT_E_OOM = 8,     /* memory refused before it is touched, or exhausted */
  DSV4RT_E_ABORTED = 9, /* a rank function ended with a code of its own */
  DSV4RT_E_UNSUPPORTED = 10, /* no rule for this op, dtype and redop */
  DSV4RT_E_MODULE = 11 /* module differs across ranks or does not fit the job */
};

/* Element types; 0..11 equal the numbers NCCL uses. */
enum {
  DSV4RT_I8 = 0,
  DSV4RT_U8 = 1,
  DSV4RT_I32 = 2,
  DSV4RT_U32 = 3,
  DSV4RT_I64 = 4,
  DSV4RT_U64 = 5,
  DSV4RT_F16 = 6,
  DSV4RT_F32 = 7,
  DSV4RT_F64 = 8,
  DSV4RT_BF16 = 9,
  DSV4RT_F8E4M3 = 10,
  DSV4RT_F8E5M2 = 11,
  DSV4RT_I1 = 100 /* one byte per element, 0 or 1 */
};

/* Reductions; the numbers equal NCCL's. PROD has no rule on any backend yet. */
enum { DSV4RT_SUM = 0, DSV4RT_PROD = 1, DSV4RT_MAX = 2, DSV4RT_MIN = 3 };

/* What a site demands of the accumulator of f16, bf16 and f32 sums. */
enum { DSV4RT_ACC_BACKEND = 0, DSV4RT_ACC_F32 = 1 };

enum {
  DSV4RT_OP_ALL_GATHER = 1,
  DSV4RT_OP_REDUCE_SCATTER = 2,
  DSV4RT_OP_ALL_REDUCE = 3,
  DSV4RT_OP_BARRIER = 6,
  DSV4RT_OP_AGREE = 7,
  DSV4RT_OP_EXCHANGE = 8
};

/* What a site moves, for reports. */
enum {
  DSV4RT_TRAFFIC_OTHER = 0,
  DSV4RT_TRAFFIC_SEQUENCE = 1,
  DSV4RT_TRAFFIC_PARAMETER = 2,
  DSV4RT_TRAFFIC_SCALAR = 3
};

enum { DSV4RT_ARENA_STATE = 0, DSV4RT_ARENA_WORK = 1 };

enum {
  DSV4RT_ARG_PARAMETER =
      0,                /* parameter shard (or optimizer state) of this rank */
  DSV4RT_ARG_BATCH = 1, /* this rank's part of the batch */
  DSV4RT_ARG_RESULT = 2 /* written by the step: loss, logits, gradients */
};

/* Lanes: 0 compute, 1 copies, 2.. communicators. `start` names the lane that
 * produced `src`, `wait` the lane that will read `dst`. The host backend has
 * one lane, the calling thread, and ignores the number. */
enum { DSV4RT_LANE_COMPUTE = 0, DSV4RT_LANE_COPY = 1 };

/*--- Tables written by the compiler -----------------------------------------*/

/* One collective of the program. */
typedef struct dsv4rt_site {
  uint32_t op;          /* DSV4RT_OP_* */
  uint32_t dtype;       /* element type */
  uint32_t redop;       /* DSV4RT_SUM.. where op reduces */
  uint32_t acc;         /* DSV4RT_ACC_* */
  int64_t count;        /* per-rank elements as passed to start; -1 = dynamic */
  uint32_t group;       /* index into groups */
  uint32_t traffic;     /* DSV4RT_TRAFFIC_* */
  uint64_t arg;         /* argument word: peer list id of an exchange */
  const char *location; /* source text for messages, not hashed; may be NULL */
} dsv4rt_site;

/* A set of mesh axes; each rank belongs to one sub-group of it. Bit i of
 * axis_mask is axis i. Ranks of a group are row-major over its axes. */
typedef struct dsv4rt_group_desc {
  const char *name; /* for messages; may be NULL */
  uint32_t axis_mask;
  uint32_t lane;
} dsv4rt_group_desc;

/* One argument of the compiled function: a buffer inside an arena. */
typedef struct dsv4rt_argument {
  const char *name;
  uint32_t arena; /* DSV4RT_ARENA_* */
  uint32_t dtype;
  uint64_t offset;      /* bytes from the start of the arena */
  uint32_t rank;        /* number of dimensions */
  uint32_t kind;        /* DSV4RT_ARG_* */
  const int64_t *shape; /* `rank` sizes, row-major contiguous */
} dsv4rt_argument;

/* A range of the work arena that the compiler planned a buffer in. Ranges may
 * overlap: their buffers live at different times. */
typedef struct dsv4rt_work_buffer {
  uint64_t offset; /* bytes from the start of the arena */
  uint64_t bytes;
} dsv4rt_work_buffer;

/* Everything the runtime must know of a compiled module. The tables must stay
 * valid until the module is closed. `*_size` is sizeof the element as the
 * compiler knew it, so that elements can grow. */
typedef struct dsv4rt_module_desc {
  uint32_t struct_size; /* sizeof(dsv4rt_module_desc) */
  uint32_t abi_version; /* DSV4RT_ABI_VERSION the compiler wrote for */
  const char *name;
  uint8_t hash[32]; /* of the program, source locations excluded */
  uint32_t n_axes;
  uint32_t n_groups;
  uint32_t n_sites;
  uint32_t n_arguments;
  uint32_t group_size;           /* sizeof(dsv4rt_group_desc) */
  uint32_t site_size;            /* sizeof(dsv4rt_site) */
  uint32_t argument_size;        /* sizeof(dsv4rt_argument) */
  uint32_t flags;                /* 0 */
  const char *const *axis_names; /* n_axes */
  const int64_t *axis_sizes;     /* n_axes; ranks are row-major over them */
  const dsv4rt_group_desc *groups;
  const dsv4rt_site *sites;
  const dsv4rt_argument *arguments;
  uint64_t state_bytes; /* per rank */
  uint64_t work_bytes;  /* per rank */
  uint32_t n_work_buffers;
  uint32_t work_buffer_size; /* sizeof(dsv4rt_work_buffer) */
  const dsv4rt_work_buffer *work_buffers;
} dsv4rt_module_desc;

/* One message of an exchange. Offsets and counts are elements of the site's
 * type, from the start of `src` (sends) or `dst` (receives). */
typedef struct dsv4rt_peer {
  int32_t peer; /* rank inside the group */
  int32_t reserved;
  int64_t offset;
  int64_t count;
} dsv4rt_peer;

/* How to start a job. Zero everywhere but struct_size is a legal default. */
typedef struct dsv4rt_config {
  uint32_t struct_size;  /* sizeof(dsv4rt_config) */
  int32_t log_level;     /* 0 = default (warnings), 1 = silent, 2 = warnings */
  const char *backend;   /* host_run: NULL or "host"; process_run: "mpi" */
  int32_t rank;          /* ignored by dsv4rt_host_run */
  int32_t world_size;    /* 0, or equal to nranks of dsv4rt_host_run */
  int64_t op_timeout_ms; /* per wait; 0 = 600000, negative = none */
  int64_t exit_timeout_ms;     /* how long dsv4rt_host_run waits for ranks to
                                  return after a failure; 0 = 10000, negative =
                                  for ever */
  uint64_t memory_limit_bytes; /* arenas of all ranks together; 0 = what the
                                  machine and its control group leave */
  uint64_t stack_bytes;        /* of a rank's thread; 0 = 64 MiB */
} dsv4rt_config;

/* Traffic since module_open or the last reset. */
typedef struct dsv4rt_counters_v1 {
  uint32_t struct_size; /* sizeof(dsv4rt_counters_v1), set by the caller */
  uint32_t reserved;
  uint64_t launches; /* start calls; a start_v counts once, at its first site */
  uint64_t calls;    /* operations: a start_v counts once per site */
  uint64_t received_bytes; /* from other ranks: (N-1)/N of the full buffer for
                              all-gather and reduce-scatter, N-1 operands for
                              all-reduce and agree, listed bytes for exchange */
  uint64_t wait_ns;        /* time this rank was blocked in waits */
} dsv4rt_counters_v1;

#define DSV4RT_ALL_SITES UINT32_MAX

/*--- Jobs and failures ------------------------------------------------------*/

/* Version of the library: (major << 16) | minor. */
DSV4RT_API uint32_t dsv4rt_abi_version(void);

/* "DSV4RT_OK" .. ; "unknown" for another number. Never NULL. */
DSV4RT_API const char *dsv4rt_status_name(int32_t status);
/* "f32", "all_gather", "sum"; "unknown" for another number. Never NULL. */
DSV4RT_API const char *dsv4rt_dtype_name(uint32_t dtype);
DSV4RT_API const char *dsv4rt_op_name(uint32_t op);
DSV4RT_API const char *dsv4rt_redop_name(uint32_t redop);
/* Bytes of one element, 0 for an unknown type. */
DSV4RT_API int64_t dsv4rt_dtype_size(uint32_t dtype);

typedef int32_t (*dsv4rt_rank_fn)(dsv4rt_world *world, void *arg);

/* Run `fn` on `nranks` ranks, each a thread of this process, and wait for all.
 * Returns DSV4RT_OK, or the status of the first failure; a rank that returns
 * non-zero without having raised is raised for it (a value that is no failure
 * code becomes E_ABORTED). A rank that does not return within exit_timeout_ms
 * after a failure cannot be stopped: its thread and the job's memory are left
 * behind and the call returns the failure; the process should then end. */
DSV4RT_API int32_t dsv4rt_host_run(int32_t nranks, const dsv4rt_config *config,
                                   dsv4rt_rank_fn fn, void *arg);

/* Codes with which dsv4rt_process_run ends the process: this plus the status. */
#define DSV4RT_EXIT_BASE 80

/* Run `fn` as one rank of a job of processes, which the backend's launcher has
 * started, on the calling thread, and leave the job when all ranks have
 * returned. The backend is a plugin, libdsv4rt_NAME.so beside this library.
 * Once per process. A job that cannot be joined gives a status. A failure of a
 * running job does not return: each rank that the control plane reaches prints
 * the text, at the latest exit_timeout_ms later, and ends with
 * `_exit(DSV4RT_EXIT_BASE + status)`; engines cannot be left in order then. */
DSV4RT_API int32_t dsv4rt_process_run(const dsv4rt_config *config,
                                      dsv4rt_rank_fn fn, void *arg);

/* Report a failure of this rank: its status becomes `status` (E_* code), that
 * of the other ranks E_REMOTE, the text "rank R: text". Returns the status
 * this rank carries now, an earlier failure's if there was one. */
DSV4RT_API int32_t dsv4rt_raise(dsv4rt_world *world, int32_t status,
                                const char *text);

/* The sticky status as this rank sees it. */
DSV4RT_API int32_t dsv4rt_status_of(const dsv4rt_world *world);

/* Copy the text of the job's failure, NUL-terminated and cut at `cap`; returns
 * its full length, 0 if there is none. With `world` NULL: the text of the last
 * dsv4rt_host_run that failed on the calling thread. */
DSV4RT_API size_t dsv4rt_error_text(const dsv4rt_world *world, char *buf,
                                    size_t cap);

DSV4RT_API int32_t dsv4rt_rank(const dsv4rt_world *world);
DSV4RT_API int32_t dsv4rt_world_size(const dsv4rt_world *world);

/*--- Modules ----------------------------------------------------------------*/

/* Open a compiled module. Collective over the world. Checks the tables, that
 * all ranks hold the same module, and that the product of the mesh axes is the
 * number of ranks; creates the groups; allocates the two arenas, zero-filled
 * and aligned to 256 bytes, after comparing what all ranks of this machine need
 * with what it has left. E_MODULE, E_INVALID, E_UNSUPPORTED or E_OOM on all
 * ranks alike. */
DSV4RT_API int32_t dsv4rt_module_open(dsv4rt_world *world,
                                      const dsv4rt_module_desc *desc,
                                      dsv4rt_module **out);

/* Release groups and arenas. Collective; after a failure it is local. */
DSV4RT_API int32_t dsv4rt_module_close(dsv4rt_module *module);

DSV4RT_API dsv4rt_world *dsv4rt_module_world(const dsv4rt_module *module);
DSV4RT_API const dsv4rt_module_desc *
dsv4rt_module_descriptor(const dsv4rt_module *module);
/* Start of an arena; NULL when it has no bytes or `which` is unknown. */
DSV4RT_API void *dsv4rt_module_arena(const dsv4rt_module *module,
                                     uint32_t which);
/* Table entries by index; NULL when out of range. */
DSV4RT_API const dsv4rt_argument *
dsv4rt_module_argument(const dsv4rt_module *module, uint32_t index);
DSV4RT_API const dsv4rt_site *dsv4rt_module_site(const dsv4rt_module *module,
                                                 uint32_t index);
/* This rank's place in a group, and its size; -1 when out of range. */
DSV4RT_API int32_t dsv4rt_group_rank(const dsv4rt_module *module,
                                     uint32_t group);
DSV4RT_API int32_t dsv4rt_group_size(const dsv4rt_module *module,
                                     uint32_t group);

/* Counters of one site, or the sum over all with DSV4RT_ALL_SITES. Not raised.
 */
DSV4RT_API int32_t dsv4rt_counters(const dsv4rt_module *module, uint32_t site,
                                   dsv4rt_counters_v1 *out);
DSV4RT_API void dsv4rt_counters_reset(dsv4rt_module *module);

/* Measure how much of `work` a step writes: fill it with a pattern before the
 * step, then ask, for any range of it, for the end of the highest byte that
 * changed. `*touched_end` is `begin` when nothing in [begin, end) changed.
 * E_INVALID (not raised) for a range outside the arena. */
DSV4RT_API int32_t dsv4rt_module_fill_pattern(dsv4rt_module *module);
DSV4RT_API int32_t dsv4rt_module_touched_bytes(const dsv4rt_module *module,
                                               uint64_t begin, uint64_t end,
                                               uint64_t *touched_end);
/* After a step on a filled arena: the end of the highest planned buffer in which
 * a byte changed, 0 when none did. E_MODULE when a byte changed that lies in no
 * planned buffer; the text names it. */
DSV4RT_API int32_t dsv4rt_module_measure_work(dsv4rt_module *module,
                                              uint64_t *measured_end);

/*--- Hot path: what compiled code calls -------------------------------------*/

/* Common rules. Buffers are contiguous and aligned to their element. From start
 * to wait `src` may not be written nor `dst` read. All members of a group start
 * its operations in one order; before a byte moves, sequence number, site, op
 * and count are compared over the group (E_MISMATCH), and a static count of the
 * site with the one passed. Reductions combine operands in rank order, in f64
 * for f64, in f32 for f32, bf16 and f16 with one rounding at the end, modulo
 * 2^n for integers. Maximum and minimum propagate NaN and order -0 below +0. */

/* dst = concatenation over the group's ranks of their `count` elements. In
 * place when src is the own slice of dst. */
DSV4RT_API int64_t dsv4rt_all_gather_start(dsv4rt_module *module, uint32_t site,
                                           const void *src, void *dst,
                                           int64_t count, int32_t lane);

/* dst (`count` elements) = own slice of the reduction of all src (size * count
 * elements each). In place when dst is the own slice of src. */
DSV4RT_API int64_t dsv4rt_reduce_scatter_start(dsv4rt_module *module,
                                               uint32_t site, const void *src,
                                               void *dst, int64_t count,
                                               int32_t lane);

/* dst = reduction of all src, `count` elements each. In place when dst == src.
 */
DSV4RT_API int64_t dsv4rt_all_reduce_start(dsv4rt_module *module, uint32_t site,
                                           const void *src, void *dst,
                                           int64_t count, int32_t lane);

/* One launch of `n` operations at the consecutive sites first_site.., all of
 * one group and of the three kinds above. The arrays are read during the call.
 * The token covers them all. */
DSV4RT_API int64_t dsv4rt_start_v(dsv4rt_module *module, uint32_t first_site,
                                  int32_t n, const void *const *src,
                                  void *const *dst, const int64_t *count,
                                  int32_t lane);

/* Point-to-point messages between members of a group, also with the rank
 * itself. The k-th receive from q takes the k-th send of q to this rank, of the
 * same count (else E_MISMATCH). Bytes of dst outside the receives stay as they
 * are; sends and receives of one rank may not overlap. The lists are read
 * during the call. A site's count is not compared. */
DSV4RT_API int64_t dsv4rt_exchange_start(dsv4rt_module *module, uint32_t site,
                                         const void *src, int32_t n_send,
                                         const dsv4rt_peer *sends, void *dst,
                                         int32_t n_recv,
                                         const dsv4rt_peer *recvs,
                                         int32_t lane);

/* Return when the operation's result is complete and every peer has finished
 * reading this rank's src. Makes progress on all operations this rank started,
 * so ranks may wait in different orders. Waiting again is harmless; token 0
 * returns at once; a negative token returns its status. */
DSV4RT_API int32_t dsv4rt_wait(dsv4rt_module *module, int64_t token,
                               int32_t lane);
/* As dsv4rt_wait for the calling thread, with a limit of its own: 0 = that of
 * the job, negative = none. Passing it is a failure like any other. */
DSV4RT_API int32_t dsv4rt_wait_host(dsv4rt_module *module, int64_t token,
                                    int64_t timeout_ms);
/* Make progress once: DSV4RT_OK when complete, DSV4RT_PENDING when not. */
DSV4RT_API int32_t dsv4rt_test(dsv4rt_module *module, int64_t token);

/* Blocking reduction of one host value over a site's group by SUM (wrapping),
 * MAX or MIN; every member gets the same result. */
DSV4RT_API int32_t dsv4rt_agree_i32(dsv4rt_module *module, uint32_t site,
                                    int32_t redop, int32_t in, int32_t *out);
/* Return when every member of the site's group has called it. */
DSV4RT_API int32_t dsv4rt_barrier(dsv4rt_module *module, uint32_t site);

/* This rank's coordinate on a mesh axis; -1 when there is no such axis. */
DSV4RT_API int32_t dsv4rt_axis_index(const dsv4rt_module *module, int32_t axis);

/* End a step: complete everything this rank started and check that all members
 * of each group started the same number of operations. Collective over the
 * world; returns the sticky status. */
DSV4RT_API int32_t dsv4rt_step_end(dsv4rt_module *module);

#ifdef __cplusplus
}
#endif

#endif /* DSV4_RUNTIME_RUNTIME_H */
