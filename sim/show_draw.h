/* `podsim show --draw 8x16 --mesh data=4,model=2 --spec 'P("data", None)'`. */
#pragma once

#include "sim/options.h"

Status show_drawing(const Options *options, Diag *diag);
