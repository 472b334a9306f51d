/* The command line through glibc's argp; the options come from flags.def, the commands from commands.def. */
#include "sim/options.h"

#include <argp.h>
#include <string.h>

enum { ARGUMENTS_MOST = 4 };

/* The commands that take a program through the stages. */
#define SIMULATING "run|partition|show|explain|sweep"

static const struct argp_option option_table[] = {
#define FLAG(key, name, argument, field, kind, heeded_by, help) {name, key, argument, 0, help, 0},
#include "sim/flags.def"
#undef FLAG
    {"help", '?', NULL, 0, "print this help", -1}, {"version", 'V', NULL, 0, "print the version", -1}, {0}};

static const char *const command_names[] = {
#define COMMAND(name, function, arguments, help) name,
#include "sim/commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof command_names / sizeof command_names[0] };

static const char usage_text[] = "[run] CONFIG PROGRAM\nCOMMAND ARGUMENTS";

static const char about_text[] =
    "Simulates a JAX program on a pod of TPU chips: true numbers and a timeline.\n\n"
    "Commands:\n"
#define COMMAND(name, function, arguments, help) "  " name " " arguments "\n      " help "\n"
#include "sim/commands.def"
#undef COMMAND
    "\nOptions:\v"
    "PROGRAM is what jax.jit(f).lower(...).as_text() prints, as StableHLO or with\n"
    "dialect=\"hlo\"; .gz and - (standard input) are read too.\n\n"
    "Exit codes: 0 done, 1 a run or a check failed, 2 wrong usage, 3 input not\n"
    "supported or malformed, 4 does not fit in memory, 5 deadlock or race.";

/* A flag that was given, and the commands that heed it. */
typedef struct {
  const char *name, *commands;
} Given;

typedef struct {
  Arena *arena;
  Options *options;
  Diag *diag;
  Status status;
  bool done, help;
  const char *arguments[ARGUMENTS_MOST];
  uint32_t n_arguments;
  Vec(Given) given;
} Parse;

static void append(Parse *parse, TextList *list, const char *text) {
  const char **at = ARENA_ARRAY(parse->arena, const char *, list->n + 1);
  if (list->n != 0) memcpy(at, list->at, list->n * sizeof *at);
  at[list->n++] = text;
  list->at = at;
}

static bool one_of(const char *text, const char *choices) {
  size_t n = strlen(text);
  for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
    if (*at == '|') at++;
    if (strncmp(at, text, n) == 0 && n > 0 && (at[n] == 0 || at[n] == '|')) return true;
  }
  return false;
}

static Status set_number(Parse *parse, const char *flag, const char *text, bool *has, int64_t *number) {
  *has = true;
  if (str_to_int(str_of(text), number) && *number >= 0) return STATUS_OK;
  return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, NULL, "--%s takes a number from 0, not '%s'", flag,
                   text);
}

static Status set_choice(Parse *parse, const char *flag, const char *choices, const char *text,
                         const char **field) {
  *field = text;
  if (one_of(text, choices)) return STATUS_OK;
  return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, NULL, "--%s takes %s, not '%s'", flag, choices, text);
}

#define SET_SWITCH(name, argument, field) parse->options->field = true
#define SET_TEXT(name, argument, field)   parse->options->field = text
#define SET_LIST(name, argument, field)   append(parse, &parse->options->field, text)
#define SET_NUMBER(name, argument, field)                                                                    \
  parse->status = set_number(parse, name, text, &parse->options->has_##field, &parse->options->field)
#define SET_CHOICE(name, argument, field)                                                                    \
  parse->status = set_choice(parse, name, argument, text, &parse->options->field)

static error_t take(int key, char *text, struct argp_state *state) {
  Parse *parse = state->input;
  if (parse->status != STATUS_OK) return 0;
  switch (key) {
#define FLAG(key, name, argument, field, kind, heeded_by, help)                                              \
  case key:                                                                                                  \
    SET_##kind(name, argument, field);                                                                       \
    VEC_PUSH(parse->arena, &parse->given, (Given){name, heeded_by});                                         \
    return 0;
#include "sim/flags.def"
#undef FLAG
  case '?':
    parse->done = true;
    parse->help = true;
    return 0;
  case 'V':
    parse->done = true;
    puts("podsim " PODSIM_VERSION);
    return 0;
  case ARGP_KEY_ARG:
    if (parse->n_arguments == ARGUMENTS_MOST) {
      parse->status = diag_fail(parse->diag, STATUS_USAGE, NOWHERE, "see podsim --help",
                                "one argument too many: '%s'", text);
    } else {
      parse->arguments[parse->n_arguments++] = text;
    }
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static Status wrong_count(Parse *parse, const char *command, const char *wanted) {
  return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, "see podsim --help",
                   "`podsim %s` takes %s, not %u argument%s", command, wanted, parse->n_arguments,
                   parse->n_arguments == 1 ? "" : "s");
}

/* Hands the arguments to the fields that the command's own row names: CONFIG, PROGRAM, [PROGRAM], [OP]. */
static Status place_arguments(Parse *parse, const char *command, const char *wanted) {
  Options *options = parse->options;
  options->command = command;
  uint32_t next = 0;
  for (Str rest = str_of(wanted); rest.n > 0;) {
    size_t end = str_find(rest, ' ');
    Str word = str_sub(rest, 0, end);
    rest = str_sub(rest, end + 1, rest.n);
    bool optional = str_starts(word, "[") || options->draw != NULL;
    const char *text = next < parse->n_arguments ? parse->arguments[next++] : NULL;
    RETURN_IF(text == NULL && !optional, wrong_count(parse, command, wanted));
    if (str_is(word, "CONFIG")) options->config_path = text;
    if (str_is(word, "PROGRAM") || str_is(word, "[PROGRAM]")) options->program_path = text;
    if (str_is(word, "[OP]")) options->op_name = text;
  }
  RETURN_IF(next < parse->n_arguments, wrong_count(parse, command, wanted));
  return STATUS_OK;
}

static Status choose_command(Parse *parse) {
  if (parse->n_arguments == 0) {
    return diag_fail(parse->diag, STATUS_USAGE, NOWHERE,
                     "podsim configs/v5e_4x2.ini program.hlo; see podsim --help",
                     "a config and a program are needed");
  }
  const char *first = parse->arguments[0];
#define COMMAND(name, function, wanted, help)                                                                \
  if (strcmp(first, name) == 0) {                                                                            \
    memmove(parse->arguments, parse->arguments + 1, --parse->n_arguments * sizeof parse->arguments[0]);      \
    return place_arguments(parse, name, wanted);                                                             \
  }
#include "sim/commands.def"
#undef COMMAND
  bool looks_like_path = strpbrk(first, "./") != NULL;
  if (!looks_like_path) {
    const char *near = str_nearest(str_of(first), command_names, COMMANDS);
    Str hint =
        near == NULL ? STR("see podsim --help") : str_printf(parse->arena, "did you mean `podsim %s`?", near);
    return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, hint.at,
                     "'%s' is neither a command nor a config file", first);
  }
  return place_arguments(parse, "run", "CONFIG PROGRAM");
}

/* A flag that would change nothing is a mistake: nobody should wait for files that never come. */
static Status command_heeds_flags(Parse *parse) {
  const char *command = parse->options->command;
  for (uint32_t i = 0; i < parse->given.n; i++) {
    Given given = parse->given.at[i];
    if (one_of(command, given.commands)) continue;
    return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, "see podsim --help",
                     "--%s changes nothing in `podsim %s`; it is for %s", given.name, command,
                     given.commands);
  }
  bool contradict = parse->options->check && strcmp(parse->options->numbers, "off") == 0;
  return contradict ? diag_fail(parse->diag, STATUS_USAGE, NOWHERE, "leave one of them out",
                                "--check compares numbers, and --numbers off computes none")
                    : STATUS_OK;
}

static const char *const flag_names[] = {
#define FLAG(key, name, argument, field, kind, heeded_by, help) "--" name,
#include "sim/flags.def"
#undef FLAG
    "--help", "--version"};
enum { FLAGS = sizeof flag_names / sizeof flag_names[0] };

static bool is_known_flag(Str name) {
  for (uint32_t i = 0; i < FLAGS; i++) {
    if (str_is(name, flag_names[i])) return true;
  }
  return false;
}

/* argp does not say which flag it refused: it is the first that no table has, else one whose value is
 * missing. */
static Status refused_flag(Parse *parse, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    Str name = str_sub(str_of(argv[i]), 0, str_find(str_of(argv[i]), '='));
    if (!str_starts(name, "--") || name.n == 2 || is_known_flag(name)) continue;
    const char *hint = did_you_mean(parse->arena, name, flag_names, FLAGS, "see podsim --help");
    return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, hint, "there is no flag %.*s", STR_ARG(name));
  }
  return diag_fail(parse->diag, STATUS_USAGE, NOWHERE, "see podsim --help",
                   "a flag is unknown, or its value is missing");
}

Status options_parse(Arena *arena, int argc, char **argv, Options *options, bool *done, Diag *diag) {
  static const struct argp argp = {option_table, take, usage_text, about_text, NULL, NULL, NULL};
  *options = (Options){.numbers = "auto", .partitioner = "shardy"};
  Parse parse = {.arena = arena, .options = options, .diag = diag};
  error_t error = argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parse);
  *done = parse.done;
  if (parse.help) argp_help(&argp, stdout, ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC, "podsim");
  TRY(parse.status);
  RETURN_IF(parse.done, STATUS_OK);
  RETURN_IF(error != 0, refused_flag(&parse, argc, argv));
  TRY(choose_command(&parse));
  return command_heeds_flags(&parse);
}
