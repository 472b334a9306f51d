/* Names of tracks, coordinates and times, as CSV and trace print them. */
#include "traces/track_names.h"

#include <inttypes.h>

enum { LINKS_A_CHIP = 6, DCN_A_CHIP = 2, PS_A_US = 1000000 };

static void lane_suffix(StrBuf *buf, uint32_t lane) {
  if (lane > 0) buf_printf(buf, " #%u", lane + 1);
}

void track_name(StrBuf *buf, const Event *event) {
  switch (event->track) {
  case TRACK_CORE: buf_add(buf, STR("XLA Ops")); break;
  case TRACK_ASYNC: buf_add(buf, STR("Async XLA Ops")); break;
  case TRACK_DMA: buf_add(buf, STR("DMA")); break;
  case TRACK_SYNC: buf_add(buf, STR("Tensor Core Sync Flag")); break;
  case TRACK_HOST: buf_add(buf, event->lane == 0 ? STR("Host D2H") : STR("Host H2D")); return;
  case TRACK_LINK:
    buf_printf(buf, "ICI %c%c", event->lane % 2 == 0 ? '+' : '-', "xyz"[event->lane % LINKS_A_CHIP / 2]);
    lane_suffix(buf, event->lane / LINKS_A_CHIP);
    return;
  case TRACK_DCN:
    buf_add(buf, event->lane % DCN_A_CHIP == 0 ? STR("DCN out") : STR("DCN in"));
    lane_suffix(buf, event->lane / DCN_A_CHIP);
    return;
  case TRACKS: break;
  }
  lane_suffix(buf, event->lane);
}

void chip_coordinates(const Ledger *ledger, uint32_t chip, int64_t coordinates[3]) {
  int64_t rest = chip;
  for (uint32_t axis = 3; axis-- > 0;) {
    int64_t size = axis < ledger->n_axes ? ledger->pod_shape[axis] : 1;
    coordinates[axis] = rest % size;
    rest /= size;
  }
}

static uint32_t slice_of(const Ledger *ledger, uint32_t chip) {
  int64_t chips = ledger->pod_shape[0] * ledger->pod_shape[1] * ledger->pod_shape[2];
  return chip / (uint32_t)chips;
}

void chip_coordinates_text(StrBuf *buf, const Ledger *ledger, uint32_t chip) {
  int64_t coordinates[3];
  if (slice_of(ledger, ledger->n_chips - 1) > 0) buf_printf(buf, "slice %u ", slice_of(ledger, chip));
  chip_coordinates(ledger, chip, coordinates);
  for (uint32_t axis = 0; axis < ledger->n_axes; axis++) {
    buf_printf(buf, "%c%" PRId64, axis == 0 ? '(' : ',', coordinates[axis]);
  }
  buf_char(buf, ')');
}

void microseconds_text(StrBuf *buf, int64_t ps) {
  buf_printf(buf, "%" PRId64 ".%06" PRId64, ps / PS_A_US, ps % PS_A_US);
}
