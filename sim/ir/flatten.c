/* Flattening: module in; out a new one without calls. Each computation is written out afresh at its one place
 * of use, and a call's callee straight into its caller (Shardy's flatten-call-graph and inliner).
 * Instructions learn the manual region that they lie in from the custom calls that bound it. */
#include "sim/ir/flatten.h"

#include "sim/ir/callgraph.h"
#include "sim/ir/clean.h"

/* Bounds on what calls may grow to. */
enum { MOST_INSTRS = 4 << 20, DEEPEST_CALLS = 500 };

typedef struct {
  const Module *from;
  Module *to;
  Arena *scratch;
  uint32_t **exits; /* of each computation of `from`: exit_calls() */
  Diag *diag;
} Flatten;

/* --- Manual regions. --- */

static bool is_target(const Instr *instr, const char *sdy, const char *gspmd) {
  if (instr->op != OP_CUSTOM_CALL) return false;
  Str target = instr_custom_call_target(instr);
  return str_is(target, sdy) || str_is(target, gspmd);
}

static bool leads_in(const Instr *instr) {
  return is_target(instr, "xla.sdy.GlobalToLocalShape", "SPMDFullToShardShape");
}

static bool leads_out(const Instr *instr) {
  return is_target(instr, "xla.sdy.LocalToGlobalShape", "SPMDShardToFullShape");
}

/* The names in `#sdy<manual_axes{"data", "model"}>`. */
static void manual_axes(Arena *arena, Str text, Region *region) {
  Vec(Str) axes = {0};
  text = str_sub(text, str_find(text, '{') + 1, str_find(text, '}'));
  while (text.n > 0) {
    size_t start = str_find(text, '"') + 1;
    Str name = str_sub(text, start, start + str_find(str_sub(text, start, text.n), '"'));
    if (name.n != 0) VEC_PUSH(arena, &axes, name);
    text = str_sub(text, start + name.n + 1, text.n);
  }
  region->axes = axes.at;
  region->n_axes = axes.n;
}

static bool region_eq(const Region *a, const Region *b) {
  if (a->parent != b->parent || a->n_axes != b->n_axes || (a->manual == NULL) != (b->manual == NULL))
    return false;
  for (uint32_t i = 0; i < a->n_axes; i++) {
    if (!str_eq(a->axes[i], b->axes[i])) return false;
  }
  return a->manual == NULL || str_eq(a->manual->text, b->manual->text);
}

static uint32_t region_intern(Module *module, Region region) {
  for (uint32_t r = 1; r < module->regions.n; r++) {
    if (region_eq(&module->regions.at[r], &region)) return r;
  }
  VEC_PUSH(module->arena, &module->regions, region);
  return module->regions.n - 1;
}

/* The region that a custom call leads into, or out of, where `parent` lies around it. */
static uint32_t region_of_call(const Flatten *flatten, const Instr *call, const HloSharding *manual,
                               uint32_t parent) {
  Region region = {.parent = parent};
  Str axes;
  if (instr_frontend(call, "xla.sdy.manual_axes", &axes))
    manual_axes(flatten->to->arena, axes, &region);
  else
    region.manual = manual;
  return region_intern(flatten->to, region);
}

static uint32_t region_depth(const Module *module, uint32_t region) {
  uint32_t depth = 0;
  for (; region != 0; depth++) region = module->regions.at[region].parent;
  return depth;
}

static uint32_t deeper(const Module *module, uint32_t a, uint32_t b) {
  return region_depth(module, b) > region_depth(module, a) ? b : a;
}

/* The region whose local shapes a value has. */
static uint32_t value_region(const Flatten *flatten, const Instr *instr) {
  return leads_in(instr) ? region_of_call(flatten, instr, instr_sharding(instr), instr->region)
                         : instr->region;
}

/* Where an instruction lies: as deep as its operands, one out for what leads out. */
static uint32_t region_of_instr(const Flatten *flatten, uint32_t into, const Instr *instr,
                                const uint32_t *operands, uint32_t around) {
  const Module *to = flatten->to;
  uint32_t region = around;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    uint32_t of = value_region(flatten, comp_instr(to, into, operands[k]));
    if (leads_out(instr) && of != 0) of = to->regions.at[of].parent;
    region = deeper(to, region, of);
  }
  return region;
}

/* What a tuple's elements and sharding constraints are made of. */
static uint32_t passed_on(const Comp *comp, uint32_t at) {
  const Instr *instr = &comp->instrs.at[at];
  bool passes = instr->op == OP_GET_TUPLE_ELEMENT || is_target(instr, "Sharding", "Sharding");
  return passes && instr->operands.n == 1 ? passed_on(comp, instr->operands.at[0]) : at;
}

/* For each call of a computation the custom call that leads its result out, or NO_ID: a body without operands
 * is known by that alone. */
static const uint32_t *exit_calls(Flatten *flatten, uint32_t comp) {
  if (flatten->exits[comp] != NULL) return flatten->exits[comp];
  const Comp *of = module_comp(flatten->from, comp);
  uint32_t *exits = ARENA_ARRAY(flatten->scratch, uint32_t, of->instrs.n + 1);
  memset(exits, 0xff, of->instrs.n * sizeof *exits);
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    if (!leads_out(&of->instrs.at[i]) || of->instrs.at[i].operands.n == 0) continue;
    exits[passed_on(of, of->instrs.at[i].operands.at[0])] = i;
  }
  return flatten->exits[comp] = exits;
}

/* Where the body of call `at` lies. */
static uint32_t region_of_body(Flatten *flatten, uint32_t comp, uint32_t at, uint32_t into,
                               const uint32_t *operands, uint32_t around) {
  const Comp *of = module_comp(flatten->from, comp);
  uint32_t region = region_of_instr(flatten, into, &of->instrs.at[at], operands, around);
  uint32_t exit = exit_calls(flatten, comp)[at];
  if (region != around || exit == NO_ID) return region;
  const Instr *out = &of->instrs.at[exit];
  return region_of_call(flatten, out, instr_sharding(&of->instrs.at[out->operands.at[0]]), around);
}

/* --- Writing out. --- */

static Status write_body(Flatten *flatten, uint32_t comp, uint32_t into, uint32_t region,
                         const uint32_t *arguments, uint32_t *root);

/* A computation of its own. */
static Status write_comp(Flatten *flatten, uint32_t comp, uint32_t region, uint32_t *made) {
  const Comp *of = module_comp(flatten->from, comp);
  *made = module_add_comp(flatten->to, of->name);
  module_comp(flatten->to, *made)->place = of->place;
  module_comp(flatten->to, *made)->execution_thread = of->execution_thread;
  uint32_t root = NO_ID;
  TRY(write_body(flatten, comp, *made, region, NULL, &root));
  module_comp(flatten->to, *made)->root = root;
  return STATUS_OK;
}

/* What `#sdy.sharding<@mesh, […]>` of a value is to a custom call: `#sdy.sharding_per_value<[<@mesh, […]>]>`.
 */
static Str per_value_sharding(Arena *arena, Str sharding) {
  const char *prefix = "#sdy.sharding<";
  if (!str_starts(sharding, prefix)) return sharding;
  Str rest = str_sub(sharding, strlen(prefix) - 1, sharding.n);
  return str_printf(arena, "#sdy.sharding_per_value<[%.*s]>", STR_ARG(rest));
}

/* `value` with the sharding that a callee's parameter or a call asks for (`asks`): by a custom call. */
static uint32_t constrained(const Flatten *flatten, uint32_t into, const Instr *asks, uint32_t value) {
  Module *to = flatten->to;
  const Attr *sharding = instr_attr(asks, ATTR_sharding);
  Str sdy = STR("");
  bool any = instr_frontend(asks, "xla.sdy.sharding", &sdy) || sharding != NULL;
  if (!any || !shape_is_array(asks->shape)) return value;
  uint32_t region = value_region(flatten, comp_instr(to, into, value));
  uint32_t at = comp_add(to, into, OP_CUSTOM_CALL, asks->name, asks->shape, &value, 1);
  Instr *instr = comp_instr(to, into, at);
  instr->place = asks->place;
  instr->origin = asks->origin;
  instr->region = region;
  instr_set_word(to, instr, ATTR_custom_call_target, STR("Sharding"));
  if (sharding != NULL) instr_set_shared(to, instr, *sharding);
  KeyValue key = {STR("xla.sdy.sharding"), per_value_sharding(to->arena, sdy), true};
  if (sdy.n != 0) instr_set(to, instr, (Attr){.id = ATTR_frontend_attributes, .keys = {&key, 1}});
  return at;
}

/* A call: its callee's instructions stand for it. */
static Status write_call(Flatten *flatten, uint32_t comp, uint32_t at, uint32_t into, uint32_t around,
                         uint32_t *arguments, uint32_t *result) {
  const Instr *call = comp_instr(flatten->from, comp, at);
  uint32_t callee = instr_comp(call, ATTR_to_apply);
  RETURN_IF(callee == NO_ID,
            diag_fail(flatten->diag, STATUS_INVALID, call->place, NULL, "a call without to_apply"));
  const Comp *of = module_comp(flatten->from, callee);
  RETURN_IF(of->params.n != call->operands.n, diag_fail(flatten->diag, STATUS_INVALID, call->place, NULL,
                                                        "%.*s has %u parameters, %u operands are given",
                                                        STR_ARG(of->name), of->params.n, call->operands.n));
  uint32_t region = region_of_body(flatten, comp, at, into, arguments, around);
  for (uint32_t p = 0; p < of->params.n; p++)
    arguments[p] = constrained(flatten, into, &of->instrs.at[of->params.at[p]], arguments[p]);
  TRY(write_body(flatten, callee, into, region, arguments, result));
  *result = constrained(flatten, into, call, *result);
  return STATUS_OK;
}

/* Copies of the computations that an instruction calls. */
static Status write_called(Flatten *flatten, uint32_t into, uint32_t at) {
  Instr *instr = comp_instr(flatten->to, into, at);
  uint32_t n = instr->n_attrs, region = instr->region;
  for (uint32_t a = 0; a < n; a++) {
    Attr attr = comp_instr(flatten->to, into, at)->attrs[a];
    if (attr_kind(attr.id) == ATTR_KIND_COMP) {
      TRY(write_comp(flatten, attr.comp, region, &attr.comp));
    } else if (attr_kind(attr.id) == ATTR_KIND_COMPS) {
      attr = attr_copy(flatten->to->arena, attr);
      for (uint32_t c = 0; c < attr.comps.n; c++)
        TRY(write_comp(flatten, attr.comps.at[c], region, &attr.comps.at[c]));
    }
    comp_instr(flatten->to, into, at)->attrs[a] = attr;
  }
  return STATUS_OK;
}

/* The element itself where its tuple is at hand and nothing is said of it; else NO_ID. */
static uint32_t element_at_hand(const Flatten *flatten, uint32_t into, const Instr *instr,
                                const uint32_t *operands) {
  if (instr->op != OP_GET_TUPLE_ELEMENT) return NO_ID;
  if (instr_sharding(instr) != NULL || instr_frontend(instr, "xla.sdy.sharding", &(Str){0})) return NO_ID;
  const Instr *tuple = comp_instr(flatten->to, into, operands[0]);
  int64_t index = instr_int(instr, ATTR_index, -1);
  bool known =
      tuple->op == OP_TUPLE && instr_sharding(tuple) == NULL && index >= 0 && index < tuple->operands.n;
  return known ? tuple->operands.at[index] : NO_ID;
}

static Status write_instr(Flatten *flatten, uint32_t into, const Instr *instr, const uint32_t *operands,
                          uint32_t around, uint32_t *result) {
  *result = element_at_hand(flatten, into, instr, operands);
  RETURN_IF(*result != NO_ID, STATUS_OK);
  *result = comp_add_like(flatten->to, into, instr, operands, instr->operands.n);
  Instr *written = comp_instr(flatten->to, into, *result);
  written->region = region_of_instr(flatten, into, instr, operands, around);
  /* Names may change; the order of the text says what must come first. */
  instr_unset(written, ATTR_control_predecessors);
  return write_called(flatten, into, *result);
}

/* The instructions of `comp`, put at the end of `into`. `arguments` stand for the parameters; NULL where it
 * keeps its own. */
static Status write_body(Flatten *flatten, uint32_t comp, uint32_t into, uint32_t region,
                         const uint32_t *arguments, uint32_t *root) {
  const Comp *of = module_comp(flatten->from, comp);
  uint32_t *result = ARENA_ARRAY(flatten->scratch, uint32_t, of->instrs.n);
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    const Instr *instr = &of->instrs.at[i];
    if (instr->op == OP_PARAMETER && arguments != NULL) {
      result[i] = arguments[instr->parameter];
      continue;
    }
    uint32_t *operands = ARENA_ARRAY(flatten->scratch, uint32_t, instr->operands.n);
    for (uint32_t k = 0; k < instr->operands.n; k++) operands[k] = result[instr->operands.at[k]];
    if (instr->op == OP_CALL)
      TRY(write_call(flatten, comp, i, into, region, operands, &result[i]));
    else
      TRY(write_instr(flatten, into, instr, operands, region, &result[i]));
  }
  RETURN_IF(of->root == NO_ID, diag_fail(flatten->diag, STATUS_INVALID, of->place, NULL,
                                         "computation %.*s has no root", STR_ARG(of->name)));
  *root = result[of->root];
  return STATUS_OK;
}

/* What a computation comes to with all that it calls written out. */
typedef struct {
  uint64_t instrs;
  uint32_t depth;
} Size;

static Status add_sizes(const Flatten *flatten, uint32_t comp, Size *sizes) {
  const Comp *of = module_comp(flatten->from, comp);
  Size size = {of->instrs.n, 1};
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    Ids called = instr_called(flatten->scratch, &of->instrs.at[i]);
    for (uint32_t c = 0; c < called.n; c++) {
      Size callee = sizes[called.at[c]];
      size.instrs += callee.instrs;
      if (callee.depth >= size.depth) size.depth = callee.depth + 1;
    }
    Place at = of->instrs.at[i].place;
    RETURN_IF(size.instrs > MOST_INSTRS,
              diag_fail(flatten->diag, STATUS_INVALID, at, NULL,
                        "with every call written out there are more than %d instructions", MOST_INSTRS));
    RETURN_IF(size.depth > DEEPEST_CALLS, diag_fail(flatten->diag, STATUS_INVALID, at, NULL,
                                                    "calls nest more than %d deep", DEEPEST_CALLS));
  }
  sizes[comp] = size;
  return STATUS_OK;
}

/* Refuses what grows beyond bounds before any of it is written. */
static Status check_growth(const Flatten *flatten) {
  Ids order;
  bool acyclic = callees_first(flatten->scratch, flatten->from, &order);
  const Comp *last = module_comp(flatten->from, order.at[order.n - 1]);
  RETURN_IF(!acyclic, diag_fail(flatten->diag, STATUS_INVALID, last->place, NULL,
                                "computation %.*s calls itself", STR_ARG(last->name)));
  Size *sizes = ARENA_ARRAY(flatten->scratch, Size, flatten->from->comps.n);
  for (uint32_t k = 0; k < order.n; k++) TRY(add_sizes(flatten, order.at[k], sizes));
  return STATUS_OK;
}

static Status write_module(Flatten *flatten) {
  TRY(check_growth(flatten));
  TRY(write_comp(flatten, flatten->from->entry, 0, &flatten->to->entry));
  module_remove_dead(flatten->to);
  return STATUS_OK;
}

Status module_flatten(const Module *module, Module **flat, Diag *diag) {
  Arena *scratch = arena_new();
  Flatten flatten = {.from = module,
                     .to = module_like(module),
                     .scratch = scratch,
                     .exits = ARENA_ARRAY(scratch, uint32_t *, module->comps.n),
                     .diag = diag};
  Status status = write_module(&flatten);
  arena_free(scratch);
  if (status == STATUS_OK)
    *flat = flatten.to;
  else
    module_free(flatten.to);
  return status;
}
