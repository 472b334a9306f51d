/* Sharing HBM. In: a step's time, and how much of it HBM works for the step; the bytes of DMAs that pass
 * meanwhile. Out: the date of the step's end, that is the first at which the step's own time is over and HBM
 * has done the step's work and the DMAs'.
 *
 * The one idea: of a max-min fair share of HBM each DMA gets all that it asks for, since a link is far slower
 * than a fair part of HBM. So DMAs are never held up, and compute gets what they leave. A step that HBM does
 * not bound notices them only when less is left than it needs. The end depends on the DMAs up to it: it is
 * put off until it fits those that are known, and looked at again when it has come, for those that started
 * since. */
#include "sim/engine/hbm_share.h"

#include <math.h>

static const double ROUNDING_PS = 1e-3; /* that sums of bytes in another order may differ by */
static const double MOST_PS = 0x1p60;

typedef struct {
  const Fabric *fabric;
  uint32_t chip;
  int64_t start_ps, own_ps; /* HBM's work for the step alone */
  DmaBytes before;          /* at the start */
  double bw_Bps;
} HbmShare;

/* When HBM is through with the step, and with the DMAs up to a date. */
static int64_t hbm_end_ps(const HbmShare *share, int64_t date_ps) {
  DmaBytes now = fabric_hbm_bytes(share->fabric, share->chip, date_ps);
  double bytes = (double)(now.ended - share->before.ended) + (now.under_way - share->before.under_way);
  double dma_ps = ceil(bytes / share->bw_Bps * 1e12 - ROUNDING_PS);
  return share->start_ps + share->own_ps + (int64_t)fmin(dma_ps, MOST_PS);
}

void pass_step_time(const Execution *execution, uint32_t chip, const Step *step) {
  const Pod *pod = execution->pod;
  HbmShare share = {.fabric = execution->machine->fabric,
                    .chip = chip,
                    .start_ps = date_ps(),
                    .own_ps = demand_hbm_ps(pod, step->demand),
                    .bw_Bps = pod->hbm_bw_Bps * pod->hbm_efficiency};
  share.before = fabric_hbm_bytes(share.fabric, chip, share.start_ps);
  int64_t end_ps = share.start_ps + step->time_ps, next_ps;
  do {
    while ((next_ps = hbm_end_ps(&share, end_ps)) > end_ps) end_ps = next_ps;
    sleep_until_ps(end_ps);
  } while (hbm_end_ps(&share, end_ps) > end_ps);
}
