/* Kernels: programs that the members of a group run side by side, one a chip, on remote DMA and semaphores.
 * All that moves between chips moves through this interface: the collectives are written on it, and so may a
 * user's kernels be.
 *
 * A kernel has buffers, of the same sizes on every member, and semaphores, all zero at the start. Elements
 * are counted, not bytes. A DMA reads its source when it ends, and then writes its target: what is
 * overwritten too early comes out wrong, as on a chip. Nothing orders two DMAs but semaphores. All that is
 * signalled must be waited for: semaphores end at zero. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Kernel Kernel;

/* Elements [at, at + n) of a buffer. */
typedef struct {
  uint32_t buffer;
  int64_t at, n;
} Slice;

#define NO_MEMBER    UINT32_MAX
#define NO_SEMAPHORE UINT32_MAX

/* This chip's place in the group, and how many there are. */
uint32_t kernel_member(const Kernel *kernel);
uint32_t kernel_members(const Kernel *kernel);
/* What the members were given to work by. */
const void *kernel_plan(const Kernel *kernel);

/* Starts a DMA of a local slice to a slice as long on another member. `sent` (here) is signalled when the
 * last byte has left, `received` (there) when it has landed; either may be NO_SEMAPHORE. Zero elements signal
 * too. */
void kernel_dma(Kernel *kernel, Slice from, uint32_t member, Slice to, uint32_t sent, uint32_t received);
/* The same by way of a third member, which chooses the way round the torus; NO_MEMBER: none. */
void kernel_dma_via(Kernel *kernel, Slice from, uint32_t via, uint32_t member, Slice to, uint32_t sent,
                    uint32_t received);

/* Adds n to a semaphore of a member, this one or another. */
void kernel_signal(Kernel *kernel, uint32_t member, uint32_t semaphore, int64_t n);
/* Waits until a semaphore of this member is at least n, and takes n from it. `from` is the member that is to
 * signal (NO_MEMBER: any) and `what` comes from it: both for reports. */
void kernel_wait(Kernel *kernel, uint32_t semaphore, int64_t n, uint32_t from, const char *what);
/* Waits until all members are here. Uses one semaphore. */
void kernel_barrier(Kernel *kernel, uint32_t semaphore);

/* Credits: a receiver gives one for each buffer that may be written again; a sender takes one before it
 * writes. */
void kernel_give_credit(Kernel *kernel, uint32_t sender, uint32_t semaphore);
void kernel_take_credit(Kernel *kernel, uint32_t receiver, uint32_t semaphore);

/* On this chip: to = from; into[i] = reduction(into[i], from[i]). */
void kernel_copy(Kernel *kernel, Slice to, Slice from);
void kernel_combine(Kernel *kernel, Slice into, Slice from);

/* Runs `body` beside the caller on this member, told `which` it is; `done` is signalled when it has ended. */
void kernel_fork(Kernel *kernel, void (*body)(Kernel *kernel, uint32_t which), uint32_t which, uint32_t done);
