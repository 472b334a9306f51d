/* The trace: metadata events that name processes and threads, then a complete event ("X") for each event of
 * the ledger. The ledger is sorted by start and longer first, so that slices on a thread nest. */
#include "traces/chrome.h"
#include "sim/base/map.h"
#include "traces/json_out.h"
#include "traces/track_names.h"

/* Process ids: the links have one, chip d has FIRST_CHIP + d. Thread ids: a block for each track, the lane
 * added. */
enum {
  PID_LINKS = 50,
  PID_FIRST_CHIP = 100,
  TRACK_TIDS = 1000,
  LINK_TIDS = 1 << 12,
  TID_STEPS = 1,
  TID_MODULES = 2,
  TID_FIRST = 3
};

typedef struct {
  JsonOut *json;
  const Ledger *ledger;
  const bool *shown;
  Arena *arena;
  StrBuf text;
  size_t *flow_end; /* by flow: the event that it ends at, or SIZE_MAX */
} Trace;

static int64_t event_pid(const Event *event) {
  return event->track == TRACK_LINK ? PID_LINKS : PID_FIRST_CHIP + (int64_t)event->chip;
}

static int64_t event_tid(const Event *event) {
  if (event->track == TRACK_LINK) return (int64_t)event->chip * LINK_TIDS + event->lane;
  return TID_FIRST + (int64_t)event->track * TRACK_TIDS + event->lane;
}

static bool is_shown(const Trace *trace, const Event *event) {
  return trace->shown == NULL || trace->shown[event->chip];
}

static void put_time(Trace *trace, const char *key, int64_t ps) {
  trace->text.n = 0;
  microseconds_text(&trace->text, ps);
  json_key(trace->json, key);
  json_digits(trace->json, buf_str(&trace->text));
}

static void put_head(Trace *trace, const char *phase, int64_t pid, int64_t tid) {
  json_object(trace->json);
  json_key_text(trace->json, "ph", str_of(phase));
  json_key_int(trace->json, "pid", pid);
  json_key_int(trace->json, "tid", tid);
}

/* process_name, thread_name (and their _sort_index) as metadata events. */
static void put_name(Trace *trace, const char *what, int64_t pid, int64_t tid, Str name, int64_t order) {
  trace->text.n = 0;
  put_head(trace, "M", pid, tid);
  buf_printf(&trace->text, "%s_name", what);
  json_key_text(trace->json, "name", buf_str(&trace->text));
  json_key(trace->json, "args");
  json_object(trace->json);
  json_key_text(trace->json, "name", name);
  json_object_end(trace->json);
  json_object_end(trace->json);
  put_head(trace, "M", pid, tid);
  trace->text.n = 0;
  buf_printf(&trace->text, "%s_sort_index", what);
  json_key_text(trace->json, "name", buf_str(&trace->text));
  json_key(trace->json, "args");
  json_object(trace->json);
  json_key_int(trace->json, "sort_index", order);
  json_object_end(trace->json);
  json_object_end(trace->json);
}

static void put_processes(Trace *trace) {
  for (uint32_t chip = 0; chip < trace->ledger->n_chips; chip++) {
    if (trace->shown != NULL && !trace->shown[chip]) continue;
    StrBuf name = {.arena = trace->arena};
    buf_printf(&name, "/device:TPU:%u ", chip);
    chip_coordinates_text(&name, trace->ledger, chip);
    put_name(trace, "process", PID_FIRST_CHIP + (int64_t)chip, 0, buf_str(&name),
             PID_FIRST_CHIP + (int64_t)chip);
  }
  put_name(trace, "process", PID_LINKS, 0, STR("ICI links"),
           PID_FIRST_CHIP + (int64_t)trace->ledger->n_chips);
}

/* Names each thread once, the first time that an event lies on it. */
static void put_threads(Trace *trace) {
  StrMap *named = map_new(trace->arena);
  for (size_t i = 0; i < trace->ledger->n_events; i++) {
    const Event *event = &trace->ledger->events[i];
    if (!is_shown(trace, event)) continue;
    int64_t key[2] = {event_pid(event), event_tid(event)};
    uint32_t seen;
    if (map_get(named, (Str){(const char *)key, sizeof key}, &seen)) continue;
    map_put(named, (Str){arena_copy(trace->arena, key, sizeof key), sizeof key}, 1);
    StrBuf name = {.arena = trace->arena};
    if (event->track == TRACK_LINK) buf_printf(&name, "TPU %u ", event->chip);
    track_name(&name, event);
    put_name(trace, "thread", key[0], key[1], buf_str(&name), key[1]);
  }
}

static void put_text(Trace *trace, const char *key, Str text) {
  if (text.n > 0) json_key_text(trace->json, key, text);
}

static void put_op_args(Trace *trace, const Event *event, const LedgerOp *op) {
  put_text(trace, "hlo_op", op->name);
  put_text(trace, "hlo_category", op->category);
  put_text(trace, "shape_with_layout", op->shape);
  put_text(trace, "tf_op", op->op_name);
  put_text(trace, "source", op->source);
  if (event->kind == EVENT_COMPUTE) put_text(trace, "bound", op->bound);
  if (op->collective.n == 0) return;
  put_text(trace, "axes", op->axes);
  put_text(trace, "algorithm", op->algorithm);
  put_text(trace, "because", op->because);
}

static void put_args(Trace *trace, const Event *event) {
  JsonOut *json = trace->json;
  json_key(json, "args");
  json_object(json);
  if (event->op != NO_OP) put_op_args(trace, event, &trace->ledger->ops.at[event->op]);
  if (event->flops != 0) json_key_int(json, "flops", event->flops);
  bool compute = event->kind == EVENT_COMPUTE;
  if (event->bytes != 0) json_key_int(json, compute ? "bytes_accessed" : "bytes_transferred", event->bytes);
  if (event->peer != NO_PEER) json_key_int(json, "peer", event->peer);
  json_object_end(json);
}

static void put_slice(Trace *trace, const Event *event) {
  put_head(trace, "X", event_pid(event), event_tid(event));
  json_key_text(trace->json, "name", trace->ledger->names.at[event->name]);
  json_key_text(trace->json, "cat", str_of(event_kind_text(event->kind)));
  put_time(trace, "ts", event->start_ps);
  put_time(trace, "dur", event->duration_ps);
  put_args(trace, event);
  json_object_end(trace->json);
}

/* The whole of a chip's run, as XProf has it: step 0, and the module that ran. */
static void put_whole(Trace *trace, uint32_t chip, int64_t tid, Str track, Str name, int64_t end_ps) {
  int64_t pid = PID_FIRST_CHIP + (int64_t)chip;
  put_name(trace, "thread", pid, tid, track, tid);
  put_head(trace, "X", pid, tid);
  json_key_text(trace->json, "name", name);
  put_time(trace, "ts", 0);
  put_time(trace, "dur", end_ps);
  json_object_end(trace->json);
}

static void put_wholes(Trace *trace, Str program) {
  const Ledger *ledger = trace->ledger;
  int64_t *end_ps = ARENA_ARRAY(trace->arena, int64_t, ledger->n_chips);
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    int64_t stop = event->start_ps + event->duration_ps;
    if (event->kind != EVENT_LINK && stop > end_ps[event->chip]) end_ps[event->chip] = stop;
  }
  for (uint32_t chip = 0; chip < ledger->n_chips; chip++) {
    if (trace->shown != NULL && !trace->shown[chip]) continue;
    put_whole(trace, chip, TID_STEPS, STR("Steps"), STR("0"), end_ps[chip]);
    put_whole(trace, chip, TID_MODULES, STR("XLA Modules"), program, end_ps[chip]);
  }
}

/* A flow ends at the wait for it; at its last link where nobody had to wait, or waits on a chip that is not
 * shown. One whose sender is not shown is left out. */
static void find_flow_ends(Trace *trace) {
  const Ledger *ledger = trace->ledger;
  uint32_t most = 0;
  for (size_t i = 0; i < ledger->n_events; i++)
    if (ledger->events[i].flow > most) most = ledger->events[i].flow;
  trace->flow_end = ARENA_ARRAY(trace->arena, size_t, (size_t)most + 1);
  bool *starts = ARENA_ARRAY(trace->arena, bool, (size_t)most + 1);
  for (uint32_t flow = 0; flow <= most; flow++) trace->flow_end[flow] = SIZE_MAX;
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    size_t *end = &trace->flow_end[event->flow];
    if (event->kind == EVENT_DMA && is_shown(trace, event)) starts[event->flow] = true;
    bool waited = *end != SIZE_MAX && ledger->events[*end].kind == EVENT_WAIT;
    if (!is_shown(trace, event) || waited) continue;
    if (event->kind == EVENT_WAIT || event->kind == EVENT_LINK) *end = i;
  }
  for (uint32_t flow = 0; flow <= most; flow++)
    if (!starts[flow]) trace->flow_end[flow] = SIZE_MAX;
}

/* A flow starts at the DMA, steps over its links and ends inside the wait that it ends. */
static void put_flow(Trace *trace, size_t at) {
  const Event *event = &trace->ledger->events[at];
  bool starts = event->kind == EVENT_DMA, steps = event->kind == EVENT_LINK;
  if (event->flow == 0 || (!starts && !steps && event->kind != EVENT_WAIT)) return;
  size_t end = trace->flow_end[event->flow];
  if (end == SIZE_MAX) return;
  const char *phase = starts ? "s" : at == end ? "f" : "t";
  int64_t last = event->duration_ps > 0 ? event->duration_ps - 1 : 0;
  put_head(trace, phase, event_pid(event), event_tid(event));
  json_key_text(trace->json, "name", STR("remote DMA"));
  json_key_text(trace->json, "cat", STR("ici"));
  json_key_int(trace->json, "id", event->flow);
  if (at == end) json_key_text(trace->json, "bp", STR("e"));
  put_time(trace, "ts", event->start_ps + (event->kind == EVENT_WAIT ? last : 0));
  json_object_end(trace->json);
}

static void put_trace(Trace *trace, Str program) {
  JsonOut *json = trace->json;
  json_object(json);
  json_key_text(json, "displayTimeUnit", STR("ns"));
  json_key(json, "otherData");
  json_object(json);
  json_key_text(json, "podsim_version", STR(PODSIM_VERSION));
  json_key_text(json, "program", program);
  json_object_end(json);
  json_key(json, "traceEvents");
  json_array(json);
  put_processes(trace);
  put_threads(trace);
  put_wholes(trace, program);
  find_flow_ends(trace);
  for (size_t i = 0; i < trace->ledger->n_events; i++) {
    const Event *event = &trace->ledger->events[i];
    if (!is_shown(trace, event)) continue;
    put_slice(trace, event);
    put_flow(trace, i);
  }
  json_array_end(json);
  json_object_end(json);
}

Status chrome_trace_write(const Ledger *ledger, Str program, const bool *shown, const char *path,
                          Diag *diag) {
  FileOut *out;
  TRY(file_out_open(path, &out, diag));
  Arena *arena = arena_new();
  Trace trace = {.json = json_out_new(out, false),
                 .ledger = ledger,
                 .shown = shown,
                 .arena = arena,
                 .text = {.arena = arena}};
  put_trace(&trace, program);
  json_out_free(trace.json);
  arena_free(arena);
  return file_out_close(out, diag);
}

static Status chip_range(Str text, uint32_t n_chips, bool *shown, Diag *diag) {
  size_t dash = str_find(text, '-');
  int64_t first, last;
  bool good = str_to_int(str_sub(text, 0, dash), &first);
  last = first;
  if (dash < text.n) good = good && str_to_int(str_sub(text, dash + 1, text.n), &last);
  if (!good || first < 0 || last < first || last >= n_chips) {
    return diag_fail(diag, STATUS_USAGE, NOWHERE, "for example --chips 0,5-8",
                     "--chips: '%.*s' is no chip of this pod of %u", STR_ARG(text), n_chips);
  }
  for (int64_t chip = first; chip <= last; chip++) shown[chip] = true;
  return STATUS_OK;
}

Status chips_parse(Arena *arena, const char *text, uint32_t n_chips, bool **shown, Diag *diag) {
  *shown = ARENA_ARRAY(arena, bool, n_chips);
  for (Str rest = str_of(text); rest.n > 0;) {
    size_t comma = str_find(rest, ',');
    TRY(chip_range(str_trim(str_sub(rest, 0, comma)), n_chips, *shown, diag));
    rest = str_sub(rest, comma + 1, rest.n);
  }
  return STATUS_OK;
}
