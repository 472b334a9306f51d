/* --check: the unpartitioned program on the lockstep interpreter, compared output by output.
 *
 * Sums in another order differ in their last bits, and a deep program makes more of that. Where an output
 * differs by more than such sums do, the unpartitioned program runs once more on inputs that are off by their
 * own last bit: no program can be held closer than a few times what that does to its outputs (Higham,
 * Accuracy and Stability of Numerical Algorithms: backward error). */
#include "sim/check.h"

#include "sim/eval/compare_tensors.h"
#include "sim/region_boxes.h"

#include <math.h>
#include <stdio.h>

enum { TRIPS_MOST = 1000000, OUTPUTS_SHOWN = 4, ROUNDINGS = 2 };

/* Leaf `i` of a root: the root itself where it is no tuple. */
static Tensor *leaf_of(Tensor *root, uint32_t i) {
  return root->dtype == DTYPE_TUPLE ? root->parts[i] : root;
}

static void print_output(const Pipeline *pipeline, uint32_t i, const Tensor *expected,
                         const TensorDifference *difference) {
  Str text = tensor_difference_text(pipeline->arena, expected, difference);
  printf("out%u %s: %.*s", i, difference->outside == 0 ? "agrees" : "DIFFERS", STR_ARG(text));
}

/* How many outputs differ by more than their tolerance. */
static uint32_t compare_outputs(const Pipeline *pipeline, Tensor *root, const double *tolerances,
                                TensorDifference *differences) {
  uint32_t differ = 0;
  for (uint32_t i = 0; i < pipeline->n_outputs; i++) {
    differences[i] = tensor_compare(leaf_of(root, i), pipeline->outputs[i], tolerances[i]);
    differ += differences[i].outside != 0;
  }
  return differ;
}

/* An input of 32 bits or more, each element one step towards or away from 0, by turns of no period that a
 * program could have; others as they are. */
static Tensor *nudged(Tensor *input) {
  if (input->dtype != DTYPE_F32 && input->dtype != DTYPE_F64) return tensor_retain(input);
  Tensor *result = tensor_unique(tensor_retain(input));
  uint32_t turn = 1;
  for (int64_t i = 0; i < tensor_elements(result); i++) {
    turn = turn * 1664525u + 1013904223u;
    double was = tensor_double_at(result, i), to = turn >> 31 != 0 ? 0 : 2 * was;
    tensor_set_double(result, i,
                      result->dtype == DTYPE_F32 ? nextafterf((float)was, (float)to) : nextafter(was, to));
  }
  return result;
}

/* Widens the tolerances to some times what the last bits of the inputs do to the outputs. */
static Status widen_tolerances(const Pipeline *pipeline, Tensor *root, double *tolerances, Diag *diag) {
  uint32_t n = module_entry(pipeline->flat)->params.n;
  Tensor **inputs = ARENA_ARRAY(pipeline->arena, Tensor *, n + 1), *moved = NULL;
  for (uint32_t i = 0; i < n; i++) inputs[i] = nudged(pipeline->inputs[i]);
  Status status = unpartitioned_run(pipeline->flat, inputs, TRIPS_MOST, &moved, diag);
  for (uint32_t i = 0; i < n; i++) tensor_release(inputs[i]);
  TRY(status);
  for (uint32_t i = 0; i < pipeline->n_outputs; i++) {
    TensorDifference spread = tensor_compare(leaf_of(root, i), leaf_of(moved, i), tolerances[i]);
    if (tolerances[i] == 0 || spread.largest == 0 || !isfinite(spread.max_abs)) continue;
    tolerances[i] = fmax(tolerances[i], ROUNDINGS * spread.max_abs / spread.largest);
  }
  tensor_release(moved);
  return STATUS_OK;
}

/* By the tolerance of sums in another order, and where that does not do, by the wider ones. */
static Status compare_twice(const Pipeline *pipeline, Tensor *root, TensorDifference *differences,
                            uint32_t *differ, Diag *diag) {
  uint32_t n = pipeline->n_outputs;
  double *tolerances = ARENA_ARRAY(pipeline->arena, double, n + 1);
  for (uint32_t i = 0; i < n; i++) tolerances[i] = dtype_tolerance(pipeline->outputs[i]->dtype);
  uint32_t narrowly = *differ = compare_outputs(pipeline, root, tolerances, differences);
  RETURN_IF(narrowly == 0, STATUS_OK);
  TRY(widen_tolerances(pipeline, root, tolerances, diag));
  *differ = compare_outputs(pipeline, root, tolerances, differences);
  if (*differ < narrowly) {
    diag_note(
        diag, NOWHERE,
        "the last bits of the inputs move some outputs by more than sums in another order do: these are "
        "held to %d times that",
        ROUNDINGS);
  }
  return STATUS_OK;
}

/* A line an output, those that differ first, and how many lines more there would be. */
static void print_outputs(const Pipeline *pipeline, Tensor *root, const TensorDifference *differences,
                          uint32_t differ) {
  uint32_t n = pipeline->n_outputs, shown = 0;
  for (int agrees = 0; agrees < 2; agrees++) {
    for (uint32_t i = 0; i < n && shown < OUTPUTS_SHOWN; i++) {
      if ((differences[i].outside == 0) != agrees) continue;
      printf("%-14s", shown++ == 0 ? "check" : "");
      print_output(pipeline, i, leaf_of(root, i), &differences[i]);
      if (shown == OUTPUTS_SHOWN && differ > shown) {
        printf("; %u more differ", differ - shown);
      } else if (shown == OUTPUTS_SHOWN && n > shown) {
        printf("; %u more agree", n - shown);
      }
      putchar('\n');
    }
  }
}

Status check_numbers(const Pipeline *pipeline, Diag *diag) {
  if (pipeline->flat == NULL) {
    return diag_fail(diag, STATUS_INVALID, NOWHERE, "check the program that it was made from",
                     "--check needs the unpartitioned program; this one came partitioned");
  }
  if (!pipeline->numbers) {
    return diag_fail(diag, STATUS_FAILED, NOWHERE, "--numbers on computes them",
                     "--check needs the numbers, which are off");
  }
  Tensor *root = NULL;
  TRY(unpartitioned_run(pipeline->flat, pipeline->inputs, TRIPS_MOST, &root, diag));
  TensorDifference *differences = ARENA_ARRAY(pipeline->arena, TensorDifference, pipeline->n_outputs + 1);
  uint32_t differ;
  Status status = compare_twice(pipeline, root, differences, &differ, diag);
  if (status == STATUS_OK) print_outputs(pipeline, root, differences, differ);
  tensor_release(root);
  TRY(status);
  RETURN_IF(differ == 0, STATUS_OK);
  const char *drawn =
      pipeline->options->inputs.n != 0
          ? NULL
          : "inputs were drawn from --seed; a deep model may magnify roundings on them that it does "
            "not on its own weights: give those with -i";
  return diag_fail(diag, STATUS_FAILED, NOWHERE, drawn,
                   "%u of %u outputs differ from the unpartitioned program's", differ, pipeline->n_outputs);
}
