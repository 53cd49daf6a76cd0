/*
 * migration/source.c - the migration thread: from setup through the passes to the end.
 */
#include "migration/source.h"

#include "util/error.h"
#include "util/lock.h"

#include <signal.h>

static bool cancel_requested(struct source *s)
{
	return __atomic_load_n(&s->cancel_requested, __ATOMIC_ACQUIRE);
}

int source_write(struct source *s, const void *buf, size_t len, GError **err)
{
	int ret = send_queue_put(&s->q, buf, len, err);

	return ret ? ret : send_queue_flush(&s->q, err);
}

int source_command(struct source *s, enum stream_command cmd, const void *data, u16 len,
		   GError **err)
{
	u8 head[5] = { ELEM_COMMAND, cmd >> 8, cmd, len >> 8, len };
	int ret = send_queue_put(&s->q, head, sizeof(head), err);

	return ret || !len ? ret : send_queue_put(&s->q, data, len, err);
}

static u64 bandwidth_limit(void *opaque)
{
	struct source *s = opaque;
	struct settings now;

	migration_settings(s->m, &now);
	convergence_tick(&s->conv, &now, STAT_GET(s->ch->written),
			 STAT_GET(s->ram_stats.pages_sent));
	return now.params.max_bandwidth;
}

static bool limit_wait(void *opaque, s64 until_ns)
{
	struct source *s = opaque;
	s64 until_us = g_get_monotonic_time() + (until_ns - monotonic_ns()) / NS_PER_US + 1;

	g_mutex_lock(&s->m->lock);
	if (!cancel_requested(s))
		g_cond_wait_until(&s->m->changed, &s->m->lock, until_us);
	g_mutex_unlock(&s->m->lock);
	return !cancel_requested(s);
}

/* Passes until the rest fits into the downtime. */
static int iterate(struct source *s, GError **err)
{
	struct settings now;

	for (;;) {
		int ret = ram_source_pass(&s->ram, err);

		if (ret)
			return ret;
		ret = ram_source_sync(&s->ram, err);
		if (ret)
			return ret;
		if (s->m->cb.pass)
			s->m->cb.pass(s->m->cb.opaque, STAT_GET(s->ram_stats.passes));
		migration_settings(s->m, &now);
		/* Capabilities are fixed while we run; parameters may change. */
		convergence_tick(&s->conv, &now, STAT_GET(s->ch->written),
				 STAT_GET(s->ram_stats.pages_sent));
		if (convergence_pass(&s->conv, s->m->vm, &now, &s->ram_stats,
				     STAT_GET(s->ch->written)) &&
		    (!s->settings.caps[CAP_SWITCHOVER_ACK] || s->rp.switchover_ack))
			return 0;
		if (cancel_requested(s)) {
			error_set(err, "cancelled");
			return -ECANCELED;
		}
	}
}

static int run(struct source *s, GError **err)
{
	int ret = source_setup(s, err);

	if (ret)
		return ret;
	ret = ram_source_setup(&s->ram, err);
	if (!ret)
		ret = send_queue_flush(&s->q, err);
	if (ret)
		return ret;
	STAT_SET(s->active_ns, monotonic_ns());
	if (!migration_set_status(s->m, STATUS_SETUP, STATUS_ACTIVE)) {
		error_set(err, "cancelled");
		return -ECANCELED;
	}
	ret = iterate(s, err);
	return ret ? ret : source_switchover(s, err);
}

/* The receiver's own words are worth more than our broken pipe. */
static GError *best_reason(struct source *s, int ret, GError *ours)
{
	bool lost = ret == -EPIPE || ret == -ECONNRESET || ret == -ECANCELED;
	GError *theirs = NULL;

	if (!lost || !s->rp.open || cancel_requested(s))
		return ours;
	/* A receiver that fails says so before it closes. */
	return_path_wait(&s->rp, &s->rp.shut, 1000);
	if (!return_path_error(&s->rp, &theirs))
		return ours;
	g_error_free(ours);
	return theirs;
}

/* Every cancelled migration passes through "cancelling", whoever notices first. */
static void set_cancelling(struct source *s)
{
	enum migration_status now = migration_status_now(s->m);

	while (migration_active(s->m) && now != STATUS_CANCELLING &&
	       !migration_set_status(s->m, now, STATUS_CANCELLING))
		now = migration_status_now(s->m);
}

static void set_failed(struct source *s, const GError *err)
{
	struct migration *m = s->m;
	enum migration_status now = migration_status_now(m);

	g_mutex_lock(&m->lock);
	g_free(m->error_desc);
	m->error_desc = g_strdup(err->message);
	g_mutex_unlock(&m->lock);
	while (!migration_set_status(m, now, STATUS_FAILED))
		now = migration_status_now(m);
}

static void finish(struct source *s, int ret, GError *err)
{
	struct migration *m = s->m;

	if (ret)
		err = best_reason(s, ret, err);
	channel_cancel(s->ch);
	return_path_stop(&s->rp);
	ram_source_finish(&s->ram);
	convergence_end(&s->conv, m->vm);
	if (ret)
		source_restore_vm(s);
	channel_close(s->ch, NULL);
	STAT_SET(s->end_ns, monotonic_ns());
	if (!ret) {
		__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
		migration_set_status(m, STATUS_DEVICE, STATUS_COMPLETED);
	} else if (cancel_requested(s)) {
		set_cancelling(s);
		__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
		migration_set_status(m, STATUS_CANCELLING, STATUS_CANCELLED);
	} else {
		__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
		set_failed(s, err);
	}
	g_clear_error(&err);
}

static gpointer source_thread(gpointer data)
{
	struct source *s = data;
	GError *err = NULL;
	sigset_t pipe;
	int ret;

	/* A command or pipe that ends early is an error code, not a signal. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	ret = run(s, &err);
	finish(s, ret, err);
	return NULL;
}

struct source *source_start(struct migration *m, struct migration_address *address,
			    struct channel *ch)
{
	struct source *s = g_new0(struct source, 1);

	s->m = m;
	s->address = address;
	s->ch = ch;
	migration_settings(m, &s->settings);
	s->last_device_ns = m->source ? STAT_GET(m->source->actual.device_ns) : 0;
	s->start_ns = monotonic_ns();
	send_queue_init(&s->q, ch);
	s->q.limit = bandwidth_limit;
	s->q.wait = limit_wait;
	s->q.opaque = s;
	convergence_init(&s->conv, &s->settings, s->last_device_ns);
	ram_source_init(&s->ram, m->vm, &s->q, &s->settings, &s->ram_stats);
	if (s->settings.caps[CAP_PAGE_COUNTS]) {
		s->page_counts = page_counts_create();
		ram_source_count_pages(&s->ram, s->page_counts);
	}
	if (m->vm->tracker)
		dirty_tracker_stats(m->vm->tracker, &s->tracking_before);
	s->thread = g_thread_new("migration", source_thread, s);
	return s;
}

void source_cancel(struct source *s)
{
	bool in_time;

	g_mutex_lock(&s->m->lock);
	in_time = !s->committed;
	if (in_time)
		__atomic_store_n(&s->cancel_requested, true, __ATOMIC_RELEASE);
	g_mutex_unlock(&s->m->lock);
	if (!in_time || __atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
		return;
	set_cancelling(s); /* wakes a thread that waits for a change */
	channel_cancel(s->ch);
}

void source_join(struct source *s)
{
	g_thread_join(s->thread);
	send_queue_finish(&s->q);
	channel_destroy(s->ch);
	migration_address_free(s->address);
	page_counts_destroy(s->page_counts);
	g_free(s);
}
