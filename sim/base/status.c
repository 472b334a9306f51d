/* The texts of the status codes, from status.def. */
#include "sim/base/status.h"

const char *status_meaning(Status status) {
  switch (status) {
#define STATUS(name, code, meaning)                                                                          \
  case STATUS_##name:                                                                                        \
    return meaning;
#include "sim/base/status.def"
#undef STATUS
  }
  return "unknown status";
}
