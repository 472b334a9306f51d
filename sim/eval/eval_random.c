/* The random ops. rng and rng-get-and-update-state, whose values XLA leaves to the implementation, give the
 * same values each time an instruction runs and on every device: they depend on its place in the text alone.
 * rng-bit-generator: counter-based generators (Random123) in XLA's layout. The state is a key and a counter;
 * the result is the encryption of counter, counter + 1, … Threefry-2x32: a 64-bit counter for each two 32-bit
 * words; the two lie next to each other in the first even dimension (else the longest), and counters run over
 * what is left. A 64-bit element takes both words. Philox-4x32: a 128-bit counter for each four words, in
 * row-major order. Elements below 32 bits take the low bits of a word. */
#include "sim/eval/draw_values.h"
#include "sim/eval/evaluators.h"

#include <Random123/philox.h>
#include <Random123/threefry.h>

/* Writes element `at` of 32-bit words or less. */
static void put_word(Tensor *bits, int64_t at, uint32_t word) {
  uint32_t bytes = dtype_bytes(bits->dtype);
  memcpy(bits->data + at * bytes, &word, bytes);
}

static void put_long(Tensor *bits, int64_t at, uint32_t low, uint32_t high) {
  ((uint64_t *)bits->data)[at] = low | (uint64_t)high << 32;
}

/* The dimension that the two words of a block lie along. */
static uint32_t split_dimension(const Tensor *bits) {
  uint32_t longest = 0;
  for (uint32_t d = 0; d < bits->rank; d++) {
    if (bits->dims[d] % 2 == 0) return d;
    if (bits->dims[d] > bits->dims[longest]) longest = d;
  }
  return longest;
}

static threefry2x32_ctr_t threefry_block(uint64_t key, uint64_t counter) {
  threefry2x32_ctr_t block = {{(uint32_t)counter, (uint32_t)(counter >> 32)}};
  threefry2x32_key_t words = {{(uint32_t)key, (uint32_t)(key >> 32)}};
  return threefry2x32(block, words);
}

/* Fills 32-bit words; gives the counters that were used. */
static int64_t threefry_words(Tensor *bits, uint64_t key, uint64_t counter) {
  uint32_t split = split_dimension(bits);
  int64_t n = bits->rank == 0 ? 1 : bits->dims[split], half = (n + 1) / 2, inner = 1, outer = 1;
  for (uint32_t d = 0; d < bits->rank; d++) {
    if (d < split) outer *= bits->dims[d];
    if (d > split) inner *= bits->dims[d];
  }
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t h = 0; h < half; h++) {
      for (int64_t i = 0; i < inner; i++) {
        threefry2x32_ctr_t block = threefry_block(key, counter + (uint64_t)((o * half + h) * inner + i));
        put_word(bits, (o * n + 2 * h) * inner + i, block.v[0]);
        if (2 * h + 1 < n) put_word(bits, (o * n + 2 * h + 1) * inner + i, block.v[1]);
      }
    }
  }
  return outer * half * inner;
}

static int64_t threefry_longs(Tensor *bits, uint64_t key, uint64_t counter) {
  int64_t n = tensor_elements(bits);
  for (int64_t i = 0; i < n; i++) {
    threefry2x32_ctr_t block = threefry_block(key, counter + (uint64_t)i);
    put_long(bits, i, block.v[0], block.v[1]);
  }
  return n;
}

static int64_t fill_threefry(Tensor *bits, const uint64_t *state) {
  bool is_long = dtype_bytes(bits->dtype) == 8;
  return is_long ? threefry_longs(bits, state[0], state[1]) : threefry_words(bits, state[0], state[1]);
}

static philox4x32_ctr_t philox_block(uint64_t key, unsigned __int128 counter) {
  philox4x32_ctr_t block;
  for (uint32_t i = 0; i < 4; i++) block.v[i] = (uint32_t)(counter >> (32 * i));
  philox4x32_key_t words = {{(uint32_t)key, (uint32_t)(key >> 32)}};
  return philox4x32(block, words);
}

/* In a state of two the key is the counter's high half too. */
static unsigned __int128 philox_counter(const uint64_t *state, int64_t n_state) {
  return state[1] | (unsigned __int128)state[n_state > 2 ? 2 : 0] << 64;
}

static int64_t fill_philox(Tensor *bits, const uint64_t *state, int64_t n_state) {
  bool is_long = dtype_bytes(bits->dtype) == 8;
  int64_t n = tensor_elements(bits), each = is_long ? 2 : 4, blocks = (n + each - 1) / each;
  unsigned __int128 counter = philox_counter(state, n_state);
  for (int64_t b = 0; b < blocks; b++) {
    philox4x32_ctr_t block = philox_block(state[0], counter + (unsigned __int128)b);
    for (int64_t i = 0; i < each && b * each + i < n; i++) {
      if (is_long) {
        put_long(bits, b * each + i, block.v[2 * i], block.v[2 * i + 1]);
      } else {
        put_word(bits, b * each + i, block.v[i]);
      }
    }
  }
  return blocks;
}

static void advance(Tensor *state, int64_t n_state, bool philox, int64_t by) {
  uint64_t *words = (uint64_t *)state->data;
  unsigned __int128 counter = philox ? philox_counter(words, n_state) : words[1];
  counter += (unsigned __int128)by;
  words[1] = (uint64_t)counter;
  if (philox && n_state > 2) words[2] = (uint64_t)(counter >> 64);
}

Status eval_rng_bit_generator(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                              Tensor **result) {
  Str algorithm = instr_word(instr, ATTR_algorithm);
  bool philox = !str_is(algorithm, "rng_three_fry");
  int64_t n_state = (int64_t)(operands[0]->bytes / sizeof(uint64_t));
  if (n_state < 2 || n_state > 3 || !shape_is_tuple(instr->shape) || instr->shape->rank != 2 ||
      dtype_class(instr->shape->parts[1]->dtype) == DCLASS_COMPLEX)
    return eval_unsupported(context, instr, "a state or result of this shape");
  Tensor *bits = tensor_new(instr->shape->parts[1], true);
  Tensor *state = tensor_unique(tensor_retain(operands[0]));
  const uint64_t *words = (const uint64_t *)state->data;
  int64_t used = bits->bytes == 0 ? 0
                 : philox         ? fill_philox(bits, words, n_state)
                                  : fill_threefry(bits, words);
  advance(state, n_state, philox, used);
  *result = tensor_tuple((Tensor *[]){state, bits}, 2);
  return STATUS_OK;
}

/* A number of its own for each instruction of the text. */
static uint64_t number_of(const Instr *instr) {
  return instr->place.offset;
}

Status eval_rng(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  enum { SEED = 0x726e67 };
  Str distribution = instr_word(instr, ATTR_distribution);
  if (!shape_is_array(instr->shape) || dtype_class(instr->shape->dtype) == DCLASS_COMPLEX)
    return eval_unsupported(context, instr, "rng of this type");
  double a = tensor_double_at(operands[0], 0), b = tensor_double_at(operands[1], 0);
  *result = tensor_new(instr->shape, true);
  if (str_is(distribution, "rng_normal"))
    tensor_draw_normal(*result, SEED, number_of(instr), a, b);
  else
    tensor_draw_uniform(*result, SEED, number_of(instr), a, b);
  return STATUS_OK;
}

Status eval_rng_get_and_update_state(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                                     Tensor **result) {
  (void)operands;
  if (!shape_is_array(instr->shape) || instr->shape->dtype != DTYPE_U64)
    return eval_unsupported(context, instr, "a state of this type");
  *result = tensor_new(instr->shape, true);
  int64_t n = tensor_elements(*result);
  for (int64_t i = 0; i < n; i++) ((uint64_t *)(*result)->data)[i] = number_of(instr) + (uint64_t)i;
  return STATUS_OK;
}
