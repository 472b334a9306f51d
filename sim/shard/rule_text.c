/* Factor rules as text, in Shardy's form (shardy/dialect/sdy/ir: OpShardingRuleAttr). Factors are named i, j,
 * … z, z_1, z_2, … in order; a dimension of several factors has their names in a row. */
#include "sim/shard/rules.h"
#include "sim/shard/scan.h"

#include <ctype.h>

enum { LAST_LETTER = 'z' - 'i', MOST_FACTORS = 1000 };

/* --- Printing. --- */

static void print_factor(StrBuf *buf, uint32_t factor) {
  if (factor <= LAST_LETTER)
    buf_char(buf, (char)('i' + factor));
  else
    buf_printf(buf, "z_%u", factor - LAST_LETTER);
}

static void print_tensors(StrBuf *buf, const TensorFactors *tensors, uint32_t n) {
  buf_char(buf, '(');
  for (uint32_t t = 0; t < n; t++) {
    buf_add(buf, t == 0 ? STR("[") : STR(", ["));
    for (uint32_t d = 0; d < tensors[t].rank; d++) {
      if (d != 0) buf_add(buf, STR(", "));
      for (uint32_t f = 0; f < tensors[t].dims[d].n; f++) print_factor(buf, tensors[t].dims[d].at[f]);
    }
    buf_char(buf, ']');
  }
  buf_char(buf, ')');
}

static void print_factors_of_kind(StrBuf *buf, const FactorRule *rule, const char *name, FactorKind kind,
                                  bool blocked) {
  const char *separator = name;
  for (uint32_t f = 0; f < rule->n_factors; f++) {
    if (blocked ? !rule->factors[f].blocked : rule->factors[f].kind != kind) continue;
    buf_add(buf, str_of(separator));
    print_factor(buf, f);
    separator = ", ";
  }
  if (separator != name) buf_char(buf, '}');
}

Str rule_text(Arena *arena, const FactorRule *rule) {
  StrBuf buf = {.arena = arena};
  print_tensors(&buf, rule->operands, rule->n_operands);
  buf_add(&buf, STR("->"));
  print_tensors(&buf, rule->results, rule->n_results);
  for (uint32_t f = 0; f < rule->n_factors; f++) {
    buf_add(&buf, f == 0 ? STR(" {") : STR(", "));
    print_factor(&buf, f);
    buf_printf(&buf, "=%ld", rule->factors[f].size);
  }
  if (rule->n_factors != 0) buf_char(&buf, '}');
  print_factors_of_kind(&buf, rule, " reduction={", FACTOR_REDUCTION, false);
  print_factors_of_kind(&buf, rule, " need_replication={", FACTOR_NEED_REPLICATION, false);
  print_factors_of_kind(&buf, rule, " permutation={", FACTOR_PERMUTATION, false);
  print_factors_of_kind(&buf, rule, " blocked_propagation={", FACTOR_PASS_THROUGH, true);
  return buf_str(&buf);
}

/* --- Parsing. --- */

/* Takes one factor off the front of `word`: a letter, or z_<number>. */
static bool take_factor(Str *word, uint32_t *factor) {
  if (word->n == 0 || word->at[0] < 'i' || word->at[0] > 'z') return false;
  *factor = (uint32_t)(word->at[0] - 'i');
  *word = str_sub(*word, 1, word->n);
  if (*factor != LAST_LETTER || word->n == 0 || word->at[0] != '_') return true;
  size_t digits = 1;
  int64_t number;
  while (digits < word->n && isdigit((unsigned char)word->at[digits])) digits++;
  if (!str_to_int(str_sub(*word, 1, digits), &number) || number < 1 || number > MOST_FACTORS) return false;
  *factor = LAST_LETTER + (uint32_t)number;
  *word = str_sub(*word, digits, word->n);
  return true;
}

static Status scan_factors(Scan *scan, Ids *factors) {
  Vec(uint32_t) list = {0};
  Str word;
  uint32_t factor;
  TRY(scan_word(scan, &word));
  while (word.n != 0) {
    RETURN_IF(!take_factor(&word, &factor), scan_fail(scan, "factors"));
    VEC_PUSH(scan->arena, &list, factor);
  }
  *factors = (Ids){list.at, list.n};
  return STATUS_OK;
}

/* `([i, jk], [])` */
static Status scan_tensors(Scan *scan, TensorFactors **tensors, uint32_t *n) {
  Vec(TensorFactors) list = {0};
  TRY(scan_expect(scan, "("));
  while (!scan_take(scan, ")")) {
    Vec(Ids) dims = {0};
    Ids factors;
    if (list.n != 0) TRY(scan_expect(scan, ","));
    TRY(scan_expect(scan, "["));
    while (!scan_take(scan, "]")) {
      if (dims.n != 0) TRY(scan_expect(scan, ","));
      TRY(scan_factors(scan, &factors));
      VEC_PUSH(scan->arena, &dims, factors);
    }
    VEC_PUSH(scan->arena, &list, ((TensorFactors){dims.at, dims.n}));
  }
  *tensors = list.at;
  *n = list.n;
  return STATUS_OK;
}

/* `{i=8, j=4}`, in the order of their names. */
static Status scan_sizes(Scan *scan, FactorRule *rule) {
  Vec(Factor) list = {0};
  Str word;
  uint32_t factor;
  int64_t size;
  if (!scan_take(scan, "{")) return STATUS_OK;
  while (!scan_take(scan, "}")) {
    if (list.n != 0) TRY(scan_expect(scan, ","));
    TRY(scan_word(scan, &word));
    RETURN_IF(!take_factor(&word, &factor) || word.n != 0 || factor != list.n,
              scan_fail(scan, "the next factor"));
    TRY(scan_expect(scan, "="));
    TRY(scan_int(scan, 1, &size));
    VEC_PUSH(scan->arena, &list, ((Factor){.size = size}));
  }
  rule->factors = list.at;
  rule->n_factors = list.n;
  return STATUS_OK;
}

/* `reduction={k, l}`, where it comes next. */
static Status scan_marks(Scan *scan, FactorRule *rule, const char *name, FactorKind kind, bool blocked) {
  Ids factors;
  if (!scan_take(scan, name)) return STATUS_OK;
  TRY(scan_expect(scan, "="));
  TRY(scan_expect(scan, "{"));
  while (!scan_take(scan, "}")) {
    TRY(scan_factors(scan, &factors));
    scan_take(scan, ",");
    for (uint32_t i = 0; i < factors.n; i++) {
      RETURN_IF(factors.at[i] >= rule->n_factors, scan_fail(scan, "a factor of the rule"));
      if (blocked)
        rule->factors[factors.at[i]].blocked = true;
      else
        rule->factors[factors.at[i]].kind = kind;
    }
  }
  return STATUS_OK;
}

static bool factors_exist(const FactorRule *rule, const TensorFactors *tensors, uint32_t n) {
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t d = 0; d < tensors[t].rank; d++)
      for (uint32_t f = 0; f < tensors[t].dims[d].n; f++)
        if (tensors[t].dims[d].at[f] >= rule->n_factors) return false;
  return true;
}

static Status scan_rule(Scan *scan, FactorRule *rule) {
  TensorFactors *operands, *results;
  TRY(scan_expect(scan, "#sdy.op_sharding_rule"));
  TRY(scan_expect(scan, "<"));
  TRY(scan_tensors(scan, &operands, &rule->n_operands));
  TRY(scan_expect(scan, "->"));
  TRY(scan_tensors(scan, &results, &rule->n_results));
  TRY(scan_sizes(scan, rule));
  TRY(scan_marks(scan, rule, "reduction", FACTOR_REDUCTION, false));
  TRY(scan_marks(scan, rule, "need_replication", FACTOR_NEED_REPLICATION, false));
  TRY(scan_marks(scan, rule, "permutation", FACTOR_PERMUTATION, false));
  TRY(scan_marks(scan, rule, "blocked_propagation", FACTOR_PASS_THROUGH, true));
  if (scan_take(scan, ",")) TRY(scan_expect(scan, "custom"));
  TRY(scan_expect(scan, ">"));
  RETURN_IF(!factors_exist(rule, operands, rule->n_operands) ||
                !factors_exist(rule, results, rule->n_results),
            scan_fail(scan, "sizes of all factors"));
  rule->operands = ARENA_ARRAY(scan->arena, TensorFactors, rule->n_operands + rule->n_results + 1);
  rule->results = rule->operands + rule->n_operands;
  for (uint32_t t = 0; t < rule->n_operands; t++) rule->operands[t] = operands[t];
  for (uint32_t t = 0; t < rule->n_results; t++) rule->results[t] = results[t];
  return scan_end(scan);
}

bool rule_parse(Arena *arena, Str text, const FactorRule **result) {
  Diag *diag = diag_new();
  Scan scan = {.text = text, .arena = arena, .diag = diag, .status = STATUS_INVALID, .what = "rule"};
  FactorRule *rule = ARENA_NEW(arena, FactorRule);
  Status status = scan_rule(&scan, rule);
  diag_free(diag);
  *result = rule;
  return status == STATUS_OK;
}
