/*
 * util/barrier.h - a memory barrier that one thread runs for all.
 */
#ifndef UTIL_BARRIER_H
#define UTIL_BARRIER_H

/*
 * process_barrier() - every other thread of the process passes a full memory barrier.
 *
 * Lets a frequent reader of a flag do without a barrier between its store and its look at the
 * flag: whoever sets the flag calls this, and then either sees the store or was seen.
 * Context: any thread; may sleep (Linux membarrier(2)).
 */
void process_barrier(void);

#endif
