/*
 * migration/dirty-rate.c - calc-dirty-rate and query-dirty-rate.
 *
 * Members, units and ranges as QEMU 11.1's QMP interface has them. Rates are MiB/s.
 */
#include "migration/dirty-rate.h"

#include "accel/vcpu.h"
#include "migration/internal.h"
#include "migration/pages.h"
#include "migration/send-queue.h"
#include "util/bitmap.h"
#include "util/error.h"

#include <xxhash.h>

#define MIN_MS         50
#define MAX_MS         60000
#define DEFAULT_SAMPLE 512u /* pages per GiB */
#define MIN_SAMPLE     128u
#define MAX_SAMPLE     16384u

enum rate_mode { RATE_SAMPLING, RATE_RING, RATE_BITMAP };
static const char *const mode_names[] = { "page-sampling", "dirty-ring", "dirty-bitmap" };

struct sample {
	const struct ramblock *block;
	u64 page;
	u64 hash;
};

struct dirty_rate {
	struct vm *vm;
	GMutex lock; /* guards what follows */
	GCond stop_cond;
	bool stop;
	bool running, measured;
	enum rate_mode mode;
	u64 calc_ms;
	u64 sample_pages;
	s64 start_s; /* of the monotonic clock */
	u64 rate_mib;
	GArray *vcpu_mib; /* of u64, mode dirty-ring */
	GThread *thread;
};

struct dirty_rate *dirty_rate_create(struct vm *vm)
{
	struct dirty_rate *d = g_new0(struct dirty_rate, 1);

	d->vm = vm;
	d->sample_pages = DEFAULT_SAMPLE;
	d->vcpu_mib = g_array_new(FALSE, TRUE, sizeof(u64));
	g_mutex_init(&d->lock);
	g_cond_init(&d->stop_cond);
	return d;
}

void dirty_rate_destroy(struct dirty_rate *d)
{
	g_mutex_lock(&d->lock);
	d->stop = true;
	g_cond_broadcast(&d->stop_cond);
	g_mutex_unlock(&d->lock);
	if (d->thread)
		g_thread_join(d->thread);
	g_array_unref(d->vcpu_mib);
	g_mutex_clear(&d->lock);
	g_cond_clear(&d->stop_cond);
	g_free(d);
}

/* Return: false when the measurement must end early. */
static bool sleep_for(struct dirty_rate *d, u64 ms)
{
	s64 end = g_get_monotonic_time() + ms * 1000;
	bool stop;

	g_mutex_lock(&d->lock);
	while (!d->stop && g_cond_wait_until(&d->stop_cond, &d->lock, end))
		;
	stop = d->stop;
	g_mutex_unlock(&d->lock);
	return !stop;
}

static u64 to_mib_per_s(double bytes, u64 ns)
{
	return (u64)(bytes * NS_PER_S / MAX(ns, 1) / MiB + 0.5);
}

/* ---- page sampling ---- */

static u64 hash_page(const struct ramblock *b, u64 page)
{
	return XXH3_64bits(b->host + (page << DIRTY_PAGE_BITS), DIRTY_PAGE_SIZE);
}

/* Absent pages are not touched: they count as unwritten until they are there. */
static u64 hash_present(struct page_probe *probe, const struct ramblock *b, u64 page)
{
	u64 absent[1], first = ROUND_DOWN(page, (u64)BITS_PER_WORD);

	page_probe_absent(probe, b, first, MIN(ram_pages(b) - first, BITS_PER_WORD), absent);
	return bitmap_test(absent, page - first) ? 0 : hash_page(b, page);
}

static GArray *take_samples(struct dirty_rate *d, struct page_probe *probe)
{
	GArray *samples = g_array_new(FALSE, FALSE, sizeof(struct sample));
	g_autoptr(GRand) rand = g_rand_new();

	for (guint i = 0; i < d->vm->ram->blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(d->vm->ram->blocks, i);
		u64 n = b->used_size * d->sample_pages / GiB;

		/* Firmware and tables are not what a guest writes. */
		if (!(b->flags & RAM_MIGRATABLE) || b->flags & RAM_READONLY)
			continue;
		for (u64 k = 0; k < n; k++) {
			u64 page = (u64)(g_rand_double(rand) * ram_pages(b));
			struct sample s = { b, page, hash_present(probe, b, page) };

			g_array_append_val(samples, s);
		}
	}
	return samples;
}

static u64 measure_sampling(struct dirty_rate *d)
{
	g_autoptr(GArray) samples = NULL;
	struct page_probe probe;
	u64 changed = 0, total = ram_total(d->vm->ram);
	s64 start;

	page_probe_init(&probe);
	samples = take_samples(d, &probe);
	start = monotonic_ns();
	if (!sleep_for(d, d->calc_ms))
		samples->len = 0;
	for (guint i = 0; i < samples->len; i++) {
		const struct sample *s = &g_array_index(samples, struct sample, i);

		changed += hash_present(&probe, s->block, s->page) != s->hash;
	}
	page_probe_finish(&probe);
	if (!samples->len)
		return 0;
	return to_mib_per_s((double)total * changed / samples->len, monotonic_ns() - start);
}

/* ---- tracking ---- */

static u64 count_pages(struct dirty_rate *d)
{
	u64 pages = 0;

	for (guint i = 0; i < d->vm->ram->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(d->vm->ram->blocks, i);

		pages += dirty_map_count(&b->dirty, DIRTY_RATE);
	}
	return pages;
}

static u64 *ring_pages(struct dirty_rate *d)
{
	u64 *pages = g_new0(u64, d->vm->ncpus + 1);

	for (int i = 0; i < d->vm->ncpus; i++)
		pages[i] = __atomic_load_n(&d->vm->cpus[i]->ring_pages, __ATOMIC_RELAXED);
	return pages;
}

static void set_vcpu_rates(struct dirty_rate *d, const u64 *before, u64 ns)
{
	g_autofree u64 *after = ring_pages(d);

	g_mutex_lock(&d->lock);
	for (int i = 0; i < d->vm->ncpus; i++) {
		u64 rate = to_mib_per_s((double)(after[i] - before[i]) * DIRTY_PAGE_SIZE, ns);

		g_array_append_val(d->vcpu_mib, rate);
	}
	g_mutex_unlock(&d->lock);
}

/* Both tracking modes: the pages that the back end reports in the time. */
static u64 measure_tracking(struct dirty_rate *d)
{
	struct dirty_tracker *t = d->vm->tracker;
	g_autofree u64 *before = NULL;
	u64 pages = 0;
	s64 start;

	if (dirty_tracker_start(t, DIRTY_RATE, false, NULL))
		return 0;
	before = ring_pages(d);
	start = monotonic_ns();
	if (sleep_for(d, d->calc_ms) && !dirty_tracker_sync(t, NULL))
		pages = count_pages(d);
	start = monotonic_ns() - start;
	if (d->mode == RATE_RING)
		set_vcpu_rates(d, before, start);
	dirty_tracker_stop(t, DIRTY_RATE);
	return to_mib_per_s((double)pages * DIRTY_PAGE_SIZE, start);
}

static gpointer rate_thread(gpointer data)
{
	struct dirty_rate *d = data;
	u64 rate = d->mode == RATE_SAMPLING ? measure_sampling(d) : measure_tracking(d);

	g_mutex_lock(&d->lock);
	d->rate_mib = rate;
	d->running = false;
	d->measured = true;
	g_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- commands ---- */

/* Return: 0, or -EINVAL with @err naming the mode that fits this accelerator. */
static int check_mode(struct dirty_rate *d, enum rate_mode mode, GError **err)
{
	const char *backend = dirty_tracker_name(d->vm->tracker);
	bool ring = g_str_equal(backend, "kvm-ring");

	if (mode == RATE_RING && !ring) {
		error_set(err,
			  "mode dirty-ring needs -accel kvm,dirty-ring-size=N; this machine "
			  "tracks with '%s', use mode dirty-bitmap or page-sampling",
			  backend);
		return -EINVAL;
	}
	if (mode == RATE_BITMAP && ring) {
		error_set(err,
			  "mode dirty-bitmap needs -accel kvm without dirty-ring-size; use mode "
			  "dirty-ring or page-sampling");
		return -EINVAL;
	}
	if (mode == RATE_BITMAP && g_str_equal(backend, "none")) {
		error_set(err,
			  "mode dirty-bitmap needs an accelerator that runs vCPUs (kvm or tcg); "
			  "use mode page-sampling");
		return -EINVAL;
	}
	return 0;
}

static int parse_args(JsonObject *args, u64 *ms, u64 *pages, enum rate_mode *mode, GError **err)
{
	const char *unit =
		json_object_get_string_member_with_default(args, "calc-time-unit", "second");
	const char *name =
		json_object_get_string_member_with_default(args, "mode", "page-sampling");
	s64 time = json_object_get_int_member_with_default(args, "calc-time", -1);
	s64 sample = json_object_get_int_member_with_default(args, "sample-pages", -1);
	bool milli = g_str_equal(unit, "millisecond");
	unsigned i = 0;

	if (!milli && !g_str_equal(unit, "second")) {
		error_set(err, "calc-time-unit '%s': expected second or millisecond", unit);
		return -EINVAL;
	}
	if (time < 0 || time > MAX_MS || time * (milli ? 1 : 1000) < MIN_MS ||
	    time * (milli ? 1 : 1000) > MAX_MS) {
		error_set(err,
			  "calc-time %" PRId64 " %ss is out of range: %d to %d ms are possible",
			  time, unit, MIN_MS, MAX_MS);
		return -EINVAL;
	}
	while (i < ARRAY_SIZE(mode_names) && !g_str_equal(mode_names[i], name))
		i++;
	if (i == ARRAY_SIZE(mode_names)) {
		error_set(err, "unknown mode '%s'", name);
		return -EINVAL;
	}
	if (sample >= 0 && i != RATE_SAMPLING) {
		error_set(err, "sample-pages is for mode page-sampling only");
		return -EINVAL;
	}
	if (json_object_has_member(args, "sample-pages") &&
	    (sample < MIN_SAMPLE || sample > MAX_SAMPLE)) {
		error_set(err,
			  "sample-pages %" PRId64 " is out of range: %u to %u pages per GiB are "
			  "possible",
			  sample, MIN_SAMPLE, MAX_SAMPLE);
		return -EINVAL;
	}
	*ms = time * (milli ? 1 : 1000);
	*pages = sample >= 0 ? sample : DEFAULT_SAMPLE;
	*mode = i;
	return 0;
}

int migration_calc_dirty_rate(struct migration *m, JsonObject *args, GError **err)
{
	struct dirty_rate *d = m->rate;
	enum rate_mode mode;
	u64 ms, pages;
	bool running;
	int ret = parse_args(args, &ms, &pages, &mode, err);

	if (!ret)
		ret = check_mode(d, mode, err);
	if (ret)
		return ret;
	g_mutex_lock(&d->lock);
	running = d->running;
	g_mutex_unlock(&d->lock);
	if (running) {
		error_set(err, "a dirty-rate measurement is running already");
		return -EBUSY;
	}
	if (d->thread)
		g_thread_join(d->thread);
	d->mode = mode;
	d->calc_ms = ms;
	d->sample_pages = pages;
	d->start_s = monotonic_ns() / NS_PER_S;
	d->measured = false;
	g_array_set_size(d->vcpu_mib, 0);
	d->running = true;
	d->thread = g_thread_new("dirty-rate", rate_thread, d);
	return 0;
}

JsonObject *migration_query_dirty_rate(struct migration *m, const char *unit)
{
	struct dirty_rate *d = m->rate;
	bool milli = !g_strcmp0(unit, "millisecond");
	JsonObject *o = json_object_new();

	g_mutex_lock(&d->lock);
	json_object_set_string_member(o, "status",
				      d->running    ? "measuring"
				      : d->measured ? "measured"
						    : "unstarted");
	json_object_set_int_member(o, "start-time", d->start_s);
	json_object_set_int_member(o, "calc-time", milli ? d->calc_ms : d->calc_ms / 1000);
	json_object_set_string_member(o, "calc-time-unit", milli ? "millisecond" : "second");
	json_object_set_string_member(o, "mode", mode_names[d->mode]);
	json_object_set_int_member(o, "sample-pages", d->sample_pages);
	if (d->measured) {
		json_object_set_int_member(o, "dirty-rate", d->rate_mib);
		if (d->mode == RATE_RING) {
			JsonArray *vcpus = json_array_new();

			for (guint i = 0; i < d->vcpu_mib->len; i++) {
				JsonObject *one = json_object_new();

				json_object_set_int_member(one, "id", i);
				json_object_set_int_member(one, "dirty-rate",
							   g_array_index(d->vcpu_mib, u64, i));
				json_array_add_object_element(vcpus, one);
			}
			json_object_set_array_member(o, "vcpu-dirty-rate", vcpus);
		}
	}
	g_mutex_unlock(&d->lock);
	return o;
}
