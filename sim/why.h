/* Why a collective is there: how the values of the op that asks for it lie, and what other specs would make
 * of the step. */
#pragma once

#include "sim/pipeline.h"

/* Prints it for an instruction of the module that is run; nothing where only the program itself could say.
 * Runs other specs in processes of their own, so before the pipeline simulates; those that take long are only
 * counted. */
Status why_print(Pipeline *pipeline, uint32_t comp, uint32_t instr, StrBuf *buf, Diag *diag);
