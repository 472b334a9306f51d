/* What a collective is expected to ask of the torus, before it runs. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ir/module.h"

typedef struct {
  double ps;     /* with its links to itself */
  uint32_t axes; /* a bit for each torus axis along which it sends */
  uint32_t ways; /* of a ring or line, that it goes: a permute one of them, bit 0 or 1, others both */
} CollectiveTime;

/* Of a synchronous collective: the closed form of its first group, device d on chip d. */
CollectiveTime collective_time(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);
