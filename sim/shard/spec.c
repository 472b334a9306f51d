/* PartitionSpecs as JAX writes them: P('data', None, ('fsdp', 'model')) (jax.sharding.PartitionSpec). */
#include "sim/shard/scan.h"
#include "sim/shard/sharding.h"

static void print_axis(StrBuf *buf, const Mesh *mesh, AxisRef axis) {
  buf_printf(buf, "'%.*s", STR_ARG(mesh->axes[axis.axis].name));
  if (axis.size != mesh->axes[axis.axis].size) buf_printf(buf, ":(%ld)%ld", axis.pre, axis.size);
  buf_char(buf, '\'');
}

static void print_dim(StrBuf *buf, const Mesh *mesh, AxisList axes) {
  if (axes.n == 0) buf_add(buf, STR("None"));
  if (axes.n > 1) buf_char(buf, '(');
  for (uint32_t i = 0; i < axes.n; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    print_axis(buf, mesh, axes.at[i]);
  }
  if (axes.n > 1) buf_char(buf, ')');
}

/* Dimensions up to the last that is cut: JAX leaves out the None behind it. */
static uint32_t dims_said(const Sharding *sharding) {
  uint32_t n = sharding->rank;
  while (n > 0 && sharding->dims[n - 1].axes.n == 0) n--;
  return n;
}

Str sharding_spec_text(Arena *arena, const Sharding *sharding) {
  StrBuf buf = {.arena = arena};
  uint32_t n = dims_said(sharding);
  buf_add(&buf, STR("P("));
  for (uint32_t d = 0; d < n; d++) {
    if (d != 0) buf_add(&buf, STR(", "));
    print_dim(&buf, sharding->mesh, sharding->dims[d].axes);
  }
  buf_add(&buf, n == 1 ? STR(",)") : STR(")"));
  return buf_str(&buf);
}

/* 'data', or 'x:(1)2' as a sub-axis is printed. */
static Status scan_axis(Scan *scan, const Mesh *mesh, AxisRef *axis) {
  Str name;
  uint32_t index;
  TRY(scan_quoted(scan, &name));
  size_t colon = str_find(name, ':');
  RETURN_IF(!mesh_axis_index(mesh, str_sub(name, 0, colon), &index),
            diag_fail(scan->diag, scan->status, scan->place, mesh_axis_hint(scan->arena, mesh, name),
                      "spec %.*s uses axis '%.*s', but the mesh is %.*s", STR_ARG(scan->text), STR_ARG(name),
                      STR_ARG(mesh_text(scan->arena, mesh))));
  *axis = axis_whole(mesh, index);
  if (colon == name.n) return STATUS_OK;
  Scan part = *scan;
  part.text = str_sub(name, colon + 1, name.n);
  part.at = 0;
  TRY(scan_expect(&part, "("));
  TRY(scan_int(&part, 1, &axis->pre));
  TRY(scan_expect(&part, ")"));
  TRY(scan_int(&part, 1, &axis->size));
  int64_t whole = mesh->axes[index].size;
  RETURN_IF(axis->pre > whole || axis->size > whole || whole % (axis->pre * axis->size) != 0,
            scan_fail(&part, "a sub-axis that divides its axis"));
  return scan_end(&part);
}

/* None, an axis, or a list of axes in brackets of either kind. */
static Status scan_dim(Scan *scan, const Mesh *mesh, AxisList *used, AxisList *axes) {
  bool round = scan_take(scan, "("), square = !round && scan_take(scan, "[");
  const char *close = round ? ")" : "]";
  *axes = (AxisList){0};
  if (!round && !square && scan_take(scan, "None")) return STATUS_OK;
  do {
    if ((round || square) && scan_sees(scan, close)) break;
    AxisRef *axis = ARENA_NEW(scan->arena, AxisRef);
    AxisList one = {axis, 1};
    TRY(scan_axis(scan, mesh, axis));
    RETURN_IF(axes_overlap(*used, one), scan_fail(scan, "each axis only once"));
    *used = axes_concat(scan->arena, mesh, *used, one);
    *axes = axes_concat(scan->arena, mesh, *axes, one);
  } while ((round || square) && scan_take(scan, ","));
  return round || square ? scan_expect(scan, close) : STATUS_OK;
}

static Status parse_spec(Arena *arena, Str text, const Mesh *mesh, uint32_t rank, const Sharding **sharding,
                         Diag *diag) {
  Scan scan = {.text = text, .arena = arena, .diag = diag, .status = STATUS_USAGE, .what = "spec"};
  const Sharding *parsed = sharding_replicated(arena, mesh, rank, false);
  AxisList used = {0}, axes;
  if (!scan_take(&scan, "PartitionSpec")) TRY(scan_expect(&scan, "P"));
  TRY(scan_expect(&scan, "("));
  for (uint32_t d = 0; !scan_take(&scan, ")"); d++) {
    TRY(scan_dim(&scan, mesh, &used, &axes));
    RETURN_IF(d >= rank,
              diag_fail(diag, STATUS_USAGE, NOWHERE, NULL,
                        "spec %.*s has more entries than the value's rank %u", STR_ARG(text), rank));
    parsed = sharding_with_dim(arena, parsed, d, axes);
    if (!scan_sees(&scan, ")")) TRY(scan_expect(&scan, ","));
  }
  *sharding = parsed;
  return scan_end(&scan);
}

Status sharding_parse_spec(Arena *arena, Str text, const Mesh *mesh, uint32_t rank, const Sharding **sharding,
                           Diag *diag) {
  Status status = parse_spec(arena, text, mesh, rank, sharding, diag);
  if (status != STATUS_OK)
    diag_hint(diag, "write it as in JAX, an axis once: P('data', None) or P(('data', 'model'))");
  return status;
}
