/* Asynchronous operations: a collective in an actor of its own (a plain one too, where the schedule splits
 * it), a copy that takes its time (between chip and host over PCIe), or a computation that was run when it
 * started. */
#pragma once

#include "sim/engine/frame.h"

/* A move to or from the host that is waited for. */
Status run_host(Frame *frame, const Step *step);
/* Whether what a start begins is a collective. */
bool starts_collective(const Module *module, const Instr *start);

Status run_start(Frame *frame, const Step *step);
Status run_done(Frame *frame, const Step *step);
/* Drops what collectives that never ended refer to. */
void asyncs_clear(Chip *chip);
/* Drops results that a frame never took. */
void asyncs_drop_results(const Frame *frame);
