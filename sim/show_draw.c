/* One sharding drawn, without a program: the shape from --draw, the mesh from --mesh, the spec from --spec.
 */
#include "sim/show_draw.h"

#include "sim/shard/draw.h"

#include <stdio.h>

enum { MOST_DIMS = 8 };

/* `8x16` */
static Status parse_shape(Arena *arena, Str text, const Shape **shape, Diag *diag) {
  int64_t dims[MOST_DIMS];
  uint32_t rank = 0;
  for (Str rest = text; rest.n != 0; rest = str_sub(rest, str_find(rest, 'x') + 1, rest.n)) {
    bool good = rank < MOST_DIMS && str_to_int(str_sub(rest, 0, str_find(rest, 'x')), &dims[rank]);
    RETURN_IF(!good || dims[rank] < 1 || dims[rank] > INT32_MAX,
              diag_fail(diag, STATUS_USAGE, NOWHERE, "for example --draw 8x16", "'%.*s' is not a shape",
                        STR_ARG(text)));
    rank++;
  }
  bool open = rank == 0 || text.at[text.n - 1] == 'x';
  RETURN_IF(open, diag_fail(diag, STATUS_USAGE, NOWHERE, "for example --draw 8x16", "'%.*s' is not a shape",
                            STR_ARG(text)));
  *shape = shape_array(arena, DTYPE_F32, dims, rank);
  return STATUS_OK;
}

/* `P("data")`, or `arg0=P("data")`; nothing is sharded where no --spec is given. */
static Str spec_of(const Options *options) {
  if (options->specs.n == 0) return STR("P()");
  Str text = str_of(options->specs.at[0]);
  size_t equals = str_find(text, '='), bracket = str_find(text, '(');
  return equals < bracket ? str_sub(text, equals + 1, text.n) : text;
}

static Status draw(Arena *arena, const Options *options, Str *text, Diag *diag) {
  const Shape *shape = NULL;
  const Mesh *mesh;
  const Sharding *sharding;
  RETURN_IF(options->mesh == NULL, diag_fail(diag, STATUS_USAGE, NOWHERE, "for example --mesh data=4,model=2",
                                             "--draw needs a mesh"));
  TRY(parse_shape(arena, str_of(options->draw), &shape, diag));
  TRY(mesh_parse(arena, str_of(options->mesh), &mesh, diag));
  TRY(sharding_parse_spec(arena, spec_of(options), mesh, shape->rank, &sharding, diag));
  return sharding_draw(arena, sharding, shape, "TPU", text, diag);
}

Status show_drawing(const Options *options, Diag *diag) {
  Arena *arena = arena_new();
  Str text = {0};
  Status status = draw(arena, options, &text, diag);
  if (text.n > 0) fwrite(text.at, 1, text.n, stdout);
  arena_free(arena);
  return status;
}
