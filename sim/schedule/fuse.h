/* Which instructions a compiler would run as one kernel. */
#pragma once

#include "models/demand.h"

typedef struct {
  uint32_t group, value;
} Use;

/* What is copied between HBM and VMEM while kernels run: values that a group finds in VMEM, and values that
 * are made there and sent on. */
typedef struct {
  Vec(Use) fetched; /* sorted */
  bool *sent;       /* by instruction; NULL: none, of both */
  int64_t *bytes;   /* by instruction that names a group: copied while it runs */
} Copies;

/* The groups of a computation, by instruction. A group is named by its last instruction. Where a reduction
 * was taken into the group that makes what it reduces, other members have users outside too; the group then
 * runs where the first of them stands. */
typedef struct {
  uint32_t *last;  /* of the group that an instruction is in: itself where it is alone */
  bool *repeated;  /* made anew in each group that uses it, so never stored */
  uint32_t *first; /* members[first[i] .. first[i + 1]): the group whose last instruction is i, in order */
  uint32_t *members;
  uint32_t *runs; /* the last instruction of the group that runs where an instruction stands; NO_ID: none */
  bool *leaves;   /* an instruction that others outside its group use, or the root */
  bool *in_vmem;  /* values that lie in VMEM all their lives; NULL: as their layouts say */
  Copies copies;  /* of the others, what is copied beside the kernels */
} Groups;

/* As a compiler would fuse the computation; `anew` says of the elements of its one parameter which it can
 * make by itself (loop_carry.h; NULL: none). Lives in `arena`. */
Groups groups_fused(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, const bool *anew);
/* Every instruction alone: for a program whose compiler has fused already. */
Groups groups_single(Arena *arena, const Module *module, uint32_t comp);
/* All as one group, named by the root: a fusion's computation. */
Groups groups_whole(Arena *arena, const Module *module, uint32_t comp);

Ids group_members(const Groups *groups, uint32_t last);

/* A constant, a parameter or an element of one: it is there before anything runs. */
bool is_there_from_start(const Comp *body, uint32_t at);
/* Only a name for the same bytes, whatever stands around it: a bitcast or a free reshape. */
bool is_alias(const Module *module, uint32_t comp, const Instr *instr);
/* The same, and what no kernel reaches over: a barrier around an array. Its first operand is what it names.
 */
bool is_name(const Module *module, uint32_t comp, const Instr *instr);
/* Whether an instruction is such a name, or made anew from its operands by those who use it. */
bool groups_pass_on(const Groups *groups, const Module *module, uint32_t comp, uint32_t at);
/* Memory that nothing is written to yet. */
bool is_empty_buffer(const Instr *instr);
/* The operands whose values an instruction needs; of an add-dependency the second is only waited for. */
Ids values_needed(const Instr *instr);
/* The operand that a fusion's computation hands on, as it is, as its result or part `part` of it; NO_ID: it
 * makes that itself. */
uint32_t fusion_hands_on(const Module *module, const Instr *fusion, uint32_t part);
