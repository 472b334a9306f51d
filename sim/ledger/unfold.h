/* Folded ledgers: a run of which only one of several chips that are alike was recorded. */
#pragma once

#include "sim/ledger/ledger.h"

/* For how many chips each event stands; 1 where nothing is folded. */
uint32_t ledger_folds(const Ledger *ledger);
/* Puts the events of all chips into a finished ledger, which is then as that of a run that was not folded. */
void ledger_unfold(Ledger *ledger);
