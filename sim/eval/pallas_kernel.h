/* Pallas kernels as a whole: whether one can be computed, and one that runs on several devices at once. */
#pragma once

#include "sim/eval/evaluate.h"
#include "sim/mosaic/kernel_talk.h"

/* Whether podsim can compute a Pallas kernel: it can be read, and all its ops are known. */
bool pallas_kernel_exists(const Instr *instr);
/* Why not, as "a Pallas kernel with tpu.x at file.py:3:4, which …"; empty where it can. */
Str pallas_kernel_fault(Arena *arena, const Instr *instr);

/* A kernel on devices [first_device, first_device + devices), all at once. */
typedef struct {
  const Instr *instr;
  uint32_t devices, first_device;
  Tensor *const *const *operands; /* operand k of the i-th device: operands[i][k] */
  const EvalContext *context;
  KernelTalk *talk; /* NULL: not asked for; else filled, in `arena` */
  Arena *arena;
  uint64_t op_limit; /* ops after which a device's kernel is given up; 0: none */
} PallasMeeting;

/* results[i] of each device (given). STATUS_DEADLOCK: they wait for each other, or a race. */
Status pallas_kernel_values(const PallasMeeting *meeting, Tensor **results);
