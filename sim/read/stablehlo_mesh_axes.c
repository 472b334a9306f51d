/* #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [<name = "x">, …]>: the groups of devices that
 * differ along these axes alone. Sub-axes, `sub_axis_info = (1)2`, are parts of an axis: 2 parts, behind 1
 * that is passed over. */
#include "sim/read/stablehlo.h"

enum { MOST_PARTS = 64 };

/* Devices along a part are `stride` apart in the mesh, `size` of them. */
typedef struct {
  int64_t stride, size;
} Part;

static Status find_mesh(Translator *tr, const MlirAttr *attr, const SdyMesh **mesh) {
  for (uint32_t m = 0; m < tr->meshes.n && attr != NULL && attr->kind == MLIR_SYMBOL; m++) {
    *mesh = &tr->meshes.at[m];
    if (str_eq((*mesh)->name, attr->text)) return STATUS_OK;
  }
  return OP_FAIL(tr, attr == NULL ? tr->op->at : attr->at, "name a mesh of the module, as mesh = @mesh",
                 "these groups name no mesh of the module");
}

/* (1)2 */
static Status read_sub_axis(Lexer *lex, int64_t *pre, int64_t *size) {
  if (lex_accept(lex, '#')) mlir_word(lex);
  bool brackets = lex_accept(lex, '<');
  TRY(lex_expect(lex, '('));
  TRY(lex_int_from(lex, 1, pre));
  TRY(lex_expect(lex, ')'));
  TRY(lex_int_from(lex, 1, size));
  return brackets ? lex_expect(lex, '>') : STATUS_OK;
}

/* name = "x", sub_axis_info = (1)2 */
static Status read_axis(Translator *tr, const MlirAttr *attr, const SdyMesh *mesh, Part *part) {
  Lexer lex = mlir_part(&tr->mlir->lex, attr->text);
  Str name;
  int64_t stride = 1, pre = 1, size = 0, whole = 0;
  RETURN_IF(attr->kind != MLIR_DIALECT, OP_FAIL(tr, attr->at, NULL, "expected an axis like <name = \"x\">"));
  TRY(mlir_expect_word(&lex, "name"));
  TRY(lex_expect(&lex, '='));
  TRY(mlir_string(&lex, &name));
  if (lex_accept(&lex, ',')) {
    TRY(mlir_expect_word(&lex, "sub_axis_info"));
    TRY(lex_expect(&lex, '='));
    TRY(read_sub_axis(&lex, &pre, &size));
  }
  for (uint32_t a = mesh->sizes.n; a-- > 0 && whole == 0;) {
    if (str_eq(mesh->axes[a], name))
      whole = mesh->sizes.at[a];
    else
      stride *= mesh->sizes.at[a];
  }
  if (size == 0) size = whole;
  RETURN_IF(whole == 0 || pre > whole || size > whole || whole % (pre * size) != 0,
            OP_FAIL(tr, attr->at, NULL, "the mesh has no such axis"));
  *part = (Part){stride * (whole / (pre * size)), size};
  return STATUS_OK;
}

/* The devices of the group that begins at place `base`, the last part fastest. */
static void add_group(const SdyMesh *mesh, const Part *parts, uint32_t n, int64_t base, int64_t members,
                      GroupList *groups, uint32_t *total) {
  for (int64_t m = 0; m < members; m++) {
    int64_t at = base, rest = m;
    for (uint32_t p = n; p-- > 0; rest /= parts[p].size) at += rest % parts[p].size * parts[p].stride;
    groups->ids[(*total)++] = (uint32_t)(mesh->device_ids.n == 0 ? at : mesh->device_ids.at[at]);
  }
}

static bool begins_group(const Part *parts, uint32_t n, int64_t place) {
  for (uint32_t p = 0; p < n; p++) {
    if (place / parts[p].stride % parts[p].size != 0) return false;
  }
  return true;
}

static Status check_parts(Translator *tr, const MlirAttr *axes, const Part *parts, int64_t devices,
                          int64_t *members) {
  *members = 1;
  for (uint32_t p = 0; p < axes->n; p++) {
    for (uint32_t q = 0; q < p; q++) { /* two parts share no digit of a place */
      int64_t low = parts[p].stride > parts[q].stride ? q : p, high = low == p ? q : p;
      RETURN_IF(parts[low].size != 1 && parts[high].size != 1 &&
                    parts[low].stride * parts[low].size > parts[high].stride,
                OP_FAIL(tr, axes->at, NULL, "an axis stands here twice"));
    }
    *members *= parts[p].size;
  }
  RETURN_IF(*members > devices, OP_FAIL(tr, axes->at, NULL, "these axes are more than the mesh has"));
  return STATUS_OK;
}

Status groups_over_axes(Translator *tr, const MlirAttr *attr, GroupList *groups) {
  enum { MOST_DEVICES = 1 << 24 };
  const SdyMesh *mesh = NULL;
  MlirDict dict;
  Part parts[MOST_PARTS];
  int64_t devices = 1, members;
  uint32_t total = 0;
  TRY(mlir_struct(tr->mlir, attr, &dict));
  TRY(find_mesh(tr, mlir_get(dict, "mesh"), &mesh));
  const MlirAttr *axes = mlir_get(dict, "axes");
  RETURN_IF(axes == NULL || axes->kind != MLIR_ARRAY || axes->n > MOST_PARTS,
            OP_FAIL(tr, attr->at, NULL, "expected axes = [<name = \"x\">, …]"));
  for (uint32_t p = 0; p < axes->n; p++) TRY(read_axis(tr, &axes->items[p], mesh, &parts[p]));
  for (uint32_t a = 0; a < mesh->sizes.n; a++) devices *= mesh->sizes.at[a];
  RETURN_IF(devices > MOST_DEVICES, OP_FAIL(tr, attr->at, NULL, "this mesh has too many devices"));
  TRY(check_parts(tr, axes, parts, devices, &members));
  *groups = (GroupList){.start = ARENA_ARRAY(tr->scratch, uint32_t, (size_t)(devices / members) + 1),
                        .ids = ARENA_ARRAY(tr->scratch, uint32_t, (size_t)devices)};
  for (int64_t place = 0; place < devices; place++) {
    if (!begins_group(parts, axes->n, place)) continue;
    add_group(mesh, parts, axes->n, place, members, groups, &total);
    groups->start[++groups->n] = total;
  }
  return STATUS_OK;
}
