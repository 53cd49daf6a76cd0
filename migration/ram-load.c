/*
 * migration/ram-load.c - receiving RAM.
 *
 * Runs of pages are populated in one call each and then copied: taking a page fault per page costs
 * several times the copy. A zero page never touches memory that was not populated before.
 */
#include "migration/ram-load.h"

#include "accel/vm.h"
#include "migration/ram-source.h"
#include "migration/wire.h"
#include "migration/xbzrle.h"
#include "util/bitmap.h"
#include "util/error.h"
#include "util/lock.h"

#include <sys/mman.h>

#define HUGE_PAGES     512u /* 4 KiB pages in a transparent huge page */
#define RUN_READ_AHEAD (16 * KiB)
#define HUGE_MIN_PAGES 64u /* a run of so many in an untouched huge page is worth it */

u64 ram_guest_address(struct vm *vm, const struct ramblock *block)
{
	const struct flat_view *view;
	u64 gpa = 0;

	if (!vm->memory)
		return 0;
	view = address_space_view_get(vm->memory);
	for (unsigned i = 0; i < view->nranges; i++) {
		const struct flat_range *range = &view->ranges[i];

		if (range->map->kind != MAP_MMIO && range->map->block == block && !range->offset) {
			gpa = range->base;
			break;
		}
	}
	address_space_view_put(vm->memory, view);
	return gpa;
}

void ram_load_init(struct ram_load *l, struct vm *vm, const struct settings *settings)
{
	*l = (struct ram_load){ .vm = vm, .settings = *settings };
	page_probe_init(&l->probe);
}

/* Starts from what is there: firmware, or nothing. */
static void note_populated(struct ram_load *l, struct load_block *b)
{
	u64 npages = b->ram->max_size >> DIRTY_PAGE_BITS;
	u64 absent[BITMAP_WORDS(PAGE_PROBE_MAX)];

	b->populated = bitmap_new(npages);
	for (u64 at = 0; at < npages; at += PAGE_PROBE_MAX) {
		u64 n = MIN(PAGE_PROBE_MAX, npages - at);

		page_probe_absent(&l->probe, b->ram, at, n, absent);
		for (u64 w = 0; w < BITMAP_WORDS(n); w++)
			if (~absent[w])
				b->populated[at / BITS_PER_WORD + w] = ~absent[w];
	}
}

static void begin(struct ram_load *l)
{
	l->blocks = g_array_new(FALSE, FALSE, sizeof(struct load_block));
	for (guint i = 0; i < l->vm->ram->blocks->len; i++) {
		struct load_block b = { .ram = g_ptr_array_index(l->vm->ram->blocks, i) };

		if (!(b.ram->flags & RAM_MIGRATABLE))
			continue;
		note_populated(l, &b);
		b.small = b.ram->fd < 0 && !(b.ram->flags & RAM_SHARED) &&
			  b.ram->max_size >= HUGE_PAGES * DIRTY_PAGE_SIZE &&
			  !madvise(b.ram->host, b.ram->max_size, MADV_NOHUGEPAGE);
		g_array_append_val(l->blocks, b);
	}
}

void ram_load_finish(struct ram_load *l)
{
	page_probe_finish(&l->probe);
	for (guint i = 0; l->blocks && i < l->blocks->len; i++) {
		struct load_block *b = &g_array_index(l->blocks, struct load_block, i);

		if (b->small)
			madvise(b->ram->host, b->ram->max_size, MADV_HUGEPAGE);
		bitmap_free(b->populated, b->ram->max_size >> DIRTY_PAGE_BITS);
	}
	g_clear_pointer(&l->blocks, g_array_unref);
}

static struct load_block *find_block(struct ram_load *l, const char *id)
{
	for (guint i = 0; i < l->blocks->len; i++) {
		struct load_block *b = &g_array_index(l->blocks, struct load_block, i);

		if (g_str_equal(b->ram->id, id))
			return b;
	}
	return NULL;
}

/* ---- populating ---- */

/* Backs the untouched huge page around @page if the run gives enough of it. */
static void populate_huge(struct load_block *b, u64 page, u64 end)
{
	u64 first = ROUND_DOWN(page, (u64)HUGE_PAGES), last = first + HUGE_PAGES;
	u8 *at = b->ram->host + (first << DIRTY_PAGE_BITS);

	if (!b->small || MIN(end, last) - page < HUGE_MIN_PAGES ||
	    last > b->ram->max_size >> DIRTY_PAGE_BITS ||
	    bitmap_next_set(b->populated, last, first) < last)
		return;
	/* Failure costs speed only: the pages are populated one by one below. */
	if (!madvise(at, HUGE_PAGES << DIRTY_PAGE_BITS, MADV_HUGEPAGE))
		madvise(at, HUGE_PAGES << DIRTY_PAGE_BITS, MADV_POPULATE_WRITE);
}

static int populate(struct load_block *b, u64 first, u64 n, GError **err)
{
	u64 end = first + n, at, hole;

	for (at = first; at < end; at = ROUND_DOWN(at, (u64)HUGE_PAGES) + HUGE_PAGES)
		populate_huge(b, at, end);
	for (at = bitmap_next_clear(b->populated, end, first); at < end;
	     at = bitmap_next_clear(b->populated, end, hole)) {
		hole = bitmap_next_set(b->populated, end, at);
		/* Also turns a lack of memory into an error where a plain store would kill us. */
		if (madvise(b->ram->host + (at << DIRTY_PAGE_BITS), (hole - at) << DIRTY_PAGE_BITS,
			    MADV_POPULATE_WRITE) &&
		    errno != EINVAL) {
			error_set_errno(
				err, errno,
				"cannot get %" PRIu64 " bytes for RAM block '%s' at 0x%" PRIx64,
				(hole - at) << DIRTY_PAGE_BITS, b->ram->id, at << DIRTY_PAGE_BITS);
			return -ENOMEM;
		}
	}
	bitmap_set(b->populated, first, n);
	return 0;
}

/* ---- pages ---- */

static void load_zero(struct load_block *b, u64 page)
{
	u8 *host = b->ram->host + (page << DIRTY_PAGE_BITS);

	if (!bitmap_test(b->populated, page) || page_is_zero(host))
		return;
	memset(host, 0, DIRTY_PAGE_SIZE);
	memory_mark_dirty(b->ram, page << DIRTY_PAGE_BITS, DIRTY_PAGE_SIZE);
}

/* The page at the reader and those that follow it in block and buffer. */
static int load_run(struct ram_load *l, struct state_reader *r, struct load_block *b, u64 page,
		    GError **err)
{
	const size_t step = sizeof(u64) + DIRTY_PAGE_SIZE;
	u64 n = 1, limit = ram_pages(b->ram);
	const u8 *p;

	if (!state_fill(r, DIRTY_PAGE_SIZE))
		return -EINVAL;
	p = r->buf + r->pos + DIRTY_PAGE_SIZE;
	while (r->buf + r->end >= p + step && page + n < limit &&
	       load_be64(p) ==
		       ((page + n) << DIRTY_PAGE_BITS | RAM_FLAG_PAGE | RAM_FLAG_CONTINUE)) {
		n++;
		p += step;
	}
	if (populate(b, page, n, err))
		return -ENOMEM;
	p = r->buf + r->pos;
	for (u64 i = 0; i < n; i++, p += step)
		memcpy(b->ram->host + ((page + i) << DIRTY_PAGE_BITS), p, DIRTY_PAGE_SIZE);
	r->pos += n * step - sizeof(u64);
	memory_mark_dirty(b->ram, page << DIRTY_PAGE_BITS, n << DIRTY_PAGE_BITS);
	return 0;
}

static int load_delta(struct state_reader *r, struct load_block *b, u64 page, GError **err)
{
	u8 encoding = state_get_u8(r);
	u16 len = state_get_be16(r);

	if (encoding != XBZRLE_ENCODING || len > DIRTY_PAGE_SIZE) {
		error_set(err,
			  "xbzrle page of encoding %u with %u bytes; expected encoding 1 and "
			  "at most 4096 bytes",
			  encoding, len);
		return -EINVAL;
	}
	if (!state_fill(r, len) || populate(b, page, 1, err))
		return -EINVAL;
	if (xbzrle_decode(r->buf + r->pos, len, b->ram->host + (page << DIRTY_PAGE_BITS))) {
		error_set(err, "malformed xbzrle page of %u bytes", len);
		return -EINVAL;
	}
	r->pos += len;
	memory_mark_dirty(b->ram, page << DIRTY_PAGE_BITS, DIRTY_PAGE_SIZE);
	return 0;
}

/* @n pages from @page on that follow one another in the stream; checked against the block. */
static int load_own_run(struct ram_load *l, struct state_reader *r, struct load_block *b, u64 page,
			GError **err)
{
	u8 *host = b->ram->host + (page << DIRTY_PAGE_BITS);
	u32 n = state_get_be32(r);

	if (r->error)
		return -EINVAL;
	if (!n || n > ram_pages(b->ram) - page) {
		error_set(err, "a run of %u pages does not fit the block", n);
		return -EINVAL;
	}
	/* What is read ahead with a record's head would have to be copied once more. */
	r->ahead = RUN_READ_AHEAD;
	if (populate(b, page, n, err))
		return -ENOMEM;
	if (!state_fill_into(r, host, (size_t)n << DIRTY_PAGE_BITS))
		return -EINVAL;
	memory_mark_dirty(b->ram, page << DIRTY_PAGE_BITS, (u64)n << DIRTY_PAGE_BITS);
	return 0;
}

static int load_own_zeroes(struct ram_load *l, struct state_reader *r, struct load_block *b,
			   u64 page, GError **err)
{
	u32 n = state_get_be32(r);

	if (r->error)
		return -EINVAL;
	if (!n || n > ram_pages(b->ram) - page) {
		error_set(err, "a run of %u zero pages does not fit the block", n);
		return -EINVAL;
	}
	for (u64 end = page + n, at = bitmap_next_set(b->populated, end, page); at < end;
	     at = bitmap_next_set(b->populated, end, at + 1))
		load_zero(b, at);
	return 0;
}

static int load_page(struct ram_load *l, struct state_reader *r, u64 word, GError **err)
{
	u64 page = word >> DIRTY_PAGE_BITS;
	char id[256];
	int ret = 0;
	u8 fill;

	if (!(word & RAM_FLAG_CONTINUE)) {
		state_get_cstr8(r, id);
		l->last = r->error ? NULL : find_block(l, id);
		if (!l->last) {
			error_set(err, "page of unknown RAM block '%s'", id);
			return -EINVAL;
		}
	}
	if (!l->last) {
		error_set(err, "the first page names no RAM block");
		return -EINVAL;
	}
	if (page >= ram_pages(l->last->ram)) {
		error_set(err,
			  "offset 0x%" PRIx64 " is outside RAM block '%s' of %" PRIu64 " bytes",
			  page << DIRTY_PAGE_BITS, l->last->ram->id, l->last->ram->used_size);
		return -EINVAL;
	}
	switch (word & RAM_FLAG_MASK & ~RAM_FLAG_CONTINUE) {
	case RAM_FLAG_ZERO:
		fill = state_get_u8(r);
		if (fill) {
			error_set(err, "a uniform page of byte %u; only zero pages are defined",
				  fill);
			return -EINVAL;
		}
		if (!r->error)
			load_zero(l->last, page);
		break;
	case RAM_FLAG_PAGE: ret = load_run(l, r, l->last, page, err); break;
	case RAM_FLAG_XBZRLE: ret = load_delta(r, l->last, page, err); break;
	case RAM_FLAG_OWN_RUN: ret = load_own_run(l, r, l->last, page, err); break;
	case RAM_FLAG_OWN_ZEROES: ret = load_own_zeroes(l, r, l->last, page, err); break;
	}
	if (ret)
		g_prefix_error(err, "RAM block '%s' at 0x%" PRIx64 ": ", l->last->ram->id,
			       page << DIRTY_PAGE_BITS);
	return ret;
}

/* ---- the list of blocks ---- */

static int check_size(struct load_block *b, u64 size, GError **err)
{
	int ret = 0;

	if (size == b->ram->used_size)
		return 0;
	if (b->ram->flags & RAM_RESIZEABLE) {
		machine_lock();
		ret = ram_resize(b->ram, size, NULL);
		machine_unlock();
		if (!ret)
			return 0;
	}
	error_set(err, "RAM block '%s' has size %" PRIu64 " at the sender, but %" PRIu64 " here",
		  b->ram->id, size, b->ram->used_size);
	return -EINVAL;
}

static int load_block_entry(struct ram_load *l, struct state_reader *r, u64 *left, GError **err)
{
	struct load_block *b;
	u64 size, gpa;
	char id[256];

	state_get_cstr8(r, id);
	size = state_get_be64(r);
	gpa = l->settings.caps[CAP_IGNORE_SHARED] ? state_get_be64(r) : 0;
	if (r->error)
		return -EINVAL;
	if (!size || size > *left) {
		error_set(err,
			  "RAM block '%s' of %" PRIu64 " bytes does not fit the announced total",
			  id, size);
		return -EINVAL;
	}
	*left -= size;
	b = find_block(l, id);
	if (!b) {
		error_set(err, "unknown RAM block '%s' (%" PRIu64 " bytes at the sender)", id,
			  size);
		return -EINVAL;
	}
	if (l->settings.caps[CAP_IGNORE_SHARED] && (b->ram->flags & RAM_SHARED) &&
	    b->ram->fd >= 0 && gpa != ram_guest_address(l->vm, b->ram)) {
		error_set(err,
			  "shared RAM block '%s' is at 0x%" PRIx64
			  " at the sender, but at 0x%" PRIx64 " here",
			  id, gpa, ram_guest_address(l->vm, b->ram));
		return -EINVAL;
	}
	return check_size(b, size, err);
}

static int load_block_list(struct ram_load *l, struct state_reader *r, u64 total, GError **err)
{
	if (!l->blocks)
		begin(l);
	while (total) {
		int ret = load_block_entry(l, r, &total, err);

		if (ret)
			return ret;
	}
	return 0;
}

int ram_load_part(struct ram_load *l, struct state_reader *r, GError **err)
{
	for (;;) {
		u64 word = state_get_be64(r);
		int ret = 0;

		if (r->error)
			break;
		switch (word & RAM_FLAG_MASK & ~RAM_FLAG_CONTINUE) {
		case RAM_FLAG_EOS: return 0;
		case RAM_FLAG_MEM_SIZE:
			ret = load_block_list(l, r, word & ~(u64)RAM_FLAG_MASK, err);
			break;
		case RAM_FLAG_ZERO:
		case RAM_FLAG_PAGE:
		case RAM_FLAG_XBZRLE:
		case RAM_FLAG_OWN_RUN:
		case RAM_FLAG_OWN_ZEROES:
			if (!l->blocks) {
				error_set(err, "pages before the list of RAM blocks");
				return -EINVAL;
			}
			ret = load_page(l, r, word, err);
			break;
		default:
			error_set(err, "unsupported RAM record 0x%" PRIx64 " at byte %" PRIu64,
				  word, state_position(r) - 8);
			return -EINVAL;
		}
		if (r->error)
			break;
		if (ret)
			return ret;
	}
	g_clear_error(err);
	g_propagate_error(err, g_error_copy(r->error));
	return -EINVAL;
}
