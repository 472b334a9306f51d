/* A property of the partitioner: whatever the program, the mesh and the shardings, the devices together
 * compute what one device computes, to the bit. In: programs on stdin, each after a line `// NAME`, whose
 * values are small integers and whose ops keep them exact (random_programs.py). Out: a line a program, `NAME
 * ok`, `NAME differs: …`, `NAME refused: …` where it cannot be partitioned, or `NAME invalid: …` where it
 * cannot be run at all. */
#include "sim/eval/compare_tensors.h"
#include "sim/eval/interpret.h"
#include "sim/ir/flatten.h"
#include "sim/ir/print.h"
#include "sim/ir/verify.h"
#include "sim/partition/partition.h"
#include "sim/read/program.h"
#include "sim/region_boxes.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEVICES = 64, MOST_PARAMS = 64 };

typedef struct {
  Arena *arena;
  Diag *diag;
  Module *program, *flat, *read_back;
  Shardings *shardings;
  Partitioned *partitioned;
  Tensor *inputs[MOST_PARAMS], *whole;
  Tensor *locals[MOST_PARAMS * MOST_DEVICES], *roots[MOST_DEVICES];
  uint32_t n_inputs, devices;
} Trial;

/* Whole numbers from -4 to 8. */
static Tensor *small_integers(const Shape *shape, uint64_t number) {
  Tensor *tensor = tensor_new(shape, true);
  uint64_t state = number * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < tensor_elements(tensor); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int32_t value = (int32_t)((state >> 33) % 13) - 4;
    if (shape->dtype == DTYPE_F32)
      ((float *)tensor->data)[i] = (float)value;
    else
      ((int32_t *)tensor->data)[i] = value;
  }
  return tensor;
}

static Status read_text(Trial *t, Str text, Module **module) {
  Source *source = ARENA_NEW(t->arena, Source);
  *source = (Source){STR("program"), text};
  TRY(hlo_read(source, &read_limits_default, module, t->diag));
  return module_verify(*module, t->diag);
}

/* The program as one device computes it. */
static Status run_whole(Trial *t, Str text) {
  TRY(read_text(t, text, &t->program));
  TRY(module_flatten(t->program, &t->flat, t->diag));
  module_split_constants(t->flat);
  const Comp *entry = module_comp(t->flat, t->flat->entry);
  for (uint32_t i = 0; i < entry->params.n && i < MOST_PARAMS; i++) {
    const Shape *shape = entry->instrs.at[entry->params.at[i]].shape;
    RETURN_IF(shape->dtype != DTYPE_F32 && shape->dtype != DTYPE_S32, STATUS_INVALID);
    t->inputs[t->n_inputs++] = small_integers(shape, i);
  }
  return unpartitioned_run(t->flat, t->inputs, 100, &t->whole, t->diag);
}

static Status partition(Trial *t) {
  ShardOptions options = {0};
  TRY(module_propagate(t->flat, &options, &t->shardings, t->diag));
  TRY(module_partition(t->flat, t->shardings, &t->partitioned, t->diag));
  t->devices = t->partitioned->mesh->n_devices;
  RETURN_IF(t->devices > MOST_DEVICES || t->partitioned->n_params != t->n_inputs, STATUS_INVALID);
  return read_text(t, module_print(t->arena, t->partitioned->module), &t->read_back);
}

static ShardBoxes boxes_of(const Trial *t, const Sharding *sharding, const Shape *global) {
  return shard_boxes(t->arena, sharding, NULL, global->dims, global->rank, t->devices);
}

static Status run_devices(Trial *t) {
  for (uint32_t i = 0; i < t->n_inputs; i++) {
    ShardBoxes boxes = boxes_of(t, t->partitioned->params[i], t->partitioned->global_params[i]);
    tensor_cut(t->inputs[i], &boxes, t->locals + (size_t)i * t->devices);
  }
  InterpretOptions options = {.devices = t->devices, .trip_limit = 100};
  return interpret(t->read_back, &options, t->locals, t->roots, t->diag);
}

/* Output `i` of a root, which is a tuple of them or the one output itself. */
static Tensor *output_of(Tensor *root, uint32_t i) {
  return root->dtype == DTYPE_TUPLE ? root->parts[i] : root;
}

/* Prints the first output that differs. */
static bool outputs_agree(Trial *t, const char *name) {
  const Partitioned *p = t->partitioned;
  Tensor *locals[MOST_DEVICES];
  bool agree = true;
  for (uint32_t i = 0; i < p->n_outputs && agree; i++) {
    const Shape *global = p->global_outputs[i];
    ShardBoxes boxes = boxes_of(t, p->outputs[i], global);
    for (uint32_t d = 0; d < t->devices; d++) locals[d] = output_of(t->roots[d], i);
    Tensor *found = tensor_join(locals, &boxes, global->dims);
    const Tensor *wanted = output_of(t->whole, i);
    TensorDifference difference = tensor_compare(wanted, found, 0);
    agree = difference.outside == 0;
    if (!agree)
      printf("%s differs: output %u: %.*s\n", name, i,
             STR_ARG(tensor_difference_text(t->arena, wanted, &difference)));
    tensor_release(found);
  }
  return agree;
}

static void print_error(const Trial *t, const char *name, const char *what) {
  Str text = diag_error_text(t->diag);
  printf("%s %s: ", name, what);
  for (size_t i = 0; i < text.n && text.at[i] != '\n'; i++) putchar(text.at[i]);
  putchar('\n');
}

static void trial_free(Trial *t) {
  for (uint32_t i = 0; i < t->n_inputs; i++) tensor_release(t->inputs[i]);
  for (uint32_t i = 0; i < t->n_inputs * t->devices; i++) tensor_release(t->locals[i]);
  for (uint32_t d = 0; d < t->devices; d++) tensor_release(t->roots[d]);
  tensor_release(t->whole);
  partitioned_free(t->partitioned);
  shardings_free(t->shardings);
  module_free(t->read_back);
  module_free(t->flat);
  module_free(t->program);
  diag_free(t->diag);
  arena_free(t->arena);
}

static void try_program(const char *name, Str text) {
  Trial *t = calloc(1, sizeof *t);
  t->arena = arena_new();
  t->diag = diag_new();
  if (run_whole(t, text) != STATUS_OK)
    print_error(t, name, "invalid");
  else if (partition(t) != STATUS_OK || run_devices(t) != STATUS_OK)
    print_error(t, name, "refused");
  else if (outputs_agree(t, name))
    printf("%s ok\n", name);
  fflush(stdout);
  trial_free(t);
  free(t);
}

int main(void) {
  char *line = NULL, name[256] = "";
  size_t room = 0;
  Arena *arena = arena_new();
  StrBuf text = {.arena = arena};
  for (;;) {
    ssize_t n = getline(&line, &room, stdin);
    bool begins = n > 3 && memcmp(line, "// ", 3) == 0;
    if ((n < 0 || begins) && name[0] != '\0') try_program(name, buf_str(&text));
    if (n < 0) break;
    if (begins) {
      arena_free(arena);
      arena = arena_new();
      text = (StrBuf){.arena = arena};
      snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    } else {
      buf_add(&text, (Str){line, (size_t)n});
    }
  }
  arena_free(arena);
  free(line);
  return 0;
}
