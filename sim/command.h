/* The commands: each takes the parsed command line, prints its result on stdout and returns how it ended. */
#pragma once

#include "sim/options.h"

#define COMMAND(name, function, arguments, help)                                                             \
  Status command_##function(const Options *options, Diag *diag);
#include "sim/commands.def"
#undef COMMAND
