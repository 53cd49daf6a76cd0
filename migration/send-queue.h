/*
 * migration/send-queue.h - what the sender puts on the wire, gathered into large vectored writes.
 *
 * Small pieces are copied, pages are referenced: a page is read by the kernel when the queue is
 * flushed, or as late as the receiver reads it. A write by then is one that tracking reports.
 * Flushes respect the bandwidth limit in windows of 100 ms.
 */
#ifndef MIGRATION_SEND_QUEUE_H
#define MIGRATION_SEND_QUEUE_H

#include "migration/channel.h"

#define SEND_IOVS        1024u
#define SEND_SMALL_BYTES (128 * KiB)
#define SEND_FLUSH_BYTES (2 * MiB)

struct send_queue {
	struct channel *ch;
	struct iovec iov[SEND_IOVS];
	unsigned niov;
	u8 *small; /* copied pieces since the last flush */
	size_t nsmall;
	u64 queued;   /* bytes in iov */
	int error;    /* of the flush that failed: -errno */
	u64 flush_at; /* bytes; smaller under a small limit */

	/*
	 * limit() - bytes per second now; 0: none. wait() - sleep until @until_ns of the
	 * monotonic clock or until the limit may have changed; false to give up.
	 */
	u64 (*limit)(void *opaque);
	bool (*wait)(void *opaque, s64 until_ns);
	void *opaque;
	bool unlimited; /* during the switch-over */
	s64 window_start_ns;
	u64 window_bytes;
};

void send_queue_init(struct send_queue *q, struct channel *ch);
void send_queue_finish(struct send_queue *q);

/*
 * send_queue_reserve() - room for @n bytes (at most 1 KiB beyond a page) that the caller fills at
 * once; NULL with @err if flushing failed. send_queue_commit(): @n of them are used.
 */
u8 *send_queue_reserve(struct send_queue *q, size_t n, GError **err);
void send_queue_commit(struct send_queue *q, size_t n);

/* send_queue_put() - copy bytes. send_queue_ref() - refer to bytes; as channel_write_pages(). */
int send_queue_put(struct send_queue *q, const void *buf, size_t n, GError **err);
int send_queue_ref(struct send_queue *q, const void *buf, size_t n, GError **err);

/* send_queue_flush() - write everything. Return: 0 or -errno with @err. */
int send_queue_flush(struct send_queue *q, GError **err);

s64 monotonic_ns(void);

#endif
