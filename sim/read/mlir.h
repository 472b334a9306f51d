/* MLIR text as a syntax tree, and what the parts of its reader share. The tree is generic: whatever the form
 * in which an operation is written, pretty or generic, it becomes a name, operands, attributes by name,
 * regions and result types. What operations mean is for stablehlo.h. The tree lives in the scratch arena,
 * strings, shapes and literals in the module's. */
#pragma once

#include "sim/read/lexer.h"

typedef enum {
  MLIR_UNIT,   /* a name alone */
  MLIR_BOOL,   /* in `integer` */
  MLIR_INT,    /* in `integer` */
  MLIR_FLOAT,  /* `text` as it stood */
  MLIR_STRING, /* `text` unescaped */
  MLIR_SYMBOL, /* @text */
  MLIR_WORD,   /* a bare word */
  MLIR_TYPE,   /* `type`; NULL for a function's */
  MLIR_ARRAY,  /* `items`; of numbers `ints` as well */
  MLIR_DICT,   /* `entries` */
  MLIR_DENSE,  /* `literal` */
  MLIR_DIALECT /* #name<text>; of a bare <text> the name is empty */
} MlirKind;

typedef struct MlirAttr MlirAttr;
typedef struct MlirNamed MlirNamed;

struct MlirAttr {
  MlirKind kind;
  const char *at; /* where it stands */
  Str raw;        /* all of it, as it stands */
  Str name, text;
  int64_t integer;
  const Shape *type;
  const Literal *literal;
  MlirAttr *items;
  MlirNamed *entries;
  uint32_t n; /* of items or entries */
  Ints ints;
  const MlirAttr *next; /* `[0] x [1]`, `[b, f]x[i, o]->[b, f]`: the list that follows */
};

struct MlirNamed {
  Str name;
  MlirAttr value;
};

typedef struct {
  MlirNamed *at;
  uint32_t n;
} MlirDict;

typedef struct MlirRegion MlirRegion;

/* Values are numbered over the whole text; those of one operation follow each other. */
typedef struct {
  Str name;
  Ids operands;
  uint32_t result, n_results; /* the values `result` and up */
  MlirDict attrs;
  MlirRegion *regions;
  uint32_t n_regions;
  uint32_t location;
  const char *at;
} MlirOp;

/* One block. */
struct MlirRegion {
  uint32_t arg, n_args; /* the values `arg` and up */
  Vec(MlirOp) ops;
};

typedef struct {
  const Shape *type;
  Str name;          /* without % */
  uint32_t count;    /* of the values that the name stands for, where this is the first of them */
  uint32_t scope;    /* the region that defines it */
  uint32_t location; /* of an argument */
  const char *at;
} MlirValue;

typedef enum { LOCATION_UNKNOWN, LOCATION_FILE, LOCATION_NAME, LOCATION_PAIR } MlirLocationKind;

/* loc(…): a line of a file; a name for another one; or something made of others, the first of which counts
 * (the callee of a call site, the first of what was fused). */
typedef struct {
  MlirLocationKind kind;
  Str text; /* file or name */
  uint32_t line, inner;
} MlirLocation;

/* A literal whose elements are told at the end of the text. */
typedef struct {
  Str name;
  Literal *literal;
  const char *at;
} MlirResource;

typedef struct {
  Lexer lex;
  Arena *arena, *scratch; /* the module's; the tree's */
  Vec(MlirValue) values;
  StrMap *names;         /* of the function at hand: the first value of each name */
  uint32_t scope;        /* the region at hand */
  Vec(bool) closed;      /* of each region: what it defines cannot be seen any more */
  StrMap *aliases;       /* #name of an attribute */
  Vec(MlirAttr) aliased; /* what they stand for */
  StrMap *type_aliases;  /* !name */
  Vec(const Shape *) aliased_types;
  Vec(MlirResource) resources;
  Vec(Str) resource_texts;
  StrMap *location_names;
  Vec(MlirLocation) locations; /* at[0] is unknown */
} MlirReader;

/* mlir_lexer.c */
/* A bare identifier (letters, digits, _ $ and .), not taken by the first; n == 0 where none stands there. */
Str mlir_peek_word(Lexer *lex);
Str mlir_word(Lexer *lex);
bool mlir_accept_word(Lexer *lex, const char *word);
Status mlir_expect_word(Lexer *lex, const char *word);
/* A string with MLIR's escapes (\\, \", \n, \t, and two hexadecimal digits). */
Status mlir_string(Lexer *lex, Str *text);
/* What follows % or @ or #: a name, a number or a string. */
Status mlir_suffix_name(Lexer *lex, const char *what, Str *name);
/* The text between `open`, which comes next, and its partner; brackets inside are balanced, strings skipped.
 */
Status mlir_balanced(Lexer *lex, Str *inside);
/* A lexer of a part of the same source. */
Lexer mlir_part(const Lexer *lex, Str part);

/* mlir_type.c */
/* A type: tensor, complex and integer scalars, tuple, token; a function's is NULL. */
Status mlir_type(MlirReader *reader, const Shape **type);
/* `(type, …)`, or one type without brackets. */
typedef Vec(const Shape *) MlirTypes;
Status mlir_types(MlirReader *reader, MlirTypes *types);
bool mlir_at_type(Lexer *lex);

/* mlir_dense.c: what stands between the brackets of dense<…>. */
Status mlir_dense(MlirReader *reader, Str body, const Shape *shape, const Literal **literal);
/* The elements from their bytes in hexadecimal, without 0x; `where` is for errors. */
Status mlir_dense_bytes(MlirReader *reader, const char *where, Str hex, const Shape *shape, Literal *literal);

/* mlir_resource.c: the section at the end of a text, from behind its `{-#`. */
Status mlir_resources(MlirReader *reader);

/* mlir_attr.c */
Status mlir_attr(MlirReader *reader, MlirAttr *attr);
/* The same where numbers and strings have no type: what follows a `:` is not theirs. */
Status mlir_untyped_attr(MlirReader *reader, MlirAttr *attr);
/* {name = value, …} with these brackets, appended to `dict`. */
Status mlir_dict(MlirReader *reader, char open, char close, MlirDict *dict);
void mlir_dict_add(MlirReader *reader, MlirDict *dict, Str name, MlirAttr value);
/* The pairs of a dialect's attribute: `#stablehlo.gather<offset_dims = [1], …>`. */
Status mlir_struct(MlirReader *reader, const MlirAttr *attr, MlirDict *dict);
typedef Vec(uint32_t) MlirIds;
/* By name; NULL where it is not there. */
const MlirAttr *mlir_get(MlirDict dict, const char *name);

/* mlir_location.c */
/* `loc(…)` where it comes next; else 0. */
Status mlir_location(MlirReader *reader, uint32_t *location);
/* `#name = loc(…)`, after the `=`. */
Status mlir_location_alias(MlirReader *reader, Str name);
Origin mlir_origin(const MlirReader *reader, uint32_t location);

/* mlir_read.c */
/* The operations of a text as one of name builtin.module. */
Status mlir_read_text(MlirReader *reader, MlirOp *module);
/* %name or %name#1 */
Status mlir_operand(MlirReader *reader, uint32_t *value);
/* %name, not looked up */
Status mlir_value_name(MlirReader *reader, Str *name);
/* A region: opened, its arguments defined, then `{ operations }`, which may open with ^label(arguments). */
typedef uint32_t MlirScope;
MlirScope mlir_open(MlirReader *reader, MlirRegion *region);
Status mlir_arg(MlirReader *reader, MlirRegion *region, Str name, const Shape *type, const char *at);
Status mlir_body(MlirReader *reader, MlirRegion *region);
void mlir_close(MlirReader *reader, MlirScope outer);
/* `(%name: type {attributes} loc(…), …)` as the region's arguments; the attributes of each in an array. */
Status mlir_args(MlirReader *reader, MlirRegion *region, MlirAttr *attrs);
/* `: type`, `: type, type`, `: (types) -> types`: those of the results, of which `op` says how many. */
Status mlir_result_types(MlirReader *reader, const MlirOp *op, MlirTypes *types);

/* mlir_pretty.c: an operation in its own syntax, from behind its name to before its location. */
Status mlir_pretty(MlirReader *reader, MlirOp *op, MlirTypes *results);
