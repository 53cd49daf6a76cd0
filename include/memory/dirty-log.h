/*
 * memory/dirty-log.h - tracking back ends and the tracker that drives them.
 *
 * An accelerator provides back ends (struct dirty_log_ops); clients (migration, dirty rate) go
 * through the tracker. The rules that must hold:
 *  1. take, then clear, then copy;
 *  2. a bit once reported is never dropped; a failing sync or clear is an error of the client;
 *  3. initially-all-set start is never combined with a ring;
 *  4. clears are large, lazy and merged, bounded by the lock-hold bound of the back end;
 *  5. device writes are tracked in every mode (memory_mark_dirty());
 *  6. after the last sync with the vCPUs stopped no bit may remain that was not sent.
 */
#ifndef MEMORY_DIRTY_LOG_H
#define MEMORY_DIRTY_LOG_H

#include "memory/ram.h"

/* What a back end counts; all since it was created; read with relaxed atomics by anyone. */
struct dirty_log_stats {
	u64 starts, start_ns;
	u64 syncs, sync_ns;        /* sync() calls and their wall time */
	u64 pages_reported;        /* bits or ring entries brought in */
	u64 get_calls, get_ns;     /* KVM_GET_DIRTY_LOG */
	u64 clear_calls, clear_ns; /* KVM_CLEAR_DIRTY_LOG */
	u64 clear_pages;           /* pages covered by them */
	u64 clear_max_ns;          /* longest single call: estimate of the lock hold */
	u64 reset_calls, reset_ns; /* KVM_RESET_DIRTY_RINGS */
	u64 reset_entries;
	u64 ring_full_exits;
	u64 ring_full_ns;   /* vCPU time spent in them: guest stall */
	u64 ring_overflows; /* overflow detected, everything set dirty, ring repaired */
	u64 fallbacks;      /* switched from ring to log for the rest of the run */
};

struct dirty_log_ops {
	const char *name; /* "kvm-log", "kvm-ring", "tcg", "null" */

	/*
	 * start() - begin to track every block (or @block alone if not NULL).
	 * @all_dirty: out: the back end declares everything dirty now (initially-all-set), so the
	 *             caller must consider all pages written.
	 * Return: 0, or -errno with @err naming ioctl, slot and errno.
	 */
	int (*start)(void *backend, struct ramblock *block, bool *all_dirty, GError **err);
	void (*stop)(void *backend, struct ramblock *block);

	/*
	 * sync() - bring what the back end knows into the dirty maps of all active clients; only
	 * adds bits. @block NULL: all blocks. Any thread, machine lock not needed.
	 */
	int (*sync)(void *backend, struct ramblock *block, GError **err);

	/*
	 * clear() - re-arm tracking for the pages of @first .. @first + @n - 1 whose bit is set in
	 * @bits (bit i: page @first + i); NULL: all of them. @first is a multiple of 64. The
	 * caller has taken these pages and reads their content only after clear() returned.
	 * Merges, aligns and splits as the kernel interface wants. Any thread.
	 */
	int (*clear)(void *backend, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		     GError **err);

	/* batch_pages() - how many pages the caller should take and clear at a time; a multiple
	 * of 64; may change while running as the back end measures. NULL: no preference. */
	u64 (*batch_pages)(void *backend, const struct ramblock *block);

	void (*stats)(void *backend, struct dirty_log_stats *out);

	/* mode() - the mode in use, as the user would name it: "legacy", "manual",
	 * "manual-initially-set", "ring". */
	const char *(*mode)(void *backend);
};

struct dirty_tracker;

/*
 * dirty_tracker_create() - the tracker of a machine.
 * @ops, @backend: the accelerator's back end; ops NULL: no vCPU writes memory (qtest, none), so
 *                 only device writes are tracked.
 */
struct dirty_tracker *dirty_tracker_create(struct ram_list *ram, const struct dirty_log_ops *ops,
					   void *backend);
void dirty_tracker_destroy(struct dirty_tracker *t);

/*
 * dirty_tracker_start() - a client begins: its bits are all set if @all_dirty, else clear.
 *
 * The first client starts the back end, later ones share it. Return: 0 or -errno with @err; on
 * failure nothing is tracking for this client.
 * Context: any thread; calls for one client are not concurrent. Takes the tracker's own lock.
 */
int dirty_tracker_start(struct dirty_tracker *t, enum dirty_client client, bool all_dirty,
			GError **err);
void dirty_tracker_stop(struct dirty_tracker *t, enum dirty_client client);

/* dirty_tracker_sync() - as the back end's sync(), for all blocks. */
int dirty_tracker_sync(struct dirty_tracker *t, GError **err);

/*
 * dirty_tracker_clear() - re-arm pages that @client has taken. See clear() above.
 *
 * A write that the back end has noted since the last sync may be forgotten by this for other
 * active clients; so their bits of the cleared pages are set first: they are told too much, never
 * too little.
 */
int dirty_tracker_clear(struct dirty_tracker *t, enum dirty_client client, struct ramblock *block,
			u64 first, u64 n, const u64 *bits, GError **err);

/* dirty_tracker_batch_pages() - pages to take at a time in @block; a multiple of 64, > 0. */
u64 dirty_tracker_batch_pages(struct dirty_tracker *t, const struct ramblock *block);

/* dirty_tracker_stats() - counters of the back end; zeroes if there is none. */
void dirty_tracker_stats(struct dirty_tracker *t, struct dirty_log_stats *out);

/* dirty_tracker_name(), dirty_tracker_mode() - back end and mode in use, for users. */
const char *dirty_tracker_name(const struct dirty_tracker *t);
const char *dirty_tracker_mode(const struct dirty_tracker *t);

#endif
