/* A pod as its INI file describes it: chips on a torus or mesh of one to three axes, or several such slices,
 * and what they are made of. Every key with its unit, default and source stands in config.def. Plain data;
 * owned by the arena it was read in. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/vec.h"

enum { POD_AXES = 3, POD_CHIPS = 65536 };

typedef struct {
  Str generation;
  uint32_t n_axes;
  int64_t shape[POD_AXES]; /* as written, unused ones 1 */
  bool wrap[POD_AXES];
  bool twist;     /* whoever goes once round a short axis comes back half way along every long one */
  int64_t slices; /* of this shape */
  uint32_t slice_chips, n_chips;

  /* [chip] all cores together */
  int64_t cores;
  int64_t mxu_count, mxu_size; /* systolic arrays of size x size */
  int64_t int8_rate, fp8_rate; /* products of these types in the time of one of bf16 */
  int64_t mxu_tile_cycles;     /* to bring another tile into an array */
  int64_t relayout_cycles;     /* to move the rows of a register of an operand to another layout */
  int64_t tap_cycles;          /* of a depthwise convolution's tap for a register of results */
  int64_t mxu_round_cycles;    /* to round a register of results to a narrower type and store it */
  int64_t mxu_keep_cycles;     /* more where it stays in VMEM */
  int64_t kernel_start_cycles, kernel_step_cycles, window_bytes; /* a product's kernel, and its steps */
  int64_t vector_start_cycles;                                   /* a kernel's without a product */
  int64_t sum_cycles, sum_length,
      block_length; /* of a product that goes through its operands in several steps */
  double clock_hz;
  int64_t vpu_lanes, vpu_sublanes, vpu_alus;
  int64_t divide_ops, transcendental_ops; /* vector operations of one such function */
  double peak_flops;                      /* bf16, per second */

  /* [hbm], [vmem] */
  int64_t hbm_bytes, hbm_usable_bytes;
  double hbm_usable; /* the part of it */
  double hbm_bw_Bps;
  double hbm_efficiency, hbm_window_efficiency; /* parts of it that kernels reach */
  int64_t vmem_bytes, vmem_windows_bytes;       /* of it, what the kernel that runs keeps for its windows */
  double vmem_bw_Bps;

  /* [ici] a link, one way */
  double ici_bw_Bps, ici_efficiency;
  int64_t ici_lat_ps;     /* a hop */
  int64_t ici_startup_ps; /* of a collective's kernel */
  bool ici_ideal;         /* no start-up, no hop latency, efficiency 1 */

  /* [dcn] a chip, one way; [host] PCIe, a chip, one way */
  double dcn_bw_Bps;
  int64_t dcn_lat_ps;
  double host_bw_Bps;
  int64_t host_chips;

  /* [run] */
  bool overlap;          /* collectives are started early, and compute runs beside them */
  bool async_reductions; /* all-reduces and reduce-scatters too */
  bool loop_prefetch;    /* collectives of loops run an iteration ahead */
  Str collective_matmul; /* `auto`, `on` or `off`: products split over the steps of a collective */
  bool excess_precision; /* floats that only a compiler rounds are not rounded where no chip sees them */
  bool fold;             /* of chips that do the same one is simulated for all */
  int64_t numbers_limit; /* work of the values on all chips, in floating-point operations, above which
                            --numbers auto computes none */

  Str mesh_layout; /* [mesh] layout, as sim/mesh_layout.h reads it */
} Pod;

/* One key as it took effect, for `podsim config`. */
typedef struct {
  Str key;     /* "ici.bandwidth" */
  Str value;   /* with its unit, as it may be written in a file */
  Str origin;  /* "default", "v5e", the file and line, or "--set" */
  Str source;  /* who says so: of config.def or generation.def, or the comment behind the key in the file */
  Str meaning; /* what the key is */
} ConfigEntry;

typedef struct {
  Pod pod;
  Vec(ConfigEntry) entries; /* every key, in the order of config.def */
} Config;

/* Reads a pod from a file, then applies `sets` ("ici.bandwidth=90GB/s"; of several for one key the last).
 * STATUS_INVALID with the place and a hint for a file that cannot be read, unknown sections and keys, values
 * that do not read as their unit, and shapes that are no pod. All of `config` lives in `arena`. */
Status config_read(Arena *arena, const char *path, const char *const *sets, uint32_t n_sets, Config **config,
                   Diag *diag);

/* Chip <-> coordinates in its slice: row-major over shape, last axis fastest. */
void pod_coordinates(const Pod *pod, uint32_t chip, int64_t coordinates[POD_AXES]);
uint32_t pod_chip(const Pod *pod, uint32_t slice, const int64_t coordinates[POD_AXES]);
uint32_t pod_slice(const Pod *pod, uint32_t chip);
/* Of a twisted torus: an axis half as long as the longest. */
bool pod_axis_is_short(const Pod *pod, uint32_t axis);
/* Whether an axis alone is a ring. */
bool pod_axis_is_ring(const Pod *pod, uint32_t axis);
