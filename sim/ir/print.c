/* Module to HLO text. The order of things is the module's own, but for computations: XLA's parser wants
 * callees before callers. Texts that the module only carries are printed as they are. */
#include "sim/ir/print.h"

#include "sim/ir/callgraph.h"

void buf_quoted(StrBuf *buf, Str value) {
  static const char letters[] = "nrt\\'\"", bytes[] = "\n\r\t\\'\"";
  buf_char(buf, '"');
  for (size_t i = 0, start = 0; i <= value.n; i++) {
    unsigned char c = i < value.n ? (unsigned char)value.at[i] : 0;
    if (i < value.n && c >= ' ' && c < 0x7f && c != '\\' && c != '"' && c != '\'') continue;
    buf_add(buf, str_sub(value, start, i));
    start = i + 1;
    if (i == value.n) break;
    const char *known = c == 0 ? NULL : strchr(bytes, c);
    if (known != NULL)
      buf_printf(buf, "\\%c", letters[known - bytes]);
    else
      buf_printf(buf, "\\%03o", c);
  }
  buf_char(buf, '"');
}

/* Values of attributes. */

static void print_int(StrBuf *buf, int64_t value) {
  buf_printf(buf, "%lld", (long long)value);
}

static void print_ints(StrBuf *buf, Ints ints) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < ints.n; i++) {
    if (i != 0) buf_char(buf, ',');
    print_int(buf, ints.at[i]);
  }
  buf_char(buf, '}');
}

static void print_comp(StrBuf *buf, const Module *module, uint32_t comp) {
  buf_char(buf, '%');
  buf_add(buf, module_comp(module, comp)->name);
}

static void print_comps(StrBuf *buf, const Module *module, Ids comps) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < comps.n; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    print_comp(buf, module, comps.at[i]);
  }
  buf_char(buf, '}');
}

static void print_slices(StrBuf *buf, Slices slices) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < slices.n; i++) {
    SliceDim dim = slices.at[i];
    buf_printf(buf, "%s[%lld:%lld", i == 0 ? "" : ", ", (long long)dim.start, (long long)dim.limit);
    if (dim.stride != 1) buf_printf(buf, ":%lld", (long long)dim.stride);
    buf_char(buf, ']');
  }
  buf_char(buf, '}');
}

static void print_padding(StrBuf *buf, Padding padding) {
  for (uint32_t i = 0; i < padding.n; i++) {
    PaddingDim dim = padding.at[i];
    buf_printf(buf, "%s%lld_%lld", i == 0 ? "" : "x", (long long)dim.low, (long long)dim.high);
    if (dim.interior != 0) buf_printf(buf, "_%lld", (long long)dim.interior);
  }
}

/* Windows: a key is printed where a dimension has another value than that which is meant without it. */

static void print_size(StrBuf *buf, const WindowDim *dim) {
  print_int(buf, dim->size);
}

static void print_stride(StrBuf *buf, const WindowDim *dim) {
  print_int(buf, dim->stride);
}

static void print_pad(StrBuf *buf, const WindowDim *dim) {
  buf_printf(buf, "%lld_%lld", (long long)dim->pad_low, (long long)dim->pad_high);
}

static void print_lhs_dilate(StrBuf *buf, const WindowDim *dim) {
  print_int(buf, dim->lhs_dilate);
}

static void print_rhs_dilate(StrBuf *buf, const WindowDim *dim) {
  print_int(buf, dim->rhs_dilate);
}

static void print_reversal(StrBuf *buf, const WindowDim *dim) {
  print_int(buf, dim->reversal);
}

static bool any_size(const WindowDim *dim) {
  return dim->size != 0;
}

static bool any_stride(const WindowDim *dim) {
  return dim->stride != 1;
}

static bool any_pad(const WindowDim *dim) {
  return dim->pad_low != 0 || dim->pad_high != 0;
}

static bool any_lhs_dilate(const WindowDim *dim) {
  return dim->lhs_dilate != 1;
}

static bool any_rhs_dilate(const WindowDim *dim) {
  return dim->rhs_dilate != 1;
}

static bool any_reversal(const WindowDim *dim) {
  return dim->reversal;
}

static const struct {
  const char *text;
  bool (*is_said)(const WindowDim *);
  void (*print)(StrBuf *, const WindowDim *);
} window_keys[] = {
    {"size", any_size, print_size},
    {"stride", any_stride, print_stride},
    {"pad", any_pad, print_pad},
    {"lhs_dilate", any_lhs_dilate, print_lhs_dilate},
    {"rhs_dilate", any_rhs_dilate, print_rhs_dilate},
    {"rhs_reversal", any_reversal, print_reversal},
};

static void print_window(StrBuf *buf, Window window) {
  const char *before = "{";
  for (size_t k = 0; k < sizeof window_keys / sizeof *window_keys; k++) {
    bool said = false;
    for (uint32_t i = 0; i < window.n; i++) said = said || window_keys[k].is_said(&window.at[i]);
    if (!said) continue;
    buf_printf(buf, "%s%s=", before, window_keys[k].text);
    before = " ";
    for (uint32_t i = 0; i < window.n; i++) {
      if (i != 0) buf_char(buf, 'x');
      window_keys[k].print(buf, &window.at[i]);
    }
  }
  buf_add(buf, window.n == 0 ? STR("{}") : STR("}"));
}

static void print_pairs(StrBuf *buf, Pairs pairs) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < pairs.n; i++)
    buf_printf(buf, "%s{%lld,%lld}", i == 0 ? "" : ",", (long long)pairs.at[i].source,
               (long long)pairs.at[i].target);
  buf_char(buf, '}');
}

static void print_shapes(StrBuf *buf, const Shape *const *shapes, uint32_t n) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < n; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    shape_print(buf, shapes[i], true);
  }
  buf_char(buf, '}');
}

static void print_keys(StrBuf *buf, KeyValues keys) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < keys.n; i++) {
    if (i != 0) buf_char(buf, ',');
    buf_add(buf, keys.at[i].key);
    buf_char(buf, '=');
    if (keys.at[i].quoted)
      buf_quoted(buf, keys.at[i].value);
    else
      buf_add(buf, keys.at[i].value);
  }
  buf_char(buf, '}');
}

static void print_attr(StrBuf *buf, const Module *module, const Attr *attr) {
  buf_add(buf, str_of(attr_text(attr->id)));
  buf_char(buf, '=');
  switch (attr_kind(attr->id)) {
  case ATTR_KIND_INTS: print_ints(buf, attr->ints); break;
  case ATTR_KIND_INT: print_int(buf, attr->integer); break;
  case ATTR_KIND_BOOL: buf_add(buf, attr->flag ? STR("true") : STR("false")); break;
  case ATTR_KIND_WORD:
  case ATTR_KIND_NUMBER:
  case ATTR_KIND_RAW: buf_add(buf, attr->text); break;
  case ATTR_KIND_STRING: buf_quoted(buf, attr->text); break;
  case ATTR_KIND_COMP: print_comp(buf, module, attr->comp); break;
  case ATTR_KIND_COMPS: print_comps(buf, module, attr->comps); break;
  case ATTR_KIND_SLICES: print_slices(buf, attr->slices); break;
  case ATTR_KIND_PADDING: print_padding(buf, attr->padding); break;
  case ATTR_KIND_WINDOW: print_window(buf, attr->window); break;
  case ATTR_KIND_LABELS: buf_add(buf, attr->labels->text); break;
  case ATTR_KIND_GROUPS: buf_add(buf, attr->groups->text); break;
  case ATTR_KIND_PAIRS: print_pairs(buf, attr->pairs); break;
  case ATTR_KIND_SHARDING: buf_add(buf, attr->sharding->text); break;
  case ATTR_KIND_SHAPES: print_shapes(buf, attr->shapes.at, attr->shapes.n); break;
  case ATTR_KIND_KEYS: print_keys(buf, attr->keys); break;
  }
}

/* Instructions. */

/* `add-start` where the module has async-start of add. */
static void print_opcode(StrBuf *buf, const Instr *instr) {
  buf_add(buf, instr->async_of);
  const char *text = op_text(instr->op);
  buf_add(buf, str_of(instr->async_of.n == 0 ? text : text + strlen("async")));
}

static void print_arguments(StrBuf *buf, const Comp *comp, const Instr *instr) {
  if (instr->op == OP_PARAMETER) print_int(buf, instr->parameter);
  if (instr->literal != NULL) literal_print(buf, instr->literal);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    buf_add(buf, i == 0 ? STR("%") : STR(", %"));
    buf_add(buf, comp->instrs.at[instr->operands.at[i]].name);
  }
}

void instr_print(StrBuf *buf, const Module *module, uint32_t comp_index, uint32_t index) {
  const Comp *comp = module_comp(module, comp_index);
  const Instr *instr = &comp->instrs.at[index];
  buf_add(buf, comp->root == index ? STR("ROOT %") : STR("%"));
  buf_add(buf, instr->name);
  buf_add(buf, STR(" = "));
  shape_print(buf, instr->shape, true);
  buf_char(buf, ' ');
  print_opcode(buf, instr);
  buf_char(buf, '(');
  print_arguments(buf, comp, instr);
  buf_char(buf, ')');
  for (uint32_t i = 0; i < instr->n_attrs; i++) {
    buf_add(buf, STR(", "));
    print_attr(buf, module, &instr->attrs[i]);
  }
}

/* Computations and the module. */

/* (p: f32[8], q: s32[]) -> f32[8] */
static void print_signature(StrBuf *buf, const Comp *comp) {
  buf_add(buf, STR(" ("));
  for (uint32_t i = 0; i < comp->params.n; i++) {
    const Instr *param = &comp->instrs.at[comp->params.at[i]];
    if (i != 0) buf_add(buf, STR(", "));
    buf_add(buf, param->name);
    buf_add(buf, STR(": "));
    shape_print(buf, param->shape, false);
  }
  buf_add(buf, STR(") -> "));
  shape_print(buf, comp->instrs.at[comp->root].shape, false);
}

static void print_comp_body(StrBuf *buf, const Module *module, uint32_t index) {
  const Comp *comp = module_comp(module, index);
  buf_add(buf, module->entry == index ? STR("\nENTRY ") : STR("\n"));
  print_comp(buf, module, index);
  print_signature(buf, comp);
  buf_add(buf, STR(" {\n"));
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    buf_add(buf, STR("  "));
    instr_print(buf, module, index, i);
    buf_char(buf, '\n');
  }
  buf_char(buf, '}');
  if (comp->execution_thread.n != 0) {
    buf_add(buf, STR(", execution_thread="));
    buf_quoted(buf, comp->execution_thread);
  }
  buf_char(buf, '\n');
}

/* A key that the module holds as a value too is printed from that. */
static void print_header_value(StrBuf *buf, const Module *module, const HeaderKey *key) {
  if (str_is(key->key, "num_partitions"))
    print_int(buf, module->num_partitions);
  else if (str_is(key->key, "replica_count"))
    print_int(buf, module->replica_count);
  else if (str_is(key->key, "frontend_attributes"))
    print_keys(buf, module->frontend);
  else
    buf_add(buf, key->text);
}

static bool has_key(const Module *module, const char *name) {
  for (uint32_t i = 0; i < module->header.n; i++) {
    if (str_is(module->header.at[i].key, name)) return true;
  }
  return false;
}

static void print_header(StrBuf *buf, const Module *module) {
  buf_add(buf, STR("HloModule "));
  buf_add(buf, module->name);
  for (uint32_t i = 0; i < module->header.n; i++) {
    const HeaderKey *key = &module->header.at[i];
    buf_add(buf, STR(", "));
    buf_add(buf, key->key);
    buf_char(buf, '=');
    print_header_value(buf, module, key);
  }
  if (module->replica_count != 1 && !has_key(module, "replica_count"))
    buf_printf(buf, ", replica_count=%lld", (long long)module->replica_count);
  if (module->num_partitions != 1 && !has_key(module, "num_partitions"))
    buf_printf(buf, ", num_partitions=%lld", (long long)module->num_partitions);
  if (module->frontend.n != 0 && !has_key(module, "frontend_attributes")) {
    buf_add(buf, STR(", frontend_attributes="));
    print_keys(buf, module->frontend);
  }
  buf_char(buf, '\n');
}

Str module_print(Arena *arena, const Module *module) {
  Arena *scratch = arena_new();
  StrBuf buf = {.arena = arena};
  Ids order;
  print_header(&buf, module);
  if (module->tables.n != 0) {
    buf_char(&buf, '\n');
    buf_add(&buf, module->tables);
  }
  callees_first(scratch, module, &order);
  for (uint32_t i = 0; i < order.n; i++) print_comp_body(&buf, module, order.at[i]);
  arena_free(scratch);
  return buf_str(&buf);
}
