/* select-and-scatter (the gradient of a pooling): each window picks one of its elements by `select`, and the
 * window's source value is combined into the picked place by `scatter`. All windows are asked at once, a
 * place of the window after the other: the candidate of a window is replaced where `select` prefers the new
 * element. */
#include "sim/eval/evaluators.h"
#include "sim/eval/window.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const EvalContext *context;
  uint32_t select;
  Window window;
  const Tensor *input, *source;
  Tensor *best;    /* of each window: the value picked */
  Tensor *best_at; /* and its place in the input, -1 while there is none (s64) */
} Picking;

/* Views of windows, and of the input elements that they have at a place; false where none have one. */
static bool views_at(const Picking *picking, const int64_t *place, View *windows, View *elements) {
  const Tensor *x = picking->input, *source = picking->source;
  int64_t x_steps[EVAL_MAX_RANK], source_steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, 1, x_steps);
  dense_steps(source->dims, source->rank, 1, source_steps);
  *windows = *elements = (View){.rank = x->rank};
  for (uint32_t d = 0; d < x->rank; d++) {
    WindowReach reach = window_reach(&picking->window.at[d], x->dims[d], source->dims[d], place[d]);
    if (reach.n == 0) return false;
    windows->dims[d] = elements->dims[d] = reach.n;
    windows->offset += reach.first_out * source_steps[d];
    windows->steps[d] = reach.out_step * source_steps[d];
    elements->offset += reach.first_in * x_steps[d];
    elements->steps[d] = reach.in_step * x_steps[d];
  }
  return true;
}

/* 0, 1, 2, … in the shape of the input. */
static Tensor *places_of(const Tensor *input) {
  Tensor *places = tensor_new_array(DTYPE_S64, input->dims, input->rank, true);
  for (int64_t i = 0; i < tensor_elements(places); i++) ((int64_t *)places->data)[i] = i;
  return places;
}

static Status pick_at(const Picking *picking, const Tensor *places, const View *windows,
                      const View *elements) {
  Tensor *best = view_take(picking->best, windows), *best_at = view_take(picking->best_at, windows);
  Tensor *new = view_take(picking->input, elements), *new_at = view_take(places, elements), *keep = NULL;
  Tensor *operands[] = {best, new};
  int64_t n = tensor_elements(best);
  uint32_t bytes = dtype_bytes(best->dtype);
  Status status = comp_map(picking->context, picking->select, operands, 2, n, &keep);
  for (int64_t i = 0; i < n && status == STATUS_OK; i++) {
    int64_t *at = (int64_t *)best_at->data + i;
    if (*at >= 0 && keep->data[i]) continue;
    *at = ((const int64_t *)new_at->data)[i];
    memcpy(best->data + i * bytes, new->data + i *bytes, bytes);
  }
  if (status == STATUS_OK) {
    view_put(picking->best, windows, best);
    view_put(picking->best_at, windows, best_at);
  }
  tensor_release(best);
  tensor_release(best_at);
  tensor_release(new);
  tensor_release(new_at);
  tensor_release(keep);
  return status;
}

static Status pick_all(const Picking *picking, const Tensor *places) {
  int64_t place[EVAL_MAX_RANK] = {0};
  for (;;) {
    View windows, elements;
    if (views_at(picking, place, &windows, &elements)) TRY(pick_at(picking, places, &windows, &elements));
    uint32_t d = picking->window.n;
    for (; d > 0; d--) {
      if (++place[d - 1] < picking->window.at[d - 1].size) break;
      place[d - 1] = 0;
    }
    if (d == 0) return STATUS_OK;
  }
}

/* In the order of the windows, as XLA does. */
static Status scatter_all(const Picking *picking, uint32_t scatter, Tensor *result) {
  const int64_t *at = (const int64_t *)picking->best_at->data;
  uint32_t bytes = dtype_bytes(result->dtype);
  for (int64_t i = 0; i < tensor_elements(picking->source); i++) {
    if (at[i] < 0) continue;
    TRY(eval_combine(picking->context, scatter, result->dtype, result->data + at[i] * bytes,
                     picking->source->data + i * bytes, 1));
  }
  return STATUS_OK;
}

Status eval_select_and_scatter(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                               Tensor **result) {
  const Tensor *input = operands[0], *source = operands[1];
  Picking picking = {.context = context,
                     .select = instr_comp(instr, ATTR_select),
                     .window = instr_window(instr),
                     .input = input,
                     .source = source};
  if (picking.window.n != input->rank) return eval_unsupported(context, instr, "a window of another rank");
  picking.best = tensor_new_array(source->dtype, source->dims, source->rank, true);
  picking.best_at = tensor_new_array(DTYPE_S64, source->dims, source->rank, true);
  memset(picking.best->data, 0, picking.best->bytes);
  memset(picking.best_at->data, -1, picking.best_at->bytes);
  Tensor *places = places_of(input), *out = tensor_new(instr->shape, true);
  box_fill(out->data, operands[2]->data, dtype_bytes(out->dtype), tensor_elements(out));
  Status status = pick_all(&picking, places);
  if (status == STATUS_OK) status = scatter_all(&picking, instr_comp(instr, ATTR_scatter), out);
  tensor_release(picking.best);
  tensor_release(picking.best_at);
  tensor_release(places);
  *result = status == STATUS_OK ? out : NULL;
  if (status != STATUS_OK) tensor_release(out);
  return status;
}
