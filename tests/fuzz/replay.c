/* Drives a fuzz target without a fuzzer: each file whole, cut at many places, and with bytes changed, dropped
 * and doubled by a fixed generator. Usage: replay ROUNDS FILE… */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* xorshift64 (Marsaglia 2003). */
static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* A copy of exactly `n` bytes, so that reading past the end is seen. */
static void run(const uint8_t *data, size_t n) {
  uint8_t *copy = malloc(n == 0 ? 1 : n);
  if (copy == NULL) abort();
  memcpy(copy, data, n);
  LLVMFuzzerTestOneInput(copy, n);
  free(copy);
}

static size_t mutate(uint8_t *data, size_t n, size_t room, uint64_t *state) {
  static const uint8_t telling[] = "{}[]()%,=:#\"'<>-0_?* \n/9x\\";
  size_t at = next(state) % n, span = next(state) % 16;
  if (span > n - at) span = n - at;
  switch (next(state) % 4) {
  case 0: data[at] = (uint8_t)next(state); return n;
  case 1: data[at] = telling[next(state) % (sizeof telling - 1)]; return n;
  case 2: memmove(data + at, data + at + span, n - at - span); return n - span;
  default:
    if (n + span > room) return n;
    memmove(data + at + span, data + at, n - at);
    return n + span;
  }
}

static void replay(const uint8_t *data, size_t n, unsigned rounds) {
  uint64_t state = 88172645463325252u + n;
  size_t room = n + 256;
  uint8_t *work = malloc(room);
  if (work == NULL) abort();
  run(data, n);
  for (unsigned i = 0; i < rounds && n > 0; i++) {
    run(data, next(&state) % n);
    memcpy(work, data, n);
    size_t length = n;
    for (uint64_t m = next(&state) % 4 + 1; m > 0 && length > 0; m--)
      length = mutate(work, length, room, &state);
    run(work, length);
  }
  free(work);
}

static int replay_file(const char *path, unsigned rounds) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  enum { LARGEST = 1 << 22 };
  uint8_t *data = malloc(LARGEST);
  if (data == NULL) abort();
  size_t n = fread(data, 1, LARGEST, file);
  fclose(file);
  replay(data, n, rounds);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int failed = 0;
  for (int i = 2; i < argc; i++) failed |= replay_file(argv[i], (unsigned)strtoul(argv[1], NULL, 10));
  return failed;
}
