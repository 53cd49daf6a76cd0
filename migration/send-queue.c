/*
 * migration/send-queue.c - gathering, flushing and limiting what is sent.
 */
#include "migration/send-queue.h"

#include "util/error.h"

#include <time.h>

#define WINDOW_NS   (100 * NS_PER_MS)
#define ALONE_BYTES (128 * KiB)
#define MIN_FLUSH   (64 * KiB)

s64 monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void send_queue_init(struct send_queue *q, struct channel *ch)
{
	memset(q, 0, sizeof(*q));
	q->ch = ch;
	q->small = g_malloc(SEND_SMALL_BYTES);
	q->flush_at = SEND_FLUSH_BYTES;
	q->window_start_ns = monotonic_ns();
}

void send_queue_finish(struct send_queue *q)
{
	g_clear_pointer(&q->small, g_free);
}

/* Sleeps while this window's share is used up. */
static int obey_limit(struct send_queue *q, GError **err)
{
	u64 limit = q->limit && !q->unlimited ? q->limit(q->opaque) : 0;
	s64 now;

	q->flush_at = SEND_FLUSH_BYTES;
	while (limit) {
		u64 share = MAX(limit / (NS_PER_S / WINDOW_NS), 1);

		q->flush_at = CLAMP(share / 4, MIN_FLUSH, SEND_FLUSH_BYTES);
		now = monotonic_ns();
		if (now - q->window_start_ns >= WINDOW_NS) {
			/* What went over the share counts for the windows after it. */
			u64 windows = (now - q->window_start_ns) / WINDOW_NS;

			q->window_bytes -= MIN(q->window_bytes, windows * share);
			q->window_start_ns += windows * WINDOW_NS;
		}
		if (q->window_bytes < share)
			return 0;
		if (!q->wait(q->opaque, q->window_start_ns + WINDOW_NS)) {
			error_set(err, "cancelled");
			return -ECANCELED;
		}
		limit = q->unlimited ? 0 : q->limit(q->opaque);
	}
	q->window_bytes = 0;
	return 0;
}

/* Long runs of pages may be sent without a copy; below that two more calls cost as much. */
static bool goes_alone(const struct send_queue *q, const struct iovec *iov)
{
	const u8 *at = iov->iov_base;

	return iov->iov_len >= ALONE_BYTES && (at < q->small || at >= q->small + SEND_SMALL_BYTES);
}

static int write_all(struct send_queue *q, GError **err)
{
	unsigned from = 0;
	int ret = 0;

	for (unsigned i = 0; i < q->niov && !ret; i++) {
		if (!goes_alone(q, &q->iov[i]))
			continue;
		ret = channel_writev(q->ch, q->iov + from, i - from, err);
		if (!ret)
			ret = channel_write_pages(q->ch, q->iov[i].iov_base, q->iov[i].iov_len,
						  err);
		from = i + 1;
	}
	return ret ? ret : channel_writev(q->ch, q->iov + from, q->niov - from, err);
}

int send_queue_flush(struct send_queue *q, GError **err)
{
	int ret;

	if (!q->niov)
		return 0;
	ret = write_all(q, err);
	if (ret)
		return q->error = ret;
	q->window_bytes += q->queued;
	q->niov = 0;
	q->nsmall = 0;
	q->queued = 0;
	return q->error = obey_limit(q, err);
}

u8 *send_queue_reserve(struct send_queue *q, size_t n, GError **err)
{
	if ((q->nsmall + n > SEND_SMALL_BYTES || q->niov + 2 > SEND_IOVS ||
	     q->queued >= q->flush_at) &&
	    send_queue_flush(q, err))
		return NULL;
	return q->small + q->nsmall;
}

void send_queue_commit(struct send_queue *q, size_t n)
{
	u8 *at = q->small + q->nsmall;
	struct iovec *last = q->niov ? &q->iov[q->niov - 1] : NULL;

	if (last && (u8 *)last->iov_base + last->iov_len == at)
		last->iov_len += n;
	else
		q->iov[q->niov++] = (struct iovec){ .iov_base = at, .iov_len = n };
	q->nsmall += n;
	q->queued += n;
}

int send_queue_put(struct send_queue *q, const void *buf, size_t n, GError **err)
{
	while (n) {
		size_t step = MIN(n, 4096u);
		u8 *p = send_queue_reserve(q, step, err);

		if (!p)
			return q->error;
		memcpy(p, buf, step);
		send_queue_commit(q, step);
		buf = (const u8 *)buf + step;
		n -= step;
	}
	return 0;
}

int send_queue_ref(struct send_queue *q, const void *buf, size_t n, GError **err)
{
	if (q->niov + 1 > SEND_IOVS) {
		int ret = send_queue_flush(q, err);

		if (ret)
			return ret;
	}
	q->iov[q->niov++] = (struct iovec){ .iov_base = (void *)buf, .iov_len = n };
	q->queued += n;
	return 0;
}
