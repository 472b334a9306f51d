/* Modules: the tables of opcodes and attributes, computations and instructions built and asked. */
#include "sim/ir/module.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
  const char *text;
  size_t n;
  int arity;
  const char *rule;
} OpRow;

static const OpRow ops[OP_COUNT] = {
#define OP(name, text, arity, evaluator, rule, cost) {text, sizeof(text) - 1, arity, #rule},
#include "sim/ir/opcode.def"
#undef OP
};

typedef struct {
  const char *text;
  size_t n;
  AttrKind kind;
} AttrRow;

static const AttrRow attrs[ATTR_COUNT] = {
#define ATTR(name, text, kind) {text, sizeof(text) - 1, ATTR_KIND_##kind},
#include "sim/ir/attr.def"
#undef ATTR
};

const char *op_text(Opcode op) {
  return ops[op].text;
}

bool op_parse(Str text, Opcode *op) {
  for (uint32_t i = 0; i < OP_COUNT; i++) {
    if (ops[i].n != text.n || memcmp(ops[i].text, text.at, text.n) != 0) continue;
    *op = (Opcode)i;
    return true;
  }
  return false;
}

int op_arity(Opcode op) {
  return ops[op].arity;
}

bool op_is_collective(Opcode op) {
  switch (op) {
  case OP_ALL_GATHER:
  case OP_ALL_GATHER_START:
  case OP_ALL_REDUCE:
  case OP_ALL_REDUCE_START:
  case OP_ALL_TO_ALL:
  case OP_COLLECTIVE_BROADCAST:
  case OP_COLLECTIVE_PERMUTE:
  case OP_COLLECTIVE_PERMUTE_START:
  case OP_RAGGED_ALL_TO_ALL:
  case OP_REDUCE_SCATTER: return true;
  default: return false;
  }
}

bool op_exchanges_with_host(Opcode op) {
  switch (op) {
  case OP_INFEED:
  case OP_OUTFEED:
  case OP_SEND:
  case OP_SEND_DONE:
  case OP_RECV:
  case OP_RECV_DONE: return true;
  default: return false;
  }
}

bool op_is_elementwise(Opcode op) {
  return op == OP_SELECT || op == OP_CLAMP || strcmp(ops[op].rule, "elementwise") == 0;
}

bool op_is_commutative(Opcode op) {
  switch (op) {
  case OP_ADD:
  case OP_AND:
  case OP_MAXIMUM:
  case OP_MINIMUM:
  case OP_MULHI:
  case OP_MULTIPLY:
  case OP_OR:
  case OP_XOR: return true;
  default: return false;
  }
}

const char *attr_text(AttrId id) {
  return attrs[id].text;
}

AttrKind attr_kind(AttrId id) {
  return attrs[id].kind;
}

bool attr_parse(Str text, AttrId *id) {
  for (uint32_t i = 0; i < ATTR_COUNT; i++) {
    if (attrs[i].n != text.n || memcmp(attrs[i].text, text.at, text.n) != 0) continue;
    *id = (AttrId)i;
    return true;
  }
  return false;
}

/* --- Building. --- */

Module *module_new(Str name) {
  Arena *arena = arena_new();
  Module *module = ARENA_NEW(arena, Module);
  *module = (Module){.arena = arena, .name = name, .entry = NO_ID, .num_partitions = 1, .replica_count = 1};
  module->comp_names = map_new(arena);
  module->suffixes = map_new(arena);
  VEC_PUSH(arena, &module->regions, (Region){0});
  return module;
}

Module *module_like(const Module *from) {
  Module *to = module_new(from->name);
  to->source = from->source;
  for (uint32_t i = 0; i < from->header.n; i++) VEC_PUSH(to->arena, &to->header, from->header.at[i]);
  to->num_partitions = from->num_partitions;
  to->replica_count = from->replica_count;
  to->frontend = from->frontend;
  to->tables = from->tables;
  return to;
}

void module_free(Module *module) {
  if (module != NULL) arena_free(module->arena);
}

/* `name` without its `.123`. */
static Str name_base(Str name) {
  size_t n = name.n;
  while (n > 0 && name.at[n - 1] >= '0' && name.at[n - 1] <= '9') n--;
  return n > 1 && n < name.n && name.at[n - 1] == '.' ? str_sub(name, 0, n - 1) : name;
}

/* `name`, or where `taken` has it the same with a new number behind it. */
static Str unique_name(Module *module, const StrMap *taken, Str name) {
  uint32_t number = 0;
  if (!map_get(taken, name, &number)) return name;
  Str base = name_base(name), candidate;
  number = 0;
  map_get(module->suffixes, base, &number);
  do candidate = str_printf(module->arena, "%.*s.%u", STR_ARG(base), ++number);
  while (map_get(taken, candidate, &(uint32_t){0}));
  map_put(module->suffixes, base, number);
  return candidate;
}

Str comp_free_name(Module *module, uint32_t comp, Str name) {
  return unique_name(module, module_comp(module, comp)->names, name);
}

static void comp_unique_names(Module *module, Comp *comp, StrMap *taken) {
  comp->names = map_new(module->arena);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    Str *name = &comp->instrs.at[i].name;
    *name = unique_name(module, taken, *name);
    map_put(taken, *name, i);
    map_put(comp->names, *name, i);
  }
}

void module_unique_names(Module *module) {
  StrMap *taken = map_new(module->arena);
  comp_unique_names(module, module_entry(module), taken);
  for (uint32_t c = 0; c < module->comps.n; c++) {
    if (c != module->entry) comp_unique_names(module, module_comp(module, c), taken);
  }
}

uint32_t module_add_comp(Module *module, Str name) {
  Comp comp = {.name = unique_name(module, module->comp_names, name.n == 0 ? STR("computation") : name),
               .root = NO_ID,
               .names = map_new(module->arena)};
  map_put(module->comp_names, comp.name, module->comps.n);
  VEC_PUSH(module->arena, &module->comps, comp);
  return module->comps.n - 1;
}

void module_rename_comp(Module *module, uint32_t comp, Str name) {
  Str unique = unique_name(module, module->comp_names, name);
  map_put(module->comp_names, unique, comp);
  module_comp(module, comp)->name = unique;
}

Comp *module_comp(const Module *module, uint32_t comp) {
  assert(comp < module->comps.n);
  return &module->comps.at[comp];
}

Comp *module_entry(const Module *module) {
  return module_comp(module, module->entry);
}

Str module_header(const Module *module, const char *key) {
  for (uint32_t i = 0; i < module->header.n; i++) {
    if (str_is(module->header.at[i].key, key)) return module->header.at[i].text;
  }
  return STR("");
}

void module_mark_donated(const Module *module, const char *key, bool *donated) {
  Str text = module_header(module, key);
  uint32_t n = module_entry(module)->params.n;
  for (size_t open = str_find(text, '('); open < text.n;
       open += 1 + str_find(str_sub(text, open + 1, text.n), '(')) {
    size_t comma = open + str_find(str_sub(text, open, text.n), ',');
    int64_t parameter;
    if (str_to_int(str_trim(str_sub(text, open + 1, comma)), &parameter) && parameter >= 0 && parameter < n)
      donated[parameter] = true;
  }
}

const bool *module_donated(Arena *arena, const Module *module) {
  bool *donated = ARENA_ARRAY(arena, bool, module_entry(module)->params.n + 1);
  module_mark_donated(module, "input_output_alias", donated);
  module_mark_donated(module, "buffer_donor", donated);
  return donated;
}

bool module_is_scheduled(const Module *module) {
  return str_is(module_header(module, "is_scheduled"), "true");
}

uint32_t module_find_comp(const Module *module, Str name) {
  uint32_t comp;
  return map_get(module->comp_names, name, &comp) ? comp : NO_ID;
}

uint32_t comp_find(const Comp *comp, Str name) {
  uint32_t instr;
  return map_get(comp->names, name, &instr) ? instr : NO_ID;
}

/* Room for attributes is made in steps. */
enum { ATTR_STEP = 4 };

static uint32_t attr_room(uint32_t n) {
  return (n + ATTR_STEP - 1) / ATTR_STEP * ATTR_STEP;
}

static Ids ids_copy(Arena *arena, Ids ids) {
  return (Ids){arena_copy(arena, ids.at, ids.n * sizeof *ids.at), ids.n};
}

uint32_t comp_add(Module *module, uint32_t comp, Opcode op, Str name, const Shape *shape,
                  const uint32_t *operands, uint32_t n) {
  Comp *into = module_comp(module, comp);
  Instr instr = {.name = unique_name(module, into->names, name.n == 0 ? str_of(op_text(op)) : name),
                 .op = op,
                 .shape = shape_copy(module->arena, shape),
                 .operands = ids_copy(module->arena, (Ids){(uint32_t *)operands, n})};
  map_put(into->names, instr.name, into->instrs.n);
  VEC_PUSH(module->arena, &into->instrs, instr);
  return into->instrs.n - 1;
}

uint32_t comp_add_like(Module *module, uint32_t comp, const Instr *from, const uint32_t *operands,
                       uint32_t n) {
  Arena *arena = module->arena;
  Comp *into = module_comp(module, comp);
  Instr instr = *from;
  instr.name = unique_name(module, into->names, from->name);
  instr.operands = ids_copy(arena, (Ids){(uint32_t *)operands, n});
  instr.attrs = ARENA_ARRAY(arena, Attr, attr_room(from->n_attrs));
  if (from->n_attrs != 0) memcpy(instr.attrs, from->attrs, from->n_attrs * sizeof(Attr));
  map_put(into->names, instr.name, into->instrs.n);
  VEC_PUSH(arena, &into->instrs, instr);
  uint32_t at = into->instrs.n - 1;
  if (from->op == OP_PARAMETER) comp_set_parameter(module, comp, from->parameter, at);
  return at;
}

void comp_set_parameter(Module *module, uint32_t comp, int64_t number, uint32_t instr) {
  enum { MOST_PARAMETERS = 1 << 20 };
  assert(number >= 0 && number < MOST_PARAMETERS);
  Comp *of = module_comp(module, comp);
  uint32_t needed = (uint32_t)number + 1;
  if (needed > of->params.n) {
    /* The room is the next power of two. */
    uint32_t room = 4;
    while (room < needed) room *= 2;
    if (of->params.n == 0 || room / 2 >= of->params.n) {
      uint32_t *at = ARENA_ARRAY(module->arena, uint32_t, room);
      if (of->params.n != 0) memcpy(at, of->params.at, of->params.n * sizeof *at);
      of->params.at = at;
    }
    while (of->params.n < needed) of->params.at[of->params.n++] = NO_ID;
  }
  of->params.at[number] = instr;
  comp_instr(module, comp, instr)->parameter = number;
}

uint32_t comp_add_parameter(Module *module, uint32_t comp, int64_t number, Str name, const Shape *shape) {
  uint32_t at = comp_add(module, comp, OP_PARAMETER, name, shape, NULL, 0);
  comp_set_parameter(module, comp, number, at);
  return at;
}

uint32_t comp_add_constant(Module *module, uint32_t comp, const Literal *literal) {
  uint32_t at = comp_add(module, comp, OP_CONSTANT, STR(""), literal->shape, NULL, 0);
  comp_instr(module, comp, at)->literal = literal_copy(module->arena, literal);
  return at;
}

Instr *comp_instr(const Module *module, uint32_t comp, uint32_t instr) {
  Comp *of = module_comp(module, comp);
  assert(instr < of->instrs.n);
  return &of->instrs.at[instr];
}

/* --- Attributes set. --- */

void instr_set_shared(Module *module, Instr *instr, Attr attr) {
  for (uint32_t i = 0; i < instr->n_attrs; i++) {
    if (instr->attrs[i].id != attr.id) continue;
    instr->attrs[i] = attr;
    return;
  }
  if (attr_room(instr->n_attrs) == instr->n_attrs) {
    Attr *grown = ARENA_ARRAY(module->arena, Attr, instr->n_attrs + ATTR_STEP);
    if (instr->n_attrs != 0) memcpy(grown, instr->attrs, instr->n_attrs * sizeof *grown);
    instr->attrs = grown;
  }
  instr->attrs[instr->n_attrs++] = attr;
}

void instr_set(Module *module, Instr *instr, Attr attr) {
  instr_set_shared(module, instr, attr_copy(module->arena, attr));
}

void instr_unset(Instr *instr, AttrId id) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < instr->n_attrs; i++) {
    if (instr->attrs[i].id != id) instr->attrs[kept++] = instr->attrs[i];
  }
  /* Room is counted in whole steps: what is left of the array serves on. */
  instr->n_attrs = kept;
}

void instr_set_ints(Module *module, Instr *instr, AttrId id, const int64_t *values, uint32_t n) {
  instr_set(module, instr, (Attr){.id = id, .ints = {(int64_t *)values, n}});
}

void instr_set_int(Module *module, Instr *instr, AttrId id, int64_t value) {
  instr_set(module, instr, (Attr){.id = id, .integer = value});
}

void instr_set_flag(Module *module, Instr *instr, AttrId id, bool value) {
  instr_set(module, instr, (Attr){.id = id, .flag = value});
}

void instr_set_word(Module *module, Instr *instr, AttrId id, Str value) {
  instr_set(module, instr, (Attr){.id = id, .text = value});
}

void instr_set_comp(Module *module, Instr *instr, AttrId id, uint32_t comp) {
  instr_set(module, instr, (Attr){.id = id, .comp = comp});
}

static Str groups_text(Arena *arena, const GroupList *groups) {
  StrBuf text = {.arena = arena};
  for (uint32_t g = 0; g < groups->n; g++) {
    buf_add(&text, g == 0 ? STR("{{") : STR("},{"));
    for (uint32_t i = groups->start[g]; i < groups->start[g + 1]; i++)
      buf_printf(&text, i == groups->start[g] ? "%u" : ",%u", groups->ids[i]);
  }
  buf_add(&text, groups->n == 0 ? STR("{}") : STR("}}"));
  return buf_str(&text);
}

void instr_set_groups(Module *module, Instr *instr, const GroupList *groups) {
  Arena *arena = module->arena;
  ReplicaGroups *listed = ARENA_NEW(arena, ReplicaGroups);
  listed->groups = ARENA_ARRAY(arena, Ids, groups->n);
  listed->n_groups = groups->n;
  for (uint32_t g = 0; g < groups->n; g++)
    listed->groups[g] =
        ids_copy(arena, (Ids){groups->ids + groups->start[g], groups->start[g + 1] - groups->start[g]});
  listed->text = groups_text(arena, groups);
  instr_set_shared(module, instr, (Attr){.id = ATTR_replica_groups, .groups = listed});
}

/* --- Attributes read. --- */

const Attr *instr_attr(const Instr *instr, AttrId id) {
  for (uint32_t i = 0; i < instr->n_attrs; i++) {
    if (instr->attrs[i].id == id) return &instr->attrs[i];
  }
  return NULL;
}

Ints instr_ints(const Instr *instr, AttrId id) {
  const Attr *attr = instr_attr(instr, id);
  return attr == NULL ? (Ints){0} : attr->ints;
}

int64_t instr_int(const Instr *instr, AttrId id, int64_t fallback) {
  const Attr *attr = instr_attr(instr, id);
  return attr == NULL ? fallback : attr->integer;
}

bool instr_flag(const Instr *instr, AttrId id) {
  const Attr *attr = instr_attr(instr, id);
  return attr != NULL && attr->flag;
}

/* What follows `key = ` in a configuration; empty where the key is not there. */
static Str config_value(const Instr *instr, const char *key) {
  Str raw = instr_word(instr, ATTR_backend_config);
  size_t n = strlen(key);
  for (size_t i = 1; i + n < raw.n; i++) {
    bool starts = raw.at[i - 1] == '{' || raw.at[i - 1] == ' ' || raw.at[i - 1] == ',';
    Str rest = str_sub(raw, i + n, raw.n);
    if (starts && memcmp(raw.at + i, key, n) == 0 && str_starts(rest, " = ")) return str_sub(rest, 3, rest.n);
  }
  return (Str){0};
}

bool instr_config_int(const Instr *instr, const char *key, int64_t *value) {
  Str text = config_value(instr, key);
  size_t end = 0;
  while (end < text.n && (text.at[end] == '-' || (text.at[end] >= '0' && text.at[end] <= '9'))) end++;
  return end != 0 && str_to_int(str_sub(text, 0, end), value);
}

bool instr_config_flag(const Instr *instr, const char *key) {
  return str_starts(config_value(instr, key), "true");
}

double instr_number(const Instr *instr, AttrId id, double fallback) {
  char digits[64];
  Str text = str_sub(instr_word(instr, id), 0, sizeof digits - 1);
  if (text.n == 0) return fallback;
  memcpy(digits, text.at, text.n);
  digits[text.n] = 0;
  return strtod(digits, NULL);
}

Str instr_word(const Instr *instr, AttrId id) {
  const Attr *attr = instr_attr(instr, id);
  return attr == NULL ? STR("") : attr->text;
}

uint32_t instr_comp(const Instr *instr, AttrId id) {
  const Attr *attr = instr_attr(instr, id);
  return attr == NULL ? NO_ID : attr->comp;
}

Ids instr_comps(const Instr *instr, AttrId id) {
  const Attr *attr = instr_attr(instr, id);
  return attr == NULL ? (Ids){0} : attr->comps;
}

Slices instr_slices(const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_slice);
  return attr == NULL ? (Slices){0} : attr->slices;
}

Padding instr_padding(const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_padding);
  return attr == NULL ? (Padding){0} : attr->padding;
}

Window instr_window(const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_window);
  return attr == NULL ? (Window){0} : attr->window;
}

Pairs instr_pairs(const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_source_target_pairs);
  return attr == NULL ? (Pairs){0} : attr->pairs;
}

const HloSharding *instr_sharding(const Instr *instr) {
  const Attr *attr = instr_attr(instr, ATTR_sharding);
  return attr == NULL ? NULL : attr->sharding;
}

static const KeyValue *find_key(KeyValues keys, const char *key) {
  for (uint32_t i = 0; i < keys.n; i++) {
    if (str_is(keys.at[i].key, key)) return &keys.at[i];
  }
  return NULL;
}

bool instr_frontend(const Instr *instr, const char *key, Str *value) {
  const Attr *attr = instr_attr(instr, ATTR_frontend_attributes);
  const KeyValue *found = attr == NULL ? NULL : find_key(attr->keys, key);
  if (found != NULL) *value = found->value;
  return found != NULL;
}

Str keys_get(KeyValues keys, const char *key) {
  const KeyValue *found = find_key(keys, key);
  return found == NULL ? STR("") : found->value;
}

Str instr_custom_call_target(const Instr *instr) {
  return instr_word(instr, ATTR_custom_call_target);
}

Ids instr_called(Arena *arena, const Instr *instr) {
  Vec(uint32_t) called = {0};
  for (uint32_t i = 0; i < instr->n_attrs; i++) {
    const Attr *attr = &instr->attrs[i];
    if (attrs[attr->id].kind == ATTR_KIND_COMP) VEC_PUSH(arena, &called, attr->comp);
    if (attrs[attr->id].kind != ATTR_KIND_COMPS) continue;
    for (uint32_t c = 0; c < attr->comps.n; c++) VEC_PUSH(arena, &called, attr->comps.at[c]);
  }
  return (Ids){called.at, called.n};
}

uint32_t *comp_use_counts(Arena *arena, const Comp *comp) {
  uint32_t *uses = ARENA_ARRAY(arena, uint32_t, comp->instrs.n);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) uses[operands.at[k]]++;
  }
  if (comp->root != NO_ID) uses[comp->root]++;
  return uses;
}

Opcode comp_binary_op(const Module *module, uint32_t comp) {
  const Comp *of = module_comp(module, comp);
  if (of->root == NO_ID || of->params.n != 2) return OP_COUNT;
  const Instr *root = &of->instrs.at[of->root];
  if (root->operands.n != 2 || op_arity(root->op) != 2 || !shape_is_scalar(root->shape)) return OP_COUNT;
  uint32_t a = root->operands.at[0], b = root->operands.at[1];
  bool in_order = a == of->params.at[0] && b == of->params.at[1];
  bool swapped = a == of->params.at[1] && b == of->params.at[0] && op_is_commutative(root->op);
  return (in_order || swapped) && op_is_elementwise(root->op) ? root->op : OP_COUNT;
}

int64_t module_highest_channel(const Module *module) {
  int64_t highest = 0;
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      int64_t channel = instr_int(&module->comps.at[c].instrs.at[i], ATTR_channel_id, 0);
      if (channel > highest && channel < INT32_MAX) highest = channel;
    }
  return highest;
}
