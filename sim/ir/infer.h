/* What the rules of shape inference share. A rule sees one instruction with its operands' shapes and gives
 * the shape of the result, or an error that says what was expected and what stands there. Where the operands
 * leave something open (the type of a dot, the dimensions of a reshape) a rule takes it from the shape that
 * is written, which is NULL where none is. */
#pragma once

#include "sim/ir/verify.h"

typedef struct {
  const Module *module;
  const Comp *comp;
  const Instr *instr;
  Arena *arena;
  Diag *diag;
  bool mixed; /* floats of other precisions are taken too */
} Infer;

typedef Status InferRule(const Infer *at, const Shape **shape);

#define INFER(op, rule, types) InferRule infer_##rule;
#include "sim/ir/infer.def"
#undef INFER

/* An error at the instruction, its name in front. */
#define INFER_FAIL(at, format, ...)                                                                          \
  diag_fail((at)->diag, STATUS_INVALID, (at)->instr->place, NULL, "%.*s: " format,                           \
            STR_ARG((at)->instr->name) __VA_OPT__(, ) __VA_ARGS__)

const Shape *operand_shape(const Infer *at, uint32_t i);
/* For messages: `f32[8,16]`. */
const char *shape_words(const Infer *at, const Shape *shape);

Status expect_operands(const Infer *at, uint32_t least);
/* Operands from `first` on are arrays, and have the dimensions of operand `first`. */
Status expect_same_dims(const Infer *at, uint32_t first);
Status expect_array(const Infer *at, uint32_t i);
Status expect_rank(const Infer *at, uint32_t i, uint32_t rank);
Status expect_scalar(const Infer *at, uint32_t i, DType dtype);
/* The written shape, which a rule of this kind cannot do without. */
Status expect_written(const Infer *at);
/* `dims` of attribute `id` are in [0, rank), each once. */
Status expect_dims(const Infer *at, AttrId id, Ints dims, uint32_t rank);
/* `dims` of attribute `id` rise. */
Status expect_rising(const Infer *at, AttrId id, Ints dims);
/* A required INT attribute in [0, limit). */
Status expect_int(const Infer *at, AttrId id, int64_t limit, int64_t *value);

/* Whether operands of type `b` serve where `a` is expected. */
bool types_fit(const Infer *at, DType a, DType b);
/* Whether values of type `from` may be summed up in `to`: a type of its class that is no narrower. */
bool type_widens(const Infer *at, DType from, DType to);
bool dims_eq(const Shape *a, const Shape *b);
/* One shape as it is, several as a tuple. */
const Shape *one_or_tuple(const Infer *at, const Shape *const *shapes, uint32_t n);
/* The dimensions that `window` makes of `dims`. */
Status window_dims(const Infer *at, const int64_t *dims, uint32_t rank, Window window, int64_t *out);
/* A called computation has these parameters; its result goes to `result`. */
Status expect_callee(const Infer *at, const char *what, uint32_t comp, const Shape *const *params, uint32_t n,
                     const Shape **result);
/* A computation of scalars: two parameters a type, as reduce and sort have it. */
Status expect_pairwise(const Infer *at, AttrId id, const DType *types, uint32_t n, const Shape **result);
/* One that says something of two scalars of a type: it gives pred[]. */
Status expect_predicate(const Infer *at, AttrId id, const DType *types, uint32_t n);
/* One that combines them: it gives a scalar a type. */
Status expect_combiner(const Infer *at, AttrId id, const DType *types, uint32_t n);
