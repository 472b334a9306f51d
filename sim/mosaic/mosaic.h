/* A Pallas kernel as Mosaic, the TPU compiler's dialect of MLIR, holds it: functions of blocks of ops. Read
 * from the bytecode in a `tpu_custom_call`. Everything lives in the arena that the kernel was read into.
 *
 * Values are numbered as in the bytecode: a number is a slot of the function's frame. Regions that are never
 * at work together share slots, so a frame is no longer than the values that live side by side. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/ir/module.h"

#define MOSAIC_DYNAMIC INT64_MIN /* a dimension that the run decides */

typedef enum {
  MOSAIC_SCALAR, /* a number of `dtype`; index is s32, as the TPU has it */
  MOSAIC_VECTOR,
  MOSAIC_MEMREF,
  MOSAIC_SEMAPHORE, /* counts signals; `dtype` is s32 */
  MOSAIC_DMA_SEMAPHORE,
  MOSAIC_FUNCTION,
  MOSAIC_OTHER /* known by its text alone */
} MosaicTypeKind;

typedef struct MosaicType MosaicType;
typedef struct MosaicAttr MosaicAttr;

struct MosaicType {
  MosaicTypeKind kind;
  DType dtype; /* of a scalar, or of the elements */
  bool is_index;
  uint32_t rank;
  int64_t *dims;             /* of a vector or memref */
  const MosaicType *element; /* of a vector or memref */
  const MosaicAttr *space, *layout;
  const MosaicType **parts; /* of a function: inputs, then results */
  uint32_t n_inputs, n_results;
  Str text; /* MOSAIC_OTHER */
};

typedef enum {
  MOSAIC_ATTR_ARRAY,
  MOSAIC_ATTR_DICT,
  MOSAIC_ATTR_STRING,
  MOSAIC_ATTR_SYMBOL,
  MOSAIC_ATTR_TYPE,
  MOSAIC_ATTR_UNIT,
  MOSAIC_ATTR_INTEGER,  /* `bits` */
  MOSAIC_ATTR_FLOAT,    /* `bits` of the type's width */
  MOSAIC_ATTR_INTS,     /* array<i32: …> */
  MOSAIC_ATTR_ELEMENTS, /* dense<…>: `raw` little-endian bytes, one element for all or one each */
  MOSAIC_ATTR_LOCATION, /* a file, a line and a column, a name, or others in `items` */
  MOSAIC_ATTR_TEXT      /* in assembly, e.g. #tpu.memory_space<vmem> */
} MosaicAttrKind;

struct MosaicAttr {
  MosaicAttrKind kind;
  Str text; /* of a string, symbol, text; of a location its file or name */
  const MosaicType *type;
  int64_t bits;
  Ints ints;
  Str raw;
  uint32_t n;
  const MosaicAttr **items; /* of an array, dictionary, location */
  Str *names;               /* of a dictionary's items */
  int64_t line, column;     /* of a location in a file; 0: none */
};

typedef struct MosaicOp MosaicOp;
typedef struct MosaicBlock MosaicBlock;

typedef struct {
  MosaicBlock *blocks;
  uint32_t n;
} MosaicRegion;

struct MosaicOp {
  Str name;                /* without the prefix that serialization adds: arith.addf */
  uint32_t name_id;        /* of the kernel's names */
  const MosaicAttr *attrs; /* a dictionary, or NULL */
  const MosaicAttr *location;
  const MosaicOp *before; /* in its block; NULL: the first */
  Ids operands;           /* slots */
  uint32_t first;         /* slot of the first result; the others follow */
  uint32_t n_results;
  const MosaicType **result_types;
  Ids successors; /* blocks of the region that the op ends a block of */
  MosaicRegion *regions;
  uint32_t n_regions;
  uint32_t n_slots; /* of an op that is isolated from above (a function): the length of its frame */
  size_t offset;    /* of the op in the bytecode */
};

struct MosaicBlock {
  uint32_t first_arg, n_args; /* slots */
  const MosaicType **arg_types;
  MosaicOp *ops;
  uint32_t n_ops;
};

typedef struct {
  Arena *arena;
  Str call; /* the custom call's name */
  Place place;
  Str *names; /* of its kinds of ops, by name_id */
  uint32_t n_names;
  const MosaicOp *module;
  const MosaicOp *main; /* the function that the grid runs */
  int64_t version;      /* of the dialect's stable form */
} MosaicKernel;

/* Whether a custom call holds a Mosaic kernel. */
bool holds_mosaic_kernel(const Instr *instr);
/* Whether it says that its kernel talks to those of other devices. */
bool mosaic_communicates(const Instr *instr);
/* Reads the kernel of a custom call. Errors carry the call's place and the byte of the kernel. */
Status mosaic_read(Arena *arena, const Instr *instr, MosaicKernel *kernel, Diag *diag);
/* Reads the bytecode alone. `call` and `place` are for messages. */
Status mosaic_read_bytecode(Arena *arena, Str bytes, Str call, Place place, MosaicKernel *kernel, Diag *diag);
/* The kernel as text, in MLIR's generic form without locations: for the eye. */
Str mosaic_print(Arena *arena, const MosaicKernel *kernel);

/* The function of a name (without @); NULL where there is none. */
const MosaicOp *mosaic_function(const MosaicKernel *kernel, Str name);
/* An attribute by name; NULL where it is not there. */
const MosaicAttr *mosaic_attr(const MosaicOp *op, const char *name);
const MosaicAttr *mosaic_item(const MosaicAttr *dict, const char *name);
/* An integer, or the fallback. */
int64_t mosaic_int(const MosaicOp *op, const char *name, int64_t fallback);
/* A boolean attribute; false where it is not there. */
bool mosaic_flag(const MosaicOp *op, const char *name);
/* array<…> of integers; empty where it is not there. */
Ints mosaic_ints(const MosaicOp *op, const char *name);
/* What stands in the brackets of a text such as #tpu.memory_space<vmem>; empty where it is not there. */
Str mosaic_enum(const MosaicAttr *attr);
/* "kernel.py:12:7", or the op's byte where its source is not told. */
Str mosaic_place(Arena *arena, const MosaicOp *op);
/* As MLIR writes it: vector<8x128xf32>. */
void mosaic_print_type(StrBuf *buf, const MosaicType *type);
