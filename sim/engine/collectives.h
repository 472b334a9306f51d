/* The collectives as kernels: one file each, written on dma_kernel.h alone, working by a plan. kernel_plan()
 * of each is its CollectivePlan. */
#pragma once

#include "sim/engine/collective_plan.h"
#include "sim/engine/dma_kernel.h"

/* Every member's part of the work buffer to all others. */
void all_gather_kernel(Kernel *kernel);
/* Every member's part becomes the reduction over all members. */
void reduce_scatter_kernel(Kernel *kernel);
/* The work buffer becomes the reduction over all members, with the same bits on all. */
void all_reduce_kernel(Kernel *kernel);

/* What each member has for each other one goes there. */
void all_to_all_kernel(Kernel *kernel);
/* Each source's value to its target. */
void permute_kernel(Kernel *kernel);
/* The root's value to all. */
void broadcast_kernel(Kernel *kernel);

/* An axis of a plan's group as this member sees it; blocks, semaphores and slots are left empty. */
Ring ring_along(Kernel *kernel, uint32_t axis);
/* Frees the ports of all axes, before the first step; waits until they are free again, after the last. */
void open_ports(Kernel *kernel);
void close_ports(Kernel *kernel);
/* Runs the items of a plan of rings: the axes side by side, on each one item after the other. */
void run_rings(Kernel *kernel);
/* A gather or a reduction in which each member sends to each other one at once. */
void run_one_shot(Kernel *kernel);
