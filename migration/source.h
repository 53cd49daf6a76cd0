/*
 * migration/source.h - the sending side: one object per migration.
 */
#ifndef MIGRATION_SOURCE_H
#define MIGRATION_SOURCE_H

#include "accel/runstate.h"
#include "migration/convergence.h"
#include "migration/internal.h"
#include "migration/return-path.h"

struct source {
	struct migration *m;
	struct migration_address *address;
	struct channel *ch;
	struct settings settings; /* as they were when it began; limits are read anew */
	GThread *thread;
	struct return_path rp;
	bool peer_is_ours; /* understands the private messages */
	struct send_queue q;
	struct ram_source ram;
	struct ram_stats ram_stats;
	struct page_counts *page_counts; /* with x-page-counts, else NULL */
	struct convergence conv;

	bool continue_requested; /* migrate-continue; guarded by m->lock */
	bool cancel_requested;   /* atomic */
	bool committed;          /* the receiver may run now: too late to cancel; m->lock */
	bool done;               /* the thread is about to end; atomic */

	/* Machine state before the switch-over; migration thread. */
	bool vm_stopped; /* by us */
	bool disks_released;
	bool was_running;
	enum run_state old_state;

	/* Times, monotonic ns; 0: not reached. Atomic. */
	s64 start_ns, active_ns, stop_ns, end_ns;
	struct downtime actual;
	u64 downtime_ns; /* once completed */
	u64 precopy_bytes, downtime_bytes;
	struct dirty_log_stats tracking_before;
	struct {
		bool done; /* atomic; the rest does not change any more */
		u64 pages, mismatches, ns;
		char block[256]; /* of the first page that differs */
		u64 offset;
	} verify;
	u64 last_device_ns; /* measured by the previous migration of this machine */
};

/* source_start() - takes over @address and an opened @ch (a socket is connected later). */
struct source *source_start(struct migration *m, struct migration_address *address,
			    struct channel *ch);
/* source_cancel() - no effect once the receiver may run. Main thread. */
void source_cancel(struct source *s);
/* source_join() - waits for the thread; frees @s. Machine lock not held unless it is done. */
void source_join(struct source *s);

/* source_setup() - connection, header, return path, checks with the receiver. source-setup.c */
int source_setup(struct source *s, GError **err);
/* source_switchover() - stop, send the rest, complete. source-switchover.c */
int source_switchover(struct source *s, GError **err);
/* source_restore_vm() - after a failure: let the guest run as before. */
void source_restore_vm(struct source *s);

/* source_write() - put bytes on the wire now, in order with what is queued. */
int source_write(struct source *s, const void *buf, size_t len, GError **err);
int source_command(struct source *s, enum stream_command cmd, const void *data, u16 len,
		   GError **err);

/* peer_check() - whether the receiver that described itself as @json can take us. peer.c */
int peer_check(struct source *s, const char *json, GError **err);
/* peer_describe() - the receiver's own description. Machine lock held. */
char *peer_describe(struct migration *m);

/* source_verify() - compare all of RAM with the receiver's. verify.c */
int source_verify(struct source *s, GError **err);

#endif
