/* Joins layout assignment (sim/schedule/layouts.h) with what is known of a partitioned program: reasons
 * follow their collectives to the new module. */
#include "sim/lay_out.h"

#include "sim/schedule/layouts.h"

Partitioned *lay_out(Partitioned *program) {
  if (module_is_scheduled(program->module)) return program;
  Arena *scratch = arena_new();
  Partitioned *out = partitioned_like(program);
  uint32_t **moved;
  if (module_lay_out(scratch, program->module, out->module, &moved)) {
    for (uint32_t r = 0; r < program->reasons.n; r++) {
      CollectiveReason reason = program->reasons.at[r];
      reason.instr = moved[reason.comp][reason.instr];
      VEC_PUSH(out->arena, &out->reasons, reason);
    }
  } else {
    partitioned_free(out);
    out = program;
  }
  arena_free(scratch);
  return out;
}
