/* Groups of devices. The text's ids are replicas, partitions or devices, by mode:
 *   no channel_id: replicas, a group for each partition
 *   channel_id: all-gather, all-reduce, reduce-scatter: replicas, joined over all partitions;
 *               with use_global_device_ids: devices; others: partitions, a group for each replica. */
#include "sim/ir/device_groups.h"

typedef enum { IDS_REPLICAS, IDS_PARTITIONS, IDS_REPLICAS_JOINED, IDS_DEVICES } IdMode;

typedef struct {
  IdMode mode;
  uint32_t replicas, partitions;
} Devices;

static bool reduces_or_gathers(const Instr *instr) {
  switch (instr->op) {
  case OP_ALL_GATHER:
  case OP_ALL_GATHER_START:
  case OP_ALL_REDUCE:
  case OP_ALL_REDUCE_START:
  case OP_REDUCE_SCATTER: return true;
  default: return str_is(instr->async_of, "reduce-scatter");
  }
}

static Devices devices_of(const Module *module, const Instr *instr, uint32_t devices) {
  uint32_t replicas =
      module->replica_count > 1 && devices % module->replica_count == 0 ? (uint32_t)module->replica_count : 1;
  Devices of = {.replicas = replicas, .partitions = devices / replicas};
  if (instr_attr(instr, ATTR_channel_id) == NULL) {
    of.mode = IDS_REPLICAS;
  } else if (!reduces_or_gathers(instr)) {
    of.mode = IDS_PARTITIONS;
  } else {
    of.mode = instr_flag(instr, ATTR_use_global_device_ids) ? IDS_DEVICES : IDS_REPLICAS_JOINED;
  }
  return of;
}

/* How many ids the text can name, how many devices an id stands for in a group, and how often a group of the
 * text occurs. */
static uint32_t id_count(const Devices *of) {
  return of->mode == IDS_DEVICES      ? of->replicas * of->partitions
         : of->mode == IDS_PARTITIONS ? of->partitions
                                      : of->replicas;
}

static uint32_t copies(const Devices *of) {
  return of->mode == IDS_REPLICAS ? of->partitions : of->mode == IDS_PARTITIONS ? of->replicas : 1;
}

static uint32_t device_of(const Devices *of, uint32_t id, uint32_t copy) {
  return of->mode == IDS_REPLICAS     ? id * of->partitions + copy
         : of->mode == IDS_PARTITIONS ? copy * of->partitions + id
                                      : id;
}

/* All-reduce and broadcast make sense on groups of unlike sizes. */
static bool needs_equal_groups(const Instr *instr) {
  return instr->op != OP_ALL_REDUCE && instr->op != OP_ALL_REDUCE_START &&
         instr->op != OP_COLLECTIVE_BROADCAST;
}

/* XLA runs no other collective on a device that is in no group. */
static bool may_leave_out(const Instr *instr) {
  return instr->op == OP_COLLECTIVE_BROADCAST;
}

static Status check_groups(const GroupList *groups, const Instr *instr, uint32_t ids, Arena *arena,
                           Diag *diag) {
  bool *seen = ARENA_ARRAY(arena, bool, ids);
  for (uint32_t g = 0; g < groups->n; g++) {
    uint32_t size = groups->start[g + 1] - groups->start[g];
    RETURN_IF(size == 0 || (needs_equal_groups(instr) && size != groups->start[1] - groups->start[0]),
              diag_fail(diag, STATUS_INVALID, instr->place, NULL, "%.*s: groups of different sizes",
                        STR_ARG(instr->name)));
    for (uint32_t i = groups->start[g]; i < groups->start[g + 1]; i++) {
      uint32_t id = groups->ids[i];
      RETURN_IF(id >= ids, diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                                     "%.*s: id %u in its groups, of %u ids", STR_ARG(instr->name), id, ids));
      RETURN_IF(seen[id], diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                                    "%.*s: id %u is in its groups twice", STR_ARG(instr->name), id));
      seen[id] = true;
    }
  }
  for (uint32_t id = 0; id < ids && !may_leave_out(instr); id++)
    RETURN_IF(!seen[id],
              diag_fail(diag, STATUS_INVALID, instr->place, "every id must be in a group",
                        "%.*s: id %u of %u is in none of its groups", STR_ARG(instr->name), id, ids));
  return STATUS_OK;
}

Status collective_groups(Arena *arena, const Module *module, const Instr *instr, uint32_t devices,
                         GroupList *groups, Diag *diag) {
  Devices of = devices_of(module, instr, devices);
  GroupList text = instr_groups(arena, instr, id_count(&of));
  TRY(check_groups(&text, instr, id_count(&of), arena, diag));
  bool joined = of.mode == IDS_REPLICAS_JOINED;
  uint32_t n_copies = copies(&of), per_id = joined ? of.partitions : 1, at = 0;
  *groups = (GroupList){.n = text.n * n_copies,
                        .start = ARENA_ARRAY(arena, uint32_t, text.n * n_copies + 1),
                        .ids = ARENA_ARRAY(arena, uint32_t, devices)};
  for (uint32_t g = 0; g < text.n; g++) {
    for (uint32_t copy = 0; copy < n_copies; copy++) {
      groups->start[g * n_copies + copy] = at;
      for (uint32_t i = text.start[g]; i < text.start[g + 1]; i++) {
        for (uint32_t part = 0; part < per_id; part++) {
          groups->ids[at++] = joined ? text.ids[i] * of.partitions + part : device_of(&of, text.ids[i], copy);
        }
      }
    }
  }
  groups->start[groups->n] = at;
  return STATUS_OK;
}

GroupList collective_groups_or_none(Arena *arena, const Module *module, const Instr *instr,
                                    uint32_t devices) {
  GroupList groups = {0};
  Diag *diag = diag_new();
  Status status = collective_groups(arena, module, instr, devices, &groups, diag);
  diag_free(diag);
  return status == STATUS_OK ? groups : (GroupList){0};
}

Status collective_pairs(Arena *arena, const Module *module, const Instr *instr, uint32_t devices,
                        Pairs *pairs, Diag *diag) {
  Devices of = devices_of(module, instr, devices);
  Pairs text = instr_pairs(instr);
  uint32_t ids = id_count(&of), n_copies = copies(&of);
  bool *is_source = ARENA_ARRAY(arena, bool, ids), *is_target = ARENA_ARRAY(arena, bool, ids);
  for (uint32_t i = 0; i < text.n; i++) {
    int64_t source = text.at[i].source, target = text.at[i].target;
    RETURN_IF(source < 0 || target < 0 || source >= ids || target >= ids,
              diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                        "%.*s: the pair {%lld,%lld} is out of the range of %u ids", STR_ARG(instr->name),
                        (long long)source, (long long)target, ids));
    RETURN_IF(is_source[source] || is_target[target],
              diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                        "%.*s: the pair {%lld,%lld} has a source or a target that is taken",
                        STR_ARG(instr->name), (long long)source, (long long)target));
    is_source[source] = is_target[target] = true;
  }
  *pairs = (Pairs){ARENA_ARRAY(arena, Pair, text.n * n_copies + 1), text.n * n_copies};
  for (uint32_t i = 0; i < text.n; i++) {
    for (uint32_t copy = 0; copy < n_copies; copy++) {
      pairs->at[i * n_copies + copy] = (Pair){device_of(&of, (uint32_t)text.at[i].source, copy),
                                              device_of(&of, (uint32_t)text.at[i].target, copy)};
    }
  }
  return STATUS_OK;
}
