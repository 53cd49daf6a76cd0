/*
 * migration/ram-source.c - sending RAM: passes over the dirty pages of all blocks.
 *
 * Per batch: take the bits, re-arm tracking, and only then look at the pages (memory/dirty-log.h,
 * rule 1). No lock is held; the guest runs and writes while we read.
 */
#include "migration/ram-source.h"

#include "accel/vm.h"
#include "migration/stream.h"
#include "migration/wire.h"
#include "util/bitmap.h"
#include "util/error.h"

#define PART_PAGES 16384u /* ends a section part, so that a receiver can look up now and then */
#define MAX_BATCH  (1u << 18)
#define RUN_PAGES  512u /* of a run of pages: one huge page, which the receiver gets at once */

static struct ram_source_block *block_at(struct ram_source *rs, guint i)
{
	return &g_array_index(rs->blocks, struct ram_source_block, i);
}

void ram_source_init(struct ram_source *rs, struct vm *vm, struct send_queue *q,
		     const struct settings *settings, struct ram_stats *stats)
{
	u64 key = 0;

	memset(rs, 0, sizeof(*rs));
	rs->vm = vm;
	rs->q = q;
	rs->settings = *settings;
	rs->stats = stats;
	rs->blocks = g_array_new(FALSE, FALSE, sizeof(struct ram_source_block));
	for (guint i = 0; i < vm->ram->blocks->len; i++) {
		struct ramblock *ram = g_ptr_array_index(vm->ram->blocks, i);
		struct ram_source_block b = { .ram = ram, .npages = ram_pages(ram), .key = key };

		if (!(ram->flags & RAM_MIGRATABLE))
			continue;
		b.ignored = settings->caps[CAP_IGNORE_SHARED] && (ram->flags & RAM_SHARED) &&
			    ram->fd >= 0;
		if (settings->caps[CAP_VERIFY])
			b.last_pass = (u16 *)bitmap_new(b.npages * 16);
		key += b.npages;
		g_array_append_val(rs->blocks, b);
	}
	page_probe_init(&rs->probe);
	rs->absent = g_new(u64, BITMAP_WORDS(PAGE_PROBE_MAX));
	if (settings->caps[CAP_XBZRLE]) {
		rs->cache = xbzrle_cache_create(settings->params.xbzrle_cache_size);
		rs->scratch = g_malloc(DIRTY_PAGE_SIZE);
	}
	STAT_SET(stats->total, ram_total(vm->ram));
}

void ram_source_count_pages(struct ram_source *rs, struct page_counts *counts)
{
	for (guint i = 0; i < rs->blocks->len; i++) {
		struct ram_source_block *b = block_at(rs, i);

		b->sent = page_counts_add_block(counts, b->ram->id, b->npages);
	}
}

static void stop_tracking(struct ram_source *rs)
{
	if (rs->tracking)
		dirty_tracker_stop(rs->vm->tracker, DIRTY_MIGRATION);
	rs->tracking = false;
}

void ram_source_finish(struct ram_source *rs)
{
	if (!rs->blocks)
		return;
	stop_tracking(rs);
	for (guint i = 0; i < rs->blocks->len; i++)
		if (block_at(rs, i)->last_pass)
			bitmap_free((u64 *)block_at(rs, i)->last_pass,
				    block_at(rs, i)->npages * 16);
	g_clear_pointer(&rs->blocks, g_array_unref);
	page_probe_finish(&rs->probe);
	g_clear_pointer(&rs->absent, g_free);
	g_clear_pointer(&rs->dirty, g_free);
	g_clear_pointer(&rs->cache, xbzrle_cache_destroy);
	g_clear_pointer(&rs->scratch, g_free);
}

/* ---- framing ---- */

static int put_word(struct ram_source *rs, u64 word, GError **err)
{
	u64 be = GUINT64_TO_BE(word);

	return send_queue_put(rs->q, &be, sizeof(be), err);
}

static int put_element(struct ram_source *rs, enum element_type type, GError **err)
{
	u8 head[5] = { type, 0, 0, 0, RAM_SECTION_ID };

	return send_queue_put(rs->q, head, sizeof(head), err);
}

static int open_part(struct ram_source *rs, enum element_type type, GError **err)
{
	rs->last = NULL;
	rs->part_pages = 0;
	return put_element(rs, type, err);
}

static int close_part(struct ram_source *rs, GError **err)
{
	int ret = put_word(rs, RAM_FLAG_EOS, err);

	if (!ret && rs->settings.send_section_footer)
		ret = put_element(rs, ELEM_SECTION_FOOTER, err);
	return ret;
}

static int put_block_list(struct ram_source *rs, GError **err)
{
	int ret = put_word(rs, STAT_GET(rs->stats->total) | RAM_FLAG_MEM_SIZE, err);

	for (guint i = 0; i < rs->blocks->len && !ret; i++) {
		struct ram_source_block *b = block_at(rs, i);
		u8 len = strlen(b->ram->id);

		ret = send_queue_put(rs->q, &len, 1, err);
		if (!ret)
			ret = send_queue_put(rs->q, b->ram->id, len, err);
		if (!ret)
			ret = put_word(rs, b->npages << DIRTY_PAGE_BITS, err);
		if (!ret && rs->settings.caps[CAP_IGNORE_SHARED])
			ret = put_word(rs, ram_guest_address(rs->vm, b->ram), err);
	}
	return ret;
}

static int put_start(struct ram_source *rs, GError **err)
{
	static const u8 name[] = { 3, 'r', 'a', 'm', 0, 0, 0, 0, 0, 0, 0, RAM_SECTION_VERSION };
	int ret = open_part(rs, ELEM_SECTION_START, err);

	if (!ret)
		ret = send_queue_put(rs->q, name, sizeof(name), err);
	if (!ret)
		ret = put_block_list(rs, err);
	return ret ? ret : close_part(rs, err);
}

/* ---- pages ---- */

/* Appends the header word of a page, with the block's name where it changes, and @extra bytes. */
static u8 *page_header(struct ram_source *rs, struct ram_source_block *b, u64 page, u64 flags,
		       size_t extra, GError **err)
{
	size_t name = rs->last == b ? 0 : 1 + strlen(b->ram->id);
	u8 *p = send_queue_reserve(rs->q, sizeof(u64) + name + extra, err);

	if (!p)
		return NULL;
	store_be64(p, page << DIRTY_PAGE_BITS | flags | (name ? 0 : RAM_FLAG_CONTINUE));
	p += sizeof(u64);
	if (name) {
		*p = name - 1;
		memcpy(p + 1, b->ram->id, name - 1);
		rs->last = b;
	}
	send_queue_commit(rs->q, sizeof(u64) + name + extra);
	rs->part_pages++;
	return p + name;
}

static int send_zero(struct ram_source *rs, struct ram_source_block *b, u64 page, GError **err)
{
	u8 *p = page_header(rs, b, page, RAM_FLAG_ZERO, 1, err);

	if (!p)
		return rs->q->error;
	*p = 0;
	STAT_ADD(rs->stats->duplicate, 1);
	return 0;
}

static int send_raw(struct ram_source *rs, struct ram_source_block *b, u64 page, const void *data,
		    GError **err)
{
	if (!page_header(rs, b, page, RAM_FLAG_PAGE, 0, err))
		return rs->q->error;
	STAT_ADD(rs->stats->normal, 1);
	return send_queue_ref(rs->q, data, DIRTY_PAGE_SIZE, err);
}

/* A page whose bytes must be on the wire exactly as the cache has them. */
static int send_copy(struct ram_source *rs, struct ram_source_block *b, u64 page, const void *data,
		     GError **err)
{
	u8 *p = page_header(rs, b, page, RAM_FLAG_PAGE, DIRTY_PAGE_SIZE, err);

	if (!p)
		return rs->q->error;
	memcpy(p, data, DIRTY_PAGE_SIZE);
	STAT_ADD(rs->stats->normal, 1);
	return 0;
}

static int send_delta(struct ram_source *rs, struct ram_source_block *b, u64 page, GError **err)
{
	u64 key = b->key + page, pass = STAT_GET(rs->stats->passes);
	u8 *old = xbzrle_cache_find(rs->cache, key, pass);
	u8 buf[DIRTY_PAGE_SIZE], *p;
	int len;

	memcpy(rs->scratch, b->ram->host + (page << DIRTY_PAGE_BITS), DIRTY_PAGE_SIZE);
	if (!old) {
		STAT_ADD(rs->stats->xbzrle_misses, 1);
		xbzrle_cache_insert(rs->cache, key, rs->scratch, pass);
		return send_copy(rs, b, page, rs->scratch, err);
	}
	len = xbzrle_encode(old, rs->scratch, buf, sizeof(buf) - 16);
	memcpy(old, rs->scratch, DIRTY_PAGE_SIZE);
	if (len < 0) {
		STAT_ADD(rs->stats->xbzrle_overflows, 1);
		return send_copy(rs, b, page, old, err);
	}
	STAT_ADD(rs->stats->xbzrle_pages, 1);
	if (!len)
		return 0; /* written, but with what was there */
	p = page_header(rs, b, page, RAM_FLAG_XBZRLE, 3 + len, err);
	if (!p)
		return rs->q->error;
	p[0] = XBZRLE_ENCODING;
	p[1] = len >> 8;
	p[2] = len;
	memcpy(p + 3, buf, len);
	STAT_ADD(rs->stats->xbzrle_bytes, 3 + len + sizeof(u64));
	return 0;
}

/* As pages are sent, so that "remaining" shows progress within a batch too. The migration thread
 * alone writes it; pages marked since the last sync were never counted. */
static void forget_dirty(struct ram_stats *stats, u64 n)
{
	u64 known = STAT_GET(stats->dirty_pages);

	STAT_SET(stats->dirty_pages, known - MIN(n, known));
}

/* ---- runs of pages, for a receiver that reads them straight into their place ---- */

struct page_run {
	u64 first, n;
	bool zero;
};

static int send_run(struct ram_source *rs, struct ram_source_block *b, struct page_run *run,
		    GError **err)
{
	u64 n = run->n;
	u32 be = GUINT32_TO_BE((u32)n);
	u8 *p;

	if (!n)
		return 0;
	run->n = 0;
	p = page_header(rs, b, run->first, run->zero ? RAM_FLAG_OWN_ZEROES : RAM_FLAG_OWN_RUN,
			sizeof(u32), err);
	if (!p)
		return rs->q->error;
	memcpy(p, &be, sizeof(be));
	rs->part_pages += n - 1;
	STAT_ADD(rs->stats->pages_sent, n);
	forget_dirty(rs->stats, n);
	if (run->zero) {
		STAT_ADD(rs->stats->duplicate, n);
		return 0;
	}
	STAT_ADD(rs->stats->normal, n);
	return send_queue_ref(rs->q, b->ram->host + (run->first << DIRTY_PAGE_BITS),
			      n << DIRTY_PAGE_BITS, err);
}

static int add_to_run(struct ram_source *rs, struct ram_source_block *b, struct page_run *run,
		      u64 page, bool zero, GError **err)
{
	/* Small flushes keep to a small bandwidth limit. */
	u64 most = MIN(RUN_PAGES, rs->q->flush_at >> DIRTY_PAGE_BITS);
	bool goes_on = run->n && run->zero == zero && page == run->first + run->n &&
		       (zero || (run->n < most && page % RUN_PAGES));
	int ret = goes_on ? 0 : send_run(rs, b, run, err);

	if (!goes_on)
		*run = (struct page_run){ .first = page, .zero = zero };
	run->n++;
	return ret;
}

static int send_page(struct ram_source *rs, struct ram_source_block *b, struct page_run *run,
		     u64 page, bool absent, GError **err)
{
	const u8 *host = b->ram->host + (page << DIRTY_PAGE_BITS);
	bool zero = rs->settings.params.zero_page_detection != ZERO_PAGES_NONE &&
		    (absent || page_is_zero(host));

	if (b->last_pass)
		b->last_pass[page] = MIN(STAT_GET(rs->stats->passes), UINT16_MAX);
	if (b->sent)
		page_counts_sent(b->sent, page);
	if (rs->runs && !rs->cache)
		return add_to_run(rs, b, run, page, zero, err);
	STAT_ADD(rs->stats->pages_sent, 1);
	forget_dirty(rs->stats, 1);
	if (!rs->cache)
		return zero ? send_zero(rs, b, page, err) : send_raw(rs, b, page, host, err);
	if (zero) {
		/* The receiver's copy is zero now; a delta against an older one would be wrong. */
		static const u8 zeroes[DIRTY_PAGE_SIZE];
		u8 *old = xbzrle_cache_find(rs->cache, b->key + page, STAT_GET(rs->stats->passes));

		if (old)
			memcpy(old, zeroes, DIRTY_PAGE_SIZE);
		return send_zero(rs, b, page, err);
	}
	/* The first pass would only wash the cache out. */
	return STAT_GET(rs->stats->passes) > 1 ? send_delta(rs, b, page, err)
					       : send_raw(rs, b, page, host, err);
}

/* Pages @first .. @first + @n - 1 whose bit is set in @dirty; at most PAGE_PROBE_MAX of them. */
static int send_range(struct ram_source *rs, struct ram_source_block *b, u64 first, u64 n,
		      const u64 *dirty, GError **err)
{
	bool any_absent = page_probe_absent(&rs->probe, b->ram, first, n, rs->absent);
	struct page_run run = { 0 };

	for (u64 w = 0; w < BITMAP_WORDS(n); w++) {
		for (u64 bits = dirty[w]; bits; bits &= bits - 1) {
			unsigned i = __builtin_ctzll(bits);
			bool absent = any_absent && (rs->absent[w] >> i & 1);
			int ret =
				send_page(rs, b, &run, first + w * BITS_PER_WORD + i, absent, err);

			if (ret)
				return ret;
		}
	}
	return send_run(rs, b, &run, err);
}

static u64 *batch_buffer(struct ram_source *rs, u64 pages)
{
	if (pages > rs->batch_max) {
		rs->batch_max = pages;
		rs->dirty = g_renew(u64, rs->dirty, BITMAP_WORDS(pages));
	}
	return rs->dirty;
}

/* One batch: take, clear, send. */
static int send_batch(struct ram_source *rs, struct ram_source_block *b, u64 first, u64 n,
		      GError **err)
{
	u64 *dirty = batch_buffer(rs, n);
	u64 taken = dirty_map_take(&b->ram->dirty, DIRTY_MIGRATION, first, n, dirty);
	int ret = 0;

	if (!taken)
		return 0;
	if (!rs->final)
		ret = dirty_tracker_clear(rs->vm->tracker, DIRTY_MIGRATION, b->ram, first, n, dirty,
					  err);
	if (ret) {
		dirty_map_put_back(&b->ram->dirty, DIRTY_MIGRATION, first, n, dirty);
		return ret;
	}
	if (b->ignored) {
		forget_dirty(rs->stats, taken);
		return 0;
	}
	for (u64 at = 0; at < n && !ret; at += PAGE_PROBE_MAX) {
		u64 len = MIN(PAGE_PROBE_MAX, n - at);

		if (!bitmap_is_empty(dirty + at / BITS_PER_WORD, len))
			ret = send_range(rs, b, first + at, len, dirty + at / BITS_PER_WORD, err);
		if (!ret && !rs->final && rs->part_pages >= PART_PAGES) {
			ret = close_part(rs, err);
			if (!ret)
				ret = open_part(rs, ELEM_SECTION_PART, err);
		}
	}
	return ret;
}

static int send_block(struct ram_source *rs, struct ram_source_block *b, GError **err)
{
	u64 at = 0;

	if (ram_pages(b->ram) != b->npages) {
		error_set(err,
			  "RAM block '%s' changed its size from %" PRIu64 " to %" PRIu64
			  " bytes during the migration",
			  b->ram->id, b->npages << DIRTY_PAGE_BITS, b->ram->used_size);
		return -EBUSY;
	}
	while (at < b->npages) {
		u64 next = dirty_map_next(&b->ram->dirty, DIRTY_MIGRATION, at);
		u64 batch = MIN(dirty_tracker_batch_pages(rs->vm->tracker, b->ram), MAX_BATCH);
		int ret;

		if (next >= b->npages)
			break;
		at = ROUND_DOWN(next, (u64)BITS_PER_WORD);
		ret = send_batch(rs, b, at, MIN(batch, b->npages - at), err);
		if (ret)
			return ret;
		at += batch;
	}
	return 0;
}

static int send_blocks(struct ram_source *rs, GError **err)
{
	for (guint i = 0; i < rs->blocks->len; i++) {
		int ret = send_block(rs, block_at(rs, i), err);

		if (ret)
			return ret;
	}
	return 0;
}

/* Pages beyond the used size never count. */
static u64 count_dirty(struct ram_source *rs)
{
	u64 n = 0;

	for (guint i = 0; i < rs->blocks->len; i++) {
		struct ram_source_block *b = block_at(rs, i);

		n += bitmap_count(b->ram->dirty.bits[DIRTY_MIGRATION], 0, b->npages);
	}
	return n;
}

/* ---- phases ---- */

int ram_source_setup(struct ram_source *rs, GError **err)
{
	int ret = dirty_tracker_start(rs->vm->tracker, DIRTY_MIGRATION, true, err);

	if (ret)
		return ret;
	rs->tracking = true;
	rs->last_sync_ns = monotonic_ns();
	STAT_SET(rs->stats->dirty_pages, count_dirty(rs));
	STAT_SET(rs->stats->passes, 1);
	return put_start(rs, err);
}

int ram_source_pass(struct ram_source *rs, GError **err)
{
	int ret = open_part(rs, ELEM_SECTION_PART, err);

	if (!ret)
		ret = send_blocks(rs, err);
	if (!ret)
		ret = close_part(rs, err);
	return ret ? ret : send_queue_flush(rs->q, err);
}

int ram_source_sync(struct ram_source *rs, GError **err)
{
	u64 before = STAT_GET(rs->stats->dirty_pages), after;
	s64 start = monotonic_ns(), now;
	int ret = dirty_tracker_sync(rs->vm->tracker, err);

	if (ret)
		return ret;
	after = count_dirty(rs);
	now = monotonic_ns();
	STAT_SET(rs->stats->dirty_pages, after);
	STAT_ADD(rs->stats->passes, 1);
	STAT_ADD(rs->stats->sync_ns, now - start);
	STAT_SET(rs->stats->last_sync_ns, now - start);
	STAT_SET(rs->stats->dirty_pages_rate,
		 (after - MIN(before, after)) * NS_PER_S / MAX(now - rs->last_sync_ns, 1));
	rs->last_sync_ns = now;
	return 0;
}

int ram_source_complete(struct ram_source *rs, GError **err)
{
	int ret = open_part(rs, ELEM_SECTION_END, err);

	rs->final = true;
	/* A device may still write while its state settles; what it marks goes too (rule 6). */
	while (!ret && count_dirty(rs))
		ret = send_blocks(rs, err);
	STAT_SET(rs->stats->dirty_pages, 0);
	if (!ret)
		ret = close_part(rs, err);
	return ret ? ret : send_queue_flush(rs->q, err);
}
