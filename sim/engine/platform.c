/* Platform: a torus zone for each slice, and a star for the network between them, in XML, handed over in
 * memory. An axis that does not wrap is made twice as long as it is, so that no shortest way ever goes
 * through the wrap link that the zone has and the pod has not. CM02 without cross traffic and TCP window
 * makes a flow take exactly bytes / bandwidth; links of zero latency make the shares of long and short routes
 * equal; precision 1e-14 s keeps dates a picosecond apart. */
#include "sim/engine/platform.h"

#include "models/ici_model.h"

#include <errno.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef PODSIM_ASAN
#define CONTEXTS "--cfg=contexts/factory:thread" /* sanitizers do not follow swapped stacks */
#else
#define CONTEXTS "--cfg=contexts/stack-size:256" /* KiB */
#endif

/* A guard page behind each stack costs two of the mappings that a process may have (65,530): chips and their
 * helpers of a pod beyond this many go without. */
enum { GUARDED_CHIPS = 2048 };

static void start_simgrid(uint32_t chips) {
  char *guard = chips > GUARDED_CHIPS ? "--cfg=contexts/guard-size:0" : "--cfg=contexts/guard-size:1";
  char *arguments[] = {"podsim",
                       "--cfg=network/model:CM02",
                       "--cfg=network/crosstraffic:0",
                       "--cfg=network/TCP-gamma:0",
                       "--cfg=surf/precision:1e-14",
                       CONTEXTS,
                       guard,
                       "--log=root.app:file:/dev/null",
                       NULL};
  int n = sizeof arguments / sizeof *arguments - 1;
  simgrid_init(&n, arguments);
}

/* Chips along an axis of the zone. */
static int64_t zone_length(const Pod *pod, uint32_t axis) {
  return pod->wrap[axis] && pod->shape[axis] > 1 ? pod->shape[axis] : 2 * pod->shape[axis];
}

/* The zone numbers its hosts with the first axis fastest, and routes along the first axis first. */
static int64_t zone_host(const Pod *pod, uint32_t chip) {
  int64_t at[POD_AXES], host = 0;
  pod_coordinates(pod, chip, at);
  for (uint32_t axis = pod->n_axes; axis-- > 0;) host = host * zone_length(pod, axis) + at[axis];
  return host;
}

uint32_t platform_link_end(const Pod *pod, uint32_t chip, uint32_t axis, bool down) {
  int64_t at[POD_AXES];
  pod_coordinates(pod, chip, at);
  at[axis] = (at[axis] + (down ? -1 : 1) + pod->shape[axis]) % pod->shape[axis];
  return pod_chip(pod, pod_slice(pod, chip), at);
}

static int64_t zone_hosts(const Pod *pod) {
  int64_t hosts = 1;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) hosts *= zone_length(pod, axis);
  return hosts;
}

/* Hosts s<slice>c0 … on a torus. */
static void add_torus(StrBuf *xml, const Pod *pod, int64_t slice) {
  buf_printf(
      xml,
      "<cluster id=\"slice%ld\" prefix=\"s%ldc\" radical=\"0-%ld\" suffix=\"\" speed=\"1Gf\" "
      "bw=\"%.17gBps\" lat=\"0us\" sharing_policy=\"SPLITDUPLEX\" topology=\"TORUS\" topo_parameters=\"",
      (long)slice, (long)slice, (long)(zone_hosts(pod) - 1), ici_link_bw_Bps(pod));
  for (uint32_t axis = 0; axis < pod->n_axes; axis++)
    buf_printf(xml, "%s%ld", axis == 0 ? "" : ",", (long)zone_length(pod, axis));
  buf_add(xml, STR("\"/>"));
}

/* Hosts n0 …, one a chip, each with a link out and a link in. */
static void add_star(StrBuf *xml, const Pod *pod) {
  buf_printf(xml,
             "<cluster id=\"dcn\" prefix=\"n\" radical=\"0-%u\" suffix=\"\" speed=\"1Gf\" bw=\"%.17gBps\" "
             "lat=\"0us\" sharing_policy=\"SPLITDUPLEX\"/>",
             pod->n_chips - 1, pod->dcn_bw_Bps);
}

static Str pod_xml(Arena *arena, const Pod *pod) {
  StrBuf xml = {.arena = arena};
  buf_add(&xml, STR("<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
                    "<platform version=\"4.1\"><zone id=\"pod\" routing=\"Full\">"));
  for (int64_t slice = 0; slice < pod->slices; slice++) add_torus(&xml, pod, slice);
  if (pod->slices > 1) add_star(&xml, pod);
  buf_add(&xml, STR("</zone></platform>"));
  return buf_str(&xml);
}

static Status load_xml(Str xml, Diag *diag) {
  int file = memfd_create("pod", MFD_CLOEXEC);
  RETURN_IF(file < 0, diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "memfd_create: %s", strerror(errno)));
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  bool written = write(file, xml.at, xml.n) == (ssize_t)xml.n;
  if (written) simgrid_load_platform(path);
  close(file);
  RETURN_IF(!written, diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "the platform cannot be written: %s",
                                strerror(errno)));
  return STATUS_OK;
}

Status platform_start(Arena *arena, const Pod *pod, Platform *platform, Diag *diag) {
  start_simgrid(pod->n_chips);
  RETURN_IF(sg_host_count() != 0, diag_fail(diag, STATUS_FAILED, NOWHERE, "fork for each run",
                                            "the engine was started twice in one process"));
  TRY(load_xml(pod_xml(arena, pod), diag));
  platform->hosts = ARENA_ARRAY(arena, sg_host_t, pod->n_chips);
  platform->cards = pod->slices > 1 ? ARENA_ARRAY(arena, sg_host_t, pod->n_chips) : NULL;
  for (uint32_t chip = 0; chip < pod->n_chips; chip++) {
    char name[64];
    snprintf(name, sizeof name, "s%uc%ld", pod_slice(pod, chip), (long)zone_host(pod, chip));
    platform->hosts[chip] = sg_host_by_name(name);
    if (platform->cards == NULL) continue;
    snprintf(name, sizeof name, "n%u", chip);
    platform->cards[chip] = sg_host_by_name(name);
  }
  return STATUS_OK;
}
