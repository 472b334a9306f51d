/* The interpreter of Pallas kernels from inside: what its files share. A kernel runs on each device by
 * itself; a frame holds the values of a function, by slot. A value is a tensor (a number or a vector) or a
 * memref: a strided view of a buffer.
 *
 * Safe on any kernel: what an op gives is checked against the type that the kernel says (mosaic_give), so a
 * tensor in a slot has the type of its op's result, and views are checked against their buffer when made. */
#pragma once

#include "sim/eval/evaluators.h"
#include "sim/mosaic/kernel_talk.h"
#include "sim/mosaic/mosaic.h"

/* Memory of a kernel: an operand, a result, a window, scratch, semaphores. */
typedef struct {
  Tensor *tensor;
  uint64_t key;      /* the same for the same buffer on all devices */
  bool is_semaphore; /* counts (s64), each of signals or of a DMA's bytes */
  uint32_t **clocks; /* of semaphores, by element: what who signalled it knew; NULL: nothing yet */
} MosaicBuffer;

/* A view of a buffer. Where `packing` is above 1 an element holds so many of the buffer's, `packed_step`
 * apart, the first in its lowest bits: rows of bf16 seen as rows of words. */
typedef struct {
  MosaicBuffer *buffer;
  DType dtype;
  View view;
  uint32_t packing;
  int64_t packed_step;
} MosaicMemref;

typedef struct {
  Tensor *tensor;       /* NULL: a memref, or nothing yet */
  MosaicMemref *memref; /* good where is_memref */
  bool is_memref;
} MosaicValue;

/* A DMA that was started and not waited for: its ends on this device, until its semaphore is. */
typedef struct MosaicTransfer MosaicTransfer;
struct MosaicTransfer {
  MosaicTransfer *next;
  const MosaicOp *op; /* that started it */
  uint32_t device;    /* on which */
  const MosaicBuffer *semaphore;
  int64_t element, bytes; /* of the semaphore; that are still to be waited for */
  bool is_remote;         /* between devices, or as if */
  uint32_t n_ends;
  struct {
    MosaicMemref memref;
    bool writes;
  } ends[2];
};

typedef struct MosaicTeam MosaicTeam;
typedef struct MosaicAccess MosaicAccess;

/* The semaphores that devices signal each other by: elements of buffers, in the order in which they came up.
 */
typedef struct MosaicSemaphores {
  Vec(struct {
    uint64_t key;
    int64_t element;
  }) known;
} MosaicSemaphores;

/* A kernel at work on one device. */
typedef struct {
  const EvalContext *context;
  const MosaicKernel *kernel;
  const struct MosaicRow *const *rows; /* of mosaic_op.def, by name_id */
  Arena *arena;                        /* until the kernel ends */
  MosaicTeam *team;                    /* NULL where it runs alone */
  uint32_t device, devices;
  uint32_t *clock; /* by device: the epoch up to which this one knows what it did; NULL where it is alone */
  MosaicAccess *accesses; /* the last of them */
  uint32_t n_accesses;    /* so far */
  int64_t scratch_bytes;
  uint64_t ops, op_limit; /* run so far; at most, 0: any number */
  Ints bounds;            /* of the grid */
  Vec(MosaicBuffer *) buffers;
  MosaicBuffer *barrier;
  MosaicTransfer *transfers; /* in the order of their starts */
  /* What it does to other devices, where that is asked for; semaphores as numbered in `talk_semaphores`. */
  Vec(Talk) talk;
  struct MosaicSemaphores *talk_semaphores;
  /* While it waits: at which op, for what. */
  const MosaicOp *waits_at;
  bool (*ready)(const void *self);
  const void *ready_self;
} MosaicRun;

typedef struct {
  MosaicRun *run;
  MosaicValue *values; /* freed by mosaic_frame_free() */
  uint32_t n_values;
} MosaicFrame;

/* A row of mosaic_op.def: how an op is evaluated. */
typedef struct MosaicRow {
  const char *text;
  Status (*evaluator)(MosaicFrame *frame, const MosaicOp *op, Opcode hlo);
  Opcode hlo; /* that the op stands for, of each element; OP_COUNT: none */
  uint32_t n_operands, n_results;
} MosaicRow;

/* NULL where the op is not supported. */
const MosaicRow *mosaic_row(Str name);

/* An error at an op of the kernel: "call: op at file.py:3:4 …". */
Status mosaic_fail(const MosaicFrame *frame, const MosaicOp *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A way to compute that the op asks for and podsim has not. */
Status mosaic_unsupported(const MosaicFrame *frame, const MosaicOp *op, const char *what);

/* --- values --- */

MosaicFrame mosaic_frame_new(MosaicRun *run, uint32_t n_values);
void mosaic_frame_free(MosaicFrame *frame);
/* Operand `i`, borrowed; NULL where it is no tensor (no memref). */
Tensor *mosaic_tensor(const MosaicFrame *frame, const MosaicOp *op, uint32_t i);
MosaicMemref *mosaic_memref(const MosaicFrame *frame, const MosaicOp *op, uint32_t i);
/* The operands [first, first + n) as integers. */
Status mosaic_integers(const MosaicFrame *frame, const MosaicOp *op, uint32_t first, uint32_t n,
                       int64_t *values);
/* Whether operand `i` is a tensor of that many elements and, with `dtype` not DTYPE_COUNT, of that type. */
bool mosaic_is(const MosaicFrame *frame, const MosaicOp *op, uint32_t i, DType dtype, int64_t elements);
/* Result `i`: `tensor` is given. It must have the elements and type that the kernel says; its dimensions are
 * made the result's. */
Status mosaic_give(MosaicFrame *frame, const MosaicOp *op, uint32_t i, Tensor *tensor);
Status mosaic_give_integer(MosaicFrame *frame, const MosaicOp *op, int64_t value);
Status mosaic_give_memref(MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref);
/* Sets slots [to, to + from.n) to the values of `from`, which may be among them. */
Status mosaic_move(MosaicFrame *frame, Ids from, uint32_t to);
void mosaic_set_tensor(MosaicFrame *frame, uint32_t slot, Tensor *tensor);
void mosaic_set_memref(MosaicFrame *frame, uint32_t slot, const MosaicMemref *memref);
/* A scalar of an integer type. */
Tensor *mosaic_integer(DType dtype, int64_t value);
int64_t mosaic_elements(const MosaicType *type);
DType unsigned_dtype(DType dtype);
/* n operands that operandSegmentSizes counts as segment `segment`, and where they begin; false where the op
 * has not so many. */
bool mosaic_segment(const MosaicOp *op, uint32_t segment, uint32_t *first, uint32_t *n);

/* --- memory --- */

/* Most bytes of a kernel's scratch, of a window, and of a vector; more than any chip's VMEM is a lie. */
enum { MOSAIC_MAX_BYTES = 1 << 30 };

/* A buffer that holds `tensor` (given), and the memref that is all of it. */
MosaicBuffer *mosaic_buffer_new(MosaicRun *run, uint64_t key, Tensor *tensor, bool is_semaphore);
/* The buffer of a key; NULL where there is none (yet). */
MosaicBuffer *mosaic_buffer_of(const MosaicRun *run, uint64_t key);
MosaicMemref mosaic_whole(MosaicBuffer *buffer);
/* A new buffer of a memref's type, of which nothing is known: NaN, the least integer; semaphores are 0. */
Status mosaic_scratch(MosaicFrame *frame, const MosaicOp *op, uint64_t key, const MosaicType *type,
                      MosaicBuffer **buffer);
void fill_undefined(Tensor *tensor);
/* The part of a memref from `starts` of `sizes`, each `strides` apart (NULL: 1); an error where it does not
 * lie in it. */
Status mosaic_part(const MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref,
                   const int64_t *starts, const int64_t *sizes, const int64_t *strides, MosaicMemref *part);
/* Copies between views of the same dimensions and element size. */
void mosaic_copy(const MosaicMemref *to, const MosaicMemref *from);

/* --- races --- */

/* A reading or writing of memory by an op: an error where a DMA is on it. */
Status mosaic_touch(const MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref, bool writes);
/* The same of memory of `owner`, who must have told that it is done with it. */
Status mosaic_touch_on(const MosaicFrame *frame, const MosaicOp *op, MosaicRun *owner,
                       const MosaicMemref *memref, bool writes);
/* Whether two memrefs may have memory in common. */
bool mosaic_overlap(const MosaicMemref *a, const MosaicMemref *b);
/* Remembers that a device used its memory. */
void mosaic_record(MosaicRun *run, const MosaicOp *op, const MosaicMemref *memref, bool writes);
/* Whoever waits for the semaphore knows what this device knows now; and the waiting itself. */
void mosaic_tell(MosaicRun *run, const MosaicMemref *semaphore);
void mosaic_learn(MosaicRun *run, const MosaicMemref *semaphore);

/* --- control --- */

/* Runs the one block of a region up to its last op, the terminator. */
Status mosaic_run_region(MosaicFrame *frame, const MosaicRegion *region, const MosaicOp **terminator);
/* Runs the kernel on operands; `outputs` (given) are one for each array of the call's shape. */
Status mosaic_run_grid(MosaicRun *run, const Instr *instr, Tensor *const *operands, Tensor **outputs);

/* --- devices --- */

/* Waits until ready(self); else, where no device can go on, an error that tells who waits for what. */
Status mosaic_pause(MosaicFrame *frame, const MosaicOp *op, bool (*ready)(const void *self),
                    const void *self);
/* The run of a device; an error where there is none. */
Status mosaic_peer(const MosaicFrame *frame, const MosaicOp *op, int64_t device, MosaicRun **peer);
/* Runs the kernel on several devices, which may wait for each other: operands and outputs by device. */
Status mosaic_run_team(Arena *arena, MosaicRun *runs, uint32_t n, const Instr *instr,
                       Tensor *const *const *operands, Tensor **const *outputs);
/* What must hold when a kernel has ended on all devices: semaphores at 0, no DMA on its way. */
Status mosaic_check_end(const MosaicRun *run);

#define MOSAIC_OP(text, evaluator, hlo, n_operands, n_results)                                               \
  Status mosaic_##evaluator(MosaicFrame *frame, const MosaicOp *op, Opcode hlo);
#include "sim/eval/mosaic_op.def"
#undef MOSAIC_OP
