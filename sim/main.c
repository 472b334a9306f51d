/* The command line: argv in, exit code out. The only place that exits. */
#include "sim/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static Status run_command(const Options *options, Diag *diag) {
#define COMMAND(name, function, arguments, help)                                                             \
  if (strcmp(options->command, name) == 0) return command_##function(options, diag);
#include "sim/commands.def"
#undef COMMAND
  return STATUS_USAGE;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of writing it */
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  Options options;
  bool done = false;
  Status status = options_parse(arena, argc, argv, &options, &done, diag);
  if (status == STATUS_OK && !done) status = run_command(&options, diag);
  bool written = fflush(stdout) == 0 && !ferror(stdout);
  if (!written && status == STATUS_OK) {
    status = diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot write the result to standard output");
  }
  Str notes = diag_notes_text(diag), error = diag_error_text(diag);
  fprintf(stderr, "%.*s%.*s", STR_ARG(notes), STR_ARG(error));
  diag_free(diag);
  arena_free(arena);
  return (int)status;
}
