/* Shape inference of what moves elements: broadcast, reshape, slices, gather, scatter, sort. */
#include "sim/ir/infer.h"

static Ints dimensions(const Infer *at) {
  return instr_ints(at->instr, ATTR_dimensions);
}

static const Shape *with_dims(const Infer *at, const int64_t *dims, uint32_t rank) {
  return shape_with_dims(at->arena, operand_shape(at, 0), dims, rank);
}

static int64_t *dims_copy(const Infer *at, const Shape *shape) {
  return arena_copy(at->arena, shape->dims, shape->rank * sizeof *shape->dims);
}

Status infer_broadcast(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_written(at));
  const Shape *from = operand_shape(at, 0), *to = at->instr->shape;
  Ints dims = dimensions(at);
  RETURN_IF(!shape_is_array(to),
            INFER_FAIL(at, "broadcast gives an array, %s is written", shape_words(at, to)));
  TRY(expect_dims(at, ATTR_dimensions, dims, to->rank));
  RETURN_IF(dims.n != from->rank,
            INFER_FAIL(at, "dimensions names %u dimensions, operand 0 is %s", dims.n, shape_words(at, from)));
  int64_t *sizes = dims_copy(at, to);
  for (uint32_t d = 0; d < dims.n; d++) sizes[dims.at[d]] = from->dims[d];
  *shape = with_dims(at, sizes, to->rank);
  return STATUS_OK;
}

static bool is_static(const Shape *shape) {
  for (uint32_t d = 0; d < shape->rank; d++) {
    if (shape->dims[d] < 0) return false;
  }
  return shape->dynamic == NULL;
}

Status infer_reshape(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_written(at));
  const Shape *from = operand_shape(at, 0), *to = at->instr->shape;
  bool same = !is_static(from) || !is_static(to) || shape_elements(from) == shape_elements(to);
  RETURN_IF(!shape_is_array(to) || !same,
            INFER_FAIL(at, "a reshape keeps the number of elements, %s has %ld and %s has %ld",
                       shape_words(at, from), (long)shape_elements(from), shape_words(at, to),
                       (long)shape_elements(to)));
  *shape = shape_with_dtype(at->arena, to, from->dtype);
  return STATUS_OK;
}

/* A bitcast may change type and dimensions, not the number of bits. */
Status infer_bitcast(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *from = operand_shape(at, 0), *to = at->instr->shape;
  bool arrays = !at->mixed && shape_is_array(from) && shape_is_array(to) && is_static(from) && is_static(to);
  RETURN_IF(arrays && shape_bytes(from) != shape_bytes(to),
            INFER_FAIL(at, "a bitcast keeps the bytes, %s has %ld and %s has %ld", shape_words(at, from),
                       (long)shape_bytes(from), shape_words(at, to), (long)shape_bytes(to)));
  *shape = to;
  return STATUS_OK;
}

/* A wider element takes the last dimension of the narrower ones. */
Status infer_bitcast_convert(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_written(at));
  const Shape *from = operand_shape(at, 0);
  DType to = at->instr->shape->dtype;
  int64_t have = dtype_bits(from->dtype), want = dtype_bits(to);
  uint32_t rank = from->rank;
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, rank + 1);
  if (rank != 0) memcpy(dims, from->dims, rank * sizeof *dims);
  RETURN_IF(want == 0, INFER_FAIL(at, "a bitcast-convert to %s", dtype_text(to)));
  if (have > want) dims[rank++] = have / want;
  if (have < want) {
    RETURN_IF(rank == 0 || dims[rank - 1] != want / have,
              INFER_FAIL(at, "a bitcast-convert to %s needs a last dimension of %ld, operand 0 is %s",
                         dtype_text(to), (long)(want / have), shape_words(at, from)));
    rank--;
  }
  *shape = shape_array(at->arena, to, dims, rank);
  return STATUS_OK;
}

Status infer_transpose(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  Ints perm = dimensions(at);
  TRY(expect_dims(at, ATTR_dimensions, perm, from->rank));
  RETURN_IF(
      perm.n != from->rank,
      INFER_FAIL(at, "dimensions must be a permutation of %u dimensions, it has %u", from->rank, perm.n));
  int64_t *dims = dims_copy(at, from);
  for (uint32_t d = 0; d < from->rank; d++) dims[d] = from->dims[perm.at[d]];
  *shape = with_dims(at, dims, from->rank);
  return STATUS_OK;
}

Status infer_reverse(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_dims(at, ATTR_dimensions, dimensions(at), operand_shape(at, 0)->rank));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

Status infer_iota(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *to = at->instr->shape;
  int64_t dim;
  RETURN_IF(!shape_is_array(to) || to->dtype == DTYPE_PRED,
            INFER_FAIL(at, "an iota is an array of numbers, %s is written", shape_words(at, to)));
  TRY(expect_int(at, ATTR_iota_dimension, to->rank, &dim));
  *shape = to;
  return STATUS_OK;
}

Status infer_slice(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  Slices slices = instr_slices(at->instr);
  RETURN_IF(slices.n != from->rank,
            INFER_FAIL(at, "slice has %u dimensions, operand 0 is %s", slices.n, shape_words(at, from)));
  int64_t *dims = dims_copy(at, from);
  for (uint32_t d = 0; d < from->rank; d++) {
    SliceDim s = slices.at[d];
    bool within = s.start >= 0 && s.start <= s.limit && s.limit <= from->dims[d] && s.stride >= 1;
    RETURN_IF(!within && from->dims[d] >= 0,
              INFER_FAIL(at, "[%ld:%ld:%ld] is not within dimension %u of %s", (long)s.start, (long)s.limit,
                         (long)s.stride, d, shape_words(at, from)));
    dims[d] = s.stride < 1 ? 0 : (s.limit - s.start) / s.stride + ((s.limit - s.start) % s.stride != 0);
  }
  *shape = with_dims(at, dims, from->rank);
  return STATUS_OK;
}

Status infer_pad(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  TRY(expect_scalar(at, 1, from->dtype));
  Padding padding = instr_padding(at->instr);
  RETURN_IF(padding.n != from->rank,
            INFER_FAIL(at, "padding has %u dimensions, operand 0 is %s", padding.n, shape_words(at, from)));
  int64_t *dims = dims_copy(at, from);
  for (uint32_t d = 0; d < from->rank; d++) {
    PaddingDim p = padding.at[d];
    int64_t inner = 0, edges;
    bool fits =
        p.interior >= 0 && !__builtin_mul_overflow(dims[d] > 0 ? dims[d] - 1 : 0, p.interior, &inner) &&
        !__builtin_add_overflow(p.low, p.high, &edges) && !__builtin_add_overflow(dims[d], inner, &dims[d]) &&
        !__builtin_add_overflow(dims[d], edges, &dims[d]) && dims[d] >= 0;
    RETURN_IF(!fits && from->dims[d] >= 0,
              INFER_FAIL(at, "padding %ld_%ld_%ld of dimension %u of %s leaves no size", (long)p.low,
                         (long)p.high, (long)p.interior, d, shape_words(at, from)));
  }
  *shape = with_dims(at, dims, from->rank);
  return STATUS_OK;
}

Status infer_concatenate(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  TRY(expect_array(at, 0));
  const Shape *first = operand_shape(at, 0);
  Ints along = dimensions(at);
  RETURN_IF(along.n != 1, INFER_FAIL(at, "concatenate needs one dimension, dimensions has %u", along.n));
  TRY(expect_dims(at, ATTR_dimensions, along, first->rank));
  int64_t *dims = dims_copy(at, first), *size = &dims[along.at[0]];
  for (uint32_t i = 1; i < at->instr->operands.n; i++) {
    const Shape *next = operand_shape(at, i);
    bool alike = types_fit(at, first->dtype, next->dtype) && next->rank == first->rank;
    for (uint32_t d = 0; d < first->rank && alike; d++)
      alike = d == along.at[0] || next->dims[d] == first->dims[d];
    RETURN_IF(!alike || __builtin_add_overflow(*size, next->dims[along.at[0]], size),
              INFER_FAIL(at, "operand %u must be like operand 0, %s, but along dimension %ld; it is %s", i,
                         shape_words(at, first), (long)along.at[0], shape_words(at, next)));
  }
  *shape = with_dims(at, dims, first->rank);
  return STATUS_OK;
}

/* Start indices from operand `first` on: a scalar a dimension, or one vector. */
static Status check_starts(const Infer *at, uint32_t first, uint32_t rank) {
  TRY(expect_operands(at, first));
  uint32_t n = at->instr->operands.n - first;
  for (uint32_t i = first; i < at->instr->operands.n; i++) {
    const Shape *start = operand_shape(at, i);
    RETURN_IF(!dtype_is_integer(start->dtype),
              INFER_FAIL(at, "start indices are integers, operand %u is %s", i, shape_words(at, start)));
    bool vector = n == 1 && start->rank == 1 && start->dims[0] == rank;
    RETURN_IF(start->rank != 0 && !vector,
              INFER_FAIL(at, "a start index is a scalar, operand %u is %s", i, shape_words(at, start)));
    RETURN_IF(vector, STATUS_OK);
    RETURN_IF(start->dtype != operand_shape(at, first)->dtype,
              INFER_FAIL(at, "start indices are of one type, operand %u is %s, operand %u is %s", first,
                         shape_words(at, operand_shape(at, first)), i, shape_words(at, start)));
  }
  RETURN_IF(n != rank, INFER_FAIL(at, "%u start indices are expected, %u are given", rank, n));
  return STATUS_OK;
}

Status infer_dynamic_slice(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  Ints sizes = instr_ints(at->instr, ATTR_dynamic_slice_sizes);
  TRY(check_starts(at, 1, from->rank));
  RETURN_IF(sizes.n != from->rank, INFER_FAIL(at, "dynamic_slice_sizes has %u dimensions, operand 0 is %s",
                                              sizes.n, shape_words(at, from)));
  for (uint32_t d = 0; d < from->rank; d++)
    RETURN_IF(
        sizes.at[d] < 0 || (from->dims[d] >= 0 && sizes.at[d] > from->dims[d]),
        INFER_FAIL(at, "a slice of %ld of dimension %u of %s", (long)sizes.at[d], d, shape_words(at, from)));
  *shape = with_dims(at, sizes.at, from->rank);
  return STATUS_OK;
}

Status infer_dynamic_update_slice(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 2));
  TRY(expect_array(at, 0));
  const Shape *into = operand_shape(at, 0), *update = operand_shape(at, 1);
  TRY(expect_rank(at, 1, into->rank));
  TRY(check_starts(at, 2, into->rank));
  bool fits = types_fit(at, into->dtype, update->dtype);
  for (uint32_t d = 0; d < into->rank; d++)
    fits = fits && (into->dims[d] < 0 || update->dims[d] <= into->dims[d]);
  RETURN_IF(!fits, INFER_FAIL(at, "the update %s does not fit into %s", shape_words(at, update),
                              shape_words(at, into)));
  *shape = into;
  return STATUS_OK;
}

/* --- Gather and scatter. --- */

/* Dimensions of the indices that are not the index vector's, in order. */
static uint32_t batch_dims(const Shape *indices, int64_t vector_dim, int64_t *sizes) {
  uint32_t n = 0;
  for (uint32_t d = 0; d < indices->rank; d++) {
    if (d != vector_dim) sizes[n++] = indices->dims[d];
  }
  return n;
}

/* index_vector_dim names a dimension of the indices, or the one behind the last: then each index is a scalar.
 * As many indices as `map` has entries. */
static Status check_index_vector(const Infer *at, const Shape *indices, AttrId map_id, uint32_t rank,
                                 int64_t *dim) {
  TRY(expect_int(at, ATTR_index_vector_dim, (int64_t)indices->rank + 1, dim));
  Ints map = instr_ints(at->instr, map_id);
  TRY(expect_dims(at, map_id, map, rank));
  int64_t length = *dim == indices->rank ? 1 : indices->dims[*dim];
  RETURN_IF(!dtype_is_integer(indices->dtype) || (length >= 0 && length != map.n),
            INFER_FAIL(at, "%s has %u entries, the indices are %s", attr_text(map_id), map.n,
                       shape_words(at, indices)));
  return STATUS_OK;
}

/* Dimensions of operand 0 and of the indices that go along with each other: as many, of the same sizes, and
 * no index is of one of them. */
static Status check_batching(const Infer *at, AttrId operand_id, AttrId indices_id, AttrId map_id,
                             int64_t vector_dim) {
  const Shape *from = operand_shape(at, 0), *indices = operand_shape(at, at->instr->operands.n / 2);
  Ints of_operand = instr_ints(at->instr, operand_id), of_indices = instr_ints(at->instr, indices_id);
  TRY(expect_dims(at, operand_id, of_operand, from->rank));
  TRY(expect_rising(at, operand_id, of_operand));
  TRY(expect_dims(at, indices_id, of_indices, indices->rank));
  RETURN_IF(of_operand.n != of_indices.n,
            INFER_FAIL(at, "%s has %u dimensions, %s has %u", attr_text(operand_id), of_operand.n,
                       attr_text(indices_id), of_indices.n));
  for (uint32_t i = 0; i < of_operand.n; i++) {
    int64_t a = from->dims[of_operand.at[i]], b = indices->dims[of_indices.at[i]];
    RETURN_IF(of_indices.at[i] == vector_dim || ints_have(instr_ints(at->instr, map_id), of_operand.at[i]),
              INFER_FAIL(at, "a dimension both of indices and of their batch"));
    RETURN_IF(a != b && a >= 0 && b >= 0,
              INFER_FAIL(at, "batch dimensions %ld of %s and %ld of %s differ", (long)of_operand.at[i],
                         shape_words(at, from), (long)of_indices.at[i], shape_words(at, indices)));
  }
  return STATUS_OK;
}

/* The sizes that windows of `sizes` show: those of dimensions neither dropped nor batched. */
static uint32_t window_sizes(Ints sizes, Ints dropped, Ints batching, int64_t *out) {
  uint32_t n = 0;
  for (uint32_t d = 0; d < sizes.n; d++) {
    if (!ints_have(dropped, d) && !ints_have(batching, d)) out[n++] = sizes.at[d];
  }
  return n;
}

Status infer_gather(const Infer *at, const Shape **shape) {
  const Instr *instr = at->instr;
  TRY(expect_array(at, 0));
  TRY(expect_array(at, 1));
  const Shape *from = operand_shape(at, 0), *indices = operand_shape(at, 1);
  Ints offset = instr_ints(instr, ATTR_offset_dims), sizes = instr_ints(instr, ATTR_slice_sizes);
  Ints collapsed = instr_ints(instr, ATTR_collapsed_slice_dims);
  Ints batching = instr_ints(instr, ATTR_operand_batching_dims);
  int64_t vector_dim;
  TRY(check_index_vector(at, indices, ATTR_start_index_map, from->rank, &vector_dim));
  TRY(expect_dims(at, ATTR_collapsed_slice_dims, collapsed, from->rank));
  TRY(expect_rising(at, ATTR_collapsed_slice_dims, collapsed));
  TRY(expect_rising(at, ATTR_offset_dims, offset));
  TRY(check_batching(at, ATTR_operand_batching_dims, ATTR_start_indices_batching_dims, ATTR_start_index_map,
                     vector_dim));
  RETURN_IF(sizes.n != from->rank,
            INFER_FAIL(at, "slice_sizes has %u dimensions, operand 0 is %s", sizes.n, shape_words(at, from)));
  for (uint32_t d = 0; d < sizes.n; d++)
    RETURN_IF(
        sizes.at[d] < 0 || (from->dims[d] >= 0 && sizes.at[d] > from->dims[d]),
        INFER_FAIL(at, "a slice of %ld of dimension %u of %s", (long)sizes.at[d], d, shape_words(at, from)));
  int64_t *batch = ARENA_ARRAY(at->arena, int64_t, indices->rank),
          *window = ARENA_ARRAY(at->arena, int64_t, sizes.n);
  uint32_t n_batch = batch_dims(indices, vector_dim, batch),
           n_window = window_sizes(sizes, collapsed, batching, window);
  uint32_t rank = n_batch + offset.n, next_batch = 0, next_window = 0;
  TRY(expect_dims(at, ATTR_offset_dims, offset, rank));
  RETURN_IF(offset.n != n_window,
            INFER_FAIL(at, "offset_dims has %u dimensions, a slice has %u", offset.n, n_window));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, rank);
  for (uint32_t d = 0; d < rank; d++)
    dims[d] = ints_have(offset, d) ? window[next_window++] : batch[next_batch++];
  *shape = with_dims(at, dims, rank);
  return STATUS_OK;
}

/* Update `i` must have the indices' batch dimensions and windows that fit into its operand. */
static Status check_update(const Infer *at, const Shape *into, const Shape *indices, int64_t vector_dim,
                           const Shape *update) {
  Ints window = instr_ints(at->instr, ATTR_update_window_dims);
  Ints inserted = instr_ints(at->instr, ATTR_inserted_window_dims);
  Ints batching = instr_ints(at->instr, ATTR_input_batching_dims);
  TRY(expect_dims(at, ATTR_update_window_dims, window, update->rank));
  TRY(expect_rising(at, ATTR_update_window_dims, window));
  TRY(expect_dims(at, ATTR_inserted_window_dims, inserted, into->rank));
  TRY(expect_rising(at, ATTR_inserted_window_dims, inserted));
  int64_t *batch = ARENA_ARRAY(at->arena, int64_t, indices->rank),
          *most = ARENA_ARRAY(at->arena, int64_t, into->rank);
  uint32_t n_batch = batch_dims(indices, vector_dim, batch);
  uint32_t n_window = window_sizes((Ints){(int64_t *)into->dims, into->rank}, inserted, batching, most);
  bool fits =
      types_fit(at, into->dtype, update->dtype) && window.n == n_window && update->rank == n_window + n_batch;
  for (uint32_t d = 0, w = 0, b = 0; d < update->rank && fits; d++) {
    fits = ints_have(window, d) ? update->dims[d] <= most[w] || most[w] < 0
                                : update->dims[d] == batch[b] || batch[b] < 0;
    *(ints_have(window, d) ? &w : &b) += 1;
  }
  RETURN_IF(!fits, INFER_FAIL(at, "updates %s do not fit operand %s and indices %s", shape_words(at, update),
                              shape_words(at, into), shape_words(at, indices)));
  return STATUS_OK;
}

Status infer_scatter(const Infer *at, const Shape **shape) {
  uint32_t n = at->instr->operands.n / 2;
  RETURN_IF(at->instr->operands.n % 2 == 0,
            INFER_FAIL(at, "scatter takes operands, indices and as many updates"));
  for (uint32_t i = 0; i < 2 * n + 1; i++) TRY(expect_array(at, i));
  const Shape *indices = operand_shape(at, n);
  const Shape **results = ARENA_ARRAY(at->arena, const Shape *, n);
  DType *types = ARENA_ARRAY(at->arena, DType, n);
  int64_t vector_dim;
  RETURN_IF(n == 0, INFER_FAIL(at, "scatter without an operand"));
  TRY(check_index_vector(at, indices, ATTR_scatter_dims_to_operand_dims, operand_shape(at, 0)->rank,
                         &vector_dim));
  TRY(check_batching(at, ATTR_input_batching_dims, ATTR_scatter_indices_batching_dims,
                     ATTR_scatter_dims_to_operand_dims, vector_dim));
  for (uint32_t i = 0; i < n; i++) {
    results[i] = operand_shape(at, i);
    types[i] = results[i]->dtype;
    RETURN_IF(!dims_eq(results[i], results[0]),
              INFER_FAIL(at, "operand %u is %s, operand 0 is %s", i, shape_words(at, results[i]),
                         shape_words(at, results[0])));
    TRY(check_update(at, results[i], indices, vector_dim, operand_shape(at, n + 1 + i)));
  }
  TRY(expect_combiner(at, ATTR_to_apply, types, n));
  *shape = one_or_tuple(at, results, n);
  return STATUS_OK;
}

/* --- Sort. --- */

Status infer_sort(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  TRY(expect_same_dims(at, 0));
  uint32_t n = at->instr->operands.n;
  const Shape **results = ARENA_ARRAY(at->arena, const Shape *, n);
  DType *types = ARENA_ARRAY(at->arena, DType, n);
  for (uint32_t i = 0; i < n; i++) {
    results[i] = operand_shape(at, i);
    types[i] = results[i]->dtype;
  }
  Ints along = dimensions(at);
  RETURN_IF(along.n != 1, INFER_FAIL(at, "sort needs one dimension, dimensions has %u", along.n));
  TRY(expect_dims(at, ATTR_dimensions, along, results[0]->rank));
  TRY(expect_predicate(at, ATTR_to_apply, types, n));
  *shape = one_or_tuple(at, results, n);
  return STATUS_OK;
}

/* Of the last dimension the k largest (or smallest), and where they stood. */
Status infer_topk(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  RETURN_IF(from->rank == 0, INFER_FAIL(at, "topk of a scalar"));
  int64_t k;
  TRY(expect_int(at, ATTR_k, from->dims[from->rank - 1] + 1, &k));
  int64_t *dims = dims_copy(at, from);
  dims[from->rank - 1] = k;
  const Shape *values = with_dims(at, dims, from->rank);
  const Shape *parts[] = {values, shape_with_dtype(at->arena, values, DTYPE_S32)};
  *shape = shape_tuple(at->arena, parts, 2);
  return STATUS_OK;
}
