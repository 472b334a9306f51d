/* What most tests begin with: an arena and a Diag, freed behind each test. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/vec.h"

#include <criterion/criterion.h>

static Arena *arena;
static Diag *diag;

static void begin(void) {
  arena = arena_new();
  diag = diag_new();
}

static void end(void) {
  diag_free(diag);
  arena_free(arena);
}
