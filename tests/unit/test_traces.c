/* The folds over a ledger: metrics, CSV, Chrome trace, summary, and files that appear only when whole. */
#include "traces/chrome.h"
#include "traces/csv.h"
#include "traces/human.h"
#include "traces/summary.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

enum { US = 1000000 };

/* Two chips; chip 1 ends last: compute 0..4 us and 6..8 us, a collective in flight 3..7 us, a DMA to chip 0.
 */
static Ledger *small_ledger(void) {
  const int64_t shape[] = {2, 1, 1};
  Ledger *ledger = ledger_new(2, shape, 1);
  uint32_t dot = ledger_op(
      ledger,
      &(LedgerOp){.name = STR("dot.1"), .category = STR("dot"), .bound = STR("compute"), .product = true});
  uint32_t gather = ledger_op(ledger, &(LedgerOp){.name = STR("all-gather.1"),
                                                  .category = STR("all-gather"),
                                                  .collective = STR("all-gather"),
                                                  .axes = STR("data"),
                                                  .because = STR("dot.1 needs w, all of it"),
                                                  .bytes_payload = 64,
                                                  .ideal_seconds = 1e-6});
  uint32_t name = ledger_name(ledger, STR("dot.1"));
  uint32_t gather_name = ledger_name(ledger, STR("all-gather.1"));
  ledger_add(ledger, (Event){EVENT_COMPUTE, TRACK_CORE, 0, 0, name, dot, NO_PEER, 0, 0, 4 * US, 10, 100});
  ledger_add(ledger,
             (Event){EVENT_COMPUTE, TRACK_CORE, 1, 0, name, dot, NO_PEER, 0, 6 * US, 2 * US, 10, 100});
  ledger_add(ledger, (Event){EVENT_COMPUTE, TRACK_CORE, 1, 0, name, dot, NO_PEER, 0, 0, 4 * US, 10, 100});
  ledger_add(ledger, (Event){EVENT_COLLECTIVE, TRACK_ASYNC, 1, 0, gather_name, gather, NO_PEER, 0, 3 * US,
                             4 * US, 64, 0});
  ledger_add(ledger,
             (Event){EVENT_DMA, TRACK_DMA, 1, 0, gather_name, gather, 0, 1, 3 * US, 2 * US + 500000, 64, 0});
  ledger_add(ledger, (Event){EVENT_LINK, TRACK_LINK, 1, 1, gather_name, gather, 0, 1, 3 * US, 2 * US + 500000,
                             64, 0});
  ledger_add(ledger,
             (Event){EVENT_WAIT, TRACK_ASYNC, 0, 0, gather_name, gather, 1, 1, 4 * US, US + 500000, 64, 0});
  ledger_finish(ledger);
  return ledger;
}

static Str slurp(Arena *arena, const char *path) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s is missing", path);
  StrBuf buf = {.arena = arena};
  for (int c; (c = fgetc(file)) != EOF;) buf_char(&buf, (char)c);
  fclose(file);
  return buf_str(&buf);
}

static const char *scratch(Arena *arena, const char *name) {
  return str_printf(arena, "/tmp/podsim-%ld-%s", (long)getpid(), name).at;
}

Test(metrics, exposed_communication_is_what_compute_does_not_cover) {
  Arena *arena = arena_new();
  Ledger *ledger = small_ledger();
  Metrics metrics = metrics_fold(arena, ledger);
  cr_assert_eq(metrics.slowest_chip, 1);
  cr_assert_eq(metrics.end_ps, 8 * US);
  cr_assert_eq(metrics.compute_ps, 6 * US);
  cr_assert_eq(metrics.communication_ps, 4 * US);
  cr_assert_eq(metrics.exposed_ps, 2 * US);
  cr_assert_eq(metrics.flops, 200);
  cr_assert_eq(metrics.critical.compute_ps, 6 * US);
  cr_assert_eq(metrics.critical.idle_ps, 2 * US);
  cr_assert_eq(metrics.hbm_bytes, 20);
  cr_assert_eq(metrics.other_hbm_bytes, 0);
  cr_assert_eq(metrics.ops[0].count, 2);
  cr_assert_eq(metrics.ops[1].exposed_ps, 2 * US);
  cr_assert_eq(metrics.ops[1].wire_bytes, 32);
  cr_assert_float_eq(metrics_mfu(&metrics, 1e8), 0.25, 1e-12);
  Ids costliest = metrics_costliest(arena, &metrics, 1);
  cr_assert_eq(costliest.n, 1);
  cr_assert_eq(costliest.at[0], 0);
  ledger_free(ledger);
  arena_free(arena);
}

Test(metrics, steps_of_one_collective_count_once_where_they_run_side_by_side) {
  Arena *arena = arena_new();
  const int64_t shape[] = {1, 1, 1};
  Ledger *ledger = ledger_new(1, shape, 1);
  uint32_t ops[3];
  static const char *const wholes[] = {"all-gather", "", "all-gather"};
  for (uint32_t i = 0; i < 3; i++) {
    ops[i] = ledger_op(ledger, &(LedgerOp){.name = STR("step"), .whole = str_of(wholes[i])});
    ledger_add(ledger, (Event){EVENT_COLLECTIVE, TRACK_ASYNC, 0, i, ledger_name(ledger, STR("step")), ops[i],
                               NO_PEER, 0, i * US, 5 * US, 0, 0});
  }
  ledger_finish(ledger);
  Metrics metrics = metrics_fold(arena, ledger);
  cr_assert_eq(metrics.ops[0].whole.ps, 7 * US, "0..5 and 2..7");
  cr_assert_eq(metrics.ops[0].whole.n, 2);
  cr_assert_eq(metrics.ops[2].whole.first, 0);
  Ids costliest = metrics_costliest_wholes(arena, &metrics, 8);
  cr_assert_eq(costliest.n, 2);
  cr_assert_eq(costliest.at[0], 0);
  cr_assert_eq(costliest.at[1], 1);
  ledger_free(ledger);
  arena_free(arena);
}

Test(metrics, ops_of_one_line_and_shape_are_alike) {
  Arena *arena = arena_new();
  const int64_t shape[] = {1, 1, 1};
  Ledger *ledger = ledger_new(1, shape, 1);
  const LedgerOp ops[] = {
      {.name = STR("dot.1"), .category = STR("dot"), .shape = STR("f32[8]"), .source = STR("model.py:7")},
      {.name = STR("dot.2"), .category = STR("dot"), .shape = STR("f32[8]"), .source = STR("model.py:7")},
      {.name = STR("dot.3"), .category = STR("dot"), .shape = STR("f32[9]"), .source = STR("model.py:7")},
      {.name = STR("add"), .category = STR("add")},
      {.name = STR("add.last"), .category = STR("add")}};
  for (uint32_t i = 0; i < 5; i++)
    ledger_add(ledger, (Event){EVENT_COMPUTE, TRACK_CORE, 0, 0, 0, ledger_op(ledger, &ops[i]), NO_PEER, 0,
                               10 * i * US, (i + 1) * US, 0, 0});
  ledger_finish(ledger);
  Metrics metrics = metrics_fold(arena, ledger);
  cr_assert_eq(metrics.ops[0].alike.n, 2, "two layers");
  cr_assert_eq(metrics.ops[0].alike.ps, 3 * US);
  cr_assert_eq(metrics.ops[0].alike.count, 2);
  cr_assert_eq(metrics.ops[2].alike.n, 1, "of another shape");
  cr_assert_eq(metrics.ops[4].alike.first, 3, "a loop's last iteration, without lines");
  Ids costliest = metrics_costliest_alike(arena, &metrics, 2);
  cr_assert_eq(costliest.at[0], 3);
  cr_assert_eq(costliest.at[1], 0);
  ledger_free(ledger);
  arena_free(arena);
}

/* Chip 0 computes 0..4 us and sends to chip 1, which has been done since 2 us and waits for it till 6 us. */
Test(critical_path, goes_from_chip_to_chip_by_what_was_waited_for) {
  Arena *arena = arena_new();
  const int64_t shape[] = {2, 1, 1};
  Ledger *ledger = ledger_new(2, shape, 1);
  uint32_t dot = ledger_op(ledger, &(LedgerOp){.name = STR("dot")});
  uint32_t permute =
      ledger_op(ledger, &(LedgerOp){.name = STR("permute"), .collective = STR("collective-permute")});
  uint32_t name = ledger_name(ledger, STR("any"));
  const Event events[] = {
      {EVENT_COMPUTE, TRACK_CORE, 0, 0, name, dot, NO_PEER, 0, 0, 4 * US, 0, 0},
      {EVENT_COLLECTIVE, TRACK_CORE, 0, 0, name, permute, NO_PEER, 0, 4 * US, US, 0, 0},
      {EVENT_DMA, TRACK_DMA, 0, 0, name, permute, 1, 7, 4 * US, 2 * US, 0, 0},
      {EVENT_COMPUTE, TRACK_CORE, 1, 0, name, dot, NO_PEER, 0, 0, 2 * US, 0, 0},
      {EVENT_COLLECTIVE, TRACK_CORE, 1, 0, name, permute, NO_PEER, 0, 2 * US, 4 * US, 0, 0},
      {EVENT_WAIT, TRACK_SYNC, 1, 0, name, permute, 0, 7, 2 * US, 4 * US, 0, 0},
      {EVENT_COMPUTE, TRACK_CORE, 1, 0, name, dot, NO_PEER, 0, 6 * US + 500000, US, 0, 0}};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) ledger_add(ledger, events[i]);
  ledger_finish(ledger);
  CriticalPath path = critical_path(arena, ledger, 1);
  cr_assert_eq(path.compute_ps, 5 * US, "four on chip 0, one on chip 1");
  cr_assert_eq(path.communication_ps, 2 * US);
  cr_assert_eq(path.idle_ps, 500000);
  cr_assert_eq(path.op_ps[dot], 5 * US);
  cr_assert_eq(path.op_ps[permute], 2 * US);
  ledger_free(ledger);
  arena_free(arena);
}

Test(csv, a_row_an_event_in_picoseconds) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  Ledger *ledger = small_ledger();
  const char *path = scratch(arena, "timeline.csv");
  cr_assert_eq(timeline_csv_write(ledger, path, diag), STATUS_OK);
  Str text = slurp(arena, path);
  cr_assert(
      str_starts(text, "chip,x,y,z,track,name,kind,start_us,duration_us,bytes,flops,peer,collective\n"));
  cr_assert_not_null(
      strstr(text.at, "\n1,1,0,0,DMA,all-gather.1,dma,3.000000,2.500000,64,0,0,all-gather.1\n"));
  cr_assert_not_null(
      strstr(text.at, "\n1,1,0,0,ICI -x,all-gather.1,link,3.000000,2.500000,64,0,0,all-gather.1\n"));
  cr_assert_not_null(strstr(text.at, "\n0,0,0,0,XLA Ops,dot.1,compute,0.000000,4.000000,10,100,,\n"));
  unlink(path);
  ledger_free(ledger);
  diag_free(diag);
  arena_free(arena);
}

Test(csv, fields_are_quoted_where_they_must_be) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  const char *path = scratch(arena, "table.csv");
  Str header[] = {STR("mesh"), STR("note")}, row[] = {STR("data=2,model=4"), STR("say \"no\"")};
  cr_assert_eq(table_csv_write(path, header, row, 2, 1, diag), STATUS_OK);
  cr_assert_str_eq(slurp(arena, path).at, "mesh,note\n\"data=2,model=4\",\"say \"\"no\"\"\"\n");
  unlink(path);
  diag_free(diag);
  arena_free(arena);
}

Test(chrome, slices_flows_and_names) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  Ledger *ledger = small_ledger();
  const char *path = scratch(arena, "trace.json");
  cr_assert_eq(chrome_trace_write(ledger, STR("jit_f"), NULL, path, diag), STATUS_OK);
  Str text = slurp(arena, path);
  cr_assert_not_null(strstr(text.at, "\"name\":\"/device:TPU:1 (1)\""));
  cr_assert_not_null(strstr(text.at, "\"name\":\"TPU 1 ICI -x\""));
  cr_assert_not_null(strstr(text.at, "\"name\":\"Steps\""));
  cr_assert_not_null(
      strstr(text.at, "\"pid\":101,\"tid\":2,\"name\":\"jit_f\",\"ts\":0.000000,\"dur\":8.000000"));
  cr_assert_not_null(
      strstr(text.at, "\"ts\":3.000000,\"dur\":4.000000,\"args\":{\"hlo_op\":\"all-gather.1\""));
  cr_assert_not_null(strstr(text.at, "\"ph\":\"s\",\"pid\":101"));
  cr_assert_not_null(strstr(text.at, "\"ph\":\"f\",\"pid\":100"));
  const bool only_sender[] = {false, true};
  cr_assert_eq(chrome_trace_write(ledger, STR("jit_f"), only_sender, path, diag), STATUS_OK);
  cr_assert_not_null(strstr(slurp(arena, path).at, "\"ph\":\"f\",\"pid\":50"),
                     "at the link, where nobody waits");
  const bool only_receiver[] = {true, false};
  cr_assert_eq(chrome_trace_write(ledger, STR("jit_f"), only_receiver, path, diag), STATUS_OK);
  cr_assert_null(strstr(slurp(arena, path).at, "remote DMA"), "without its sender");
  unlink(path);
  ledger_free(ledger);
  diag_free(diag);
  arena_free(arena);
}

Test(chrome, chips_are_chosen_by_ranges) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  bool *shown;
  cr_assert_eq(chips_parse(arena, "0, 2-3", 5, &shown, diag), STATUS_OK);
  const bool want[] = {true, false, true, true, false};
  for (int i = 0; i < 5; i++) cr_assert_eq(shown[i], want[i]);
  cr_assert_eq(chips_parse(arena, "4-5", 5, &shown, diag), STATUS_USAGE);
  diag_free(diag);
  arena_free(arena);
}

Test(summary, at_most_25_lines) {
  Arena *arena = arena_new();
  Ledger *ledger = small_ledger();
  for (int i = 0; i < 40; i++) {
    LedgerOp op = {.name = str_printf(arena, "add.%d", i), .category = STR("add")};
    uint32_t index = ledger_op(ledger, &op);
    ledger_add(ledger,
               (Event){EVENT_COMPUTE, TRACK_CORE, 1, 0, 0, index, NO_PEER, 0, (8 + i) * US, US, 10, 1});
  }
  ledger_finish(ledger);
  Metrics metrics = metrics_fold(arena, ledger);
  RunInfo info = {
      .program = STR("jit_f"), .pod = STR("v5e 2"), .peak_flops = 1e12, .hbm_limit_bytes = 1 << 30};
  for (int i = 0; i < 9; i++) VEC_PUSH(arena, &info.files, STR("out/file"));
  Str text = summary_text(arena, &info, ledger, &metrics);
  int lines = 0;
  for (size_t i = 0; i < text.n; i++) lines += text.at[i] == '\n';
  cr_assert_leq(lines, 25);
  cr_assert_not_null(strstr(text.at, "all-gather over data, 64 B: dot.1 needs w, all of it"));
  ledger_free(ledger);
  arena_free(arena);
}

Test(human, three_digits_and_the_unit_that_fits) {
  Arena *arena = arena_new();
  StrBuf buf = {.arena = arena};
  human_time(&buf, 371 * US);
  buf_char(&buf, '|');
  human_time(&buf, 999999);
  buf_char(&buf, '|');
  human_bytes(&buf, 1536);
  buf_char(&buf, '|');
  human_bytes(&buf, 12);
  buf_char(&buf, '|');
  human_flops(&buf, 1970000000000);
  cr_assert_str_eq(buf_str(&buf).at, "371 us|1.00 us|1.50 KiB|12 B|1.97 TFLOP");
  arena_free(arena);
}

Test(file_out, nothing_half_written) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  const char *path = scratch(arena, "whole.txt");
  FileOut *out;
  cr_assert_eq(file_out_open(path, &out, diag), STATUS_OK);
  file_out_text(out, STR("part"));
  cr_assert_neq(access(path, F_OK), 0, "not under its name before it is whole");
  file_out_drop(out);
  cr_assert_neq(access(path, F_OK), 0);
  cr_assert_eq(file_out_open("/nonexistent/x.csv", &out, diag), STATUS_FAILED);
  diag_free(diag);
  arena_free(arena);
}
