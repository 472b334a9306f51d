/* Folding: of chips that do the same at the same dates, one is simulated for all. In: a kernel and what each
 * member does in it. Out: how far apart along each axis chips are alike.
 *
 * The one idea: a torus looks the same from every chip. When each chip does what the one so many places
 * further does, told relative to itself, then nothing ever tells them apart: moving the whole pod by so much
 * moves its timeline onto itself. So it is enough to simulate the chips of one box, on a torus that is wound
 * up to that box: what leaves it comes in again at the other side, and a link of the box carries the flows of
 * all links that it stands for. Holds without values, skew and broken waits, on axes that wrap. */
#pragma once

#include "sim/config/pod.h"
#include "sim/engine/launch.h"

struct Fold {
  const Pod *pod;
  int64_t stride[POD_AXES]; /* chips that are a multiple of it apart along an axis are alike */
};

/* By chip: a hash of all that tells it from others, for fold_by_likeness(); zero at first. */
typedef struct {
  uint64_t *of_chip;
} Likeness;

/* Tells the chips of a kernel's group apart by what they do in it, and from those that have no part in the
 * collective of that number. */
void likeness_add(const Likeness *likeness, const Pod *pod, const LaunchSpec *spec, uint64_t collective);
/* The largest fold that keeps chips apart which are not alike; a stride as long as its axis folds nothing. */
Fold fold_by_likeness(const Pod *pod, const Likeness *likeness);

/* How many chips there are for each that is simulated. */
uint32_t fold_times(const Fold *fold);
/* The chip that is simulated for a chip; without a fold (NULL) itself. */
uint32_t fold_chip(const Fold *fold, uint32_t chip);
/* Where a chip comes to when another one is moved to the one that is simulated for it. */
uint32_t fold_along(const Fold *fold, uint32_t chip, uint32_t moved);
