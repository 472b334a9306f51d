/* Joins the ledger's ops with the partitioned program by name: names are unique over a module. */
#include "sim/annotate.h"
#include "sim/base/map.h"

static void mark_axes(const Mesh *mesh, uint32_t a, uint32_t b, bool *differs) {
  for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
    AxisRef whole = axis_whole(mesh, axis);
    differs[axis] |= mesh_coordinate(mesh, whole, a) != mesh_coordinate(mesh, whole, b);
  }
}

Str collective_axes(Arena *arena, const Partitioned *partitioned, const Instr *instr) {
  const Mesh *mesh = partitioned->mesh;
  if (mesh == NULL) return STR("");
  bool *differs = ARENA_ARRAY(arena, bool, mesh->n_axes);
  Pairs pairs = instr_pairs(instr);
  for (uint32_t i = 0; i < pairs.n; i++) {
    if (pairs.at[i].source >= mesh->n_devices || pairs.at[i].target >= mesh->n_devices) continue;
    mark_axes(mesh, (uint32_t)pairs.at[i].source, (uint32_t)pairs.at[i].target, differs);
  }
  GroupList groups = pairs.n > 0 ? (GroupList){0} : instr_groups(arena, instr, mesh->n_devices);
  for (uint32_t g = 0; g < groups.n; g++) {
    for (uint32_t i = groups.start[g]; i < groups.start[g + 1]; i++) {
      if (groups.ids[i] < mesh->n_devices)
        mark_axes(mesh, groups.ids[groups.start[g]], groups.ids[i], differs);
    }
  }
  StrBuf buf = {.arena = arena};
  for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
    if (!differs[axis]) continue;
    if (buf.n > 0) buf_char(&buf, ',');
    buf_add(&buf, mesh->axes[axis].name);
  }
  return buf_str(&buf);
}

static void annotate_collectives(Ledger *ledger, const Partitioned *partitioned, const StrMap *op_of) {
  const Module *module = partitioned->module;
  for (uint32_t c = 0; c < module->comps.n; c++) {
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(module, c, i);
      uint32_t op;
      if (op_is_collective(instr->op) && map_get(op_of, instr->name, &op)) {
        ledger->ops.at[op].axes = collective_axes(ledger->arena, partitioned, instr);
      }
    }
  }
}

void ledger_annotate(Ledger *ledger, const Partitioned *partitioned) {
  StrMap *op_of = map_new(ledger->arena);
  for (uint32_t op = 0; op < ledger->ops.n; op++) map_put(op_of, ledger->ops.at[op].name, op);
  annotate_collectives(ledger, partitioned, op_of);
  for (uint32_t r = 0; r < partitioned->reasons.n; r++) {
    const CollectiveReason *reason = &partitioned->reasons.at[r];
    const Instr *instr = comp_instr(partitioned->module, reason->comp, reason->instr);
    uint32_t op;
    if (!map_get(op_of, instr->name, &op)) continue;
    ledger->ops.at[op].because = str_copy(ledger->arena, reason->because);
    ledger->ops.at[op].whole = str_copy(ledger->arena, reason->whole);
    if (reason->origin.line > 0) {
      ledger->ops.at[op].source =
          str_printf(ledger->arena, "%.*s:%u", STR_ARG(reason->origin.file), reason->origin.line);
    }
  }
}
