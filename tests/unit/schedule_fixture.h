/* What tests of schedules begin with: a program's arena, and a pod that it is scheduled for. */
#pragma once

#include "pod_fixture.h"
#include "program_fixture.h"
#include "sim/schedule/schedule.h"

static Pod pod;
static Schedule *schedule;

static void begin_scheduling(void) {
  begin();
  pod = pod_fixture(arena, "v5e_4x2");
}

static void end_scheduling(void) {
  schedule_free(schedule);
  end();
}
