/* Reading programs: bytes in, module out. The format is told by content (HLO or StableHLO text). */
#pragma once

#include "sim/ir/module.h"

/* Limits on what is read from an untrusted file. */
typedef struct {
  size_t text_bytes, nesting, elements; /* of the text; of brackets; of a literal */
} ReadLimits;

extern const ReadLimits read_limits_default;

/* Reads a file, .gz or not, `-` for standard input, into a source that lives in `arena`. */
Status source_read(Arena *arena, const char *path, const ReadLimits *limits, const Source **source,
                   Diag *diag);

/* The module of a text. The caller frees it with module_free(); the source must outlive it. */
Status program_read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag);

/* HLO text only. */
Status hlo_read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag);
/* StableHLO text only, as JAX's lower(…).as_text() prints it. */
Status stablehlo_read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag);
