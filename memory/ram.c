/* memory/ram.c - RAM blocks. */
#include "memory/ram.h"

#include "util/error.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_MAX    255 /* idstr is a counted string with a one-byte length on the wire */
#define THP_BYTES (2 * MiB)

struct ram_list *ram_list_create(void)
{
	struct ram_list *list = g_new0(struct ram_list, 1);

	list->blocks = g_ptr_array_new();
	return list;
}

void ram_list_destroy(struct ram_list *list)
{
	while (list->blocks->len)
		ram_destroy(g_ptr_array_index(list->blocks, list->blocks->len - 1));
	g_ptr_array_free(list->blocks, TRUE);
	g_free(list);
}

/*
 * Reserves address space for @size bytes at a multiple of @align, then maps the memory over it,
 * so that nothing else can land between.
 */
static void *map_aligned(const struct ram_spec *spec, u64 size, u64 align)
{
	int flags = spec->flags & RAM_SHARED ? MAP_SHARED : MAP_PRIVATE;
	u64 span = size + align;
	char *area, *at;

	if (spec->fd < 0)
		flags = (spec->flags & RAM_SHARED ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
	if (spec->flags & RAM_NORESERVE)
		flags |= MAP_NORESERVE;
	area = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	at = (char *)ROUND_UP((uintptr_t)area, (uintptr_t)align);
	if (mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, spec->fd,
		 spec->fd < 0 ? 0 : spec->fd_offset) == MAP_FAILED) {
		int e = errno;

		munmap(area, span);
		errno = e;
		return NULL;
	}
	if (at > area)
		munmap(area, at - area);
	if (area + span > at + size)
		munmap(at + size, area + span - (at + size));
	return at;
}

struct populate_part {
	char *at;
	u64 len;
	int error;
};

static gpointer populate_thread(gpointer data)
{
	struct populate_part *p = data;

	if (madvise(p->at, p->len, MADV_POPULATE_WRITE))
		p->error = errno;
	return NULL;
}

/* MADV_POPULATE_WRITE reports a lack of memory as an error where touching would be a SIGBUS. */
static int populate(struct ramblock *b, unsigned nthreads)
{
	u64 step = ROUND_UP(DIV_ROUND_UP(b->max_size, MAX(nthreads, 1)), b->page_size);
	unsigned n = DIV_ROUND_UP(b->max_size, step);
	g_autofree struct populate_part *parts = g_new0(struct populate_part, n);
	g_autofree GThread **threads = g_new0(GThread *, n);
	int error = 0;

	for (unsigned i = 0; i < n; i++) {
		parts[i].at = (char *)b->host + i * step;
		parts[i].len = MIN(step, b->max_size - i * step);
		threads[i] = g_thread_new("prealloc", populate_thread, &parts[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		g_thread_join(threads[i]);
		error = error ? error : parts[i].error;
	}
	return error;
}

static int check_spec(const struct ram_list *list, const struct ram_spec *spec, GError **err)
{
	u64 max = MAX(spec->size, spec->max_size);

	if (strlen(spec->id) > ID_MAX) {
		error_set(err, "RAM block id '%s' is longer than %d bytes", spec->id, ID_MAX);
		return -EINVAL;
	}
	if (ram_find(list, spec->id)) {
		error_set(err, "a RAM block '%s' exists already", spec->id);
		return -EEXIST;
	}
	if (!spec->size || !IS_ALIGNED(max, DIRTY_PAGE_SIZE) || max > INT64_MAX) {
		error_set(err,
			  "RAM block '%s': size %" PRIu64 " is not a positive multiple of 4096",
			  spec->id, max);
		return -EINVAL;
	}
	return 0;
}

static void advise(struct ramblock *b)
{
	/* Failure of any of these only costs speed or core-file size. */
	if (b->max_size >= THP_BYTES && b->fd < 0)
		madvise(b->host, b->max_size, MADV_HUGEPAGE);
	if (b->flags & RAM_DUMP_OFF)
		madvise(b->host, b->max_size, MADV_DONTDUMP);
	if (b->flags & RAM_MERGE)
		madvise(b->host, b->max_size, MADV_MERGEABLE);
	madvise(b->host, b->max_size, MADV_DONTFORK);
}

struct ramblock *ram_create(struct ram_list *list, const struct ram_spec *spec, GError **err)
{
	u64 page = spec->hugetlb_size ? spec->hugetlb_size : (u64)getpagesize();
	u64 size = ROUND_UP(MAX(spec->size, spec->max_size), page);
	u64 align = MAX(spec->align, page);
	struct ramblock *b;
	int e;

	if (check_spec(list, spec, err))
		return NULL;
	if (size >= THP_BYTES)
		align = MAX(align, THP_BYTES);

	b = g_new0(struct ramblock, 1);
	b->host = map_aligned(spec, size, align);
	if (!b->host) {
		error_set_errno(err, errno, "cannot map %" PRIu64 " bytes for RAM block '%s'", size,
				spec->id);
		g_free(b);
		return NULL;
	}
	b->id = g_strdup(spec->id);
	b->used_size = spec->size;
	b->max_size = size;
	b->page_size = page;
	b->fd = spec->fd;
	b->fd_offset = spec->fd_offset;
	b->flags = spec->flags;
	b->list = list;
	advise(b);
	if ((b->flags & RAM_PREALLOC) && (e = populate(b, spec->prealloc_threads))) {
		error_set_errno(err, e, "cannot preallocate %" PRIu64 " bytes for RAM block '%s'",
				size, spec->id);
		b->fd = -1; /* stays the caller's on failure */
		munmap(b->host, b->max_size);
		g_free(b->id);
		g_free(b);
		return NULL;
	}
	dirty_map_init(&b->dirty, b->max_size >> DIRTY_PAGE_BITS);
	g_ptr_array_add(list->blocks, b);
	return b;
}

void ram_destroy(struct ramblock *b)
{
	g_ptr_array_remove(b->list->blocks, b);
	dirty_map_finish(&b->dirty);
	munmap(b->host, b->max_size);
	if (b->fd >= 0)
		close(b->fd);
	g_free(b->id);
	g_free(b);
}

struct ramblock *ram_find(const struct ram_list *list, const char *id)
{
	for (unsigned i = 0; i < list->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(list->blocks, i);

		if (!strcmp(b->id, id))
			return b;
	}
	return NULL;
}

int ram_resize(struct ramblock *b, u64 size, GError **err)
{
	bool fits = b->flags & RAM_RESIZEABLE
			    ? size && size <= b->max_size && IS_ALIGNED(size, DIRTY_PAGE_SIZE)
			    : size == b->used_size;

	if (!fits) {
		error_set(err,
			  "RAM block '%s' has size %" PRIu64
			  " here, but the size asked for is %" PRIu64,
			  b->id, b->used_size, size);
		return -EINVAL;
	}
	b->used_size = size;
	return 0;
}

u64 ram_total(const struct ram_list *list)
{
	u64 total = 0;

	for (unsigned i = 0; i < list->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(list->blocks, i);

		if (b->flags & RAM_MIGRATABLE)
			total += b->used_size;
	}
	return total;
}

int ram_discard(struct ramblock *b, u64 offset, u64 len)
{
	u64 first = ROUND_UP(offset, b->page_size);
	u64 last = ROUND_DOWN(offset + len, b->page_size);

	assert(offset <= b->max_size && len <= b->max_size - offset);
	if (first >= last) {
		memset(b->host + offset, 0, len);
	} else {
		memset(b->host + offset, 0, first - offset);
		memset(b->host + last, 0, offset + len - last);
		/* Private file pages come back with the file's content under MADV_DONTNEED: only
		 * a hole reads as zero there. */
		if (b->fd >= 0 && fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					    b->fd_offset + first, last - first))
			return -errno;
		if (madvise(b->host + first, last - first,
			    b->flags & RAM_SHARED && b->fd < 0 ? MADV_REMOVE : MADV_DONTNEED))
			return -errno;
	}
	memory_mark_dirty(b, offset, len);
	return 0;
}

struct ramblock *ram_from_host(const struct ram_list *list, const void *host, u64 *offset)
{
	for (unsigned i = 0; i < list->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(list->blocks, i);

		if ((const u8 *)host >= b->host && (const u8 *)host < b->host + b->max_size) {
			*offset = (const u8 *)host - b->host;
			return b;
		}
	}
	return NULL;
}
