/*
 * memory/ram.h - RAM blocks: host memory that backs guest RAM and ROM.
 */
#ifndef MEMORY_RAM_H
#define MEMORY_RAM_H

#include "memory/dirty-map.h"
#include "util/base.h"

struct ram_list;

enum ram_flags {
	RAM_SHARED = 1 << 0,     /* MAP_SHARED of fd */
	RAM_MIGRATABLE = 1 << 1, /* travels in the "ram" section */
	RAM_RESIZEABLE = 1 << 2, /* used_size may grow to max_size on incoming migration */
	RAM_READONLY = 1 << 3,   /* the guest never writes (ROM) */
	RAM_PREALLOC = 1 << 4,   /* populate at creation */
	RAM_NORESERVE = 1 << 5,
	RAM_DUMP_OFF = 1 << 6, /* MADV_DONTDUMP */
	RAM_MERGE = 1 << 7,    /* MADV_MERGEABLE */
};

struct ramblock {
	char *id;      /* idstr on the wire; at most 255 bytes */
	u8 *host;      /* page_size aligned; max_size bytes */
	u64 used_size; /* bytes, multiple of DIRTY_PAGE_SIZE */
	u64 max_size;  /* bytes */
	u64 page_size; /* bytes of the backing's pages (4 KiB, or the hugetlb size) */
	u64 fd_offset; /* of host[0] in fd */
	int fd;        /* -1: anonymous */
	u32 flags;     /* enum ram_flags */
	struct dirty_map dirty;
	struct ram_list *list;
	void *tracking; /* owned by the tracking back end */
};

/* How to allocate a block. Zeroed: anonymous, private. */
struct ram_spec {
	const char *id;
	u64 size;         /* bytes */
	u64 max_size;     /* bytes; 0: as size */
	u32 flags;        /* enum ram_flags */
	int fd;           /* used if >= 0 (and owned by the block from then on); see ram_create() */
	u64 fd_offset;    /* bytes */
	u64 align;        /* bytes; 0: page size, raised to 2 MiB for blocks of 2 MiB and more so
			     that transparent huge pages fit */
	u64 hugetlb_size; /* bytes; 0: ordinary pages */
	unsigned prealloc_threads; /* 0: one */
};

/* The blocks of a machine, in the order of creation. */
struct ram_list {
	GPtrArray *blocks; /* of struct ramblock *; changed only under the machine lock with no
			      migration running */
	/* The host wrote guest RAM. NULL, or set by an accelerator that keeps translations of it.
	 */
	void (*written)(const void *host, u64 len);
};

struct ram_list *ram_list_create(void);
void ram_list_destroy(struct ram_list *list);

/*
 * ram_create() - allocate a block and add it to the list.
 * @spec: spec->fd must be -1 for anonymous memory.
 *
 * Return: the block, owned by the list; NULL with @err: allocation or mapping failed (errno and
 * size named), duplicate or overlong id.
 * Context: main thread, machine lock held.
 */
struct ramblock *ram_create(struct ram_list *list, const struct ram_spec *spec, GError **err);

/* ram_destroy() - unmap and remove a block that no address space maps any more. */
void ram_destroy(struct ramblock *block);

/* ram_find() - block by id; NULL if there is none. */
struct ramblock *ram_find(const struct ram_list *list, const char *id);

/*
 * ram_resize() - change used_size of a RAM_RESIZEABLE block; other sizes must be equal.
 *
 * Return: 0, or -EINVAL with @err naming the block and both sizes.
 */
int ram_resize(struct ramblock *block, u64 size, GError **err);

/* ram_total() - bytes of all migratable blocks. */
u64 ram_total(const struct ram_list *list);

/*
 * ram_discard() - give the pages of a range back to the host; they read as zero afterwards.
 * @offset, @len: bytes; whole backing pages are discarded, partial ones zeroed.
 *
 * Return: 0 or -errno.
 */
int ram_discard(struct ramblock *block, u64 offset, u64 len);

/* ram_from_host() - block and offset of a host address; NULL if it is not guest RAM. */
struct ramblock *ram_from_host(const struct ram_list *list, const void *host, u64 *offset);

static inline u64 ram_pages(const struct ramblock *block)
{
	return block->used_size >> DIRTY_PAGE_BITS;
}

/*
 * memory_mark_dirty() - the host wrote guest RAM (virtio, DMA, loaders, monitor).
 * @offset, @len: bytes in the block, already written.
 *
 * Context: any thread.
 */
static inline void memory_mark_dirty(struct ramblock *block, u64 offset, u64 len)
{
	if (block->list && block->list->written)
		block->list->written(block->host + offset, len);
	if (len && __atomic_load_n(&block->dirty.active, __ATOMIC_RELAXED)) {
		u64 first = offset >> DIRTY_PAGE_BITS;

		dirty_map_set(&block->dirty, first,
			      ((offset + len - 1) >> DIRTY_PAGE_BITS) - first + 1, DIRTY_ALL);
	}
}

#endif
