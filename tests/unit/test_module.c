/* Modules built and asked; device lists and replica groups in every form. */
#include "sim/ir/module.h"

#include <criterion/criterion.h>

static Module *module;
static Arena *arena;
static const Shape *f32;

static void setup(void) {
  module = module_new(STR("m"));
  arena = arena_new();
  f32 = shape_scalar(arena, DTYPE_F32);
}

static void teardown(void) {
  module_free(module);
  arena_free(arena);
}

TestSuite(module, .init = setup, .fini = teardown);
TestSuite(groups, .init = setup, .fini = teardown);

static bool name_is(uint32_t comp, uint32_t instr, const char *name) {
  return str_is(comp_instr(module, comp, instr)->name, name);
}

Test(module, opcodes_and_attributes_by_text) {
  Opcode op;
  AttrId id;
  cr_assert(op_parse(STR("exponential-minus-one"), &op) && op == OP_EXPM1);
  cr_assert_not(op_parse(STR("exponentia"), &op));
  cr_assert(attr_parse(STR("control-predecessors"), &id) && id == ATTR_control_predecessors);
  cr_assert_eq(attr_kind(ATTR_replica_groups), ATTR_KIND_GROUPS);
  cr_assert_eq(op_arity(OP_DYNAMIC_SLICE), -1);
  cr_assert(op_is_collective(OP_ALL_REDUCE_START) && !op_is_collective(OP_ALL_REDUCE_DONE));
  cr_assert(op_is_elementwise(OP_TANH) && op_is_elementwise(OP_SELECT) && !op_is_elementwise(OP_DOT));
}

Test(module, names_stay_unique) {
  uint32_t comp = module_add_comp(module, STR("main"));
  uint32_t a = comp_add(module, comp, OP_ADD, STR(""), f32, NULL, 0);
  uint32_t b = comp_add(module, comp, OP_ADD, STR(""), f32, NULL, 0);
  uint32_t c = comp_add(module, comp, OP_ADD, STR("add.1"), f32, NULL, 0);
  uint32_t d = comp_add(module, comp, OP_ADD, STR("x"), f32, NULL, 0);
  cr_assert(name_is(comp, a, "add") && name_is(comp, b, "add.1") && name_is(comp, c, "add.2") &&
            name_is(comp, d, "x"));
  cr_assert_eq(comp_find(module_comp(module, comp), STR("add.2")), c);
  cr_assert_eq(comp_find(module_comp(module, comp), STR("add.9")), NO_ID);
  uint32_t other = module_add_comp(module, STR("main"));
  cr_assert(str_is(module_comp(module, other)->name, "main.1"));
  cr_assert_eq(module_find_comp(module, STR("main.1")), other);
  cr_assert(name_is(other, comp_add(module, other, OP_ADD, STR("add"), f32, NULL, 0), "add"));
}

/* A computation `op(p0, p1)`, its operands swapped if told. */
static uint32_t binary_comp(Opcode op, bool swapped) {
  uint32_t comp = module_add_comp(module, STR("binary"));
  uint32_t p1 = comp_add_parameter(module, comp, 1, STR("b"), f32);
  uint32_t p0 = comp_add_parameter(module, comp, 0, STR("a"), f32);
  const uint32_t operands[] = {swapped ? p1 : p0, swapped ? p0 : p1};
  uint32_t root = comp_add(module, comp, op, STR(""), f32, operands, 2);
  module_comp(module, comp)->root = root;
  return comp;
}

Test(module, binary_op_of_a_reduction) {
  cr_assert_eq(comp_binary_op(module, binary_comp(OP_ADD, false)), OP_ADD);
  cr_assert_eq(comp_binary_op(module, binary_comp(OP_MAXIMUM, true)), OP_MAXIMUM);
  cr_assert_eq(comp_binary_op(module, binary_comp(OP_SUBTRACT, false)), OP_SUBTRACT);
  cr_assert_eq(comp_binary_op(module, binary_comp(OP_SUBTRACT, true)), OP_COUNT);
}

Test(module, parameters_in_any_order) {
  uint32_t comp = module_add_comp(module, STR("c"));
  for (int64_t number = 40; number >= 0; number--) comp_add_parameter(module, comp, number, STR("p"), f32);
  Ids params = module_comp(module, comp)->params;
  cr_assert_eq(params.n, 41);
  for (uint32_t i = 0; i < params.n; i++) {
    cr_assert_eq(params.at[i], 40 - i);
    cr_assert_eq(comp_instr(module, comp, params.at[i])->parameter, i);
  }
}

Test(module, attributes_are_copied_replaced_and_read) {
  uint32_t comp = module_add_comp(module, STR("c"));
  Instr *instr = comp_instr(module, comp, comp_add(module, comp, OP_TRANSPOSE, STR(""), f32, NULL, 0));
  int64_t dims[] = {1, 0};
  instr_set_ints(module, instr, ATTR_dimensions, dims, 2);
  dims[0] = 7;
  cr_assert_eq(instr_ints(instr, ATTR_dimensions).at[0], 1);
  instr_set_ints(module, instr, ATTR_dimensions, dims, 1);
  cr_assert_eq(instr->n_attrs, 1);
  cr_assert_eq(instr_ints(instr, ATTR_dimensions).at[0], 7);
  instr_set_int(module, instr, ATTR_channel_id, 5);
  instr_set_flag(module, instr, ATTR_is_stable, true);
  instr_set_word(module, instr, ATTR_direction, STR("EQ"));
  instr_set_comp(module, instr, ATTR_to_apply, 3);
  KeyValue key = {STR("xla.sdy.sharding"), STR("#sdy"), true};
  instr_set(module, instr, (Attr){.id = ATTR_frontend_attributes, .keys = {&key, 1}});
  cr_assert_eq(instr_int(instr, ATTR_channel_id, -1), 5);
  cr_assert_eq(instr_int(instr, ATTR_index, -1), -1);
  cr_assert(instr_flag(instr, ATTR_is_stable));
  cr_assert(str_is(instr_word(instr, ATTR_direction), "EQ"));
  cr_assert_eq(instr_comp(instr, ATTR_body), NO_ID);
  Ids called = instr_called(arena, instr);
  cr_assert(called.n == 1 && called.at[0] == 3);
  Str value;
  cr_assert(instr_frontend(instr, "xla.sdy.sharding", &value) && str_is(value, "#sdy"));
  cr_assert_not(instr_frontend(instr, "xla.sdy", &value));
  instr_unset(instr, ATTR_channel_id);
  cr_assert_null(instr_attr(instr, ATTR_channel_id));
  cr_assert_eq(instr->n_attrs, 5);
}

Test(module, a_like_instruction_does_not_share_its_list_of_attributes) {
  uint32_t comp = module_add_comp(module, STR("c"));
  uint32_t a = comp_add(module, comp, OP_IOTA, STR("i"), f32, NULL, 0);
  instr_set_int(module, comp_instr(module, comp, a), ATTR_iota_dimension, 1);
  const Instr from = *comp_instr(module, comp, a);
  uint32_t b = comp_add_like(module, comp, &from, NULL, 0);
  instr_set_int(module, comp_instr(module, comp, b), ATTR_iota_dimension, 2);
  cr_assert_eq(instr_int(comp_instr(module, comp, a), ATTR_iota_dimension, 0), 1);
  cr_assert(name_is(comp, b, "i.1"));
}

Test(module, uses_count_the_root) {
  uint32_t comp = module_add_comp(module, STR("c"));
  uint32_t p = comp_add_parameter(module, comp, 0, STR("p"), f32);
  uint32_t sum = comp_add(module, comp, OP_ADD, STR(""), f32, (const uint32_t[]){p, p}, 2);
  module_comp(module, comp)->root = sum;
  uint32_t *uses = comp_use_counts(arena, module_comp(module, comp));
  cr_assert(uses[p] == 2 && uses[sum] == 1);
}

#define INTS(...) ((Ints){(int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})

/* "0,1|2,3" */
static const char *text_of(const ReplicaGroups *groups, uint32_t devices) {
  GroupList list = groups_expand(arena, groups, devices);
  StrBuf buf = {.arena = arena};
  for (uint32_t g = 0; g < list.n; g++) {
    if (g != 0) buf_char(&buf, '|');
    for (uint32_t i = list.start[g]; i < list.start[g + 1]; i++)
      buf_printf(&buf, i == list.start[g] ? "%u" : ",%u", list.ids[i]);
  }
  return buf_str(&buf).at;
}

Test(groups, empty_is_one_of_all) {
  cr_assert_str_eq(text_of(&(ReplicaGroups){0}, 4), "0,1,2,3");
}

Test(groups, lists) {
  Ids lists[] = {{(uint32_t[]){3, 1}, 2}, {(uint32_t[]){0}, 1}};
  cr_assert_str_eq(text_of(&(ReplicaGroups){.groups = lists, .n_groups = 2}, 4), "3,1|0");
}

Test(groups, iota) {
  ReplicaGroups groups = {.form = GROUPS_IOTA, .group_count = 2, .group_size = 4};
  groups.devices.reshape = INTS(8);
  cr_assert_str_eq(text_of(&groups, 8), "0,1,2,3|4,5,6,7");
  groups.devices = (DeviceList){.reshape = INTS(4, 2), .perm = INTS(1, 0)};
  cr_assert_str_eq(text_of(&groups, 8), "0,2,4,6|1,3,5,7");
  groups.group_count = 4;
  groups.group_size = 2;
  groups.devices = (DeviceList){.reshape = INTS(2, 2, 2), .perm = INTS(2, 0, 1)};
  cr_assert_str_eq(text_of(&groups, 8), "0,2|4,6|1,3|5,7");
}

static ReplicaGroups mesh_ab(Ints sizes, NamedAxis *axes, uint32_t n) {
  static Str names[] = {{"a", 1}, {"b", 1}, {"c", 1}};
  return (ReplicaGroups){
      .form = GROUPS_MESH, .mesh_names = names, .mesh_sizes = sizes, .axes = {.at = axes, .n = n}};
}

Test(groups, mesh_axes) {
  NamedAxis a[] = {{.name = STR("a")}}, ba[] = {{.name = STR("b")}, {.name = STR("a")}};
  NamedAxis second[] = {{.name = STR("1")}};
  ReplicaGroups groups = mesh_ab(INTS(2, 4), a, 1);
  cr_assert_str_eq(text_of(&groups, 8), "0,4|1,5|2,6|3,7");
  groups = mesh_ab(INTS(2, 4), ba, 2);
  cr_assert_str_eq(text_of(&groups, 8), "0,4,1,5,2,6,3,7");
  groups = mesh_ab(INTS(2, 4), second, 1);
  cr_assert_str_eq(text_of(&groups, 8), "0,1,2,3|4,5,6,7");
  groups = mesh_ab(INTS(2, 2), NULL, 0);
  cr_assert_str_eq(text_of(&groups, 4), "0|1|2|3");
}

Test(groups, mesh_sub_axes_and_device_ids) {
  NamedAxis major[] = {{STR("a"), 1, 2}}, middle[] = {{STR("a"), 2, 2}};
  NamedAxis outer[] = {{STR("a"), 1, 2}, {STR("a"), 4, 2}}, swapped[] = {{STR("a"), 4, 2}, {STR("a"), 1, 2}};
  ReplicaGroups groups = mesh_ab(INTS(8), major, 1);
  cr_assert_str_eq(text_of(&groups, 8), "0,4|1,5|2,6|3,7");
  groups = mesh_ab(INTS(8), middle, 1);
  cr_assert_str_eq(text_of(&groups, 8), "0,2|1,3|4,6|5,7");
  groups = mesh_ab(INTS(8), outer, 2);
  cr_assert_str_eq(text_of(&groups, 8), "0,1,4,5|2,3,6,7");
  groups = mesh_ab(INTS(8), swapped, 2);
  cr_assert_str_eq(text_of(&groups, 8), "0,4,1,5|2,6,3,7");
  NamedAxis b[] = {{.name = STR("b")}};
  groups = mesh_ab(INTS(2, 2), b, 1);
  groups.devices.ids = INTS(3, 2, 1, 0);
  cr_assert_str_eq(text_of(&groups, 4), "3,2|1,0");
}

static const char *refusal(const ReplicaGroups *groups, uint32_t devices) {
  Diag *diag = diag_new();
  Status status = groups_check(groups, devices, NOWHERE, diag);
  const char *text = str_terminated(arena, diag_error_text(diag));
  diag_free(diag);
  return status == STATUS_OK ? "" : text;
}

static void expect_refusal(const ReplicaGroups *groups, uint32_t devices, const char *part) {
  cr_assert(strstr(refusal(groups, devices), part) != NULL, "%s", refusal(groups, devices));
}

Test(groups, what_is_not_whole_is_refused) {
  Ids twice[] = {{(uint32_t[]){0, 1}, 2}, {(uint32_t[]){1}, 1}}, far[] = {{(uint32_t[]){9}, 1}};
  expect_refusal(&(ReplicaGroups){.groups = twice, .n_groups = 2}, 4, "device 1 is in two groups");
  expect_refusal(&(ReplicaGroups){.groups = far, .n_groups = 1}, 4, "device 9 in a program for 4");
  ReplicaGroups iota = {.form = GROUPS_IOTA, .group_count = 2, .group_size = 4};
  iota.devices = (DeviceList){.reshape = INTS(4, 2), .perm = INTS(1, 1)};
  expect_refusal(&iota, 8, "not a permutation");
  iota.devices = (DeviceList){.reshape = INTS(3, 2)};
  expect_refusal(&iota, 8, "6 devices are listed, 8 are needed");
  iota.devices = (DeviceList){.reshape = INTS(INT64_MAX, INT64_MAX)};
  expect_refusal(&iota, 8, "more than");
  NamedAxis unknown[] = {{.name = STR("z")}}, third[] = {{STR("a"), 1, 3}};
  NamedAxis again[] = {{.name = STR("a")}, {STR("a"), 2, 2}};
  ReplicaGroups mesh = mesh_ab(INTS(4, 2), unknown, 1);
  expect_refusal(&mesh, 8, "no axis 'z'");
  mesh = mesh_ab(INTS(4, 2), third, 1);
  expect_refusal(&mesh, 8, "does not divide 4");
  mesh = mesh_ab(INTS(4, 2), again, 2);
  expect_refusal(&mesh, 8, "used twice");
  NamedAxis a[] = {{.name = STR("a")}};
  mesh = mesh_ab(INTS(4, 2), a, 1);
  cr_assert_str_eq(refusal(&mesh, 8), "");
  expect_refusal(&mesh, 4, "groups of 8 devices in a program for 4");
}
