/* Module to HLO text, in the form XLA's own parser reads as the same module. */
#pragma once

#include "sim/ir/module.h"

/* The whole module; the text lives in `arena`. */
Str module_print(Arena *arena, const Module *module);
/* One instruction, without indent and newline. */
void instr_print(StrBuf *buf, const Module *module, uint32_t comp, uint32_t instr);
/* Text in quotes, with escapes that XLA's parser reads back as the same bytes. */
void buf_quoted(StrBuf *buf, Str value);
