/* StableHLO's operations as HLO instructions: what the translators of the single operations share. A
 * translator sees an operation whose operands are instructions of the computation at hand, appends
 * instructions, and says which of them are the results. What XLA's own translation makes of an operation is
 * made of it here as well. */
#pragma once

#include "sim/read/mlir.h"

/* A function of the text. */
typedef struct {
  const MlirOp *op;
  Str name;
  uint32_t comp; /* NO_ID until it is translated */
  bool busy;     /* it is being translated */
} Function;

/* A mesh of the text: `"a"=2, "b"=4`, or one device. */
typedef struct {
  Str name, text; /* <["a"=2]> */
  Str *axes;
  Ints sizes, device_ids;
} SdyMesh;

/* Which instruction stands for a value, in which computation. */
typedef struct {
  uint32_t comp, instr;
} Binding;

typedef struct {
  uint32_t value;
  Binding was;
} Rebound;

typedef struct {
  MlirReader *mlir;
  Module *module;
  Arena *arena, *scratch;
  uint32_t comp;         /* at hand */
  const MlirOp *op;      /* at hand */
  Binding *bindings;     /* of each value */
  const MlirOp **makers; /* of each value that a constant makes */
  Vec(Rebound) trail;    /* bindings to restore when a region ends */
  Vec(Function) functions;
  StrMap *function_names;
  StrMap *rows; /* of stablehlo.def, by text */
  Vec(SdyMesh) meshes;
  uint32_t *stands_for; /* of each value the one to take in its place, itself for most */
  uint32_t *marks;      /* of each value, and the last mark given: which were seen in a walk */
  uint32_t mark;
  uint32_t depth; /* of regions and calls */
} Translator;

typedef Status Translate(Translator *tr, Opcode op);

#define STABLEHLO(text, opcode, translator) Translate translate_##translator;
#include "sim/read/stablehlo.def"
#undef STABLEHLO

/* An error at an operation or an attribute. */
#define OP_FAIL(tr, where, hint, ...) LEX_FAIL(&(tr)->mlir->lex, (where), (hint), __VA_ARGS__)

/* stablehlo_emit.c */
/* The instruction of operand `k` of the operation at hand. */
Status use_operand(Translator *tr, uint32_t k, uint32_t *instr);
/* All operands, in the scratch arena. */
Status use_operands(Translator *tr, Ids *instrs);
Status use_value(Translator *tr, uint32_t value, uint32_t *instr);
Status expect_operand_count(Translator *tr, uint32_t least, uint32_t most);
const Shape *value_type(const Translator *tr, uint32_t value);
/* The type of the one result, or a tuple of all. */
const Shape *result_type(const Translator *tr);
const Shape *instr_shape(const Translator *tr, uint32_t instr);
/* Appends an instruction that is named after the operation at hand and has its place and origin. */
uint32_t emit(Translator *tr, Opcode op, const Shape *shape, const uint32_t *operands, uint32_t n);
uint32_t emit_unary(Translator *tr, Opcode op, uint32_t operand);
uint32_t emit_binary(Translator *tr, Opcode op, uint32_t left, uint32_t right);
uint32_t emit_scalar(Translator *tr, DType dtype, double value);
uint32_t emit_broadcast(Translator *tr, const Shape *shape, uint32_t operand, Ints dims);
/* A scalar in every element of `shape`; the scalar itself where that is one. */
uint32_t emit_splat(Translator *tr, const Shape *shape, uint32_t scalar);
uint32_t emit_number(Translator *tr, const Shape *shape, double value);
uint32_t emit_reshape(Translator *tr, const Shape *shape, uint32_t operand);
uint32_t emit_compare(Translator *tr, const char *direction, uint32_t left, uint32_t right);
uint32_t emit_select(Translator *tr, uint32_t pred, uint32_t yes, uint32_t no);
uint32_t emit_tuple(Translator *tr, const uint32_t *parts, uint32_t n);
uint32_t emit_element(Translator *tr, uint32_t tuple, uint32_t index);
/* Makes `instr` the result, or a tuple of all results; its attributes of sharding and the like are added. */
Status give(Translator *tr, uint32_t instr);
/* Makes `instr` result `k` of several. */
void give_one(Translator *tr, uint32_t k, uint32_t instr);
void bind_value(Translator *tr, uint32_t value, uint32_t instr);
Instr *made(const Translator *tr, uint32_t instr);
/* A name that HLO text can have. */
Str hlo_name(Arena *arena, Str name);

/* stablehlo_attrs.c: attributes of the operation at hand. A wrong kind is an error; NULL or the fallback
 * where it is not there. */
const MlirAttr *find_attr(const Translator *tr, const char *name);
Status need_attr(Translator *tr, const char *name, const MlirAttr **attr);
Status ints_of(Translator *tr, const MlirAttr *attr, Ints *ints);
Status attr_ints(Translator *tr, const char *name, Ints *ints);
Status need_ints(Translator *tr, const char *name, uint32_t n, Ints *ints);
Status attr_int(Translator *tr, const char *name, int64_t fallback, int64_t *value);
Status attr_flag(Translator *tr, const char *name, bool fallback, bool *value);
/* Whether `order` names each of `rank` dimensions once. */
Status expect_order(Translator *tr, const char *where, Ints order, uint32_t rank);
/* A keyword, also where it stands as #dialect<kind WORD> or "WORD". */
Status attr_word(Translator *tr, const char *name, Str *word);
Status attr_string(Translator *tr, const char *name, Str *text);
/* Of a struct's pairs. */
Status dict_ints(Translator *tr, MlirDict dict, const char *name, Ints *ints);
Status dict_int(Translator *tr, MlirDict dict, const char *name, int64_t fallback, int64_t *value);
/* A dense attribute has two dimensions, the second of `width` (below 0: any). */
Status expect_rows(Translator *tr, const MlirAttr *attr, int64_t width);
/* Pairs of numbers: dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, [[0, 1], [2, 3]]. */
Status attr_pairs(Translator *tr, const char *name, uint32_t n, int64_t fallback, Ints *flat);
/* precision_config as operand_precision, where it says something. */
Status set_precision(Translator *tr, uint32_t instr);
/* What an operation says of shardings and frontend attributes. */
Status set_discardable(Translator *tr, uint32_t instr);
void add_frontend(Translator *tr, Instr *instr, const char *key, Str value);
Status sharding_of_text(Translator *tr, const char *where, Str text, const HloSharding **sharding);

/* stablehlo_simplify.c */
/* The scalar constant that an instruction is, or is everywhere; NULL where there is none. */
const Literal *constant_everywhere(const Translator *tr, uint32_t instr);
/* Such a constant: broadcast, or as it is where there is one element. */
uint32_t emit_constant(Translator *tr, const Shape *shape, const Literal *scalar);

/* stablehlo_regions.c */
/* Translates the operation at hand, by its row in stablehlo.def. */
Status translate_operation(Translator *tr);
bool operation_known(Translator *tr, Str name);
/* Region `k` as a computation with a parameter for each argument, and the one result or a tuple of all. */
Status scalar_region(Translator *tr, uint32_t k, uint32_t *comp);
/* A computation at hand, and its end: the one before is at hand again. */
typedef struct {
  uint32_t comp, trail;
  const MlirOp *op;
} Around;
Status open_comp(Translator *tr, Str name, Around *around, uint32_t *comp);
void close_comp(Translator *tr, uint32_t root, const Around *around);
/* A parameter for each argument of a region. */
void add_params(Translator *tr, const MlirRegion *region);
/* Translates the operations of a region; `roots` are what it returns. */
Status translate_body(Translator *tr, const MlirRegion *region, Ids *roots);
/* The one of them, or a tuple. */
uint32_t root_of(Translator *tr, Ids roots);
Status expect_regions(Translator *tr, uint32_t n);

/* stablehlo_module.c */
/* The computation of a function, translated where it is not yet. */
Status function_comp(Translator *tr, const char *where, Str name, uint32_t *comp);

/* stablehlo_mesh_axes.c: the groups that #stablehlo.replica_group_mesh_axes<…> stands for. */
Status groups_over_axes(Translator *tr, const MlirAttr *attr, GroupList *groups);

/* stablehlo_collectives.c */
Status set_channel(Translator *tr, uint32_t instr);

/* sdy_read.c */
Status sdy_read_mesh(Translator *tr, const MlirOp *op);
/* xla.sdy.meshes of the module's header. */
Status sdy_set_meshes(Translator *tr);
/* `#sdy.sharding<@mesh, …>` or `<@mesh, …>` of a value of that rank, or a list of such, as HLO has it. */
Status sdy_hlo_sharding(Translator *tr, const char *where, Str text, const Shape *shape,
                        const HloSharding **sharding);
/* `[<@mesh, …>]` as `#sdy.sharding_per_value<[…]>`. */
Str sdy_per_value(Translator *tr, Str text);
/* Puts an sdy.sharding on an instruction: frontend attribute and sharding={…}. */
Status sdy_set_sharding(Translator *tr, uint32_t instr, const MlirAttr *attr);
/* A custom call of xla.sdy.FuncResultSharding around a result of a function. */
uint32_t sdy_result_sharding(Translator *tr, uint32_t instr, const MlirAttr *attr);
