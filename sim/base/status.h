/* Status codes: every function that can fail returns one. The table is status.def. */
#pragma once

typedef enum {
#define STATUS(name, code, meaning) STATUS_##name = code,
#include "sim/base/status.def"
#undef STATUS
} Status;

/* What a status means, in a few words. */
const char *status_meaning(Status status);

/* Forwards a failure to the caller. */
#define TRY(expr)                                                                                            \
  do {                                                                                                       \
    Status try_status_ = (expr);                                                                             \
    if (try_status_ != STATUS_OK) return try_status_;                                                        \
  } while (0)

/* Returns `status` where `cond` holds; `status` is usually a call of diag_fail(). */
#define RETURN_IF(cond, status)                                                                              \
  do {                                                                                                       \
    if (cond) return (status);                                                                               \
  } while (0)
