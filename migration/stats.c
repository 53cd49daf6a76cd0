/*
 * migration/stats.c - query-migrate.
 *
 * Members and units as QEMU 11.1's QMP interface has them; own ones are listed at
 * migration_query().
 */
#include "migration/incoming.h"
#include "migration/source.h"
#include "util/error.h"

static void set_int(JsonObject *o, const char *name, u64 v)
{
	json_object_set_int_member(o, name, MIN(v, (u64)INT64_MAX));
}

static void set_ms(JsonObject *o, const char *name, u64 ns)
{
	set_int(o, name, ns / NS_PER_MS);
}

static JsonObject *ram_object(struct source *s, bool completed)
{
	const struct ram_stats *st = &s->ram_stats;
	JsonObject *o = json_object_new();
	u64 sent = STAT_GET(s->ch->written), total = STAT_GET(st->total);
	u64 downtime_bytes = STAT_GET(s->downtime_bytes);
	u64 remaining = MIN(ram_source_remaining(st), total);
	double mbps = STAT_GET(s->conv.rate_bps) / 1e6;
	s64 end = STAT_GET(s->end_ns), active = STAT_GET(s->active_ns);

	/* At the end, the mean; a short migration has seen no full window. */
	if (completed && end > active)
		mbps = sent * 8.0 * 1000 / (end - active);
	set_int(o, "transferred", sent);
	set_int(o, "remaining", completed ? 0 : remaining);
	set_int(o, "total", total);
	set_int(o, "duplicate", STAT_GET(st->duplicate));
	set_int(o, "normal", STAT_GET(st->normal));
	set_int(o, "normal-bytes", STAT_GET(st->normal) << DIRTY_PAGE_BITS);
	set_int(o, "dirty-pages-rate", completed ? 0 : STAT_GET(st->dirty_pages_rate));
	json_object_set_double_member(o, "mbps", mbps);
	set_int(o, "dirty-sync-count", STAT_GET(st->passes));
	set_int(o, "postcopy-requests", 0);
	set_int(o, "page-size", DIRTY_PAGE_SIZE);
	set_int(o, "multifd-bytes", 0);
	set_int(o, "pages-per-second", STAT_GET(s->conv.pages_per_second));
	set_int(o, "precopy-bytes", sent - MIN(sent, downtime_bytes));
	set_int(o, "downtime-bytes", downtime_bytes);
	set_int(o, "postcopy-bytes", 0);
	set_int(o, "dirty-sync-missed-zero-copy", 0);
	return o;
}

static JsonObject *xbzrle_object(struct source *s)
{
	const struct ram_stats *st = &s->ram_stats;
	JsonObject *o = json_object_new();
	u64 pages = STAT_GET(st->xbzrle_pages), bytes = STAT_GET(st->xbzrle_bytes);
	u64 misses = STAT_GET(st->xbzrle_misses);

	set_int(o, "cache-size", s->settings.params.xbzrle_cache_size);
	set_int(o, "bytes", bytes);
	set_int(o, "pages", pages);
	set_int(o, "cache-miss", misses);
	json_object_set_double_member(o, "cache-miss-rate",
				      pages + misses ? (double)misses / (pages + misses) : 0);
	json_object_set_double_member(o, "encoding-rate",
				      bytes ? (double)(pages << DIRTY_PAGE_BITS) / bytes : 0);
	set_int(o, "overflow", STAT_GET(st->xbzrle_overflows));
	return o;
}

/* Nanoseconds, by cause. The prediction is there from the first sync on. */
static JsonObject *downtime_object(struct source *s, bool completed)
{
	const struct downtime *p = &s->conv.predicted, *a = &s->actual;
	JsonObject *o = json_object_new();

	if (STAT_GET(s->conv.verdict) != VERDICT_STARTING)
		set_int(o, "predicted",
			STAT_GET(p->sync_ns) + STAT_GET(p->ram_ns) + STAT_GET(p->device_ns) +
				STAT_GET(p->resume_ns));
	if (completed) {
		set_int(o, "stop", STAT_GET(a->stop_ns));
		set_int(o, "last-sync", STAT_GET(a->sync_ns));
		set_int(o, "ram", STAT_GET(a->ram_ns));
		set_int(o, "device-state", STAT_GET(a->device_ns));
		set_int(o, "resume", STAT_GET(a->resume_ns));
		set_int(o, "total", STAT_GET(s->downtime_ns));
	}
	return o;
}

static void add_convergence(JsonObject *o, struct source *s)
{
	u64 eta = STAT_GET(s->conv.eta_ms);

	json_object_set_string_member(o, "x-verdict", verdict_name(STAT_GET(s->conv.verdict)));
	if (eta != UINT64_MAX)
		set_int(o, "x-eta-ms", eta);
}

static JsonObject *verify_object(struct source *s)
{
	JsonObject *o = json_object_new();
	JsonArray *first = json_array_new();

	set_int(o, "pages", s->verify.pages);
	set_int(o, "mismatches", s->verify.mismatches);
	set_int(o, "ns", s->verify.ns);
	if (s->verify.mismatches) {
		JsonObject *page = json_object_new();

		json_object_set_string_member(page, "block", s->verify.block);
		set_int(page, "offset", s->verify.offset);
		json_object_set_string_member(page, "backend",
					      dirty_tracker_name(s->m->vm->tracker));
		json_array_add_object_element(first, page);
	}
	json_object_set_array_member(o, "first", first);
	return o;
}

static JsonObject *tracking_object(struct source *s)
{
	struct dirty_tracker *t = s->m->vm->tracker;
	const struct dirty_log_stats *a = &s->tracking_before;
	JsonObject *o = json_object_new();
	struct dirty_log_stats b;

	dirty_tracker_stats(t, &b);
	json_object_set_string_member(o, "backend", dirty_tracker_name(t));
	json_object_set_string_member(o, "mode", dirty_tracker_mode(t));
	set_int(o, "syncs", b.syncs - a->syncs);
	set_int(o, "sync-ns", STAT_GET(s->ram_stats.sync_ns));
	set_int(o, "clear-calls", b.clear_calls - a->clear_calls);
	set_int(o, "clear-ns", b.clear_ns - a->clear_ns);
	set_int(o, "clear-max-ns", b.clear_max_ns);
	set_int(o, "pages-reported", b.pages_reported - a->pages_reported);
	set_int(o, "ring-full-exits", b.ring_full_exits - a->ring_full_exits);
	/* Each of these calls may protect pages under the MMU lock, where vCPUs that fault wait
	 * for it; GET_DIRTY_LOG does so in mode legacy, and takes next to no time otherwise. */
	set_int(o, "guest-stall-ns",
		b.start_ns - a->start_ns + b.get_ns - a->get_ns + b.clear_ns - a->clear_ns +
			b.reset_ns - a->reset_ns + b.ring_full_ns - a->ring_full_ns);
	return o;
}

static void add_times(JsonObject *o, struct source *s, enum migration_status status)
{
	bool ended = STAT_GET(s->done);
	s64 now = ended ? STAT_GET(s->end_ns) : monotonic_ns(), active = STAT_GET(s->active_ns);

	set_ms(o, "total-time", now - s->start_ns);
	set_ms(o, "setup-time", (active ? active : now) - s->start_ns);
	if (status == STATUS_COMPLETED)
		set_ms(o, "downtime", STAT_GET(s->downtime_ns));
	else
		set_int(o, "expected-downtime", STAT_GET(s->conv.expected_downtime_ms));
}

static void add_progress(JsonObject *o, struct source *s, enum migration_status status)
{
	bool completed = status == STATUS_COMPLETED;
	u64 pct = STAT_GET(s->conv.throttle_pct);

	add_times(o, s, status);
	json_object_set_object_member(o, "ram", ram_object(s, completed));
	set_int(o, "remaining",
		completed ? 0
			  : MIN(ram_source_remaining(&s->ram_stats), STAT_GET(s->ram_stats.total)));
	if (s->settings.caps[CAP_XBZRLE])
		json_object_set_object_member(o, "xbzrle-cache", xbzrle_object(s));
	if (pct)
		set_int(o, "cpu-throttle-percentage", pct);
	add_convergence(o, s);
	json_object_set_object_member(o, "x-downtime", downtime_object(s, completed));
	json_object_set_object_member(o, "x-tracking", tracking_object(s));
}

static void add_blockers(JsonObject *o, struct migration *m)
{
	JsonArray *list;

	if (!m->blockers->len)
		return;
	list = json_array_new();
	for (guint i = 0; i < m->blockers->len; i++)
		json_array_add_string_element(list, g_ptr_array_index(m->blockers, i));
	json_object_set_array_member(o, "blocked-reasons", list);
}

JsonObject *migration_query(struct migration *m)
{
	enum migration_status status = migration_status_now(m);
	JsonObject *o = json_object_new();
	char **error = NULL;

	if (m->incoming) {
		enum migration_status in = __atomic_load_n(&m->incoming_status, __ATOMIC_ACQUIRE);

		if (in != STATUS_NONE)
			json_object_set_string_member(o, "status", migration_status_name(in));
		if (m->incoming->addresses)
			json_object_set_array_member(o, "socket-address",
						     json_array_ref(m->incoming->addresses));
		error = in == STATUS_FAILED ? &m->incoming_error : NULL;
	}
	if (status != STATUS_NONE) {
		json_object_set_string_member(o, "status", migration_status_name(status));
		error = status == STATUS_FAILED ? &m->error_desc : NULL;
	}
	g_mutex_lock(&m->lock);
	if (error && *error)
		json_object_set_string_member(o, "error-desc", *error);
	g_mutex_unlock(&m->lock);
	add_blockers(o, m);
	/* Setup, cancelled and failed have times only; QEMU leaves the rest out as well. */
	if (m->source && status != STATUS_SETUP && status != STATUS_NONE &&
	    status != STATUS_FAILED && status != STATUS_CANCELLED)
		add_progress(o, m->source, status);
	if (m->source && __atomic_load_n(&m->source->verify.done, __ATOMIC_ACQUIRE))
		json_object_set_object_member(o, "x-verify", verify_object(m->source));
	return o;
}

JsonObject *migration_query_pages(struct migration *m, u64 buckets, GError **err)
{
	if (buckets < 1 || buckets > PAGE_COUNTS_BUCKETS_MAX) {
		error_set(err, "buckets=%" PRIu64 ": must be from 1 to %u", buckets,
			  PAGE_COUNTS_BUCKETS_MAX);
		return NULL;
	}
	if (!m->source || !m->source->page_counts) {
		error_set(err, "no migration has counted its pages: capability 'x-page-counts' "
			       "must be on when it begins");
		return NULL;
	}
	return page_counts_query(m->source->page_counts, buckets);
}
