/* The verifier: each computation is whole in itself, each instruction has the shape that its rule infers,
 * groups and pairs of collectives are sound. */
#include "sim/ir/verify.h"

#include "sim/ir/callgraph.h"

typedef struct {
  const Module *module;
  uint32_t comp;
  Arena *arena;
  Diag *diag;
} Verify;

static const Comp *comp_of(const Verify *verify) {
  return module_comp(verify->module, verify->comp);
}

bool shape_fits(const Shape *a, const Shape *b, bool mixed) {
  bool floats = dtype_class(a->dtype) == DCLASS_FLOAT && dtype_class(b->dtype) == DCLASS_FLOAT;
  if (a->dtype != b->dtype && !(mixed && floats)) return false;
  if (a->dtype == DTYPE_BUFFER) return shape_fits(a->parts[0], b->parts[0], mixed);
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    bool same = shape_is_tuple(a) ? shape_fits(a->parts[i], b->parts[i], mixed)
                                  : a->dims[i] == b->dims[i] || a->dims[i] < 0 || b->dims[i] < 0;
    if (!same) return false;
  }
  return true;
}

static Status check_shape(const Verify *verify, const Instr *instr) {
  const Shape *shape;
  TRY(infer_shape(verify->module, verify->comp, instr, verify->arena, &shape, verify->diag));
  if (shape == NULL || shape_fits(shape, instr->shape, module_is_scheduled(verify->module))) return STATUS_OK;
  return diag_fail(verify->diag, STATUS_INVALID, instr->place, NULL,
                   "%.*s: by its operands this %s is %s, %s is written", STR_ARG(instr->name),
                   op_text(instr->op), shape_text(verify->arena, shape).at,
                   shape_text(verify->arena, instr->shape).at);
}

static Status check_operands(const Verify *verify, uint32_t at) {
  const Instr *instr = comp_instr(verify->module, verify->comp, at);
  RETURN_IF(instr->shape == NULL, diag_fail(verify->diag, STATUS_INVALID, instr->place, NULL,
                                            "%.*s has no shape", STR_ARG(instr->name)));
  for (uint32_t k = 0; k < instr->operands.n; k++)
    RETURN_IF(instr->operands.at[k] >= at,
              diag_fail(verify->diag, STATUS_INVALID, instr->place, NULL,
                        "%.*s: operand %u does not come before it", STR_ARG(instr->name), k));
  return STATUS_OK;
}

/* No device sends twice or receives twice. */
static Status check_pairs(const Verify *verify, const Instr *instr) {
  Pairs pairs = instr_pairs(instr);
  if (pairs.n == 0) return STATUS_OK;
  enum { MOST_DEVICES = 1 << 20 };
  int64_t devices = 0;
  for (uint32_t i = 0; i < pairs.n; i++) {
    int64_t low = pairs.at[i].source < pairs.at[i].target ? pairs.at[i].source : pairs.at[i].target;
    int64_t high = pairs.at[i].source + pairs.at[i].target - low;
    RETURN_IF(low < 0 || high >= MOST_DEVICES,
              diag_fail(verify->diag, STATUS_INVALID, instr->place, NULL,
                        "%.*s: pair {%ld,%ld} is out of range", STR_ARG(instr->name),
                        (long)pairs.at[i].source, (long)pairs.at[i].target));
    if (high >= devices) devices = high + 1;
  }
  bool *sends = ARENA_ARRAY(verify->arena, bool, devices),
       *receives = ARENA_ARRAY(verify->arena, bool, devices);
  for (uint32_t i = 0; i < pairs.n; i++) {
    Pair pair = pairs.at[i];
    RETURN_IF(sends[pair.source] || receives[pair.target],
              diag_fail(verify->diag, STATUS_INVALID, instr->place, NULL, "%.*s: device %ld %s twice",
                        STR_ARG(instr->name), (long)(sends[pair.source] ? pair.source : pair.target),
                        sends[pair.source] ? "sends" : "receives"));
    sends[pair.source] = receives[pair.target] = true;
  }
  return STATUS_OK;
}

static Status check_groups(const Verify *verify, const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_replica_groups);
  if (attr == NULL) return STATUS_OK;
  /* A program that is not partitioned yet says nothing of its devices. */
  int64_t devices = verify->module->num_partitions * verify->module->replica_count;
  return groups_check(attr->groups, devices == 1 ? 0 : (uint32_t)devices, instr->place, verify->diag);
}

static Status check_instr(const Verify *verify, uint32_t at) {
  const Instr *instr = comp_instr(verify->module, verify->comp, at);
  TRY(check_operands(verify, at));
  TRY(check_groups(verify, instr));
  TRY(check_pairs(verify, instr));
  return check_shape(verify, instr);
}

static Status check_whole(const Verify *verify) {
  const Comp *comp = comp_of(verify);
  RETURN_IF(comp->root >= comp->instrs.n, diag_fail(verify->diag, STATUS_INVALID, comp->place, NULL,
                                                    "%.*s has no root", STR_ARG(comp->name)));
  for (uint32_t p = 0; p < comp->params.n; p++) {
    uint32_t at = comp->params.at[p];
    bool there =
        at < comp->instrs.n && comp->instrs.at[at].op == OP_PARAMETER && comp->instrs.at[at].parameter == p;
    RETURN_IF(!there, diag_fail(verify->diag, STATUS_INVALID, comp->place, NULL, "%.*s has no parameter %u",
                                STR_ARG(comp->name), p));
  }
  return STATUS_OK;
}

static Status check_comp(const Verify *verify) {
  TRY(check_whole(verify));
  for (uint32_t i = 0; i < comp_of(verify)->instrs.n; i++) TRY(check_instr(verify, i));
  return STATUS_OK;
}

static Status check_calls(const Verify *verify, Ids *order) {
  const Module *module = verify->module;
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      Ids called = instr_called(verify->arena, &comp->instrs.at[i]);
      for (uint32_t k = 0; k < called.n; k++)
        RETURN_IF(called.at[k] >= module->comps.n,
                  diag_fail(verify->diag, STATUS_INVALID, comp->instrs.at[i].place, NULL,
                            "%.*s calls a computation that is not there", STR_ARG(comp->instrs.at[i].name)));
    }
  }
  RETURN_IF(!callees_first(verify->arena, module, order),
            diag_fail(verify->diag, STATUS_INVALID, module_comp(module, order->at[order->n - 1])->place, NULL,
                      "computation %.*s calls itself",
                      STR_ARG(module_comp(module, order->at[order->n - 1])->name)));
  return STATUS_OK;
}

static Status verify_all(Verify *verify) {
  const Module *module = verify->module;
  RETURN_IF(module->entry >= module->comps.n,
            diag_fail(verify->diag, STATUS_INVALID, NOWHERE, NULL, "the module has no entry computation"));
  Ids order;
  TRY(check_calls(verify, &order));
  for (uint32_t k = 0; k < order.n; k++) {
    Arena *scratch = arena_new();
    Status status = check_comp(&(Verify){module, order.at[k], scratch, verify->diag});
    arena_free(scratch);
    TRY(status);
  }
  return STATUS_OK;
}

Status module_verify(const Module *module, Diag *diag) {
  Arena *arena = arena_new();
  Status status = verify_all(&(Verify){.module = module, .arena = arena, .diag = diag});
  arena_free(arena);
  return status;
}

static bool sizes_known(const Shape *shape) {
  bool array = shape_is_array(shape), known = true;
  for (uint32_t i = 0; i < shape->rank; i++)
    known = known && (array ? shape->dims[i] >= 0 : sizes_known(shape->parts[i]));
  return known;
}

Status module_sizes_known(const Module *module, Diag *diag) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      const Instr *instr = &comp->instrs.at[i];
      RETURN_IF(!sizes_known(instr->shape),
                diag_fail(diag, STATUS_INVALID, instr->place, "lower the program for arrays of known sizes",
                          "%.*s has a dimension of unknown size", STR_ARG(instr->name)));
    }
  }
  return STATUS_OK;
}
