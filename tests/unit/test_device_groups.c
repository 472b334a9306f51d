/* Devices of a collective, in every mode: two replicas of two partitions, device = 2 * replica + partition.
 */
#include "program_fixture.h"
#include "sim/ir/device_groups.h"

TestSuite(device_groups, .init = begin, .fini = end);

static const Instr *read_collective(const char *collective) {
  module_free(module);
  read_program(
      str_printf(arena,
                 "HloModule m, replica_count=2, num_partitions=2\n"
                 "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
                 "ENTRY main {\n x = f32[2] parameter(0)\n ROOT r = f32[2] %s\n}\n",
                 collective)
          .at);
  const Comp *entry = module_entry(module);
  return &entry->instrs.at[entry->root];
}

/* `0,1|2,3` for groups, `0>1 2>3` for pairs, or the error. */
static Str devices_of(const char *collective) {
  const Instr *instr = read_collective(collective);
  StrBuf buf = {.arena = arena};
  Pairs pairs = {0};
  GroupList groups = {0};
  diag_free(diag);
  diag = diag_new();
  Status status = instr->op == OP_COLLECTIVE_PERMUTE
                      ? collective_pairs(arena, module, instr, 4, &pairs, diag)
                      : collective_groups(arena, module, instr, 4, &groups, diag);
  if (status != STATUS_OK) return diag_error_text(diag);
  for (uint32_t i = 0; i < pairs.n; i++)
    buf_printf(&buf, i == 0 ? "%ld>%ld" : " %ld>%ld", (long)pairs.at[i].source, (long)pairs.at[i].target);
  for (uint32_t g = 0; g < groups.n; g++) {
    for (uint32_t i = groups.start[g]; i < groups.start[g + 1]; i++)
      buf_printf(&buf, "%s%u", i > groups.start[g] ? "," : g > 0 ? "|" : "", groups.ids[i]);
  }
  return buf_str(&buf);
}

typedef struct {
  const char *collective, *devices;
} Row;

static const Row rows[] = {
    /* without channel_id: replicas */
    {"all-reduce(x), replica_groups={{0,1}}, to_apply=add", "0,2|1,3"},
    {"all-reduce(x), replica_groups={}, to_apply=add", "0,2|1,3"},
    {"all-reduce(x), replica_groups={{1},{0}}, to_apply=add", "2|3|0|1"},
    {"all-to-all(x), replica_groups={{1,0}}, dimensions={0}", "2,0|3,1"},
    {"collective-permute(x), source_target_pairs={{0,1}}", "0>2 1>3"},
    /* channel_id alone: replicas joined over partitions, or partitions */
    {"all-reduce(x), channel_id=1, replica_groups={{0,1}}, to_apply=add", "0,1,2,3"},
    {"all-reduce(x), channel_id=1, replica_groups={{0},{1}}, to_apply=add", "0,1|2,3"},
    {"all-to-all(x), channel_id=1, replica_groups={{1,0}}, dimensions={0}", "1,0|3,2"},
    {"collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}", "0>1 2>3 1>0 3>2"},
    {"collective-broadcast(x), channel_id=1, replica_groups={{1}}", "1|3"},
    /* flattened ids */
    {"all-reduce(x), channel_id=1, replica_groups={{0,3},{2,1}}, use_global_device_ids=true, to_apply=add",
     "0,3|2,1"},
    {"all-reduce(x), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true, "
     "to_apply=add",
     "0,2|1,3"},
    {"all-reduce(x), channel_id=1, replica_groups={{0,1,2},{3}}, use_global_device_ids=true, to_apply=add",
     "0,1,2|3"},
};

Test(device_groups, modes) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Str found = devices_of(rows[i].collective);
    cr_assert(str_is(found, rows[i].devices), "%s: %.*s, not %s", rows[i].collective, STR_ARG(found),
              rows[i].devices);
  }
}

static const Row refused[] = {
    {"all-reduce(x), replica_groups={{0,2}}, to_apply=add", "id 2 in its groups, of 2 ids"},
    {"all-reduce(x), replica_groups={{0,0}}, to_apply=add", "id 0 is in its groups twice"},
    {"all-to-all(x), replica_groups={{0},{1,2}}, dimensions={0}", "groups of different sizes"},
    {"all-reduce(x), channel_id=1, replica_groups={{0,1},{3}}, use_global_device_ids=true, to_apply=add",
     "id 2 of 4 is in none of its groups"},
    {"collective-permute(x), source_target_pairs={{0,2}}", "out of the range of 2 ids"},
    {"collective-permute(x), source_target_pairs={{0,1},{0,0}}", "has a source or a target that is taken"},
    {"collective-permute(x), source_target_pairs={{0,1},{1,1}}", "has a source or a target that is taken"},
};

Test(device_groups, what_makes_no_sense_is_refused) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    Str found = devices_of(refused[i].collective);
    cr_assert_not_null(strstr(str_terminated(arena, found), refused[i].devices), "%s: %.*s",
                       refused[i].collective, STR_ARG(found));
  }
}
