/* What tests of programs begin with: an arena, a Diag and a program that is read from text, freed behind each
 * test. A file that has more to set up calls begin() and end() from functions of its own. */
#pragma once

#include "sim/read/program.h"

#include <criterion/criterion.h>

static Arena *arena;
static Diag *diag;
static Module *module;

static void begin(void) {
  arena = arena_new();
  diag = diag_new();
  module = NULL;
}

static void end(void) {
  module_free(module);
  diag_free(diag);
  arena_free(arena);
}

/* HLO or StableHLO text, which must be sound. */
static void read_program(const char *text) {
  Source *source = ARENA_NEW(arena, Source);
  *source = (Source){STR("test.hlo"), str_of(text)};
  cr_assert_eq(program_read(source, &read_limits_default, &module, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
}
