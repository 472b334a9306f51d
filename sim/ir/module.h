/* The program: a module of computations, each an array of instructions in an order where operands come before
 * users. Instructions name each other by their index in the computation, computations by their index in the
 * module. Ownership: everything lives in the module's arena and is immutable for all stages but the one that
 * builds it. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/map.h"
#include "sim/base/vec.h"
#include "sim/ir/hlo_sharding.h"
#include "sim/ir/literal.h"
#include "sim/ir/shape.h"

typedef enum {
#define OP(name, text, arity, evaluator, rule, cost) OP_##name,
#include "sim/ir/opcode.def"
#undef OP
  OP_COUNT
} Opcode;

typedef enum {
#define ATTR(name, text, kind) ATTR_##name,
#include "sim/ir/attr.def"
#undef ATTR
  ATTR_COUNT
} AttrId;

typedef enum {
  ATTR_KIND_INTS,
  ATTR_KIND_INT,
  ATTR_KIND_BOOL,
  ATTR_KIND_WORD,
  ATTR_KIND_NUMBER,
  ATTR_KIND_STRING,
  ATTR_KIND_COMP,
  ATTR_KIND_COMPS,
  ATTR_KIND_SLICES,
  ATTR_KIND_PADDING,
  ATTR_KIND_WINDOW,
  ATTR_KIND_LABELS,
  ATTR_KIND_GROUPS,
  ATTR_KIND_PAIRS,
  ATTR_KIND_SHARDING,
  ATTR_KIND_SHAPES,
  ATTR_KIND_KEYS,
  ATTR_KIND_RAW
} AttrKind;

#define NO_ID UINT32_MAX

/* [start, limit) by stride. */
typedef struct {
  int64_t start, limit, stride;
} SliceDim;

typedef struct {
  SliceDim *at;
  uint32_t n;
} Slices;

typedef struct {
  int64_t low, high, interior; /* low and high may be negative */
} PaddingDim;

typedef struct {
  PaddingDim *at;
  uint32_t n;
} Padding;

typedef struct {
  int64_t size, stride, pad_low, pad_high, lhs_dilate, rhs_dilate;
  bool reversal;
} WindowDim;

typedef struct {
  WindowDim *at; /* strides and dilations are 1 where they are not said */
  uint32_t n;
} Window;

/* dim_labels of a convolution: for each of lhs, rhs and output the dimension of batch/input-feature/…, and of
 * each spatial one. */
typedef struct {
  int64_t lhs_batch, lhs_feature, rhs_input_feature, rhs_output_feature, out_batch, out_feature;
  Ints lhs_spatial, rhs_spatial, out_spatial;
  Str text;
} ConvLabels;

/* Groups of devices, in whatever form they were written. */
typedef enum { GROUPS_LIST, GROUPS_IOTA, GROUPS_MESH } GroupsForm;
typedef struct {
  GroupsForm form;
  Ids *groups; /* LIST; n_groups == 0 is one group of all */
  uint32_t n_groups;
  int64_t group_count, group_size; /* IOTA: [count,size]<=… */
  DeviceList devices;              /* IOTA, MESH */
  Str *mesh_names;                 /* MESH */
  Ints mesh_sizes;
  NamedAxes axes; /* MESH: those that a group spans */
  Str text;       /* as it stood */
} ReplicaGroups;

/* Groups spelled out: group g holds ids[start[g] .. start[g + 1]). */
typedef struct {
  uint32_t n;
  uint32_t *start, *ids;
} GroupList;

typedef struct {
  int64_t source, target;
} Pair;

typedef struct {
  Pair *at;
  uint32_t n;
} Pairs;

typedef struct {
  Str key, value; /* the value unquoted and unescaped, or a brace-balanced text as it stood */
  bool quoted;
} KeyValue;

typedef struct {
  KeyValue *at;
  uint32_t n;
} KeyValues;

typedef struct {
  AttrId id;
  union {
    Ints ints;
    int64_t integer;
    bool flag;
    Str text; /* WORD, NUMBER, STRING (unescaped), RAW */
    uint32_t comp;
    Ids comps;
    Slices slices;
    Padding padding;
    Window window;
    const ConvLabels *labels;
    const ReplicaGroups *groups;
    Pairs pairs;
    const HloSharding *sharding;
    struct {
      const Shape *const *at;
      uint32_t n;
    } shapes;
    KeyValues keys;
  };
} Attr;

/* Where the user's own code asked for an instruction. */
typedef struct {
  Str op_name, file;
  uint32_t line; /* 0 where unknown */
} Origin;

/* Over PCIe: out of the chip's memory into the host's, or the other way. */
typedef enum { HOST_MOVE_NONE, HOST_MOVE_TO, HOST_MOVE_FROM } HostMove;

typedef struct {
  Str name; /* without % */
  Opcode op;
  const Shape *shape;
  Ids operands; /* of the same computation */
  Attr *attrs;  /* in the order they were written; room for the next multiple of 4 */
  uint32_t n_attrs;
  const Literal *literal; /* of a constant */
  int64_t parameter;      /* of a parameter: its number */
  Str async_of; /* the text opcode of `X-start`, `X-update`, `X-done` sugar ("add" of add-start), else empty
                 */
  Place place;  /* in the text that podsim read */
  Origin origin;
  uint32_t region; /* index of the manual region it lies in, 0 where none (set by flattening) */
  bool on_host;    /* an array in the host's memory (set, like host_move, by host_values.h) */
  HostMove host_move;
} Instr;

typedef struct {
  Str name; /* without % */
  Vec(Instr) instrs;
  uint32_t root;
  Ids params; /* instruction of each parameter number */
  Str execution_thread;
  Place place;
  StrMap *names; /* of its instructions */
} Comp;

/* What a shard_map leaves: instructions inside see local shapes over `axes`. Region 0 is "not manual". The
 * custom calls that lead in and out lie outside; what takes the results of those that lead in lies inside.
 * Two shard_maps over the same axes in one place share a region. */
typedef struct {
  uint32_t parent;
  const Str *axes; /* names of mesh axes; none where GSPMD's custom calls bound it */
  uint32_t n_axes;
  const HloSharding
      *manual; /* GSPMD: the sharding of the values inside, `{manual}` or with manual subgroups */
} Region;

/* A key of the module's header line, kept as it stood (entry_computation_layout, frontend_attributes, …). */
typedef struct {
  Str key, text;
} HeaderKey;

typedef struct {
  Arena *arena;
  const Source *source;
  Str name;
  Vec(HeaderKey) header;
  Vec(Comp) comps;
  uint32_t entry;
  int64_t num_partitions, replica_count; /* 1 where not said */
  KeyValues frontend;                    /* of the header */
  Str tables;                            /* FileNames … StackFrames, as they stood */
  Vec(Region) regions;                   /* at[0] is "none" */
  StrMap *comp_names;
  StrMap *suffixes; /* the last number that was put behind a name */
} Module;

const char *op_text(Opcode op);
bool op_parse(Str text, Opcode *op);
/* Operands that the opcode takes, or -1 for any number. */
int op_arity(Opcode op);
bool op_is_collective(Opcode op); /* -start forms too, -done not */
bool op_exchanges_with_host(Opcode op);
/* An element of the result comes of the elements at its place; of clamp and select some operands may be
 * scalars. */
bool op_is_elementwise(Opcode op);
bool op_is_commutative(Opcode op);

const char *attr_text(AttrId id);
AttrKind attr_kind(AttrId id);
bool attr_parse(Str text, AttrId *id);

/* Building. All of it copies what it is given into the module's arena, names apart (those must outlive the
 * module). */
Module *module_new(Str name); /* with its own arena; free with module_free() */
/* A new module without computations, its header and tables those of `from`, which must outlive it. */
Module *module_like(const Module *from);
void module_free(Module *module);
/* An empty computation, its root NO_ID until it is set. Pointers to computations are good until the next one
 * is added. */
uint32_t module_add_comp(Module *module, Str name);
/* Another name, or the same with a number where it is taken; the old name stays taken. */
void module_rename_comp(Module *module, uint32_t comp, Str name);
Comp *module_comp(const Module *module, uint32_t comp);
Comp *module_entry(const Module *module);
/* A key of the header line; empty where it is not there. */
Str module_header(const Module *module, const char *key);
/* Marks the parameters of the entry that a header key says are given up, whose memory the program may write
 * over: `input_output_alias={ {1}: (0, {}, may-alias) }`, `buffer_donor={ (3, {}), (4, {}) }`. */
void module_mark_donated(const Module *module, const char *key, bool *donated);
/* By parameter of the entry: whether either key says so. Lives in `arena`. */
const bool *module_donated(Arena *arena, const Module *module);
/* Whether the text says that a compiler scheduled it. */
bool module_is_scheduled(const Module *module);
/* Makes instructions' names unique over the whole module, as XLA's are: one whose name another computation
 * has gets a number. The entry keeps its names. */
void module_unique_names(Module *module);
/* By name; NO_ID where there is none. */
uint32_t module_find_comp(const Module *module, Str name);
uint32_t comp_find(const Comp *comp, Str name);
/* `name`, or where the computation has it the same with another number. */
Str comp_free_name(Module *module, uint32_t comp, Str name);
/* Appends an instruction; an empty name is made from the opcode; a name that the computation has already gets
 * another number. Returns its index. Pointers to instructions are good until the next one is added. */
uint32_t comp_add(Module *module, uint32_t comp, Opcode op, Str name, const Shape *shape,
                  const uint32_t *operands, uint32_t n);
uint32_t comp_add_parameter(Module *module, uint32_t comp, int64_t number, Str name, const Shape *shape);
/* Makes an instruction the parameter of that number, from 0 to 2^20. */
void comp_set_parameter(Module *module, uint32_t comp, int64_t number, uint32_t instr);
uint32_t comp_add_constant(Module *module, uint32_t comp, const Literal *literal);
/* Appends an instruction like `from` (of any module) with other operands: its name, shape, attributes,
 * literal, origin and place. The pieces of `from` are shared and must outlive the module; computations that
 * it calls keep their numbers. */
uint32_t comp_add_like(Module *module, uint32_t comp, const Instr *from, const uint32_t *operands,
                       uint32_t n);
Instr *comp_instr(const Module *module, uint32_t comp, uint32_t instr);

/* A deep copy; equality by value (what has only a text by its text). */
Attr attr_copy(Arena *arena, Attr attr);
bool attr_eq(const Attr *a, const Attr *b);
/* Adds or replaces an attribute. */
void instr_set(Module *module, Instr *instr, Attr attr);
/* The same without a copy of what it points to. */
void instr_set_shared(Module *module, Instr *instr, Attr attr);
void instr_unset(Instr *instr, AttrId id);
void instr_set_ints(Module *module, Instr *instr, AttrId id, const int64_t *values, uint32_t n);
void instr_set_int(Module *module, Instr *instr, AttrId id, int64_t value);
void instr_set_flag(Module *module, Instr *instr, AttrId id, bool value);
void instr_set_word(Module *module, Instr *instr, AttrId id, Str value);
void instr_set_comp(Module *module, Instr *instr, AttrId id, uint32_t comp);
/* replica_groups as an explicit list. */
void instr_set_groups(Module *module, Instr *instr, const GroupList *groups);

/* Reading attributes. Each gives the empty value (n == 0, NULL, NO_ID, the fallback) where the attribute is
 * not there. */
const Attr *instr_attr(const Instr *instr, AttrId id);
Ints instr_ints(const Instr *instr, AttrId id);
int64_t instr_int(const Instr *instr, AttrId id, int64_t fallback);
bool instr_flag(const Instr *instr, AttrId id);
Str instr_word(const Instr *instr, AttrId id); /* WORD, STRING, NUMBER, RAW */
double instr_number(const Instr *instr, AttrId id, double fallback);
uint32_t instr_comp(const Instr *instr, AttrId id);
Ids instr_comps(const Instr *instr, AttrId id);
/* A value of a custom call's backend_config, written {key = 76 : ui8, …}; false where it is not there. */
bool instr_config_int(const Instr *instr, const char *key, int64_t *value);
bool instr_config_flag(const Instr *instr, const char *key); /* key = true */
Slices instr_slices(const Instr *instr);
Padding instr_padding(const Instr *instr);
Window instr_window(const Instr *instr);
Pairs instr_pairs(const Instr *instr);
const HloSharding *instr_sharding(const Instr *instr);
/* A key of frontend_attributes; false where it is not there. */
bool instr_frontend(const Instr *instr, const char *key, Str *value);
Str keys_get(KeyValues keys, const char *key); /* empty where not there */
Str instr_custom_call_target(const Instr *instr);

/* Every computation that an instruction calls (to_apply, calls, body, condition, branches, …), in the order
 * of its attributes. */
Ids instr_called(Arena *arena, const Instr *instr);
/* The groups of a collective spelled out, for `devices` devices; an empty form is one group of all. What
 * groups_check() refuses must not be expanded. */
GroupList instr_groups(Arena *arena, const Instr *instr, uint32_t devices);
GroupList groups_expand(Arena *arena, const ReplicaGroups *groups, uint32_t devices);
/* The ids of a device list; where it is empty 0 … n-1. */
uint32_t *device_list_expand(Arena *arena, const DeviceList *devices, uint32_t n);
/* Whether a list is empty or has `n` devices, and is whole in itself. */
Status device_list_check(const DeviceList *devices, int64_t n, Place at, Diag *diag);
/* Whether groups are whole in themselves, and name each of `devices` devices (0: however many) at most once.
 */
Status groups_check(const ReplicaGroups *groups, uint32_t devices, Place at, Diag *diag);

/* The highest channel_id of its instructions; 0 where there is none. */
int64_t module_highest_channel(const Module *module);

/* How many users each instruction of a computation has (the root counts as used once more). */
uint32_t *comp_use_counts(Arena *arena, const Comp *comp);

/* If a reduction computation is `op(p0, p1)` of two scalars (add, maximum, …), that opcode; else OP_COUNT. */
Opcode comp_binary_op(const Module *module, uint32_t comp);
