/* Rings through groups: every member once, neighbours near, and how full that makes the links. */
#include "arena_fixture.h"
#include "sim/engine/group_ring.h"
#include "sim/engine/route.h"

static Pod pod;

TestSuite(group_ring, .init = begin, .fini = end);

/* The ring of these chips on a pod of `shape`; `hops`: the most between neighbours. */
static GroupRing ring_of(const char *shape, const uint32_t *chips, uint32_t n, uint32_t *hops) {
  Config *config;
  const char *set = str_printf(arena, "pod.shape=%s", shape).at;
  cr_assert_eq(config_read(arena, SOURCE_DIR "/configs/v5e_4x2.ini", &set, 1, &config, diag), STATUS_OK);
  pod = config->pod;
  GroupRing ring = group_ring(arena, &pod, group_layout(arena, &pod, chips, n));
  bool *seen = ARENA_ARRAY(arena, bool, n);
  *hops = 0;
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_lt(ring.members[i], n);
    cr_assert_not(seen[ring.members[i]]);
    seen[ring.members[i]] = true;
    uint32_t next = chips[ring.members[(i + 1) % n]];
    uint32_t far = route_links(&pod, chips[ring.members[i]], next, NULL, NULL);
    if (far > *hops) *hops = far;
  }
  return ring;
}

static const uint32_t *first_chips(uint32_t n) {
  uint32_t *chips = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) chips[i] = i;
  return chips;
}

Test(group_ring, goes_round_boxes_and_tori_hop_by_hop) {
  static const struct {
    const char *shape;
    uint32_t n;
  } pods[] = {{"4x2", 8}, {"2x2", 4}, {"3x2", 6}, {"16x16", 256}, {"8x16", 128}, {"4x4", 16}};
  for (uint32_t i = 0; i < sizeof pods / sizeof *pods; i++) {
    uint32_t hops;
    GroupRing ring = ring_of(pods[i].shape, first_chips(pods[i].n), pods[i].n, &hops);
    cr_assert_eq(hops, 1, "%s", pods[i].shape);
    cr_assert_eq(ring.load, 1, "%s", pods[i].shape);
  }
}

Test(group_ring, comes_home_over_the_links_of_a_line) {
  uint32_t line[] = {0, 2, 4, 6}, hops;
  GroupRing ring = ring_of("4x2", line, 4, &hops);
  cr_assert_eq(hops, 3);
  cr_assert_eq(ring.load, 2, "one block on its way and one that comes home");
}

Test(group_ring, has_all_of_any_group) {
  uint32_t some[] = {5, 0, 3}, hops;
  ring_of("4x2", some, 3, &hops);
  ring_of("3x3", first_chips(9), 9, &hops);
  ring_of("4x2", (uint32_t[]){1}, 1, &hops);
}
