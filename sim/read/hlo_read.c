/* HLO text to a module: recursive descent over computations and instructions, in one pass. Names of
 * computations that come later are filled in at the end. Grammar: xla/hlo/parser/hlo_parser.cc; what it
 * accepts is accepted here, and module_print() gives it back. */
#include "sim/ir/callgraph.h"
#include "sim/ir/verify.h"
#include "sim/read/hlo_parse.h"

#include <stdio.h>

enum { MOST_PARAMETERS = 1 << 20 };

static const char *const op_names[] = {
#define OP(name, text, arity, evaluator, rule, cost) text,
#include "sim/ir/opcode.def"
#undef OP
};

static Comp *comp_at_hand(const Reader *reader) {
  return module_comp(reader->module, reader->comp);
}

Status unknown_word(Lexer *lex, Str word, const char *what, const char *const *names, size_t n) {
  return LEX_FAIL(lex, lex->at, did_you_mean(lex->arena, word, names, n, NULL), "unknown %s '%.*s'", what,
                  STR_ARG(str_sub(word, 0, 80)));
}

/* Names of instructions. */

static Status unknown_instr(Reader *reader, Str name, const char *where) {
  const Comp *comp = comp_at_hand(reader);
  const char **names = ARENA_ARRAY(reader->scratch, const char *, comp->instrs.n);
  for (uint32_t i = 0; i < comp->instrs.n; i++)
    names[i] = str_terminated(reader->scratch, comp->instrs.at[i].name);
  const char *hint = did_you_mean(reader->scratch, name, names, comp->instrs.n,
                                  "an instruction comes before those that use it");
  return LEX_FAIL(&reader->lex, where, hint, "no instruction '%.*s' stands above in '%.*s'",
                  STR_ARG(str_sub(name, 0, 80)), STR_ARG(comp->name));
}

Status find_instr(Reader *reader, Str name, const char *where, uint32_t *instr) {
  *instr = comp_find(comp_at_hand(reader), name);
  return *instr != NO_ID ? STATUS_OK : unknown_instr(reader, name, where);
}

/* A name, as XLA gives it, for an instruction that the text does not name. */
static Str fresh_name(Reader *reader, Opcode op) {
  return comp_free_name(reader->module, reader->comp, str_printf(reader->arena, "%s.anon", op_text(op)));
}

/* Appends; what the instruction points to is in the module's arena already. */
static uint32_t append(Reader *reader, const Instr *instr) {
  Comp *comp = comp_at_hand(reader);
  map_put(comp->names, instr->name, comp->instrs.n);
  VEC_PUSH(reader->arena, &comp->instrs, *instr);
  return comp->instrs.n - 1;
}

/* Opcodes. */

/* `X-start`, `X-update` and `X-done` of an opcode X without such a form of its own. */
static bool parse_async_sugar(Str word, Instr *instr) {
  static const struct {
    const char *suffix;
    Opcode op;
  } forms[] = {{"-start", OP_ASYNC_START}, {"-update", OP_ASYNC_UPDATE}, {"-done", OP_ASYNC_DONE}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    size_t n = strlen(forms[i].suffix);
    Opcode of;
    if (word.n <= n || !str_is(str_sub(word, word.n - n, word.n), forms[i].suffix)) continue;
    if (!op_parse(str_sub(word, 0, word.n - n), &of)) return false;
    instr->op = forms[i].op;
    instr->async_of = str_of(op_text(of));
    return true;
  }
  return false;
}

static Status read_opcode(Reader *reader, Instr *instr) {
  Lexer *lex = &reader->lex;
  Str word = lex_peek_word(lex);
  if (word.n == 0) return lex_expected(lex, "an opcode");
  if (!op_parse(word, &instr->op) && !parse_async_sugar(word, instr))
    return unknown_word(lex, word, "opcode", op_names, OP_COUNT);
  lex->at += word.n;
  return STATUS_OK;
}

/* Operands. */

static Status read_call(Reader *reader, const Shape *shape, Str name, const char *start, bool nested,
                        uint32_t *made);

/* Appends get-tuple-element(of), index=… */
static Status append_element(Reader *reader, const char *start, uint32_t *of, int64_t index) {
  const Shape *tuple = comp_at_hand(reader)->instrs.at[*of].shape;
  RETURN_IF(!shape_is_tuple(tuple) || index >= tuple->rank,
            LEX_FAIL(&reader->lex, start, NULL, "there is no element %lld", (long long)index));
  Instr element = {.name = fresh_name(reader, OP_GET_TUPLE_ELEMENT),
                   .op = OP_GET_TUPLE_ELEMENT,
                   .shape = tuple->parts[index],
                   .operands = {arena_copy(reader->arena, of, sizeof *of), 1},
                   .place = lex_place(&reader->lex, start)};
  instr_set_int(reader->module, &element, ATTR_index, index);
  *of = append(reader, &element);
  return STATUS_OK;
}

/* In a text of one instruction an operand that is not there is a parameter; its name may be left out. */
static Status read_free_operand(Reader *reader, const Shape *shape, uint32_t *operand) {
  Lexer *lex = &reader->lex;
  const Comp *comp = comp_at_hand(reader);
  Instr param = {.op = OP_PARAMETER, .shape = shape, .parameter = comp->instrs.n};
  param.place = lex_place(lex, lex->at);
  lex_accept(lex, '%');
  param.name = lex_word(lex);
  if (param.name.n == 0) param.name = str_printf(reader->arena, "_%u", comp->instrs.n);
  *operand = comp_find(comp, param.name);
  if (*operand == NO_ID) *operand = append(reader, &param);
  return STATUS_OK;
}

/* %name, %name#0#1 */
static Status read_operand_name(Reader *reader, uint32_t *operand) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at;
  Str name;
  TRY(lex_name(lex, "an operand", &name));
  TRY(find_instr(reader, name, start, operand));
  while (lex_accept(lex, '#')) {
    int64_t index;
    TRY(lex_int_from(lex, 0, &index));
    TRY(append_element(reader, start, operand, index));
  }
  return STATUS_OK;
}

static bool at_nested_call(Reader *reader) {
  Lexer ahead = reader->lex;
  return lex_word(&ahead).n != 0 && lex_peek(&ahead) == '(';
}

static Status read_nested_call(Reader *reader, const Shape *shape, uint32_t *operand) {
  TRY(lex_enter(&reader->lex));
  TRY(read_call(reader, shape, (Str){0}, reader->lex.at, true, operand));
  lex_leave(&reader->lex);
  return STATUS_OK;
}

/* [shape] %name, or [shape] opcode(operands). */
static Status read_operand(Reader *reader, uint32_t *operand) {
  Lexer *lex = &reader->lex;
  const Shape *shape = NULL;
  lex_peek(lex);
  const char *start = lex->at;
  if (at_shape(reader)) TRY(read_shape(reader, reader->arena, &shape));
  lex_peek(lex);
  if (at_nested_call(reader)) return read_nested_call(reader, shape, operand);
  if (shape == NULL) return read_operand_name(reader, operand);
  TRY(reader->comp == reader->lone ? read_free_operand(reader, shape, operand)
                                   : read_operand_name(reader, operand));
  const Instr *named = &comp_at_hand(reader)->instrs.at[*operand];
  RETURN_IF(!shape_fits(shape, named->shape, false),
            LEX_FAIL(lex, start, NULL, "operand '%.*s' is %.*s, not %.*s", STR_ARG(named->name),
                     STR_ARG(shape_text(reader->scratch, named->shape)),
                     STR_ARG(shape_text(reader->scratch, shape))));
  return STATUS_OK;
}

static Status check_arity(Reader *reader, const Instr *instr, const char *start) {
  int arity = op_arity(instr->op);
  RETURN_IF(arity >= 0 && instr->operands.n != (uint32_t)arity,
            LEX_FAIL(&reader->lex, start, NULL, "%s takes %d operand%s, here are %u", op_text(instr->op),
                     arity, arity == 1 ? "" : "s", instr->operands.n));
  return STATUS_OK;
}

static Status read_operands(Reader *reader, Instr *instr) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  uint32_t base = reader->operands.n;
  for (bool more = !lex_accept(lex, ')'); more;) {
    uint32_t operand;
    TRY(read_operand(reader, &operand));
    VEC_PUSH(reader->scratch, &reader->operands, operand);
    TRY(lex_more(lex, ')', &more));
  }
  uint32_t n = instr->operands.n = reader->operands.n - base;
  if (n != 0)
    instr->operands.at = arena_copy(reader->arena, &reader->operands.at[base], n * sizeof(uint32_t));
  reader->operands.n = base;
  return check_arity(reader, instr, start);
}

/* Between the brackets, and the closing one. */
static Status read_arguments(Reader *reader, Instr *instr) {
  Lexer *lex = &reader->lex;
  if (instr->op == OP_PARAMETER) {
    TRY(lex_int_from(lex, 0, &instr->parameter));
    return lex_expect(lex, ')');
  }
  if (instr->op != OP_CONSTANT) return read_operands(reader, instr);
  if (instr->shape == NULL) return lex_expected(lex, "a shape before constant");
  TRY(read_literal(reader, instr->shape, &instr->literal));
  return lex_expect(lex, ')');
}

/* Instructions. */

/* Whether a computation that the instruction calls is still to come. */
static bool calls_ahead(const Reader *reader, const Instr *instr) {
  Ids called = instr_called(reader->scratch, instr);
  for (uint32_t i = 0; i < called.n; i++) {
    if (called.at[i] == NO_ID) return true;
  }
  return false;
}

/* Where no shape is written, that which the operands and callees give. */
static Status find_shape(Reader *reader, const char *start, Instr *instr) {
  Lexer *lex = &reader->lex;
  if (instr->shape != NULL) return STATUS_OK;
  if (!calls_ahead(reader, instr))
    TRY(infer_shape(reader->module, reader->comp, instr, reader->arena, &instr->shape, lex->diag));
  RETURN_IF(instr->shape == NULL, LEX_FAIL(lex, start, "write the shape before the opcode",
                                           "the shape of this %s is missing", op_text(instr->op)));
  return STATUS_OK;
}

/* opcode(operands), attributes. */
static Status read_call(Reader *reader, const Shape *shape, Str name, const char *start, bool nested,
                        uint32_t *made) {
  Instr instr = {.name = name, .shape = shape, .place = lex_place(&reader->lex, start)};
  TRY(read_opcode(reader, &instr));
  TRY(lex_expect(&reader->lex, '('));
  TRY(read_arguments(reader, &instr));
  if (nested)
    instr.name = fresh_name(reader, instr.op);
  else
    TRY(read_attrs(reader, &instr));
  TRY(find_shape(reader, start, &instr));
  RETURN_IF(comp_find(comp_at_hand(reader), instr.name) != NO_ID,
            LEX_FAIL(&reader->lex, start, NULL, "'%.*s' is defined twice", STR_ARG(instr.name)));
  *made = append(reader, &instr);
  return STATUS_OK;
}

static Status set_root(Reader *reader, const char *start, uint32_t instr) {
  Comp *comp = comp_at_hand(reader);
  RETURN_IF(comp->root != NO_ID,
            LEX_FAIL(&reader->lex, start, NULL, "'%.*s' has two roots", STR_ARG(comp->name)));
  comp->root = instr;
  return STATUS_OK;
}

/* [ROOT] %name = [shape] opcode(…), … */
static Status read_instr(Reader *reader) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  bool root = lex_accept_word(lex, "ROOT");
  lex_peek(lex);
  const char *name_at = lex->at;
  Str name;
  TRY(lex_name(lex, "an instruction or '}'", &name));
  TRY(lex_expect(lex, '='));
  const Shape *shape = NULL;
  if (at_shape(reader)) TRY(read_shape(reader, reader->arena, &shape));
  uint32_t made;
  TRY(read_call(reader, shape, name, name_at, false, &made));
  return root ? set_root(reader, start, made) : STATUS_OK;
}

/* Computations. */

/* The parameters' places in the body, which must be 0 … n-1. */
static Status collect_params(Reader *reader) {
  Comp *comp = comp_at_hand(reader);
  uint32_t n = 0;
  for (uint32_t i = 0; i < comp->instrs.n; i++) n += comp->instrs.at[i].op == OP_PARAMETER;
  RETURN_IF(n > MOST_PARAMETERS,
            diag_fail(reader->lex.diag, STATUS_INVALID, comp->place, NULL,
                      "'%.*s' has more than %d parameters", STR_ARG(comp->name), MOST_PARAMETERS));
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    if (instr->op != OP_PARAMETER) continue;
    bool taken = instr->parameter < comp->params.n && comp->params.at[instr->parameter] != NO_ID;
    RETURN_IF(instr->parameter >= n || taken,
              diag_fail(reader->lex.diag, STATUS_INVALID, instr->place, NULL,
                        taken ? "parameter %lld is there twice" : "parameter %lld is not one of 0 to %lld",
                        (long long)instr->parameter, (long long)n - 1));
    comp_set_parameter(reader->module, reader->comp, instr->parameter, i);
  }
  return STATUS_OK;
}

/* What `(p: shape, …) -> shape` before a body says. */
typedef struct {
  Vec(const Shape *) params;
  const Shape *result; /* NULL where nothing is said */
  const char *at;
} Signature;

static Status read_signature(Reader *reader, Signature *signature) {
  Lexer *lex = &reader->lex;
  *signature = (Signature){0};
  if (!lex_accept(lex, '(')) return STATUS_OK;
  signature->at = lex->at - 1;
  for (bool more = !lex_accept(lex, ')'); more;) {
    Str name;
    const Shape *shape;
    TRY(lex_name(lex, "a parameter", &name));
    TRY(lex_expect(lex, ':'));
    TRY(read_shape(reader, reader->scratch, &shape));
    VEC_PUSH(reader->scratch, &signature->params, shape);
    TRY(lex_more(lex, ')', &more));
  }
  if (!lex_accept_text(lex, "->")) return lex_expected(lex, "'->'");
  return read_shape(reader, reader->scratch, &signature->result);
}

/* A signature, or the module's layout of its entry, must be that of the body. */
static Status check_types(Reader *reader, Place place, const Shape *const *params, uint32_t n,
                          const Shape *result) {
  const Comp *comp = comp_at_hand(reader);
  Diag *diag = reader->lex.diag;
  RETURN_IF(n != comp->params.n,
            diag_fail(diag, STATUS_INVALID, place, NULL, "'%.*s' has %u parameters, not %u",
                      STR_ARG(comp->name), comp->params.n, n));
  for (uint32_t i = 0; i < n; i++) {
    const Shape *shape = comp->instrs.at[comp->params.at[i]].shape;
    RETURN_IF(!shape_eq(shape, params[i]),
              diag_fail(diag, STATUS_INVALID, place, NULL, "parameter %u of '%.*s' is %.*s, not %.*s", i,
                        STR_ARG(comp->name), STR_ARG(shape_text(reader->scratch, shape)),
                        STR_ARG(shape_text(reader->scratch, params[i]))));
  }
  const Shape *root = comp->instrs.at[comp->root].shape;
  RETURN_IF(!shape_eq(root, result),
            diag_fail(diag, STATUS_INVALID, place, NULL, "the root of '%.*s' is %.*s, not %.*s",
                      STR_ARG(comp->name), STR_ARG(shape_text(reader->scratch, root)),
                      STR_ARG(shape_text(reader->scratch, result))));
  return STATUS_OK;
}

/* { instructions } */
static Status read_body(Reader *reader) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at;
  TRY(lex_expect(lex, '{'));
  while (!lex_accept(lex, '}')) TRY(read_instr(reader));
  Comp *comp = comp_at_hand(reader);
  RETURN_IF(comp->instrs.n == 0,
            LEX_FAIL(lex, start, NULL, "'%.*s' has no instructions", STR_ARG(comp->name)));
  if (comp->root == NO_ID) comp->root = comp->instrs.n - 1;
  return collect_params(reader);
}

/* It gets its name at the end, as XLA gives it: after those inside of it. */
Status read_inline_comp(Reader *reader, uint32_t *comp) {
  Lexer *lex = &reader->lex;
  uint32_t outer = reader->comp;
  TRY(lex_enter(lex));
  *comp = reader->comp = module_add_comp(reader->module, STR("inline computation"));
  comp_at_hand(reader)->place = lex_place(lex, lex->at);
  TRY(read_body(reader));
  module_rename_comp(reader->module, *comp, STR("_"));
  reader->comp = outer;
  lex_leave(lex);
  return STATUS_OK;
}

static Status read_execution_thread(Reader *reader) {
  Lexer *lex = &reader->lex;
  if (!lex_accept(lex, ',')) return STATUS_OK;
  if (!lex_accept_word(lex, "execution_thread")) return lex_expected(lex, "execution_thread");
  TRY(lex_expect(lex, '='));
  return lex_string(lex, &comp_at_hand(reader)->execution_thread);
}

static Status start_comp(Reader *reader, bool entry) {
  Lexer *lex = &reader->lex;
  Module *module = reader->module;
  lex_peek(lex);
  const char *start = lex->at;
  Str name;
  TRY(lex_name(lex, "a computation", &name));
  RETURN_IF(module_find_comp(module, name) != NO_ID,
            LEX_FAIL(lex, start, NULL, "computation '%.*s' is defined twice", STR_ARG(name)));
  RETURN_IF(entry && module->entry != NO_ID, LEX_FAIL(lex, start, NULL, "there are two ENTRY computations"));
  reader->comp = module_add_comp(module, name);
  comp_at_hand(reader)->place = lex_place(lex, start);
  if (entry) module->entry = reader->comp;
  return STATUS_OK;
}

/* [ENTRY] %name [(p: shape, …) -> shape] { … } */
static Status read_comp(Reader *reader) {
  Lexer *lex = &reader->lex;
  Signature signature;
  TRY(start_comp(reader, lex_accept_word(lex, "ENTRY")));
  TRY(read_signature(reader, &signature));
  TRY(read_body(reader));
  if (signature.result != NULL)
    TRY(check_types(reader, lex_place(lex, signature.at), signature.params.at, signature.params.n,
                    signature.result));
  return read_execution_thread(reader);
}

/* The whole. */

static Status resolve_refs(Reader *reader) {
  for (uint32_t i = 0; i < reader->refs.n; i++) {
    const CompRef *ref = &reader->refs.at[i];
    uint32_t comp = module_find_comp(reader->module, ref->name);
    RETURN_IF(comp == NO_ID, diag_fail(reader->lex.diag, STATUS_INVALID, ref->place, NULL,
                                       "there is no computation '%.*s'", STR_ARG(str_sub(ref->name, 0, 80))));
    Instr *instr = comp_instr(reader->module, ref->comp, ref->instr);
    if (attr_kind(ref->attr) == ATTR_KIND_COMP)
      instr_set_comp(reader->module, instr, ref->attr, comp);
    else
      instr_comps(instr, ref->attr).at[ref->element] = comp;
  }
  return STATUS_OK;
}

static Status check_calls(Reader *reader) {
  Ids order;
  if (callees_first(reader->scratch, reader->module, &order)) return STATUS_OK;
  const Comp *comp = module_comp(reader->module, order.at[order.n - 1]);
  return diag_fail(reader->lex.diag, STATUS_INVALID, comp->place, NULL, "computation '%.*s' calls itself",
                   STR_ARG(comp->name));
}

static Status check_entry(Reader *reader) {
  const EntryLayout *layout = &reader->entry_layout;
  Module *module = reader->module;
  if (module->entry == NO_ID) module->entry = module->comps.n - 1;
  reader->comp = module->entry;
  if (module->name.n == 0)
    module->name = str_printf(reader->arena, "module_%.*s", STR_ARG(comp_at_hand(reader)->name));
  if (layout->result == NULL) return STATUS_OK;
  return check_types(reader, layout->place, layout->params->parts, layout->params->rank, layout->result);
}

static bool at_lone_instr(Reader *reader) {
  if (at_shape(reader)) return true;
  Lexer ahead = reader->lex;
  lex_accept(&ahead, '%');
  return lex_word(&ahead).n != 0 && lex_peek(&ahead) == '=';
}

/* [%name =] shape opcode(operands), attributes: a module of its own, named as XLA names it. */
static Status read_lone_instr(Reader *reader) {
  Lexer *lex = &reader->lex;
  Module *module = reader->module;
  const char *start = lex->at;
  Str name = STR("_");
  const Shape *shape = NULL;
  module->name = name;
  VEC_PUSH(reader->arena, &module->header, (HeaderKey){STR("is_scheduled"), STR("true")});
  module->entry = reader->lone = reader->comp = module_add_comp(module, name);
  comp_at_hand(reader)->place = lex_place(lex, start);
  if (!at_shape(reader)) {
    TRY(lex_name(lex, "a name", &name));
    TRY(lex_expect(lex, '='));
  }
  if (at_shape(reader)) TRY(read_shape(reader, reader->arena, &shape));
  uint32_t root;
  TRY(read_call(reader, shape, name, start, false, &root));
  comp_at_hand(reader)->root = root;
  return collect_params(reader);
}

static Status read_comps(Reader *reader) {
  do {
    TRY(read_comp(reader));
  } while (!lex_at_end(&reader->lex));
  return STATUS_OK;
}

static Status read_module(Reader *reader) {
  Lexer *lex = &reader->lex;
  TRY(read_header(reader));
  TRY(read_tables(reader));
  TRY(reader->module->name.n == 0 && at_lone_instr(reader) ? read_lone_instr(reader) : read_comps(reader));
  RETURN_IF(!lex_at_end(lex) || lex->open_comment != NULL, lex_expected(lex, "the end of the text"));
  TRY(resolve_refs(reader));
  TRY(check_calls(reader));
  return check_entry(reader);
}

Status hlo_read(const Source *source, const ReadLimits *limits, Module **made, Diag *diag) {
  Module *module = module_new(STR(""));
  module->source = source;
  Reader reader = {.lex = lexer_of(source, limits, module->arena, diag),
                   .arena = module->arena,
                   .scratch = arena_new(),
                   .module = module,
                   .lone = NO_ID};
  Status status = read_module(&reader);
  arena_free(reader.scratch);
  if (status != STATUS_OK) module_free(module);
  *made = status == STATUS_OK ? module : NULL;
  return status;
}
