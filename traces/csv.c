/* CSV: texts are quoted by libcsv where RFC 4180 asks for it; numbers are written bare. */
#include "traces/csv.h"
#include "traces/track_names.h"

#include <csv.h>
#include <inttypes.h>
#include <string.h>

/* Appends a field, quoted where it must be. */
static void add_field(StrBuf *line, Str text) {
  bool plain = true;
  for (size_t i = 0; i < text.n; i++) plain = plain && memchr(",\"\r\n", text.at[i], 4) == NULL;
  if (plain) {
    buf_add(line, text);
    return;
  }
  size_t room = text.n * 2 + 2;
  char *quoted = arena_alloc(line->arena, room);
  buf_add(line, (Str){quoted, csv_write(quoted, room, text.at, text.n)});
}

static void add_event(StrBuf *line, const Ledger *ledger, const Event *event) {
  int64_t at[3];
  chip_coordinates(ledger, event->chip, at);
  buf_printf(line, "%u,%" PRId64 ",%" PRId64 ",%" PRId64 ",", event->chip, at[0], at[1], at[2]);
  track_name(line, event);
  buf_char(line, ',');
  add_field(line, ledger->names.at[event->name]);
  buf_printf(line, ",%s,", event_kind_text(event->kind));
  microseconds_text(line, event->start_ps);
  buf_char(line, ',');
  microseconds_text(line, event->duration_ps);
  buf_printf(line, ",%" PRId64 ",%" PRId64 ",", event->bytes, event->flops);
  if (event->peer != NO_PEER) buf_printf(line, "%u", event->peer);
  buf_char(line, ',');
  bool collective = event->op != NO_OP && ledger->ops.at[event->op].collective.n > 0;
  if (collective) add_field(line, ledger->ops.at[event->op].name);
  buf_char(line, '\n');
}

Status timeline_csv_write(const Ledger *ledger, const char *path, Diag *diag) {
  FileOut *out;
  TRY(file_out_open(path, &out, diag));
  file_out_text(out, STR("chip,x,y,z,track,name,kind,start_us,duration_us,bytes,flops,peer,collective\n"));
  Arena *arena = arena_new();
  StrBuf line = {.arena = arena};
  for (size_t i = 0; i < ledger->n_events; i++) {
    line.n = 0;
    add_event(&line, ledger, &ledger->events[i]);
    file_out_text(out, buf_str(&line));
  }
  arena_free(arena);
  return file_out_close(out, diag);
}

static void add_row(StrBuf *line, const Str *row, uint32_t columns) {
  for (uint32_t c = 0; c < columns; c++) {
    if (c > 0) buf_char(line, ',');
    add_field(line, row[c]);
  }
  buf_char(line, '\n');
}

Status table_csv_write(const char *path, const Str *header, const Str *rows, uint32_t columns,
                       uint32_t n_rows, Diag *diag) {
  Arena *arena = arena_new();
  StrBuf text = {.arena = arena};
  add_row(&text, header, columns);
  for (uint32_t r = 0; r < n_rows; r++) add_row(&text, rows + (size_t)r * columns, columns);
  Status status = file_write(path, buf_str(&text), diag);
  arena_free(arena);
  return status;
}
