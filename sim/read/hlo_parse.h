/* What the parts of the HLO reader share: the state of one reading, and a function for each piece of grammar.
 * Everything that stays lives in the module's arena; the scratch arena ends with the reading. */
#pragma once

#include "sim/read/lexer.h"

/* A computation that was named before it was read whole: filled in at the end. */
typedef struct {
  uint32_t comp, instr; /* where the name stands */
  AttrId attr;
  uint32_t element; /* of a COMPS attribute */
  Str name;
  Place place;
} CompRef;

/* FileNames … StackFrames: the rows that tell where an instruction comes from. Ids count from 1. */
typedef struct {
  int64_t file, line;
} FileLocation;

typedef struct {
  Vec(Str) files;
  Vec(FileLocation) locations;
  Vec(int64_t) frames; /* the file location of each */
} SourceTables;

/* entry_computation_layout={(params)->result} */
typedef struct {
  const Shape *params, *result; /* `params` is a tuple; NULL where not said */
  Place place;
} EntryLayout;

typedef struct {
  Lexer lex;
  Arena *arena, *scratch;
  Module *module;
  SourceTables tables;
  EntryLayout entry_layout;
  Vec(CompRef) refs;      /* to computations that are still to come */
  uint32_t comp;          /* the computation at hand */
  uint32_t lone;          /* that of a text which is one instruction: it names its parameters; else NO_ID */
  Vec(uint32_t) operands; /* of the instructions at hand, the innermost last */
  Vec(Attr) attrs;        /* the same */
} Reader;

/* hlo_shape.c */
Status read_shape(Reader *reader, Arena *arena, const Shape **shape);
/* Whether a shape, not an opcode or a name, comes next. */
bool at_shape(Reader *reader);

/* hlo_literal.c: what stands between the brackets of constant(…). */
Status read_literal(Reader *reader, const Shape *shape, const Literal **literal);

/* hlo_sharding_read.c */
Status read_sharding(Reader *reader, const HloSharding **sharding);
Status read_replica_groups(Reader *reader, const ReplicaGroups **groups);

/* hlo_attrs.c: `, name=value`… after the operands, into `instr`, which is the next of the computation at
 * hand. */
Status read_attrs(Reader *reader, Instr *instr);
/* {key="value",key={json}} */
Status read_key_values(Reader *reader, KeyValues *keys);

/* hlo_header.c: the line HloModule … (or none), and the tables FileNames … StackFrames. */
Status read_header(Reader *reader);
Status read_tables(Reader *reader);

/* hlo_read.c: an instruction of the computation at hand by its name. */
Status find_instr(Reader *reader, Str name, const char *where, uint32_t *instr);
/* A computation that stands in the place of its name: { instructions }. */
Status read_inline_comp(Reader *reader, uint32_t *comp);

/* The error that `word`, at the cursor, is no `what`; with the nearest of `names`. */
Status unknown_word(Lexer *lex, Str word, const char *what, const char *const *names, size_t n);
