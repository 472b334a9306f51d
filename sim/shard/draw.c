/* Draws which device holds which part of an array, as jax.debug.visualize_array_sharding does: a grid of
 * cells in the array's proportions, a cell a shard, with the devices that hold it. */
#include "sim/shard/draw.h"

enum { BASE_HEIGHT = 10, NARROWEST = 9, WIDEST = 80 };
#define HEIGHT_TO_WIDTH 2.5

typedef struct {
  int64_t rows, columns; /* of cells */
  Str *labels;           /* row-major */
  int64_t *heights;      /* lines of a row */
  int64_t *widths;       /* of a column */
} Grid;

static int64_t at_least(int64_t value, int64_t least) {
  return value < least ? least : value;
}

static int64_t cell_of(const Sharding *sharding, uint32_t device) {
  int64_t row = mesh_index(sharding->mesh, sharding->dims[0].axes, device);
  if (sharding->rank == 1) return row;
  return row * sharding_shards(sharding, 1) + mesh_index(sharding->mesh, sharding->dims[1].axes, device);
}

static Str *labels_of(Arena *arena, const Sharding *sharding, int64_t n_cells, const char *kind) {
  StrBuf *texts = ARENA_ARRAY(arena, StrBuf, n_cells);
  Str *labels = ARENA_ARRAY(arena, Str, n_cells);
  for (uint32_t device = 0; device < sharding->mesh->n_devices; device++) {
    StrBuf *text = &texts[cell_of(sharding, device)];
    bool first = text->arena == NULL;
    text->arena = arena;
    if (first)
      buf_printf(text, "%s %u", kind, device);
    else
      buf_printf(text, ",%u", device);
  }
  for (int64_t c = 0; c < n_cells; c++) labels[c] = buf_str(&texts[c]);
  return labels;
}

/* The part of dimension `dim` that shard `index` is, from 0 to 1. */
static double part_of(const Sharding *sharding, uint32_t dim, int64_t size, int64_t index) {
  int64_t local = sharding_local_size(sharding, dim, size), left = size - index * local;
  return (double)at_least(left < local ? left : local, 0) / (double)size;
}

/* Blanks on both sides of a label bring a cell to `width` with its borders, as far as the label lets them. */
static int64_t padded_width(int64_t width, Str label) {
  int64_t blanks = width - 2 - (int64_t)label.n;
  return (int64_t)label.n + at_least(blanks, 0);
}

static void measure(Grid *grid, const Sharding *sharding, const Shape *shape) {
  uint32_t across = sharding->rank - 1;
  int64_t long_side = shape->rank == 2 ? shape->dims[1] : 1;
  int64_t base_width = (int64_t)(BASE_HEIGHT * ((double)long_side / (double)shape->dims[0]));
  for (int64_t r = 0; r < grid->rows; r++) {
    int64_t height = 1;
    if (shape->rank == 2) height = (int64_t)(part_of(sharding, 0, shape->dims[0], r) * BASE_HEIGHT);
    grid->heights[r] = at_least(height - 1, 1);
  }
  for (int64_t c = 0; c < grid->columns; c++) {
    double part = part_of(sharding, across, shape->dims[across], c);
    int64_t width = at_least((int64_t)(part * (double)base_width * HEIGHT_TO_WIDTH), NARROWEST);
    if (width > WIDEST) width = WIDEST;
    for (int64_t r = 0; r < grid->rows; r++)
      grid->widths[c] = at_least(grid->widths[c], padded_width(width, grid->labels[r * grid->columns + c]));
  }
}

/* Columns share the width of the screen where they would be wider together, but no label is cut. */
static void fit_screen(Grid *grid) {
  int64_t total = grid->columns + 1, room = WIDEST;
  for (int64_t c = 0; c < grid->columns; c++) total += grid->widths[c];
  if (total <= WIDEST) return;
  room -= grid->columns + 1;
  for (int64_t c = 0; c < grid->columns; c++) {
    int64_t share = room / (grid->columns - c), longest = 1;
    for (int64_t r = 0; r < grid->rows; r++)
      longest = at_least(longest, (int64_t)grid->labels[r * grid->columns + c].n);
    grid->widths[c] = at_least(share < grid->widths[c] ? share : grid->widths[c], longest);
    room = at_least(room - grid->widths[c], 0);
  }
}

static void repeat(StrBuf *buf, const char *text, int64_t n) {
  for (int64_t i = 0; i < n; i++) buf_add(buf, str_of(text));
}

static void draw_rule(StrBuf *buf, const Grid *grid, const char *left, const char *middle,
                      const char *right) {
  for (int64_t c = 0; c < grid->columns; c++) {
    buf_add(buf, str_of(c == 0 ? left : middle));
    repeat(buf, "─", grid->widths[c]);
  }
  buf_add(buf, str_of(right));
  buf_char(buf, '\n');
}

static void draw_line(StrBuf *buf, const Grid *grid, int64_t row, bool with_labels) {
  for (int64_t c = 0; c < grid->columns; c++) {
    Str label = with_labels ? grid->labels[row * grid->columns + c] : (Str){0};
    int64_t blanks = grid->widths[c] - (int64_t)label.n;
    buf_add(buf, STR("│"));
    repeat(buf, " ", blanks / 2);
    buf_add(buf, label);
    repeat(buf, " ", blanks - blanks / 2);
  }
  buf_add(buf, STR("│\n"));
}

static void draw_grid(StrBuf *buf, const Grid *grid) {
  draw_rule(buf, grid, "┌", "┬", "┐");
  for (int64_t r = 0; r < grid->rows; r++) {
    if (r != 0) draw_rule(buf, grid, "├", "┼", "┤");
    for (int64_t line = 0; line < grid->heights[r]; line++)
      draw_line(buf, grid, r, line == (grid->heights[r] - 1) / 2);
  }
  draw_rule(buf, grid, "└", "┴", "┘");
}

Status sharding_draw(Arena *arena, const Sharding *sharding, const Shape *shape, const char *kind, Str *text,
                     Diag *diag) {
  StrBuf buf = {.arena = arena};
  RETURN_IF(
      shape->rank < 1 || shape->rank > 2 || shape_elements(shape) == 0,
      diag_fail(diag, STATUS_USAGE, NOWHERE, NULL, "only arrays of one or two dimensions can be drawn"));
  bool flat = shape->rank == 1;
  Grid grid = {.rows = flat ? 1 : sharding_shards(sharding, 0),
               .columns = sharding_shards(sharding, flat ? 0 : 1)};
  grid.labels = labels_of(arena, sharding, grid.rows * grid.columns, kind);
  grid.heights = ARENA_ARRAY(arena, int64_t, grid.rows);
  grid.widths = ARENA_ARRAY(arena, int64_t, grid.columns);
  measure(&grid, sharding, shape);
  fit_screen(&grid);
  draw_grid(&buf, &grid);
  *text = buf_str(&buf);
  return STATUS_OK;
}
