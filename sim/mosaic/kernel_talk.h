/* What kernels that run on several devices do to each other, device by device, without the data: what it
 * takes to time them. */
#pragma once

#include "sim/base/vec.h"

#include <stdbool.h>

typedef enum {
  TALK_DMA,    /* `n` bytes to `device`; `sent` is signalled here when they have left, `semaphore` there */
  TALK_SIGNAL, /* `n` more on `semaphore` of `device` */
  TALK_WAIT    /* until `semaphore` of this device has `n`, which are taken */
} TalkKind;

typedef struct {
  TalkKind kind;
  uint32_t device;          /* as the members are counted */
  uint32_t sent, semaphore; /* `sent` UINT32_MAX: none */
  int64_t n;
} Talk;

typedef struct {
  uint32_t devices, n_semaphores;
  int64_t most_bytes;  /* of one DMA */
  bool same_each_time; /* it does not depend on the operands */
  struct {
    Talk *at;
    uint32_t n;
  } * of; /* by device */
} KernelTalk;
