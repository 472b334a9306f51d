/* The command line, parsed: what main.c reads from argv and every command works on. The tables are flags.def
 * and commands.def. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/vec.h"

typedef struct {
  const char **at;
  uint32_t n;
} TextList;

typedef struct {
  const char *command; /* of commands.def */
  const char *config_path, *program_path, *op_name;
#define FLAG_FIELD_SWITCH(field) bool field;
#define FLAG_FIELD_TEXT(field)   const char *field;
#define FLAG_FIELD_LIST(field)   TextList field;
#define FLAG_FIELD_NUMBER(field)                                                                             \
  bool has_##field;                                                                                          \
  int64_t field;
#define FLAG_FIELD_CHOICE(field)                               const char *field;
#define FLAG(key, name, argument, field, kind, commands, help) FLAG_FIELD_##kind(field)
#include "sim/flags.def"
#undef FLAG
} Options;

/* Parses argv. Prints --help and --version itself and then sets `done`. Texts point into argv. */
Status options_parse(Arena *arena, int argc, char **argv, Options *options, bool *done, Diag *diag);
