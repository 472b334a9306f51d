/* Host values. A compiler says with each value where it lies. Else it lies on the host where a placement says
 * so, where it is a part or an update of one that does, and where a tuple or the carry of a loop hands one
 * on. An update of a buffer with what lies on the host puts the buffer there: so stacked activations grow
 * (xla: host offloader). Passes over the module go on until nothing changes. */
#include "sim/ir/host_values.h"

enum { HOST_MEMORY = 5, DEEPEST_TUPLE = 32, MOST_PASSES = 32 };

typedef struct {
  uint32_t comp, instr; /* NO_ID: not called by a loop */
} Caller;

typedef struct {
  Module *module;
  Caller *loops;  /* by computation: the while whose body or condition it is */
  bool by_layout; /* its compiler has given every value a memory space */
} Finder;

typedef enum { PLACEMENT_NONE, PLACEMENT_HOST, PLACEMENT_DEVICE } Placement;

static Placement placement_of(const Instr *instr) {
  if (instr->op != OP_CUSTOM_CALL) return PLACEMENT_NONE;
  Str target = instr_custom_call_target(instr);
  if (str_is(target, "MoveToHost")) return PLACEMENT_HOST;
  if (str_is(target, "MoveToDevice")) return PLACEMENT_DEVICE;
  if (!str_is(target, "annotate_device_placement")) return PLACEMENT_NONE;
  const Attr *attributes = instr_attr(instr, ATTR_frontend_attributes);
  Str kind = attributes == NULL ? STR("") : keys_get(attributes->keys, "_xla_buffer_placement");
  return str_is(kind, "pinned_host") || str_is(kind, "unpinned_host") ? PLACEMENT_HOST : PLACEMENT_DEVICE;
}

/* Of a tuple its first part: what a copy makes. */
static bool in_host_memory(const Shape *shape) {
  while (shape_is_tuple(shape) && shape->rank > 0) shape = shape->parts[0];
  return shape->layout != NULL && shape->layout->memory_space == HOST_MEMORY;
}

static bool element_on_host(const Finder *finder, uint32_t comp, uint32_t tuple, int64_t index, int depth);

/* What a loop's carry holds in a place: at first, or after a trip. */
static bool carry_on_host(const Finder *finder, Caller loop, int64_t index, int depth) {
  const Instr *instr = comp_instr(finder->module, loop.comp, loop.instr);
  uint32_t body = instr_comp(instr, ATTR_body);
  if (element_on_host(finder, loop.comp, instr->operands.at[0], index, depth)) return true;
  return body != NO_ID &&
         element_on_host(finder, body, module_comp(finder->module, body)->root, index, depth);
}

static bool element_on_host(const Finder *finder, uint32_t comp, uint32_t tuple, int64_t index, int depth) {
  const Instr *instr = comp_instr(finder->module, comp, tuple);
  if (depth == DEEPEST_TUPLE) return false;
  switch (instr->op) {
  case OP_TUPLE:
    return index < instr->operands.n && comp_instr(finder->module, comp, instr->operands.at[index])->on_host;
  case OP_OPT_BARRIER: return element_on_host(finder, comp, instr->operands.at[0], index, depth + 1);
  case OP_WHILE: return carry_on_host(finder, (Caller){comp, tuple}, index, depth + 1);
  case OP_PARAMETER:
    return finder->loops[comp].instr != NO_ID && carry_on_host(finder, finder->loops[comp], index, depth + 1);
  default: return false;
  }
}

static bool operand_on_host(const Finder *finder, uint32_t comp, const Instr *instr, uint32_t i) {
  return i < instr->operands.n && comp_instr(finder->module, comp, instr->operands.at[i])->on_host;
}

static bool lies_on_host(const Finder *finder, uint32_t comp, const Instr *instr) {
  Placement placement = placement_of(instr);
  if (finder->by_layout) return in_host_memory(instr->shape);
  if (placement != PLACEMENT_NONE) return placement == PLACEMENT_HOST;
  switch (instr->op) {
  case OP_DYNAMIC_UPDATE_SLICE:
    return operand_on_host(finder, comp, instr, 0) || operand_on_host(finder, comp, instr, 1);
  case OP_DYNAMIC_SLICE:
  case OP_SLICE:
  case OP_RESHAPE:
  case OP_BITCAST: return operand_on_host(finder, comp, instr, 0);
  case OP_OPT_BARRIER: return operand_on_host(finder, comp, instr, 0);
  case OP_GET_TUPLE_ELEMENT:
    return element_on_host(finder, comp, instr->operands.at[0], instr_int(instr, ATTR_index, 0), 0);
  default: return false;
  }
}

/* Whether nothing uses a value but places of a loop's carry that its body fills on the host. */
static bool is_filled_on_host(const Finder *finder, uint32_t comp, uint32_t value, const Instr *carry,
                              uint32_t body) {
  const Comp *own = module_comp(finder->module, comp);
  uint32_t root = module_comp(finder->module, body)->root;
  for (uint32_t i = 0; i < own->instrs.n; i++) {
    const Instr *user = &own->instrs.at[i];
    for (uint32_t k = 0; k < user->operands.n; k++) {
      if (user->operands.at[k] != value) continue;
      if (user != carry || !element_on_host(finder, body, root, k, 0)) return false;
    }
  }
  return true;
}

/* A loop's empty buffer that its body fills on the host is made there. */
static bool find_empty_buffers(const Finder *finder, uint32_t comp, const Instr *loop) {
  const Instr *carry = comp_instr(finder->module, comp, loop->operands.at[0]);
  uint32_t body = instr_comp(loop, ATTR_body);
  bool changed = false;
  if (carry->op != OP_TUPLE || body == NO_ID) return false;
  for (uint32_t i = 0; i < carry->operands.n; i++) {
    uint32_t value = carry->operands.at[i];
    Instr *empty = &finder->module->comps.at[comp].instrs.at[value];
    if (empty->on_host || empty->op != OP_BROADCAST) continue;
    if (is_filled_on_host(finder, comp, value, carry, body)) empty->on_host = changed = true;
  }
  return changed;
}

static bool pass(const Finder *finder) {
  bool changed = false;
  for (uint32_t c = 0; c < finder->module->comps.n; c++) {
    Comp *comp = &finder->module->comps.at[c];
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      Instr *instr = &comp->instrs.at[i];
      if (instr->op == OP_WHILE && !finder->by_layout) changed |= find_empty_buffers(finder, c, instr);
      if (instr->on_host || !lies_on_host(finder, c, instr)) continue;
      instr->on_host = changed = true;
    }
  }
  return changed;
}

/* What crosses between the two: the operand of a copy or placement, what is cut out or put in. */
static HostMove move_of(const Finder *finder, uint32_t comp, const Instr *instr) {
  bool moves = placement_of(instr) != PLACEMENT_NONE || instr->op == OP_COPY || instr->op == OP_COPY_START ||
               instr->op == OP_DYNAMIC_UPDATE_SLICE || instr->op == OP_DYNAMIC_SLICE;
  if (!moves || instr->operands.n == 0) return HOST_MOVE_NONE;
  bool from = operand_on_host(finder, comp, instr, instr->op == OP_DYNAMIC_UPDATE_SLICE);
  if (from == instr->on_host) return HOST_MOVE_NONE;
  return from ? HOST_MOVE_FROM : HOST_MOVE_TO;
}

static void find_loops(Finder *finder, Arena *scratch) {
  uint32_t n = finder->module->comps.n;
  finder->loops = ARENA_ARRAY(scratch, Caller, n);
  for (uint32_t c = 0; c < n; c++) finder->loops[c] = (Caller){NO_ID, NO_ID};
  for (uint32_t c = 0; c < n; c++)
    for (uint32_t i = 0; i < module_comp(finder->module, c)->instrs.n; i++) {
      const Instr *instr = comp_instr(finder->module, c, i);
      if (instr->op != OP_WHILE) continue;
      uint32_t body = instr_comp(instr, ATTR_body), condition = instr_comp(instr, ATTR_condition);
      if (body != NO_ID) finder->loops[body] = (Caller){c, i};
      if (condition != NO_ID) finder->loops[condition] = (Caller){c, i};
    }
}

static bool has_host_memory(const Module *module) {
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++)
      if (in_host_memory(module->comps.at[c].instrs.at[i].shape)) return true;
  return false;
}

void module_find_host_values(Module *module) {
  Arena *scratch = arena_new();
  Finder finder = {.module = module};
  find_loops(&finder, scratch);
  finder.by_layout = has_host_memory(module);
  for (int i = 0; i < MOST_PASSES && pass(&finder); i++) {
  }
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      Instr *instr = &module->comps.at[c].instrs.at[i];
      instr->host_move = move_of(&finder, c, instr);
    }
  arena_free(scratch);
}
