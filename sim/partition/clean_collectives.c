/* The clean-ups of collectives, one after the other: see clean_collectives.h. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"

void clean_collectives(Partitioned *partitioned) {
  Module *module = partitioned->module;
  module_remove_dead(module);
  module_merge_equal(module);
  simplify_collectives(partitioned);
  module_remove_dead(module);
  reassociate_collectives(partitioned);
  scatter_collectives(partitioned);
  sink_collectives(partitioned);
  module_remove_dead(module);
  module_merge_equal(module);
  combine_collectives(partitioned);
}
